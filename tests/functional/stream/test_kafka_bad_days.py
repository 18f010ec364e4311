"""`streaming_table` on Kafka's bad days: each has its outcome, and nothing is lost in silence."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from functional.runner import add_jars
from functional.stream.kafka_project import Bronze
from support.kafka_broker import PASSWORD, broker

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.network]


@pytest.fixture
def bronze(tmp_path: Path) -> Iterator[Bronze]:
    with broker(tmp_path / "broker", add_jars(tmp_path / "home")) as running:
        yield Bronze(tmp_path, running)


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
        assert "lost" not in bronze.results()[name]
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
