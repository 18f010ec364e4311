"""A feed of creates, updates and key-only deletes, batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt.adapters.spark.impl import SparkAdapter

from dbt.adapters.alluvium.impl import AlluviumAdapter

pytestmark = pytest.mark.spark

META = {
    "order_by": ["lsn"],
    "delete_when": "op = 'd'",
    "ranges": {"column": "at", "method": "min_max"},
}
DAY = "2024-01-0{} 00:00:00.000001"


@pytest.fixture(scope="module")
def project(feed: Callable[..., Any]) -> Any:
    return feed("cdc", META)


def rows(project: Any, live: bool = True) -> list[tuple[Any, ...]]:
    where = "where not coalesce(_deleted, false)" if live else ""
    frame = project.read(f"select id, lsn, v from {{s}}.items {where} order by id")
    return [tuple(row) for row in frame.astype(object).itertuples(index=False)]


def test_first_run_merges_like_any_other(project: Any) -> None:
    project.append_events(
        0,
        (1, "c", 1, DAY.format(1), "a"),
        (1, "u", 2, DAY.format(1), "b"),
        (2, "c", 3, DAY.format(2), "x"),
        (3, "d", 4, None, None),
        (2, "d", 5, None, None),
        (2, "d", 5, None, None),
        (5, "c", 6, DAY.format(1), "a"),
        (6, "c", 7, DAY.format(2), "x"),
        (6, "d", 8, None, None),
    )
    project.dbt("run")
    assert rows(project) == [(1, 2, "b"), (5, 6, "a")]
    assert project.read("select * from {s}.items").columns.tolist() == [
        "id",
        "op",
        "lsn",
        "at",
        "v",
        "_deleted",
        "_tombstone_time",
    ]
    assert project.said("items: 9 events → 1 range (min_max) →")
    figures = project.figures("items")
    assert figures["deletes"] == 3
    assert figures["files"] == 1
    assert figures["engine"] == "one_commit"
    assert figures["bytes"] > 0


def crossings(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What Jinja calls of the adapter from now on, and which macros Python calls, in order: names
    of methods that dbt-spark lacks, `execute` with the SQL, and `execute_macro` with the macro."""
    found: list[tuple[str, str]] = []
    inside: list[str] = []  # methods that Jinja has called

    def counted(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if name == "execute_macro" or not inside:
                found.append((name, str(args[0]) if name.startswith("execute") else ""))
            inside.append(name)
            try:
                return method(self, *args, **kwargs)
            finally:
                inside.pop()

        return call

    ours = AlluviumAdapter._available_ - SparkAdapter._available_
    classmethods = {"bare", "identifiers", "literal", "quote", "stored_names"}
    for name in [*(ours - classmethods), "execute", "execute_macro"]:
        monkeypatch.setattr(AlluviumAdapter, name, counted(name, getattr(AlluviumAdapter, name)))
    return found


def test_older_events_change_nothing_and_newer_ones_revive_tombstones(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.append_events(
        1,
        (2, "u", 4, DAY.format(2), "late"),
        (1, "u", 1, DAY.format(1), "late"),
        (4, "c", 9, DAY.format(4), "new"),
        (6, "u", 10, DAY.format(2), "back"),
        (5, "d", 11, None, None),
    )
    crossed = crossings(monkeypatch)
    project.dbt("run")
    monkeypatch.undo()
    # Nothing runs behind the merge here, so what follows the staged view is the merge's.
    staged = [place for place, (_, sql) in enumerate(crossed) if "items__dbt_tmp" in sql]
    assert staged, crossed
    after = [name for name, _ in crossed[staged[0] + 1 :]]
    assert [name for name in after if name != "execute_macro"] == ["merge"]
    assert 1 <= after.count("execute_macro") <= 4
    assert rows(project) == [(1, 2, "b"), (4, 9, "new"), (6, 10, "back")]
    assert project.figures("items")["rows_affected"] == 3
    # The tombstone keeps the immutable column: later ranges must find it.
    frame = project.read('select "at", lsn from {s}.items where id = 5')
    assert frame["at"].notna().all()
    assert frame["lsn"].tolist() == [11]


def test_nothing_new_is_no_commit(project: Any) -> None:
    before = project.versions("items")
    project.dbt("run")
    assert project.versions("items") == before
    assert project.said("items: nothing new")


ABOUT = """
{% macro about(sql) %}
  {%- set items = ref('items') -%}
  {%- do log('columns ' ~ run_query('describe table ' ~ items) | length, info=true) -%}
  {%- do log('versions ' ~ run_query('describe history ' ~ items) | length, info=true) -%}
  {%- do log('properties ' ~ fetch_tbl_properties(items) | length, info=true) -%}
  {%- do run_query(sql ~ items) if sql -%}
{% endmacro %}
"""
THEN = "select count(*) as n, max(v) as v from {{ ref('items') }} "


def test_ref_is_a_name_where_sql_asks_for_one(project: Any) -> None:
    history = project.session.sql("describe history cdc.items").where("operation = 'MERGE'")
    first = history.selectExpr("version", "unix_millis(timestamp) as at").orderBy("version").first()
    when = f"timestamp_millis({first['at'] + 1})"
    project.write(
        {
            "macros/about.sql": ABOUT,
            "models/lineage.sql": "select distinct {{ dbt.string_literal(ref('items')) }}"
            " as came_from from {{ ref('items') }} version as of 0"
            " right join {{ ref('items') }} as now on true",
            "models/as_it_was.sql": "{{ config(materialized='table') }}"
            + THEN
            + f"version as of {first['version']}",
            "models/then.sql": THEN + f"for timestamp as of {when} as that where that.id > 0",
        }
    )
    project.dbt("run", "--select", "lineage", "as_it_was", "then")
    assert project.sql("select came_from from {s}.lineage")["came_from"].tolist() == ["cdc.items"]
    for model in ("as_it_was", "then"):
        assert project.sql(f"select * from {{s}}.{model}").values.tolist() == [[2, "b"]]
    project.dbt("run-operation", "about", "--args", "{sql: 'select * from '}")
    columns = len(project.read("select * from {s}.items").columns)
    assert project.said(f"columns {columns}")
    assert project.said(f"versions {project.versions('items')}")
    assert project.said("properties ")
    assert not project.try_dbt("run-operation", "about", "--args", "{sql: 'update '}").success
    assert project.said("cdc.items keeps deleted rows")
    assert project.said("write `ref(…).render()`")
    project.dbt("run", "--empty", "--select", "as_it_was")
    assert project.read("select n from {s}.as_it_was")["n"].tolist() == [0]
