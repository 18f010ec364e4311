"""Two feeds to disturb: events that land as files, and change events of a Kafka broker.

What was sent is kept in Python, and folded by DuckDB: what the tables must hold, without our code.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import yaml
from deltalake import DeltaTable, QueryBuilder
from pyspark import __version__ as spark_version
from support.kafka_broker import PARTITIONS, Broker

SCHEMA = "feeds"
TOPIC = "customers"
KEYS = 400
POISON = -1
_SOURCES = {
    "orders": {"format": "json", "path": "landing/orders"},
    TOPIC: {
        "format": "kafka",
        "topic": TOPIC,
        "options": {"kafka.bootstrap.servers": {"env": "BROKERS"}},
    },
}
_MERGED = """
{{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id',
    meta={{'alluvium_merge': {merge}, 'alluvium_layout': {{'sort_by': ['id'], 'fan_in': 2}}}},
    post_hook="{{{{ alluvium.compact(this) }}}}") }}}}
"""
_ORDERS = """
select o.*, _batch_after, _batch_through
from {{ alluvium.new_events(ref('order_events'), 'orders_wap') }}
lateral view inline(array(from_json(_value, 'id bigint, op string, v bigint, amount bigint'))) o
"""
_CUSTOMERS = """
select * from {{ alluvium.debezium(alluvium.new_events(ref('customer_events'), 'customers_wap'),
    connector='postgresql', key='id', columns='id bigint, v bigint, amount bigint') }}
"""
_STREAM = (
    "{{{{ config(materialized='streaming_table') }}}} select * from {{{{ source('raw', '{}') }}}}"
)
_PUBLISHED = "{{{{ config(materialized='published') }}}} select * from {{{{ ref('{}') }}}}"
_OF_ORDERS = {"order_by": "v", "delete_when": "op = 'd'"}
_OF_CUSTOMERS = {
    "order_by": ["_position", "_source_offset"],
    "delete_when": "_op = 'd'",
    "reject_by": "_rejected",
}


def project(root: Path, package: Path, home: Path, engine: dict[str, Any]) -> None:
    """Write the dbt project of both feeds."""
    tables = [
        {"name": name, "config": {"meta": {"alluvium_stream": block}}}
        for name, block in _SOURCES.items()
    ]
    checked = [
        {"name": name, "columns": [{"name": "id", "data_tests": ["unique", "not_null"]}]}
        for name in ("orders_wap", "customers_wap")
    ]
    target = {
        "type": "alluvium",
        "schema": SCHEMA,
        "home": str(home),
        "threads": 2,
        "wait": "10 minutes",
        "packages": [f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark_version}"],
        **({"engine": engine} if engine else {}),
    }
    files = {
        "dbt_project.yml": yaml.safe_dump(
            {
                "name": SCHEMA,
                "profile": "p",
                "flags": {"send_anonymous_usage_stats": False, "use_colors": False},
            }
        ),
        "profiles.yml": yaml.safe_dump({"p": {"target": "t", "outputs": {"t": target}}}),
        "packages.yml": yaml.safe_dump({"packages": [{"local": str(package)}]}),
        "models/raw.yml": yaml.safe_dump(
            {"sources": [{"name": "raw", "tables": tables}], "models": checked}
        ),
        "models/order_events.sql": _STREAM.format("orders"),
        "models/customer_events.sql": _STREAM.format(TOPIC),
        "models/orders_wap.sql": _MERGED.format(merge=_OF_ORDERS) + _ORDERS,
        "models/customers_wap.sql": _MERGED.format(merge=_OF_CUSTOMERS) + _CUSTOMERS,
        "models/orders.sql": _PUBLISHED.format("orders_wap"),
        "models/customers.sql": _PUBLISHED.format("customers_wap"),
        "tests/no_poison.sql": f"select * from {{{{ ref('orders_wap') }}}} where amount = {POISON}",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@dataclass
class Feeds:
    """What was sent to both, and what came of it.

    Attributes:
        home: of the tables; moves.
        orders, customers: each event that was sent, in order: key, place in its source, whether it
            deletes, and a value. Of customers those of transactions that were committed.
        lines, records: each text that bronze must have once: of files, and of the topic.
    """

    root: Path
    home: Path
    broker: Broker
    random: Random
    orders: list[tuple[int, int, bool, int]] = field(default_factory=list)
    customers: list[tuple[int, int, bool, int]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    records: list[str] = field(default_factory=list)
    _files: int = 0
    _place: int = 0

    def draw(self) -> list[tuple[int, int, bool, int]]:
        """Events around some keys, a few of them late, as many transactions as events."""
        hot = self.random.randrange(KEYS)
        places = list(range(self._place + 1, self._place + 41))
        self._place = places[-1]
        for _ in range(3):
            one, other = self.random.randrange(40), self.random.randrange(40)
            places[one], places[other] = places[other], places[one]
        return [
            (
                int(self.random.gauss(hot, 12)) % KEYS,
                place,
                self.random.random() < 0.15,
                self.random.randrange(1_000_000),
            )
            for place in places
        ]

    def poison(self) -> Callable[[], None]:
        """Land a row that breaks a test; gives what mends it."""
        key, place, *_ = self.draw()[0]
        self.land([(key, place, False, POISON)])

        def mend() -> None:
            self._place += 1
            self.land([(key, self._place, False, 7)])

        return mend

    def land(self, events: list[tuple[int, int, bool, int]]) -> None:
        """A file of orders."""
        lines = [
            json.dumps({"id": key, "v": place, "op": "d" if gone else "u", "amount": amount})
            for key, place, gone, amount in events
        ]
        folder = self.root / "landing/orders"
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f".{self._files}.tmp"
        draft.write_text("".join(f"{line}\n" for line in lines))
        draft.rename(folder / f"{self._files}.json")
        self._files += 1
        self.orders += events
        self.lines += lines

    def send(self, events: list[tuple[int, int, bool, int]], commits: bool = True) -> None:
        """A transaction of change events, which is aborted if `commits` is not given."""
        producer = self.broker.producer(f"chaos-{self._place}")
        producer.initTransactions()
        producer.beginTransaction()
        values = [_envelope(*one) for one in events]
        for (key, *_), value in zip(events, values, strict=True):
            # The same key goes to the same partition, as Debezium sends it.
            producer.send(self.broker.record(TOPIC, value, key % PARTITIONS))
        if commits:
            producer.commitTransaction()
            self.customers += events
            self.records += values
        else:
            producer.flush()
            producer.abortTransaction()
        producer.close()

    def wrong(self) -> dict[str, int]:
        """Rows that are lost, doubled and otherwise in tables, and events in bronze."""
        found: Counter[str] = Counter()
        for name, sent in (("orders", self.orders), ("customers", self.customers)):
            wanted = _fold(sent)
            for table in (f"{name}_wap", name):
                rows = self._rows(table)
                got = {key: (place, amount) for key, place, amount in rows}
                found["doubled"] += len(rows) - len(got)
                found["lost"] += len(wanted.keys() - got.keys())
                found["wrong"] += sum(wanted.get(key) != one for key, one in got.items())
        for table, texts in (("order_events", self.lines), ("customer_events", self.records)):
            bronze = self._query(table, "select _value from t")
            there, sent_texts = Counter(one["_value"] for one in bronze), Counter(texts)
            found["bronze_doubled"] += sum((there - sent_texts).values())
            found["bronze_lost"] += sum((sent_texts - there).values())
        return dict(found)

    def shown(self) -> dict[int, tuple[int, int]]:
        """What readers see of the orders."""
        return {key: (place, amount) for key, place, amount in self._rows("orders")}

    def _rows(self, table: str) -> list[tuple[int, int, int]]:
        names = {one.name for one in self._table(table).schema().fields}
        live = "where not coalesce(_deleted, false)" if "_deleted" in names else ""
        rows = self._query(table, f"select id, v, amount from t {live}")
        return [(one["id"], one["v"], one["amount"]) for one in rows]

    def _query(self, table: str, query: str) -> list[dict[str, Any]]:
        # By a query: it reads deletion vectors, which Arrow's reader refuses.
        read = QueryBuilder().register("t", self._table(table)).execute(query).read_all()
        found: list[dict[str, Any]] = pa.table(read).to_pylist()
        return found

    def _table(self, name: str) -> DeltaTable:
        return DeltaTable(self.home / "warehouse" / f"{SCHEMA}.db" / name)


def _fold(events: list[tuple[int, int, bool, int]]) -> dict[int, tuple[int, int]]:
    """The newest event of each key, but for those that delete."""
    if not events:
        return {}
    with duckdb.connect() as duck:
        duck.execute("create table e (id int, v bigint, gone boolean, amount bigint)")
        duck.executemany("insert into e values (?, ?, ?, ?)", events)
        rows = duck.execute(
            "select id, max(v), arg_max(amount, v) from e group by id having not arg_max(gone, v)"
        )
        return {key: (place, amount) for key, place, amount in rows.fetchall()}


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
