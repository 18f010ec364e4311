"""Two feeds to disturb: events that land as files, and change events of a Kafka broker."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from deltalake import DeltaTable
from pyarrow import fs
from pyspark import __version__ as spark_version
from support.kafka_broker import PARTITIONS, Broker

from chaos.orders import (
    POISON,
    SCHEMA,
    Event,
    Orders,
    Rows,
    feed,
    fold,
    live_rows,
    query,
    shown,
    write_project,
    wrong,
)

TOPIC = "customers"
UNAVAILABLE = "__debezium_unavailable_value"
_STREAM = {
    "format": "kafka",
    "topic": TOPIC,
    "options": {"kafka.bootstrap.servers": {"env": "BROKERS"}},
}
_MERGE = {
    "order_by": ["_position", "_source_offset"],
    "delete_when": "_op = 'd'",
    "reject_by": "_rejected",
    "keep_by": "_unavailable",
}
_CUSTOMERS = """
select * from {{ alluvium.debezium(alluvium.new_events(ref('customers_events'), 'customers_wap'),
    connector='postgresql', key='id', columns='id bigint, v bigint, amount bigint, note string') }}
"""


class Feeds:
    """What was sent to both, and what came of it.

    Attributes:
        root: of the dbt project.
        home: of the tables; moves.
        orders: the feed of files.
    """

    def __init__(self, root: Path, home: Path, broker: Broker) -> None:
        self.root, self.home, self.broker = root, home, broker
        landing = str(root / "landing/orders")
        self.orders = Orders(fs.LocalFileSystem(), landing, "landing/orders", self._table)
        # Of the topic, by partition and offset, as a consumer of Kafka's read it.
        self._records: dict[tuple[int, int], str] = {}
        self._transactions = 0
        self._states: list[Rows] = [{}]
        # By table: the batch that was merged, and the newest version of what readers see.
        self._merged: dict[str, int] = {}
        self._looked: dict[str, int] = {}

    def write(self, package: Path, engine: dict[str, Any]) -> None:
        """The dbt project of both."""
        target = {
            "type": "alluvium",
            "schema": SCHEMA,
            "home": str(self.home),
            "threads": 2,
            "wait": "10 minutes",
            "packages": [f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark_version}"],
            **({"engine": engine} if engine else {}),
        }
        customers = feed(TOPIC, _STREAM, _MERGE, _CUSTOMERS)
        write_project(self.root, package, target, self.orders.project, customers)

    def begin(self, random: Random, lacking: float = 0.0) -> list[Event]:
        """New events of both; gives those of the file."""
        self.orders.random = random
        batch = self.orders.draw()
        self.orders.land(batch)
        self.send(self.orders.draw(lacking))
        return batch

    def send(self, events: list[Event], commits: bool = True) -> None:
        """A transaction of change events, which is aborted if `commits` is not given."""
        self._transactions += 1
        producer = self.broker.producer(f"chaos-{self._transactions}")
        producer.initTransactions()
        producer.beginTransaction()
        for one in events:
            # The same key goes to the same partition, as Debezium sends it.
            producer.send(self.broker.record(TOPIC, _envelope(one), one.key % PARTITIONS))
        if commits:
            producer.commitTransaction()
        else:
            producer.flush()
            producer.abortTransaction()
        producer.close()
        # Now: a later round may delete records, or have no broker.
        for partition, offset, value in self.broker.read(TOPIC, self._ends()):
            self._records[partition, offset] = value
        self._states.append(fold(self.customers))

    def delete_records(self) -> None:
        """All that the topic has."""
        for partition, end in self._ends().items():
            self.broker.delete_before(TOPIC, partition, end)

    def lose(self) -> None:
        """New records of the topic are gone before anybody reads them."""
        before = set(self._records)
        self.send(self.orders.draw())
        self.delete_records()
        self._records = {place: self._records[place] for place in before}
        self._states.pop()

    def _ends(self) -> Counter[int]:
        """By partition, the offset behind what was sent."""
        ends = Counter[int]()
        for partition, offset in self._records:
            ends[partition] = max(ends[partition], offset + 1)
        return ends

    @property
    def customers(self) -> list[Event]:
        """The events of the topic's transactions that were committed."""
        return [_event(value) for value in self._records.values()]

    def wrong(self) -> dict[str, int]:
        """Rows that are lost, doubled and otherwise in tables, and events in bronze."""
        customers: Counter[str] = wrong(
            TOPIC, self._table, self.customers, [*self._records.values()]
        )
        return dict(self.orders.wrong() + customers)

    def shown_early(self, is_moved: bool) -> int:
        """How many tables show readers what no build has passed.

        They show all of the last build, or all that came until some moment since. In a home that
        is elsewhere now they name files of before, until the next publish.
        """
        found = 0
        for name, states in (("orders", self.orders.states), (TOPIC, self._states)):
            rows = shown(self._table(name))
            found += not is_moved if rows is None else rows not in states
        return found

    def settled(self) -> None:
        """All that was sent is in the tables: nothing of before may be seen again."""
        for states in (self.orders.states, self._states):
            del states[:-1]

    def unaudited(self) -> int:
        """Versions shown since the last look that a test of theirs would have held."""
        found = 0
        for name in ("orders", TOPIC):
            for commit in self._table(name).history():
                note = json.loads(commit.get("userMetadata") or "{}").get("alluvium_published")
                # A publish may have steps before, which change no row.
                is_new = commit["version"] > self._looked.get(name, -1)
                if is_new and note and "version" in note:
                    found += self._would_fail(f"{name}_wap", note["version"])
            self._looked[name] = self._table(name).version()
        return found

    def _would_fail(self, name: str, version: int) -> bool:
        table = self._table(name)
        table.load_as_version(version)
        [row] = query(
            table,
            f"select count(*) - count(distinct id) as n, min(amount) as least"
            f" from t {live_rows(table)}",
        )
        return bool(row["n"] > 0 or row["least"] == POISON)

    def behind(self) -> int:
        """Merged tables whose noted progress went back, or is not bronze's newest batch."""
        found = 0
        for name in ("orders", TOPIC):
            merged, bronze = self._table(f"{name}_wap"), self._table(f"{name}_events")
            app = f"alluvium/model.{SCHEMA}.{name}_wap/{merged.metadata().id}"
            noted = merged.transaction_version(app) or -1
            [newest] = query(bronze, "select max(_batch_id) as n from t")
            found += noted != newest["n"] or noted < self._merged.get(name, -1)
            self._merged[name] = noted
        return found

    def _table(self, name: str) -> DeltaTable:
        return DeltaTable(self.home / "warehouse" / f"{SCHEMA}.db" / name)


def _envelope(event: Event) -> str:
    """As Debezium's connector of PostgreSQL writes it, without a schema."""
    place = event.place
    note = UNAVAILABLE if event.lacks else event.note
    row = {"id": event.key, "v": place, "amount": event.amount, "note": note}
    source = {
        "version": "3.2.0.Final",
        "connector": "postgresql",
        "name": "shop",
        "ts_ms": 1_700_000_000_000 + place,
        "snapshot": "false",
        "db": "shop",
        "sequence": json.dumps([str(place * 100), str(place * 100 + 8)]),
        "schema": "public",
        "table": TOPIC,
        "txId": place,
        "lsn": place * 100 + 8,
    }
    before, after, op = (row, None, "d") if event.gone else (None, row, "u")
    return json.dumps(
        {"before": before, "after": after, "source": source, "op": op, "ts_ms": source["ts_ms"]}
    )


def _event(value: str) -> Event:
    envelope = json.loads(value)
    row, note = envelope["after"] or envelope["before"], None
    lacks = row["note"] == UNAVAILABLE
    if not lacks:
        note = row["note"]
    return Event(row["id"], row["v"], envelope["op"] == "d", row["amount"], note, lacks)
