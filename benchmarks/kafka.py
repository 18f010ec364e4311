"""What a backlog of Kafka costs: a streaming table beside a plain Structured Streaming append.

Run with `make bench-kafka`. A broker runs on this machine.

    append: 1,000,000 events of 4 partitions, in one commit. Each round sends new ones, which both
        contenders append to a table of their own, in alternating order, in one warm session. CPU
        seconds are those of the JVM and of Python's workers.
    drained: 5,000,000 events, by `dbt build` through bronze, merge and publish until nothing waits.
        The peak of the resident memory of dbt, its JVM and Python's workers.

Writes benchmarks/results/kafka.json.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bulk import OURS, PLAIN, paired, results
from chaos.orders import SCHEMA, feed, live_rows, query, write_project
from deltalake import DeltaTable
from merging.home import REPOSITORY, family, jvm_of, keep, make_home, provenance
from pyspark import __version__ as spark_version
from pyspark.sql import SparkSession
from support.kafka_broker import Broker, broker

from alluvium import ingest as stream
from alluvium.engine import session as engine

RESULTS = REPOSITORY / "benchmarks" / "results" / "kafka.json"
PACKAGE = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark_version}"
PARTITIONS = 4
APPEND_BAR, GIB_BAR = 0.65, 4.0
DRAIN = ("-c", "from dbt.cli.main import cli; cli()", "build")
MERGED = """
select o.*, _batch_after, _batch_through
from {{ alluvium.new_events(ref('orders_events'), 'orders_wap', at_most=2000000) }}
lateral view inline(array(from_json(_value, 'id bigint, op string, v bigint, note string'))) o
"""


def send(session: SparkSession, running: Broker, topic: str, first: int, rows: int) -> None:
    """Orders numbered from `first` on, over all partitions."""
    session.sql(
        f"""select cast(id as string) as key, to_json(struct(
               id % 2000000 as id, if(id % 20 = 0, 'd', 'u') as op, id as v,
               concat('a note of order ', id) as note)) as value
            from range({first}, {first + rows})"""
    ).write.format("kafka").options(
        **{"kafka.bootstrap.servers": running.address, "topic": topic}
    ).save()


def options(running: Broker) -> dict[str, Any]:
    return {"kafka.bootstrap.servers": running.address}


def append(session: SparkSession, running: Broker, folder: Path, rows: int, rounds: int) -> Any:
    """CPU seconds and seconds of each contender, round by round."""
    running.make("orders", PARTITIONS)
    spec = {"format": "kafka", "topic": "orders", "options": options(running)}

    def ours(_: None) -> None:
        bronze = stream.parse_spec("bench.orders", spec).resolve(folder, None)
        target = stream.Target("ours", str(folder / "checkpoint"))
        done = stream.append(session, bronze, "select * from `feed`", "feed", target)
        assert (done.rows, done.output_files) == (rows, PARTITIONS), done

    taken = paired(
        "append",
        rounds,
        lambda number: send(session, running, "orders", number * rows, rows),
        {PLAIN: lambda _: plain(session, running, folder), OURS: ours},
        jvm_of(session),
    )
    assert session.table("plain").count() == session.table("ours").count() == rows * (rounds + 2)
    return taken


def plain(session: SparkSession, running: Broker, folder: Path) -> None:
    source = session.readStream.format("kafka").options(
        **options(running),
        subscribe="orders",
        startingOffsets="earliest",
        includeHeaders="true",
    )
    columns = [f"cast({name} as string)" for name in ("key", "value")]
    rows = source.load().selectExpr(
        *columns, "headers", "topic", "partition", "offset", "timestamp"
    )
    writer = rows.writeStream.format("delta").option("checkpointLocation", f"{folder}/plain")
    writer.trigger(availableNow=True).toTable("plain").awaitTermination()


def drained(session: SparkSession, running: Broker, folder: Path, jars: Path, rows: int) -> Any:
    running.make("drained", PARTITIONS)
    send(session, running, "drained", 0, rows)
    engine.stop()
    home = make_home(folder / "drained-home", jars)
    target = {
        "type": "alluvium",
        "schema": SCHEMA,
        "home": str(home),
        "threads": 2,
        "packages": [PACKAGE],
    }
    source = {"format": "kafka", "topic": "drained", "options": options(running)}
    merge = {"order_by": "v", "delete_when": "op = 'd'"}
    root = folder / "project"
    root.mkdir()
    write_project(root, REPOSITORY, target, feed("orders", source, merge, MERGED))
    environment = {**os.environ, "DBT_PROFILES_DIR": str(root)}
    deps = [sys.executable, *DRAIN[:2], "deps"]
    subprocess.run(deps, cwd=root, env=environment, check=True, capture_output=True)
    started, peak, builds, newest = time.perf_counter(), 0.0, 0, -1
    while newest < rows - 1:
        build = subprocess.Popen([sys.executable, *DRAIN], cwd=root, env=environment)
        with highest(build.pid) as seen:
            if build.wait():
                raise SystemExit("the build failed")
        peak, builds = max(peak, seen[0]), builds + 1
        before, newest = newest, _read(home, "orders_wap", "max(v) as v")["v"]
        if newest == before:
            raise SystemExit(f"a build brought nothing behind event {newest:,}")
    assert _read(home, "orders_events", "count(*) as n")["n"] == rows
    # Each key's newest event is its last one; each twentieth number is a delete.
    live = sum(last % 20 != 0 for last in range(rows - min(rows, 2_000_000), rows))
    assert _read(home, "orders", "count(*) as n")["n"] == live
    print(f"{rows:,} events in {builds} builds: peak {peak:.2f} GiB", flush=True)
    return {
        "case": f"drained, {rows:,} events",
        "contender": OURS,
        "seconds": round(time.perf_counter() - started, 1),
        "builds": builds,
        "peak_gib": round(peak, 2),
        "bar": GIB_BAR,
        **provenance(),
    }


def _read(home: Path, table: str, columns: str) -> dict[str, Any]:
    opened = DeltaTable(home / "warehouse" / f"{SCHEMA}.db" / table)
    live = live_rows(opened) if table == "orders" else ""
    [row] = query(opened, f"select {columns} from t {live}")
    return row


@contextmanager
def highest(process: int) -> Iterator[list[float]]:
    """The most GiB that a process and all below it have had resident at once; in a list of one."""
    seen, ended = [0.0], threading.Event()

    def look() -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        while not ended.wait(0.5):
            pages = sum(int(fields[21]) for fields in family(process).values())
            seen[0] = max(seen[0], pages * page / 2**30)

    watch = threading.Thread(target=look)
    watch.start()
    try:
        yield seen
    finally:
        ended.set()
        watch.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=("append", "drained"))
    parser.add_argument("--rows", type=int, default=1_000_000, help="of `append`, a round")
    parser.add_argument("--events", type=int, default=5_000_000, help="of `drained`")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as name:
        folder = Path(name)
        home = make_home(folder / "home")
        with broker(folder / "broker", make_home(folder / "broker-home")) as running:
            settings = engine.Settings(home=home, master="local[2]", packages=(PACKAGE,))
            session = engine.new_session(settings)
            try:
                if given.case != "drained":
                    taken = append(session, running, folder, given.rows, given.rounds)
                    about = f"append, {given.rows:,} events"
                    keep(RESULTS, list(results(about, given.rows, APPEND_BAR, taken)))
                if given.case != "append":
                    jars = home / "jars"
                    keep(RESULTS, [drained(session, running, folder, jars, given.events)])
            finally:
                engine.stop()


if __name__ == "__main__":
    main()
