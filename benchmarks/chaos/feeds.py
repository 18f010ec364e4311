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

from chaos.orders import SCHEMA, Event, Orders, feed, write_project, wrong

TOPIC = "customers"
_STREAM = {
    "format": "kafka",
    "topic": TOPIC,
    "options": {"kafka.bootstrap.servers": {"env": "BROKERS"}},
}
_MERGE = {
    "order_by": ["_position", "_source_offset"],
    "delete_when": "_op = 'd'",
    "reject_by": "_rejected",
}
_CUSTOMERS = """
select * from {{ alluvium.debezium(alluvium.new_events(ref('customers_events'), 'customers_wap'),
    connector='postgresql', key='id', columns='id bigint, v bigint, amount bigint') }}
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

    def begin(self, random: Random) -> list[Event]:
        """New events of both; gives those of the file."""
        self.orders.random = random
        batch = self.orders.draw()
        self.orders.land(batch)
        self.send(self.orders.draw())
        return batch

    def send(self, events: list[Event], commits: bool = True) -> None:
        """A transaction of change events, which is aborted if `commits` is not given."""
        self._transactions += 1
        producer = self.broker.producer(f"chaos-{self._transactions}")
        producer.initTransactions()
        producer.beginTransaction()
        for one in events:
            # The same key goes to the same partition, as Debezium sends it.
            producer.send(self.broker.record(TOPIC, _envelope(*one), one[0] % PARTITIONS))
        if commits:
            producer.commitTransaction()
        else:
            producer.flush()
            producer.abortTransaction()
        producer.close()
        # Now: a later round may delete records, or have no broker.
        since = Counter[int]()
        for partition, offset in self._records:
            since[partition] = max(since[partition], offset + 1)
        for partition, offset, value in self.broker.read(TOPIC, since):
            self._records[partition, offset] = value

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

    def _table(self, name: str) -> DeltaTable:
        return DeltaTable(self.home / "warehouse" / f"{SCHEMA}.db" / name)


def _envelope(key: int, place: int, gone: bool, amount: int) -> str:
    """As Debezium's connector of PostgreSQL writes it, without a schema."""
    row = {"id": key, "v": place, "amount": amount}
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
    before, after, op = (row, None, "d") if gone else (None, row, "u")
    return json.dumps(
        {"before": before, "after": after, "source": source, "op": op, "ts_ms": source["ts_ms"]}
    )


def _event(value: str) -> Event:
    envelope = json.loads(value)
    row = envelope["after"] or envelope["before"]
    return row["id"], row["v"], envelope["op"] == "d", row["amount"]
