"""What each range method leaves of a table to read, and how long planning takes.

Run with `make bench-ranges`, or one group of cases with `make bench-ranges ARGS="--group engines"`.
Values of a batch and the bounds of the table's files are in memory before the clock starts. Two
groups start Spark: `engines` compares what k-means is fitted with; `frames` plans ranges of large
batches that Spark keeps, and looks at the driver's memory (of Linux alone). Writes
benchmarks/results/range_planning.json and docs/images/range_planning.svg.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from merging import charts
from merging.home import REPOSITORY, keep, make_home, provenance
from pyspark.sql import DataFrame

from alluvium.engine import session as engine
from alluvium.ranges import Fragments, Request, plan, plan_frame

RESULTS = REPOSITORY / "benchmarks" / "results" / "range_planning.json"
CHART = REPOSITORY / "docs" / "images" / "range_planning.svg"
ROUNDS = 5
# Distance between the first values of two files; files are in the order of the column.
WIDTH = 10_000
Numbers = npt.NDArray[np.int64]


def object_ids(numbers: Numbers) -> pa.Array:
    return pa.array([f"{number:024x}" for number in numbers.tolist()])


def a_table(
    files: int, write: Callable[[Numbers], pa.Array], rng: np.random.Generator
) -> Fragments:
    """Files of 50 to 150 MB."""
    starts = np.arange(files, dtype=np.int64) * WIDTH
    every = np.ones(files, dtype=np.bool_)
    sizes = rng.integers(50_000_000, 150_000_000, files)
    return Fragments(write(starts), write(starts + WIDTH - 1), sizes, ~every, every)


def batches(files: int, rows: int, rng: np.random.Generator) -> dict[str, Numbers]:
    """Values by the kind of traffic."""
    end = files * WIDTH
    recent = rng.integers(end - end * 3 // 100, end, rows - 40)
    blobs = [
        rng.integers(at * end // 10, at * end // 10 + end // 100, rows // 3) for at in (2, 6, 9)
    ]
    return {
        "recent and 40 old rows": np.concatenate([recent, rng.choice(end, 40)]),
        "uniform": rng.integers(0, end, rows),
        "three blobs": np.concatenate(blobs),
    }


@dataclass(frozen=True)
class Planned:
    """What one round found: seconds, and the ranges with what they leave to read."""

    seconds: float
    ranges: int
    files: int
    bytes: int


def in_arrow(values: pa.Array, table: Fragments, method: str, k: int | None) -> Planned:
    started = time.perf_counter()
    found = plan(values, Request(method, k or 3, fragments=table, or_null=False))
    seconds = time.perf_counter() - started
    assert found.kept is not None
    return Planned(seconds, len(found.ranges), found.kept.files, found.kept.bytes)


def in_spark(
    batch: DataFrame, table: Fragments, method: str, k: int, fitted_with: str = "sklearn"
) -> Planned:
    """As a ranges model plans it."""
    rows = plan_frame(
        batch, "value", Request(method, k, fragments=table, or_null=False, engine=fitted_with)
    ).collect()
    return Planned(rows[0]["seconds"], len(rows), rows[0]["files_kept"], rows[0]["bytes_kept"])


def measured(
    case: str, contender: str, table: Fragments, touched: Numbers, run: Callable[[], Planned]
) -> dict[str, Any]:
    """One object of the results; the median of the rounds."""
    rounds = [run() for _ in range(ROUNDS)]
    found = rounds[-1]
    return {
        "case": case,
        "contender": contender,
        "seconds": round(statistics.median(one.seconds for one in rounds), 4),
        "ranges": found.ranges,
        "files_total": len(table),
        "files_kept": found.files,
        "bytes": found.bytes,
        "bytes_total": int(table.sizes.sum()),
        "floor": len(touched),
        "floor_bytes": int(table.sizes[touched].sum()),
        **provenance(),
    }


def method_cases(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Every method, 20,000 rows, 10,000 files."""
    contenders: list[tuple[str, int | None]] = [("none", None), ("min_max", None)]
    contenders += [(method, k) for method in ("gaps", "kmeans", "cover") for k in (3, 8, 32, 64)]
    contenders += [("auto", None)]
    table = a_table(10_000, pa.array, rng)
    for case, numbers in batches(10_000, 20_000, rng).items():
        values, touched = pa.array(numbers), np.unique(numbers // WIDTH)
        for method, k in contenders:
            name = method if k is None else f"{method}, K = {k}"
            yield measured(case, name, table, touched, partial(in_arrow, values, table, method, k))


def size_cases(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """1,000,000 rows, 100,000 files."""
    for kind, write in {"bigint": pa.array, "ObjectId": object_ids}.items():
        table = a_table(100_000, write, rng)
        for traffic, numbers in batches(100_000, 1_000_000, rng).items():
            case = f"1,000,000 rows, 100,000 files, {kind}, {traffic}"
            values, touched = write(numbers), np.unique(numbers // WIDTH)
            for method, k in (("min_max", None), ("kmeans", 3), ("cover", 64), ("auto", None)):
                name = method if k is None else f"{method}, K = {k}"
                yield measured(
                    case, name, table, touched, partial(in_arrow, values, table, method, k)
                )


def engine_cases(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """What k-means is fitted with, 20,000 rows that Spark keeps, 10,000 files."""
    table = a_table(10_000, pa.array, rng)
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as folder:
        session = engine.new_session(engine.Settings(home=make_home(Path(folder) / "home")))
        for traffic, numbers in batches(10_000, 20_000, rng).items():
            batch = session.createDataFrame(pa.table({"value": numbers})).persist()
            batch.count()
            touched = np.unique(numbers // WIDTH)
            for fitted_with, name in (("sklearn", "scikit-learn"), ("spark_ml", "spark_ml")):
                run = partial(in_spark, batch, table, "kmeans", 3, fitted_with)
                run()  # Spark compiles its plans and loads its classes once
                yield measured(
                    f"k-means in Spark, {traffic}", f"{name}, K = 3", table, touched, run
                )
            batch.unpersist()
        engine.stop()


def grown(run: Callable[[], object]) -> int:
    """By how many bytes this process was larger at its peak than before."""

    def status(name: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(name)).split()[1]) * 1024

    Path("/proc/self/clear_refs").write_text("5")  # the peak is what it has now
    before = status("VmRSS")
    run()
    return status("VmHWM") - before


def frame_cases(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """1 and 4 million rows that Spark keeps, 100,000 files; `read_seconds` to bring all values."""
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as folder:
        session = engine.new_session(engine.Settings(home=make_home(Path(folder) / "home")))
        for rows in (1_000_000, 4_000_000):
            for kind, write in {"bigint": pa.array, "ObjectId": object_ids}.items():
                table = a_table(100_000, write, rng)
                numbers = batches(100_000, rows, rng)["recent and 40 old rows"]
                touched = np.unique(numbers // WIDTH)
                # As a file: on their way through the driver so many rows fill its heap.
                pq.write_table(pa.table({"value": write(numbers)}), f"{folder}/batch.parquet")
                batch = session.read.parquet(f"{folder}/batch.parquet").repartition(2).persist()
                batch.count()
                reads = []
                for _ in range(ROUNDS):
                    started = time.perf_counter()
                    batch.toArrow()
                    reads.append(time.perf_counter() - started)
                for method in ("kmeans", "cover", "auto"):
                    k = 64 if method == "cover" else 3
                    run = partial(in_spark, batch, table, method, k)
                    run()
                    yield measured(
                        f"{rows:,} rows in Spark, 100,000 files, {kind}",
                        method,
                        table,
                        touched,
                        run,
                    ) | {
                        "read_seconds": round(statistics.median(reads), 4),
                        "driver_bytes": grown(run),
                    }
                batch.unpersist()
        engine.stop()


GROUPS = {
    "methods": method_cases,
    "sizes": size_cases,
    "engines": engine_cases,
    "frames": frame_cases,
}


def draw(results: list[dict[str, Any]], cases: list[str]) -> None:
    """Share of the table's bytes that each method leaves to read, beside the floor."""
    figure, axes = plt.subplots(1, len(cases), figsize=(11, 4), sharey=True)
    for axis, case in zip(axes, cases, strict=True):
        rows = [one for one in results if one["case"] == case]
        names = [one["contender"] for one in rows]
        axis.barh(
            names, [100 * one["bytes"] / one["bytes_total"] for one in rows], color=charts.OURS
        )
        floor = 100 * rows[0]["floor_bytes"] / rows[0]["bytes_total"]
        axis.axvline(floor, color=charts.LINE, linewidth=1.2)
        axis.set_title(f"{case}\n(line: floor, {floor:.1f} %)", fontsize=10)
        axis.set_xlabel("% of bytes left to read")
    axes[0].invert_yaxis()
    figure.tight_layout()
    charts.save(figure, CHART)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--group", choices=GROUPS, action="append", help="default: all")
    options = parser.parse_args()
    plan(pa.array(range(99)), Request("kmeans"))  # scikit-learn is imported by then
    for group in options.group or GROUPS:
        # Each group draws its own numbers, so that they are the same in whatever company.
        results = []
        for one in GROUPS[group](np.random.default_rng(2)):
            results.append(one)
            print(
                f"{one['case']}: {one['contender']}: {one['ranges']} ranges, {one['files_kept']} "
                f"of {one['files_total']} files (floor {one['floor']}), {one['seconds']} s",
                flush=True,
            )
        keep(RESULTS, results)
        if group == "methods":
            draw(results, list(dict.fromkeys(one["case"] for one in results)))


if __name__ == "__main__":
    main()
