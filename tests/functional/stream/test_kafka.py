"""`streaming_table` on a Kafka broker: every event once, whatever is lost or comes twice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from functional.runner import add_jars
from functional.stream.kafka_project import STREAM, Bronze
from support.kafka_broker import PARTITIONS, broker

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.network]


@pytest.fixture
def bronze(tmp_path: Path) -> Iterator[Bronze]:
    with broker(tmp_path / "broker", add_jars(tmp_path / "home")) as running:
        yield Bronze(tmp_path, running)


def lines(first: int, last: int) -> list[str]:
    return [f"n:{number}\tkey-{number % 7}\tvalue-{number}" for number in range(first, last)]


@pytest.mark.proves("Kafka", on="embedded")
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
    # In topics of their own, which the checks of offsets below do not know.
    bronze.write(topic=["orders", "large", "compacted"])
    bronze.broker.make("large")
    bronze.broker.write("large", "x" * 20_000_000)
    left = bronze.broker.make_compacted(
        "compacted", [f"n:{n}\tkey-{n % 3}\t{n}" for n in range(99)]
    )
    assert len(left) < 99
    assert f"events: {1 + len(left)} events" in bronze.run()
    compacted = [row for row in bronze.rows() if row["_source_partition"] == "compacted-0"]
    assert sorted(row["_source_offset"] for row in compacted) == left
    assert {row["_value"] for row in compacted} >= {"96", "97", "98", "last"}
    [large] = [row["_value"] for row in bronze.rows() if row["_source_partition"] == "large-0"]
    assert (len(large), set(large)) == (20_000_000, {"x"})
    bronze.write()
    bronze.run(hook="delete from {{ this }} where _source_partition in ('large-0', 'compacted-0')")

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

    shutil.copytree(bronze.root / "home/checkpoints/bronze.events", bronze.root / "backup")
    # Rows that were deleted stay away while the checkpoint knows them.
    bronze.write()
    bronze.broker.send("orders", lines(120, 124))
    assert "events: 4 events" in bronze.run(
        hook="delete from {{ this }} where _source_offset = 2 and _source_partition like 'orders%'"
    )
    assert len(bronze.rows()) == 131 - PARTITIONS
    # One out of a backup stops each run: under its numbers the table has other events.
    bronze.lose_checkpoint()
    shutil.copytree(bronze.root / "backup", bronze.root / "home/checkpoints/bronze.events")
    bronze.broker.send("orders", lines(124, 126))
    for _ in range(2):
        assert "is older than the table. Delete that folder" in bronze.run(fails=True)
    # Without it the topics are read again, and it takes exactly what it lacks.
    bronze.lose_checkpoint()
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
