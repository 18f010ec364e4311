"""What a backlog costs: a streaming table beside a plain append of Spark's, each in one commit.

Run with `make bench-bulk`. Lines of JSON in a landing folder, and Parquet files with a schema,
sorted or not. Each round lands new files, which both contenders append to a table of their own, in
alternating order, in one warm session. CPU seconds are those of the JVM and of Python's workers.
Writes benchmarks/results/bulk.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from merging.home import REPOSITORY, cpu_seconds, jvm_of, keep, make_home, provenance
from pyspark.sql import DataFrame, SparkSession

from alluvium import ingest as stream
from alluvium.engine import session as engine

RESULTS = REPOSITORY / "benchmarks" / "results" / "bulk.json"
PLAIN, OURS = "plain append", "streaming_table"
FILES = 6
# CPU seconds and seconds of each contender, round by round.
Taken = dict[str, list[tuple[float, float]]]


@dataclass(frozen=True)
class Case:
    """What both contenders read, and how the plain one does it.

    bar: rows a CPU second of ours, at least this share of the plain append's.
    columns: what ours selects of the source.
    """

    name: str
    rows: int
    bar: float
    spec: dict[str, Any]
    land: Callable[[Path, int], None]
    plain: Callable[[SparkSession, Path], DataFrame]
    columns: str = "*"
    sort_by: tuple[str, ...] = ()


def land_lines(folder: Path, rows: int) -> None:
    folder.mkdir()
    for part in range(FILES):
        with (folder / f"part-{part}.json").open("w") as lines:
            for number in range(part, rows, FILES):
                one = {"id": number, "customer": number * 7919 % 1_000_003, "status": "paid"}
                one |= {"at": "2026-01-08T01:02:03.123456Z", "note": f"a note of order {number}"}
                lines.write(json.dumps(one) + "\n")


def land_rows(folder: Path, rows: int) -> None:
    folder.mkdir()
    draw = np.random.default_rng(0)
    for part in range(FILES):
        count = rows // FILES
        table = pa.table(
            {
                "id": draw.permutation(count) * FILES + part,
                "customer": draw.integers(0, 1_000_000, count),
                "total": draw.random(count) * 1000,
                "status": draw.choice(["new", "paid", "sent"], count),
                "note": [f"a note of order {number}" for number in draw.integers(0, 10**9, count)],
            }
        )
        pq.write_table(table, folder / f"part-{part}.parquet")


def appended(session: SparkSession, case: Case, folder: Path) -> None:
    """One run of ours."""
    feed = stream.parse_spec("bulk.feed", case.spec).resolve(folder, None)
    target = stream.Target("ours", str(folder / "checkpoint"), sort_by=case.sort_by)
    done = stream.append(session, feed, f"select {case.columns} from `feed`", "feed", target)
    assert (done.rows, done.output_files) == (case.rows, 1), (case.name, done)


def cases(lines: int, rows: int) -> Iterator[Case]:
    def sorted_rows(session: SparkSession, landed: Path) -> DataFrame:
        return parquet(session, landed).sortWithinPartitions("customer", "id")

    def parquet(session: SparkSession, landed: Path) -> DataFrame:
        return session.read.parquet(str(landed))

    def text(session: SparkSession, landed: Path) -> DataFrame:
        return session.read.text(str(landed))

    spec = {"format": "json", "path": "landing"}
    yield Case(f"JSON lines, {lines:,}", lines, 0.4, spec, land_lines, text)
    typed = "id bigint, customer bigint, total double, status string, note string"
    spec = {"format": "parquet", "path": "landing", "schema": typed}
    name, by = f"Parquet, {rows:,} rows", ("customer", "id")
    columns = "id, customer, total, status, note, _source_partition, _source_offset"
    yield Case(name, rows, 0.8, spec, land_rows, parquet, columns)
    yield Case(f"{name}, sorted", rows, 0.8, spec, land_rows, sorted_rows, columns, by)


def paired(
    case: str,
    rounds: int,
    prepare: Callable[[int], Any],
    contenders: dict[str, Callable[[Any], None]],
    jvm: int,
) -> Taken:
    """Run the contenders round by round, in alternating order.

    Args:
        rounds: that count; one before them makes the tables, and another compiles.
        prepare: from a round's number what its contenders get.
        jvm: whose CPU seconds, and its children's, are counted.
    """
    taken: Taken = {who: [] for who in contenders}
    for number in range(rounds + 2):
        given = prepare(number)
        for who in [*contenders] if number % 2 else reversed(contenders):
            started, before = time.perf_counter(), cpu_seconds(jvm)
            contenders[who](given)
            spent = cpu_seconds(jvm) - before, time.perf_counter() - started
            if number > 1:
                taken[who].append(spent)
            print(case, who, *(round(one, 2) for one in spent), flush=True)
    return taken


def measure(session: SparkSession, case: Case, folder: Path, rounds: int) -> Taken:
    def land(number: int) -> Path:
        landed = folder / "landing" / f"round-{number}"
        case.land(landed, case.rows)
        return landed

    def plain(landed: Path) -> None:
        rows = case.plain(session, landed)
        rows.write.format("delta").mode("append").saveAsTable("plain")

    def ours(_: Path) -> None:
        appended(session, case, folder)

    (folder / "landing").mkdir(parents=True)
    contenders = {PLAIN: plain, OURS: ours}
    taken = paired(case.name, rounds, land, contenders, jvm_of(session))
    for table in ("plain", "ours"):
        session.sql(f"drop table {table}")
    return taken


def results(case: str, rows: int, bar: float, taken: Taken) -> Iterator[dict[str, Any]]:
    """Of pairs of CPU seconds and seconds, round by round."""
    plain = [cpu for cpu, _ in taken[PLAIN]]
    for who, every in taken.items():
        cpu = statistics.median(cpu for cpu, _ in every)
        shares = [base / one for base, (one, _) in zip(plain, every, strict=True)]
        print(f"{case}: {who}: {cpu:.1f} CPU s, {statistics.median(shares):.2f} of plain")
        yield {
            "case": case,
            "contender": who,
            "seconds": round(statistics.median(seconds for _, seconds in every), 2),
            "cpu_seconds": round(cpu, 2),
            "cpu_seconds_all": [round(one, 2) for one, _ in every],
            "rows_per_cpu_second": round(rows / cpu),
            "share": round(statistics.median(shares), 2),
            "bar": bar,
            **provenance(),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", default="", help="only the cases with this in their name")
    parser.add_argument("--lines", type=int, default=1_500_000)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as name:
        folder = Path(name)
        settings = engine.Settings(home=make_home(folder / "home"), master="local[2]")
        session = engine.new_session(settings)
        for number, case in enumerate(cases(options.lines, options.rows)):
            if options.case in case.name:
                taken = measure(session, case, folder / str(number), options.rounds)
                keep(RESULTS, list(results(case.name, case.rows, case.bar, taken)))
        engine.stop()


if __name__ == "__main__":
    main()
