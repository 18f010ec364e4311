"""What each range method leaves of a table to read, and how long planning takes. No Spark.

Run with `make bench-ranges`. Values of a batch and the bounds of the table's files are in memory
before the clock starts. Writes benchmarks/results/range_planning.json and
docs/images/range_planning.svg.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from alluvium.ranges import Fragments, plan

REPOSITORY = Path(__file__).resolve().parent.parent
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


def measured(
    case: str, values: pa.Array, table: Fragments, touched: Numbers, method: str, k: int | None
) -> dict[str, Any]:
    """One object of the results; the median of the rounds."""
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        found = plan(values, method, k or 3, fragments=table, or_null=False)
        seconds.append(time.perf_counter() - started)
    assert found.kept is not None
    return {
        "case": case,
        "contender": method if k is None else f"{method}, K = {k}",
        "seconds": round(statistics.median(seconds), 4),
        "ranges": len(found.ranges),
        "files_total": found.kept.files_total,
        "files_kept": found.kept.files,
        "bytes": found.kept.bytes,
        "bytes_total": found.kept.bytes_total,
        "floor": len(touched),
        "floor_bytes": int(table.sizes[touched].sum()),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
    }


def draw(results: list[dict[str, Any]], cases: list[str]) -> None:
    """Share of the table's bytes that each method leaves to read, beside the floor."""
    figure, axes = plt.subplots(1, len(cases), figsize=(11, 4), sharey=True)
    for axis, case in zip(axes, cases, strict=True):
        rows = [one for one in results if one["case"] == case]
        names = [one["contender"] for one in rows]
        axis.barh(names, [100 * one["bytes"] / one["bytes_total"] for one in rows], color="#2b6cb0")
        floor = 100 * rows[0]["floor_bytes"] / rows[0]["bytes_total"]
        axis.axvline(floor, color="#c05621", linewidth=1.2)
        axis.set_title(f"{case}\n(line: floor, {floor:.1f} %)", fontsize=10)
        axis.set_xlabel("% of bytes left to read")
    axes[0].invert_yaxis()
    figure.tight_layout()
    CHART.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(CHART, metadata={"Date": None})


def main() -> None:
    results = []
    contenders: list[tuple[str, int | None]] = [("none", None), ("min_max", None)]
    contenders += [(method, k) for method in ("gaps", "kmeans", "cover") for k in (3, 8, 32, 64)]
    contenders += [("auto", None)]
    plan(pa.array(range(99)), "kmeans")  # scikit-learn is imported by then
    rng = np.random.default_rng(2)
    table = a_table(10_000, pa.array, rng)
    cases = batches(10_000, 20_000, rng)
    for case, numbers in cases.items():
        touched = np.unique(numbers // WIDTH)
        for method, k in contenders:
            results.append(measured(case, pa.array(numbers), table, touched, method, k))
    for kind, write in {"bigint": pa.array, "ObjectId": object_ids}.items():
        table = a_table(100_000, write, rng)
        for name, numbers in batches(100_000, 1_000_000, rng).items():
            case = f"1,000,000 rows, 100,000 files, {kind}, {name}"
            touched = np.unique(numbers // WIDTH)
            for method, k in (("min_max", None), ("kmeans", 3), ("cover", 64), ("auto", None)):
                results.append(measured(case, write(numbers), table, touched, method, k))
    for one in results:
        print(
            f"{one['case']}: {one['contender']}: {one['ranges']} ranges, {one['files_kept']} of "
            f"{one['files_total']} files (floor {one['floor']}), {one['seconds']} s"
        )
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    draw(results, list(cases))


if __name__ == "__main__":
    main()
