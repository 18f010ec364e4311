"""Debezium's events of PostgreSQL, merged batch by batch by dbt: recorded ones, and mistakes."""

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
from functional.merge.conftest import merged
from functional.runner import REPO, Project
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
# Without a position an event is as new as its offset.
BY_OFFSET = merged(
    {
        "order_by": ["_position", "_source_offset"],
        "delete_when": "_op = 'd'",
        "reject_by": "_rejected",
        "keep_by": "_unavailable",
    },
    ORDERS.replace("'orders')", "'by_offset')").replace(
        "connector='postgresql'", "position='offset'"
    ),
)


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


def recorded() -> list[tuple[list[tuple[Any, Any]], list[tuple[Any, ...]]]]:
    """By step: the events that Debezium sent, and the rows that PostgreSQL had behind them."""
    steps, events = [], []
    _, *lines = (REPO / "tests/data/postgresql_events.jsonl").read_text().splitlines()
    for line in map(json.loads, lines):
        if "rows" in line:
            rows = [(one["id"], Decimal(str(one["total"])), one["note"]) for one in line["rows"]]
            steps.append((events, rows))
            events = []
        else:
            events.append((line["key"], line["value"]))
    return steps


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
            "models/by_offset.sql": BY_OFFSET,
            "models/orders_events.sql": bronze,
        },
    )
    project.session.sql(f"create schema if not exists {project.schema}")
    project.session.sql(f"create table {project.schema}.bronze ({cases.BRONZE}) using delta")
    (first, rows), (second, more), (emptied, _) = recorded()
    # One event is lost. The row of an incremental snapshot comes for it, in the second step.
    [lost] = (one for one in first if one[1] and (one[0]["id"], one[1]["op"]) == (1002, "c"))
    first.remove(lost)
    # A key that changes among them, the new one before the old one.
    land(project, 1, *reversed(first), (None, {"ts_ms": 5}))
    project.dbt("run")
    assert merged_rows(project) == [row for row in rows if row[0] != 1002]
    # By offset the oldest event of each key is the newest here.
    oldest = {1001: ("1", "a"), 1002: ("9.99", None), 1003: ("-0.5", "c")}
    oldest |= {1004: ("4", "a long note " * 200), 1044: ("-0.5", "c")}
    went_back = [(key, Decimal(total), note) for key, (total, note) in oldest.items()]
    assert merged_rows(project, "by_offset") == went_back
    assert "_rejected" not in project.read("select * from {s}.orders").columns

    # Delivered again from an earlier place, and more. Updates lack a value (TOAST).
    colour = event("u", 10**9, id=1044, total="3", colour="red")
    land(project, 2, *first, *second, ({"id": 1044}, colour))
    [toast] = (one for one in second if "__debezium_unavailable_value" in json.dumps(one))
    # A later commit of the same run; its first event names no table.
    other = event("u", 13, uid=1) | {"source": {"sequence": '["13","13"]'}}
    land(project, 3, ({"uid": 1}, other), *[toast] * 3)
    result = project.dbt("build")
    # What is no decimal of Spark's came in an event of its own, and in a snapshot.
    fits = [row for row in more if not row[1].is_nan()]
    wanted = [(1044, Decimal(3), None) if row[0] == 1044 else row for row in fits]
    assert merged_rows(project) == wanted
    # The newest event of each is there again.
    assert merged_rows(project, "by_offset") == wanted
    project.remove("models/by_offset.sql")
    kept = project.read("select reason, event from {s}.orders__rejected order by reason, event")
    reasons = ["missing_key", "not_an_envelope", "wrong_type: total", "wrong_type: total"]
    assert list(kept["reason"]) == reasons
    values = [json.loads(json.loads(one)["_rejected"]["value"]) for one in kept["event"]]
    assert values[1] == {"ts_ms": 5}
    refused = [(one["op"], one["after"]["total"]) for one in values[2:]]
    assert refused == [("c", "NAN"), ("r", "NAN")]
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

    # A feed that is written from a sample of the events has the same rows; to it a total is a text.
    asked = "{source: orders_events, key: id, name: copied, write: true}"
    project.dbt("run-operation", "alluvium.generate_feed", "--args", asked)
    assert project.said("wrote models/copied.sql")
    built = project.try_dbt("build", "--select", "copied").result.results
    # One of the four of the newest batch is rejected, by a table that this command has made.
    assert {
        r.node.name.split("_copied_")[0].removeprefix("alluvium_"): r.status for r in built
    } == {
        "copied": "success",
        "unique_key": "pass",
        "rejected_share": "fail",
        "undeclared_fields": "pass",
        "known_columns": "pass",
    }
    assert [row for row in merged_rows(project, "copied") if not row[1].is_nan()] == wanted
    assert not project.try_dbt("run-operation", "alluvium.generate_feed", "--args", asked).success
    assert project.said("models/copied.sql, models/copied.yml is there already")
    project.remove("models/copied.sql", "models/copied.yml")

    land(project, 4, ({"id": 5}, event("c", 14, id=5)), *emptied)
    assert not project.try_dbt("run").success
    assert project.said("the source emptied its table (TRUNCATE), at orders-0, offset 401.")
    assert merged_rows(project) == wanted
    project.write({"models/orders.sql": ORDERS.replace("key='id'", "key='id', truncate='ignore'")})
    project.dbt("run")
    assert merged_rows(project) == [(5, None, None), *wanted]


def merged_rows(project: Project, table: str = "orders") -> list[tuple[Any, ...]]:
    rows = project.read(f"select id, total, note from {{s}}.{table} where not _deleted order by id")
    return [
        (int(key), None if pd.isna(total) else Decimal(str(total)), None if pd.isna(note) else note)
        for key, total, note in rows.itertuples(index=False)
    ]
