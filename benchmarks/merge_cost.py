"""What one merge of 20,000 rows costs: MERGE and the one-commit merge, in pairs, beside each other.

Run with `make bench-merge-cost`. Both contenders merge the same statement into a copy of the same
files (hard links) and see each batch once; who goes first alternates. The batch is staged as a
table: 90 % recent rows, 5 % in four old spots, 5 % new ones, with the ranges a `gaps` plan gives.
Writes benchmarks/results/merge_cost.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from alluvium.delta import log
from alluvium.engine import session as engine
from alluvium.merge import one_commit

REPOSITORY = Path(__file__).resolve().parent.parent
RESULTS = REPOSITORY / "benchmarks" / "results" / "merge_cost.json"
ROWS_PER_FILE = 250_000
BATCH = 20_000
RANGES = 5
# One-commit seconds over MERGE's, at most.
BAR = 0.5
COLUMNS = {
    "id": "id",
    "key": "concat(lpad(lower(hex(1500000000 + id div 20)), 8, '0'), 'a1b2c3d4e5',"
    " lpad(lower(hex(id % 16777216)), 6, '0'))",
    "created_at": "timestamp_seconds(1500000000 + id div 20)",
    "seq": "{version}L",
    "qty": "id * 7919 % 1000",
    "amount": "cast(id * 104729 % 1000003 as double) / 7",
    "status": "concat('status-', id % 7)",
    "note": "concat('note ', id % 9973, ' ', {version})",
}
# Seconds and jobs of each contender, and files kept and in all.
Pair = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Batch:
    """A staged batch; `ranges` are those of each key column, as SQL on `d`."""

    path: Path
    ranges: dict[str, str]


def rows_of(version: int) -> str:
    return ", ".join(f"{sql.format(version=version)} as {name}" for name, sql in COLUMNS.items())


def make_table(session: SparkSession, folder: Path, rows: int) -> Path:
    """A table of `rows` rows in files of ROWS_PER_FILE, in the order of both keys."""
    path = folder / f"base-{rows}"
    session.range(0, rows, 1, rows // ROWS_PER_FILE).createOrReplaceTempView("ids")
    session.sql(
        f"create table delta.`{path}` using delta"
        " tblproperties ('delta.enableDeletionVectors' = 'true')"
        f" as select {rows_of(0)} from ids"
    )
    return path


def make_batch(session: SparkSession, folder: Path, rows: int, number: int) -> Batch:
    rng = np.random.default_rng(number)
    new, old = BATCH // 20, BATCH // 80
    recent = BATCH - new - 4 * old
    parts = [rows - 1 - rng.choice(min(rows // 4, 500_000), recent, replace=False)]
    for spot in range(4):
        start = rows // 10 + spot * rows * 15 // 100
        parts.append(start + rng.choice(5_000, old, replace=False))
    ids = np.sort(np.concatenate([*parts, rows + np.arange(new)]))
    session.createDataFrame(pa.table({"id": ids})).createOrReplaceTempView("ids")
    path = folder / f"batch-{rows}-{number}"
    frame = session.sql(f"select {rows_of(number + 1)} from ids")
    frame.coalesce(1).write.format("delta").save(str(path))
    cuts = np.sort(np.argsort(np.diff(ids))[-(RANGES - 1) :]) + 1
    groups = np.split(ids, cuts)
    staged = session.read.format("delta").load(str(path)).select("id", "key").toArrow()
    keys = dict(zip(staged["id"].to_pylist(), staged["key"].to_pylist(), strict=True))
    bounds = [(int(group[0]), int(group[-1])) for group in groups]
    numbers = [f"d.id between {lo}L and {hi}L" for lo, hi in bounds]
    texts = [f"d.key between '{keys[lo]}' and '{keys[hi]}'" for lo, hi in bounds]
    return Batch(path, {"id": " or ".join(numbers), "key": " or ".join(texts)})


def statement(target: Path, batch: Batch, key: str) -> str:
    names = ", ".join(COLUMNS)
    sets = [
        f"d.{name} = coalesce(s.{name}, d.{name})"
        if name == "created_at"
        else f"d.{name} = s.{name}"
        for name in COLUMNS
        if name != key
    ]
    return (
        f"merge into delta.`{target}` as d using (select * from delta.`{batch.path}`) as s"
        f" on ({batch.ranges[key]}) and s.{key} = d.{key}"
        " when matched and coalesce(s.seq > d.seq, s.seq is not null) then update set"
        f" {', '.join(sets)} when not matched then insert ({names}) values"
        f" ({', '.join(f's.{name}' for name in COLUMNS)})"
    )


def run(session: SparkSession, contender: str, sql: str) -> int:
    """Rows changed."""
    if contender == "MERGE":
        return int(session.sql(sql).collect()[0]["num_affected_rows"])
    merged = one_commit.merge(session, sql)
    if isinstance(merged, one_commit.Refusal):
        raise SystemExit(merged.reason)
    return merged.affected


def jobs_of(session: SparkSession) -> int:
    context: Any = session.sparkContext._jsc.sc()
    return int(context.statusStore().jobsList(None).size())


def pairs(session: SparkSession, folder: Path, rows: int, key: str, count: int) -> Iterator[Pair]:
    base = folder / f"base-{rows}"
    for number in range(count):
        batch = make_batch(session, folder, rows, number)
        pair: Pair = {}
        order = ("MERGE", "one commit") if number % 2 else ("one commit", "MERGE")
        for contender in order:
            copy = folder / f"copy-{rows}-{key}-{number}-{contender.replace(' ', '-')}"
            shutil.copytree(base, copy, copy_function=os.link)
            sql = statement(copy, batch, key)
            # In a run of dbt the plan before the merge has read the log.
            kept = log.skipping(session, f"delta.`{copy}`", batch.ranges[key].replace("d.", ""))
            jobs, started = jobs_of(session), time.perf_counter()
            changed = run(session, contender, sql)
            seconds = time.perf_counter() - started
            if changed != BATCH:
                raise SystemExit(f"{contender} changed {changed} rows, not {BATCH}")
            time.sleep(0.3)  # the listener counts a job a little later
            pair[contender] = {"seconds": seconds, "jobs": jobs_of(session) - jobs}
            pair["files"] = {"kept": kept.files, "total": kept.files_total}
            shutil.rmtree(copy)
        shutil.rmtree(batch.path)
        yield pair


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=11, help="merges of each contender")
    parser.add_argument("--warm-up", type=int, default=4, help="pairs before, not counted")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 4_000_000])
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as name:
        folder = Path(name)
        jars = os.environ.get("ALLUVIUM_TEST_JARS", REPOSITORY / ".alluvium" / "jars")
        (folder / "home").mkdir()
        (folder / "home" / "jars").symlink_to(jars)
        conf = {"spark.ui.retainedJobs": "100000"}
        session = engine.new_session(engine.Settings(home=folder / "home", conf=conf))
        warm = options.warm_up
        for rows in options.rows:
            make_table(session, folder, rows)
            for key in ("id", "key"):
                measured = list(pairs(session, folder, rows, key, warm + options.pairs))[warm:]
                warm = min(warm, 1)
                ratios = [p["one commit"]["seconds"] / p["MERGE"]["seconds"] for p in measured]
                for contender in ("MERGE", "one commit"):
                    seconds = [p[contender]["seconds"] for p in measured]
                    results.append(
                        {
                            "case": f"{rows:,} rows, {'bigint' if key == 'id' else 'string'} key",
                            "contender": contender,
                            "seconds": round(statistics.median(seconds), 2),
                            "seconds_all": [round(value, 2) for value in seconds],
                            "ratio": round(statistics.median(ratios), 3)
                            if contender == "one commit"
                            else 1.0,
                            "ratio_all": [round(value, 3) for value in ratios]
                            if contender == "one commit"
                            else [],
                            "bar_ratio": BAR,
                            "spark_jobs": int(
                                statistics.median(p[contender]["jobs"] for p in measured)
                            ),
                            "files_kept": measured[-1]["files"]["kept"],
                            "files_total": measured[-1]["files"]["total"],
                            "batch_rows": BATCH,
                            "machine": f"{os.cpu_count()} cores, {platform.machine()}",
                        }
                    )
                    print(results[-1], flush=True)
        engine.stop()
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
