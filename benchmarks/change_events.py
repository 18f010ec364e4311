"""What typed change events cost beside a plain typed `from_json`.

Run with `make bench-change-events`. Events of PostgreSQL with ten columns, without a schema, are
read by one task in a warm session: `from_json` with the types, `alluvium.debezium`, and
`alluvium.debezium` below the filters that a merge has. Each round runs all of them, in alternating
order. CPU seconds are those of the JVM. Writes benchmarks/results/change_events.json.
"""

from __future__ import annotations

import argparse
import base64
import json
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from merging.home import REPOSITORY, cpu_seconds, jvm_of, keep, make_home, provenance
from pyspark.sql import SparkSession
from support.rendered import Macros

from alluvium.engine import session as engine

RESULTS = REPOSITORY / "benchmarks" / "results" / "change_events.json"
BAR = 0.5
PLAIN, MACRO, FILTERED = "from_json", "alluvium.debezium", "alluvium.debezium, filtered"
BRONZE = "_key, _source_partition, _source_offset, _source_timestamp, _batch_id"
HEADERS = pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))
COLUMNS = """id bigint, customer bigint, total decimal(12,2), quantity int, created_at timestamp,
    updated_at timestamp, day date, active boolean, status string, note string"""
# Types that `from_json` reads itself; it has no decimals in base64 and no microseconds.
TYPES = """after struct<id bigint, customer bigint, total string, quantity int, created_at bigint,
    updated_at timestamp, day int, active boolean, status string, note string>,
    op string, source struct<sequence string, ts_ms bigint>"""


def event(number: int) -> str:
    after = {
        "id": number,
        "customer": number * 7919 % 1_000_003,
        "total": base64.b64encode((number * 31 % 10**7).to_bytes(4, "big")).decode(),
        "quantity": number % 100,
        "created_at": 1_700_000_000_000_000 + number,
        "updated_at": "2026-01-08T01:02:03.123456Z",
        "day": 19_000 + number % 300,
        "active": number % 2 == 0,
        "status": ("new", "paid", "sent")[number % 3],
        "note": f"a note of order {number}, some words",
    }
    source: dict[str, object] = {
        "version": "3.2.0.Final",
        "connector": "postgresql",
        "name": "shop",
        "db": "shop",
    }
    source |= {"ts_ms": 1_700_000_000_000 + number, "snapshot": "false", "schema": "public"}
    source |= {"sequence": f'["{number}","{number + 9}"]', "table": "orders", "txId": number}
    source |= {"lsn": number + 9, "xmin": None, "ts_us": 1_700_000_000_000_000}
    of_event = {"before": None, "after": after, "source": source, "transaction": None, "op": "u"}
    return json.dumps(of_event | {"ts_ms": 1_700_000_000_100}, separators=(",", ":"))


def land(path: Path, rows: int) -> None:
    numbers = range(rows)
    bronze = pa.table(
        {
            "_key": [f'{{"id":{number}}}' for number in numbers],
            "_value": [event(number) for number in numbers],
            "_headers": pa.nulls(rows, HEADERS),
            "_source_partition": ["orders-0"] * rows,
            "_source_offset": pa.array(numbers, pa.int64()),
            "_source_timestamp": pa.nulls(rows, pa.timestamp("us", "UTC")),
            "_batch_id": pa.array([1] * rows, pa.int64()),
        }
    )
    pq.write_table(bronze, path, row_group_size=rows)


def queries() -> dict[str, str]:
    typed = Macros().debezium(
        "bronze",
        connector="postgresql",
        key="id",
        columns=COLUMNS,
        timestamps={"created_at": "microseconds"},
        decimals="precise",
    )
    read = f"(select *, from_json(_value, '{TYPES}') as e from bronze)"
    return {
        PLAIN: f"select e.after.*, e.op, e.source.sequence, {BRONZE} from {read}",
        MACRO: f"select * from {typed}",
        FILTERED: f"select * from {typed} where _rejected is null and _op <> 'd' and id >= 0",
    }


def measure(session: SparkSession, rounds: int) -> Iterator[dict[str, float]]:
    """CPU seconds of each query, round by round."""
    jvm = jvm_of(session)
    every = queries()
    for number in range(rounds + 2):
        taken = {}
        for name in every if number % 2 else reversed(every):
            before = cpu_seconds(jvm)
            session.sql(every[name]).write.format("noop").mode("overwrite").save()
            taken[name] = cpu_seconds(jvm) - before
        if number >= 2:  # two rounds to compile
            print({name: round(cpu, 2) for name, cpu in taken.items()}, flush=True)
            yield taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as name:
        folder = Path(name)
        land(folder / "bronze.parquet", options.rows)
        settings = engine.Settings(home=make_home(folder / "home"), master="local[1]")
        session = engine.new_session(settings)
        session.read.parquet(str(folder / "bronze.parquet")).createOrReplaceTempView("bronze")
        pairs = list(measure(session, options.rounds))
        engine.stop()
    for contender in (PLAIN, MACRO, FILTERED):
        ratios = [taken[PLAIN] / taken[contender] for taken in pairs]
        result = {
            "case": "10 columns, no schema",
            "contender": contender,
            "cpu_seconds": round(statistics.median(taken[contender] for taken in pairs), 2),
            "cpu_seconds_all": [round(taken[contender], 2) for taken in pairs],
            "rows_ratio": round(statistics.median(ratios), 3),
            "bar": BAR,
            "rows": options.rows,
            **provenance(),
        }
        keep(RESULTS, [result])
        print(f"{contender}: {result['rows_ratio']} of the rows a CPU second of {PLAIN}")


if __name__ == "__main__":
    main()
