"""Debezium's events of PostgreSQL, merged batch by batch by dbt."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from functional import delta_rs
from functional.runner import Project
from functional.stream import change_event_cases as cases

pytestmark = pytest.mark.spark

SOURCES = """
version: 2
sources:
  - name: raw
    schema: "{{ target.schema }}"
    tables: [{name: bronze}]
models:
  - name: orders
    config:
      materialized: incremental
      unique_key: id
      meta:
        alluvium_merge:
          order_by: [_position, _source_offset]
          delete_when: _op = 'd'
          reject_by: _rejected
          keep_by: _unavailable
    data_tests:
      - alluvium.undeclared_fields:
          arguments: {events: "source('raw', 'bronze')", table: public.orders}
      - alluvium.rejected_share:
          arguments: {events: "source('raw', 'bronze')", max: 0.3}
"""
ORDERS = """
select * from {{ alluvium.debezium(
    alluvium.new_events(source('raw', 'bronze'), 'orders'), connector='postgresql', key='id',
    columns='id bigint, total decimal(12,2), note string'
) }}
"""


def land(project: Any, batch: int, *events: Any) -> None:
    """Append events, as (key, value), to bronze."""
    rows = [
        (key and json.dumps(key), value and json.dumps(value), "orders-0", batch * 100 + i, batch)
        for i, (key, value) in enumerate(events)
    ]
    names = ["_key", "_value", "_source_partition", "_source_offset", "_batch_id"]
    made = pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})
    # A backlog: the events of all batches are old.
    then = dt.datetime.now(dt.UTC) - dt.timedelta(days=9)
    times = pa.array([then] * len(rows), pa.timestamp("us", "UTC"))
    folder = delta_rs.folder_of(project.home, project.schema, "bronze")
    write_deltalake(
        folder, made.append_column("_source_timestamp", times), mode="append", schema_mode="merge"
    )


def event(op: str, place: int, **row: Any) -> dict[str, Any]:
    image = {"before" if op == "d" else "after": row} if row else {}
    return cases.postgres(op, sequence=f'["{place}","{place}"]') | image


def test_a_feed_of_postgresql(make_project: Callable[[str, dict[str, str]], Project]) -> None:
    """Merged in any order and again, rejected events kept with their reasons, a TRUNCATE stops."""
    bronze = "select * from {{ source('raw', 'bronze') }}"
    project = make_project(
        "debezium",
        {
            "models/sources.yml": SOURCES,
            "models/orders.sql": ORDERS,
            "models/orders_events.sql": bronze,
        },
    )
    project.session.sql(f"create schema if not exists {project.schema}")
    project.session.sql(f"create table {project.schema}.bronze ({cases.BRONZE}) using delta")
    first = [
        ({"id": 1}, event("r", 0, id=1, total="1.00", note="a")),
        ({"id": 1}, event("u", 7, id=1, total="2.00", note="b")),
        ({"id": 2}, event("c", 8, id=2, total="9.999")),
        ({"id": 2}, event("c", 9, id=2, total="9.99")),
        # A changed key, the new one before the old one.
        ({"id": 44}, event("c", 10, id=44, note="moved")),
        ({"id": 4}, event("d", 10, id=4)),
        ({"id": 4}, None),
        (None, {"ts_ms": 5}),
    ]
    land(project, 1, *first)
    project.dbt("run")
    wanted = [(1, Decimal("2.00"), "b"), (2, Decimal("9.99"), None), (44, None, "moved")]
    assert merged_rows(project) == wanted
    kept = project.read("select reason, event from {s}.orders__rejected order by reason")
    assert list(kept["reason"]) == ["not_an_envelope", "wrong_type: total"]
    assert json.loads(json.loads(kept["event"][0])["_rejected"]["value"]) == {"ts_ms": 5}
    assert "_rejected" not in project.read("select * from {s}.orders").columns

    # Delivered again from an earlier place, and two events more; one lacks a value (TOAST).
    toast = event("u", 11, id=1, total="2.50", note=cases.PLACEHOLDER)
    colour = event("u", 12, id=2, total="3", colour="red")
    land(project, 2, *first[:2], ({"id": 1}, toast), ({"id": 2}, colour))
    # A later commit of the same run; its first event names no table.
    other = event("u", 13, uid=1) | {"source": {"sequence": '["13","13"]'}}
    land(project, 3, ({"uid": 1}, other), *[({"id": 1}, toast)] * 3)
    result = project.dbt("build")
    wanted[:2] = [(1, Decimal("2.50"), "b"), (2, Decimal(3), None)]
    assert merged_rows(project) == wanted
    tests = {
        r.node.name.split("_")[1]: r for r in result.result.results if "alluvium" in r.node.name
    }
    assert {name: (r.status, r.failures) for name, r in tests.items()} == {
        "undeclared": ("warn", 1),
        "rejected": ("pass", 0),
    }
    # One of the four events of the newest batch, though all are older than a day.
    compiled = tests["rejected"].node.compiled_code
    [row] = project.session.sql(compiled.replace("> 0.3 *", "> 0.24 *")).collect()
    assert (row.rejected_events, row.all_events) == (1, 4)

    # A feed that is written from a sample of the events has the same rows.
    asked = "{source: orders_events, key: id, name: copied, write: true}"
    project.dbt("run-operation", "alluvium.generate_feed", "--args", asked)
    assert project.said("wrote models/copied.sql")
    project.dbt("run", "--select", "copied")
    assert merged_rows(project, "copied") == wanted
    assert not project.try_dbt("run-operation", "alluvium.generate_feed", "--args", asked).success
    assert project.said("models/copied.sql, models/copied.yml is there already")
    project.remove("models/copied.sql", "models/copied.yml")

    land(project, 4, ({"id": 5}, event("c", 14, id=5)), (None, event("t", 15)))
    assert not project.try_dbt("run").success
    assert project.said("the source emptied its table (TRUNCATE), at orders-0, offset 401.")
    assert merged_rows(project) == wanted
    project.write({"models/orders.sql": ORDERS.replace("key='id'", "key='id', truncate='ignore'")})
    project.dbt("run")
    assert merged_rows(project) == [*wanted[:2], (5, None, None), wanted[2]]


def merged_rows(project: Project, table: str = "orders") -> list[tuple[Any, ...]]:
    rows = project.read(f"select id, total, note from {{s}}.{table} where not _deleted order by id")
    return [
        (int(key), None if pd.isna(total) else Decimal(str(total)), None if pd.isna(note) else note)
        for key, total, note in rows.itertuples(index=False)
    ]
