"""What one merge of 20,000 rows costs: MERGE and the one-commit merge, in pairs, beside each other.

Run with `make bench-merge-cost`. Both contenders merge the same statement into a copy of the same
files (hard links) and see each batch once; who goes first alternates. The batch is staged as a
table (`batches.growth`), with the ranges that a `gaps` plan gives.
Writes benchmarks/results/merge_cost.json.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from merging import batches, charts, tables
from merging.home import REPOSITORY, make_home, provenance
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.engine import session as engine
from alluvium.merge import one_commit
from alluvium.ranges import Request, Term, plan

RESULTS = REPOSITORY / "benchmarks" / "results" / "merge_cost.json"
CHART = REPOSITORY / "docs" / "images" / "merge_cost.svg"
# Rows of the tables, and of each of their files.
TABLES = ((1_000_000, 250_000), (4_000_000, 250_000), (4_000_000, 10_000))
RANGES = 5
# One-commit seconds over MERGE's, at most.
BAR = 0.5
# Seconds and jobs of each contender, and files kept and in all.
Pair = dict[str, dict[str, float]]


def statement(target: Path, batch: batches.Batch, ranges: str, key: str) -> str:
    names = ", ".join(tables.COLUMNS)
    sets = [
        f"t.{name} = coalesce(s.{name}, t.{name})"
        if name == "created_at"
        else f"t.{name} = s.{name}"
        for name in tables.COLUMNS
        if name != key
    ]
    return (
        f"merge into delta.`{target}` as t using (select * from delta.`{batch.path}`) as s"
        f" on {ranges} and s.{key} = t.{key}"
        " when matched and coalesce(s.seq > t.seq, s.seq is not null) then update set"
        f" {', '.join(sets)} when not matched then insert ({names}) values"
        f" ({', '.join(f's.{name}' for name in tables.COLUMNS)})"
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


def pairs(
    session: SparkSession, folder: Path, table: tables.Table, key: str, count: int
) -> Iterator[Pair]:
    for number in range(count):
        batch = batches.write(session, folder / "batch", table, batches.growth, number)
        column = session.read.format("delta").load(str(batch.path)).select(key).toArrow()[key]
        ranges = Term(key, plan(column, Request("gaps", RANGES)).ranges, or_null=False)
        pair: Pair = {}
        order = ("MERGE", "one commit") if number % 2 else ("one commit", "MERGE")
        for contender in order:
            copy = table.copy(folder / "copy")
            sql = statement(copy, batch, ranges.sql("t."), key)
            # In a run of dbt the plan before the merge has read the log.
            kept = log.skipping(session, f"delta.`{copy}`", ranges.sql(""))
            jobs, started = jobs_of(session), time.perf_counter()
            changed = run(session, contender, sql)
            seconds = time.perf_counter() - started
            if changed != batch.rows:
                raise SystemExit(f"{contender} changed {changed} rows, not {batch.rows}")
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
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as name:
        folder = Path(name)
        conf = {"spark.ui.retainedJobs": "100000"}
        home = make_home(folder / "home")
        session = engine.new_session(engine.Settings(home=home, conf=conf))
        warm = options.warm_up
        for rows, rows_per_file in TABLES:
            table = tables.make(session, folder, rows, rows_per_file)
            for key in ("id", "key"):
                measured = list(pairs(session, folder, table, key, warm + options.pairs))[warm:]
                warm = min(warm, 1)
                ratios = [p["one commit"]["seconds"] / p["MERGE"]["seconds"] for p in measured]
                for contender in ("MERGE", "one commit"):
                    seconds = [p[contender]["seconds"] for p in measured]
                    results.append(
                        {
                            "case": f"{rows:,} rows in {table.files} files,"
                            f" {'bigint' if key == 'id' else 'string'} key",
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
                            "batch_rows": batches.ROWS,
                            **provenance(),
                        }
                    )
                    print(results[-1], flush=True)
        engine.stop()
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    title = f"{batches.ROWS:,} events, {results[-1]['machine']}"
    charts.panels(CHART, results, "seconds", "seconds of the merge alone", title, "one commit")


if __name__ == "__main__":
    main()
