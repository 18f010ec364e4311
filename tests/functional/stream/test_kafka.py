"""`streaming_table` on a Kafka broker: every event once, whatever is lost or comes twice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable
from functional.delta_rs import by_query
from functional.runner import DBT, add_jars
from functional.stream.kafka_broker import JAAS, PARTITIONS, PASSWORD, Broker, broker
from pyspark import __version__ as spark_version

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.network]

STREAM = {
    "format": "kafka",
    "topic": ["orders", "late-topic"],
    "options": {"kafka.bootstrap.servers": {"env": "BROKERS"}, "maxOffsetsPerTrigger": "70"},
}
CONFIG = {
    "name": "kafka",
    "version": "0.1.0",
    "config-version": 2,
    "profile": "p",
    "flags": {"send_anonymous_usage_stats": False},
}


@dataclass
class Bronze:
    """A dbt project, each run of which is a process of its own: Kafka's jars join at the start."""

    root: Path
    broker: Broker

    def write(self, **block: Any) -> None:
        """The project, with these keys in `meta.alluvium_stream` too."""
        self.write_streams({"events": STREAM | block})

    def write_streams(self, streams: dict[str, dict[str, Any]]) -> None:
        """The project, with a source and a table for each."""
        target = {
            "type": "alluvium",
            "schema": "bronze",
            "home": str(self.root / "home"),
            "packages": [f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark_version}"],
        }
        freshness = {"warn_after": {"count": 1, "period": "day"}}
        fresh = {"loaded_at_field": "_source_timestamp", "freshness": freshness}
        tables = [
            {"name": name, "config": {"meta": {"alluvium_stream": block}, **fresh}}
            for name, block in streams.items()
        ]
        source = {"name": "raw", "tables": tables}
        files = {
            "profiles.yml": {"p": {"target": "t", "outputs": {"t": target}}},
            "dbt_project.yml": CONFIG,
            "models/sources.yml": {"version": 2, "sources": [source]},
        }
        (self.root / "models").mkdir(exist_ok=True)
        for name, content in files.items():
            (self.root / name).write_text(yaml.safe_dump(content))
        for name in streams:
            self.write_model(name)

    def write_model(self, name: str, hook: str = "") -> None:
        (self.root / f"models/{name}.sql").write_text(
            f"{{{{ config(materialized='streaming_table', pre_hook={[hook] if hook else []}) }}}}"
            f" select * from {{{{ source('raw', '{name}') }}}}"
        )

    def run(self, *args: str, hook: str = "", fails: bool = False) -> str:
        if (self.root / "models/events.sql").exists():
            self.write_model("events", hook)
        return self.dbt("run", *args, fails=fails)

    def dbt(self, *args: str, fails: bool = False) -> str:
        done = subprocess.run(
            [*DBT, *args, "--no-use-colors", "--profiles-dir", "."],
            cwd=self.root,
            env=os.environ
            | {
                "BROKERS": self.broker.address,
                "LOGIN": self.broker.login_address,
                "JAAS": f'{JAAS}password="{PASSWORD}";',
            },
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == fails, done.stdout + done.stderr
        return done.stdout

    def lose_checkpoint(self, name: str = "events") -> None:
        shutil.rmtree(self.root / f"home/checkpoints/bronze.{name}")

    def rows(self, name: str = "events") -> list[dict[str, Any]]:
        return by_query(DeltaTable(self.root / f"home/warehouse/bronze.db/{name}")).to_pylist()

    def events(self, name: str) -> list[tuple[str, str]]:
        """Place and value of each row."""
        found = sorted(
            (row["_source_partition"], row["_source_offset"], row["_value"])
            for row in self.rows(name)
        )
        return [(f"{partition} {offset}", value) for partition, offset, value in found]

    def results(self) -> dict[str, Any]:
        """What `run_results.json` says of each table."""
        text = (self.root / "target/run_results.json").read_text()
        results = json.loads(text)["results"]
        return {one["unique_id"].split(".")[-1]: one["adapter_response"] for one in results}

    @property
    def table(self) -> DeltaTable:
        return DeltaTable(self.root / "home/warehouse/bronze.db/events")


@pytest.fixture
def bronze(tmp_path: Path) -> Iterator[Bronze]:
    with broker(tmp_path / "broker", add_jars(tmp_path / "home")) as running:
        yield Bronze(tmp_path, running)


def lines(first: int, last: int) -> list[str]:
    return [f"n:{number}\tkey-{number % 7}\tvalue-{number}" for number in range(first, last)]


def test_events_of_a_broker(bronze: Bronze) -> None:
    bronze.write(min_rows=10, max_wait="1 day")
    assert "events: up to date" in bronze.run()  # no topic yet
    bronze.write()
    bronze.broker.send("orders", [*lines(0, 98), "null\tnull\tno key", "null\ttombstone\tnull"])
    assert "events: 100 events" in bronze.run()
    check(bronze, 100)
    one = next(row for row in bronze.rows() if row["_value"] == "value-3")
    assert (one["_key"], one["_headers"]) == ("key-3", [{"key": "n", "value": b"3"}])
    by_key = {row["_key"]: row for row in bronze.rows()}
    assert by_key[None]["_value"] == "no key"
    assert (by_key["tombstone"]["_value"], by_key["tombstone"]["_headers"]) == (None, None)

    version = bronze.table.version()
    assert "events: up to date" in bronze.run()
    assert bronze.table.version() == version

    bronze.write(min_rows=10, max_wait="1 day")
    bronze.broker.send("orders", lines(98, 101))
    assert "events: waiting for min_rows (3 of 10 events)" in bronze.run()
    check(bronze, 100)
    bronze.broker.send("orders", lines(101, 120))
    assert "events: 22 events" in bronze.run()
    check(bronze, 122)
    # A topic that comes later: nobody knows how many of its events wait.
    bronze.broker.send("late-topic", lines(0, 5))
    assert "events: 5 events" in bronze.run()
    check(bronze, 127)

    # Rows that were deleted stay away while the checkpoint knows them.
    bronze.write()
    bronze.broker.send("orders", lines(120, 124))
    assert "events: 4 events" in bronze.run(
        hook="delete from {{ this }} where _source_offset = 2 and _source_partition like 'orders%'"
    )
    assert len(bronze.rows()) == 131 - PARTITIONS
    # Without it the topics are read again, and it takes exactly what it lacks.
    bronze.lose_checkpoint()
    bronze.broker.send("orders", lines(124, 126))
    assert f"events: {PARTITIONS + 2} events" in bronze.run()
    check(bronze, 133)

    newest = max(row["_batch_id"] for row in bronze.rows())
    bronze.run("--full-refresh")
    check(bronze, 133)
    assert min(row["_batch_id"] for row in bronze.rows()) > newest


def test_from_the_end_of_a_topic_on(bronze: Bronze) -> None:
    def send(*numbers: int) -> None:
        bronze.broker.send("orders", [f"n:{n}\tone\t{n}" for n in numbers])

    # One key is one partition: of the others nothing is known.
    bronze.write(options=STREAM["options"] | {"startingOffsets": "latest"})
    send(1, 2, 3)
    assert "events: up to date" in bronze.run()
    send(4, 5, 6)
    assert "events: 3 events" in bronze.run()
    bronze.lose_checkpoint()
    send(7)
    assert "events: 2 events" in bronze.run(hook="delete from {{ this }} where _value = '5'")
    assert sorted(row["_value"] for row in bronze.rows()) == ["4", "5", "6", "7"]


def test_topics_that_the_source_names(bronze: Bronze) -> None:
    def send(topic: str, *numbers: int) -> None:
        bronze.broker.send(topic, [f"n:{n}\tone\t{topic} {n}" for n in numbers])

    bronze.write(topic=["orders", "orders.dlq"])
    for topic in ("orders", "orders.dlq", "orders-dlq", "customer_orders"):
        send(topic, 1, 2)
    assert "events: 4 events" in bronze.run()
    # One is taken out of the list, and put in again: each event comes once.
    bronze.write(topic="orders")
    send("orders", 3)
    send("orders.dlq", 3)
    said = bronze.run()
    assert "events: 1 event " in said
    assert "orders.dlq: no longer read" in said
    assert "holds 2 events of topics that `topic` does not name: orders.dlq" in said
    said = bronze.run()
    assert "events: up to date" in said
    assert "does not name" not in said
    bronze.write(topic=["orders", "orders.dlq"], min_rows=1)
    send("orders", 4)
    assert "events: 2 events" in bronze.run()
    values = sorted(row["_value"] for row in bronze.rows())
    assert values == [
        *(f"orders {n}" for n in (1, 2, 3, 4)),
        *(f"orders.dlq {n}" for n in (1, 2, 3)),
    ]
    # One is made again, with more events than were read.
    bronze.broker.delete("orders")
    send("orders", *range(10, 20))
    assert "orders: made again since it was read" in bronze.run(fails=True)
    assert sorted(row["_value"] for row in bronze.rows()) == values
    assert "events: 13 events" in bronze.run("--full-refresh")
    assert "events: up to date" in bronze.run()


def of(topic: str, **options: Any) -> dict[str, Any]:
    servers = {"kafka.bootstrap.servers": {"env": "BROKERS"}}
    return {"format": "kafka", "topic": topic, "options": servers | options}


def values(first: int, last: int) -> list[str]:
    return [str(number) for number in range(first, last)]


def line(said: str, name: str) -> str:
    """What a run said of a table."""
    [found] = [one for one in said.splitlines() if f" {name}: " in one and " in " in one]
    return found


def test_bad_days(bronze: Bronze) -> None:
    kafka = bronze.broker
    names = ("aborted", "open", "beyond", "deleted", "fewer", "more", "grown")
    login: dict[str, Any] = {
        "kafka.bootstrap.servers": {"env": "LOGIN"},
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": {"env": "JAAS"},
    }
    streams = {name: of(name) for name in names} | {"aborted": of("aborted", **login)}
    uncommitted = {"kafka.isolation.level": "read_uncommitted"}
    bronze.write_streams(streams | {"beyond": of("beyond", **uncommitted)})
    for name in names:
        kafka.make(name, 2 if name == "deleted" else 1)
    producers = {name: kafka.producer(name) for name in ("aborted", "open", "beyond")}

    def begin(name: str, *sent: str) -> Any:
        producers[name].beginTransaction()
        for value in sent:
            producers[name].send(kafka.record(name, value, 0))
        producers[name].flush()

    for producer in producers.values():
        producer.initTransactions()
    for end, sent in (("commit", values(0, 5)), ("abort", ["x"] * 5), ("commit", values(5, 10))):
        begin("aborted", *sent)
        getattr(producers["aborted"], f"{end}Transaction")()
    for name, sent in (("open", values(0, 2)), ("beyond", values(0, 3))):
        kafka.write(name, *sent)
        begin(name, "in", "transaction")
    kafka.write("open", "behind")
    kafka.write("deleted", *values(0, 6))
    for name in ("fewer", "more"):
        kafka.write(name, *values(0, 30))
    kafka.write("grown", *values(0, 3))

    # The first run. Of a transaction nothing comes before its end, unless the source asks for it.
    said = bronze.run()
    assert [value for _, value in bronze.events("aborted")] == values(0, 10)
    assert "lag" not in line(said, "aborted")
    assert bronze.events("open") == [("open-0 0", "0"), ("open-0 1", "1")]
    assert "open: 2 events" in line(said, "open")
    ends = "a transaction is open in open-0 at offset 2, lag 3 (open-0 3)"
    assert line(said, "open").endswith(ends)
    result = bronze.results()["open"]
    assert (result["lag"], result["open_transactions"]) == ({"open-0": 3}, {"open-0": 2})
    assert len(bronze.events("beyond")) == 5
    assert bronze.results()["deleted"]["lag"] == {"deleted-0": 0, "deleted-1": 0}

    bronze.write_streams(streams)
    kafka.write("beyond", "behind")
    kafka.write("deleted", *values(6, 16))
    kafka.write("deleted", "other", partition=1)
    kafka.delete_before("deleted", 0, 10)
    for name, count in (("fewer", 6), ("more", 80)):
        kafka.delete(name)
        kafka.make(name)
        kafka.write(name, *(f"new {number}" for number in range(count)))
    kafka.grow("grown", 2)
    kafka.write("grown", "3", "4", partition=1)
    before = {name: bronze.events(name) for name in ("deleted", "fewer", "more")}
    said = bronze.run(fails=True)
    assert "open: waiting for open transactions in" in line(said, "open")
    # What was read before the source said read_committed is no lost data.
    assert "beyond: waiting for open transactions in" in line(said, "beyond")
    assert "a transaction is open in beyond-0 at offset 3" in line(said, "beyond")
    assert "deleted-0: offset 6 was next, the first there is 10, 4 lost" in said
    assert "--vars 'alluvium_accept_loss: deleted'" in said
    for name in ("fewer", "more"):
        assert f"{name}: made again since it was read" in said
    assert {name: bronze.events(name) for name in before} == before
    assert "grown: 2 events" in said
    assert "grown-1: new, and read from the start" in said

    for name in ("open", "beyond"):
        producers[name].commitTransaction()
    said = bronze.run("--vars", json.dumps({"alluvium_accept_loss": list(before)}))
    got = [value for _, value in bronze.events("open")]
    assert got == ["0", "1", "in", "transaction", "behind"]
    got = [value for _, value in bronze.events("beyond")]
    assert got == [*values(0, 3), "in", "transaction", "behind"]
    places = [place for place, _ in bronze.events("deleted")]
    lost = [f"deleted-0 {number}" for number in range(6, 10)]
    expected = {f"deleted-0 {number}" for number in range(16)} - set(lost) | {"deleted-1 0"}
    assert sorted(expected) == sorted(places)
    assert "4 lost (deleted-0 4)" in line(said, "deleted")
    assert bronze.results()["deleted"]["lost"] == {"deleted-0": 4}
    for name, count in (("fewer", 6), ("more", 80)):
        new = [(f"{name}#2-0 {number}", f"new {number}") for number in range(count)]
        assert sorted(bronze.events(name)) == sorted([*before[name], *new])
        assert f"{name}#2" in line(said, name)
        assert bronze.results()[name]["made_again"] == [f"{name}#2"]
    assert "grown-1" not in said

    # Later runs need no word of it; nor does a table whose checkpoint is lost.
    bronze.lose_checkpoint("more")
    for name in names:
        kafka.write(name, "last")
    said = bronze.run()
    for name in names:
        assert f"{name}: 1 event " in line(said, name)
        assert bronze.results()[name]["lost"] is None
    assert ("more#2-0 80", "last") in bronze.events("more")
    assert len(set(bronze.events("more"))) == len(bronze.events("more")) == 111

    # The last record of each partition is what is fresh, behind marks of transactions too.
    begin("open", "y")
    producers["open"].abortTransaction()
    bronze.dbt("source", "freshness", "-s", "source:raw.open", "source:raw.deleted")
    found = json.loads((bronze.root / "target/sources.json").read_text())["results"]
    for one in found:
        name = one["unique_id"].split(".")[-1]
        newest = max(row["_source_timestamp"] for row in bronze.rows(name))
        told = datetime.fromisoformat(one["max_loaded_at"])
        assert abs(told - newest).total_seconds() < 0.001
        assert one["status"] == "pass"

    # The password is in no file: no log, manifest, SQL, checkpoint.
    for path in bronze.root.rglob("*"):
        if path.is_file() and bronze.root / "broker" not in path.parents:
            assert PASSWORD.encode() not in path.read_bytes(), path


def test_a_broker_goes_away(bronze: Bronze) -> None:
    kafka = bronze.broker
    streams = {"away": of("away", maxOffsetsPerTrigger="200")}
    bronze.write_streams(streams)
    kafka.make("away")
    kafka.write("away", *values(0, 4000))
    log = bronze.root / "home/warehouse/bronze.db/away/_delta_log"

    def kill() -> None:
        while not (log / "00000000000000000003.json").exists():
            time.sleep(0.1)
        kafka.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    began = time.monotonic()
    said = bronze.run(fails=True)
    killer.join()
    assert time.monotonic() - began < 240
    assert f"source raw.away: no answer from {kafka.address}" in said
    assert 0 < len(bronze.rows("away")) < 4000
    began = time.monotonic()
    said = bronze.run(fails=True)
    assert time.monotonic() - began < 90
    assert f"source raw.away: no answer from {kafka.address}" in said
    kafka.start_again()
    bronze.run()
    offsets = sorted(row["_source_offset"] for row in bronze.rows("away"))
    assert offsets == list(range(4000))


def check(bronze: Bronze, count: int) -> None:
    """So many events, each once, and of every partition all offsets from the first on."""
    rows = bronze.rows()
    assert len(rows) == count
    offsets: dict[str, list[int]] = {}
    for row in rows:
        offsets.setdefault(row["_source_partition"], []).append(row["_source_offset"])
        assert row["_source_timestamp"] is not None
    assert all(sorted(found) == list(range(len(found))) for found in offsets.values()), offsets
    assert len([name for name in offsets if name.startswith("orders-")]) == PARTITIONS
