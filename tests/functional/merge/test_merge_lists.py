"""dbt's own keys that name columns or hold SQL: texts, lists, empty lists, unknown names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ORDERED = {"alluvium_merge": {"order_by": "v"}}
TEXT = "DBT_INTERNAL_DEST.v > 0"
QUERY = "select 1 as id, {{ var('n', 1) }} as v, 'a{{ var('n', 1) }}' as name"
DELETES = ORDERED["alluvium_merge"] | {"delete_when": "nmae = 'gone'"}


def model(query: str = QUERY, **config: Any) -> str:
    given = {"materialized": "incremental", "incremental_strategy": "merge", "unique_key": "id"}
    pairs = ", ".join(f"{key}={value!r}" for key, value in (given | config).items())
    return "{{ config(" + pairs + ") }}\n" + query


PYTHON = """
def model(dbt, session):
    dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id", {})
    again = session.catalog.tableExists(f"{{dbt.this.schema}}.{{dbt.this.identifier}}")
    rows = [(1, 2, "a2")] if again else [(1, 1, "a1")]
    return session.createDataFrame(rows, "id int, v int, name string")
"""
# What the second run leaves: (v, name).
KEPT = {
    "none": (model(merge_update_columns=[], meta=ORDERED), (1, "a1")),
    "none_plain": (model(merge_update_columns=[]), (1, "a1")),
    "ticks": (
        model(merge_update_columns="`name`", incremental_predicates=f"{TEXT} -- all", meta=ORDERED),
        (2, "a2"),
    ),
    "ticks_plain": (model(merge_update_columns="`name`", incremental_predicates=TEXT), (1, "a2")),
    "excluded": (model(merge_exclude_columns="`name`", meta=ORDERED), (2, "a1")),
    "excluded_plain": (model(merge_exclude_columns="`name`", partition_by=[]), (2, "a1")),
    "all_excluded": (model(merge_exclude_columns=["id", "v", "name"]), (1, "a1")),
}
WRONG = {
    "updates": (model(merge_update_columns=["nmae"], meta=ORDERED), "merge_update_columns", "name"),
    "excludes": (model(merge_exclude_columns="nmae"), "merge_exclude_columns", "name"),
    "key": (model(unique_key=["id", "nmae"]), "unique_key", "name"),
    "parts": (
        model(partition_by="nmae", incremental_strategy="insert_overwrite"),
        "partition_by",
        "name",
    ),
    "table": (model(materialized="table", partition_by=["nmae"]), "partition_by", "name"),
    "deletes": (model(meta={"alluvium_merge": DELETES}), "delete_when", "name"),
    "where": (
        model(incremental_predicates="DBT_INTERNAL_DEST.nmae > 0", meta=ORDERED),
        "incremental_predicates",
        "name",
    ),
}
# Its first merge fails, for nothing says which event of a key is the newest.
LATE = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id',
          meta={'alluvium_merge': {'order_by': 'v'} if var('n', 1) > 1 else {'engine': 'auto'}}) }}
select * from values (1, 10, 1), (1, 11, 2), (2, 9, 1) as t (id, at, v)
{% if is_incremental() %} where at > (select max(at) from {{ this }}) {% endif %}
"""
HEADED = "select 5 as id, {{ var('n', 1) }} as v, cast('none' as int) as z"
HEADER = "set spark.sql.ansi.enabled = false;"


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any]) -> Any:
    files = {f"models/{name}.sql": sql for name, (sql, _) in KEPT.items()}
    files |= {f"models/wrong_{name}.sql": sql for name, (sql, *_) in WRONG.items()}
    files["models/wrong_pythonic.py"] = PYTHON.format('merge_update_columns=["nmae"]')
    files["models/pythonic.py"] = PYTHON.format("merge_update_columns=[]")
    files["models/unparsed.sql"] = model(
        meta={"alluvium_merge": {"order_by": "v", "delete_when": "name = = 'gone'"}}
    )
    files["models/late.sql"] = LATE
    files["models/headed.sql"] = model(HEADED, sql_header=HEADER, meta=ORDERED)
    files["models/headed_plain.sql"] = model(HEADED, sql_header=HEADER)
    return make_project("lists", files)


def test_unknown_names_stop_before_anything_is_written(project: Any) -> None:
    result = project.try_dbt("run")
    said = {one.node.name: one.message for one in result.result if one.status == "error"}
    for name, (_, setting, meant) in WRONG.items():
        text = said.pop(f"wrong_{name}")
        assert f"{setting}: the model does not select nmae; did you mean {meant}?" in text
    assert "merge_update_columns: the model does not select nmae" in said.pop("wrong_pythonic")
    assert "delete_when: Syntax error at or near '='." in said.pop("unparsed")
    assert "3 events for 2 keys, and nothing says which is the newest" in said.pop("late")
    assert not said
    tables = project.sql("show tables in {s}")["tableName"].tolist()
    assert sorted(tables) == sorted([*KEPT, "pythonic", "late", "headed", "headed_plain"])


def test_what_may_be_updated(project: Any) -> None:
    # A VACUUM of a DBA's brings nothing into a table.
    project.session.sql(f"vacuum {project.schema}.late")
    project.dbt("run", "--exclude", "wrong_*", "unparsed", "--vars", "n: 2")
    union = " union all ".join(f"select '{name}', * from {{s}}.{name}" for name in KEPT)
    rows = {row[0]: tuple(row[2:]) for row in project.sql(union).itertuples(index=False)}
    assert rows == {name: kept for name, (_, kept) in KEPT.items()}
    assert project.sql("select v, name from {s}.pythonic").values.tolist() == [[1, "a1"]]
    # Nothing was merged into it yet, so it is not incremental, and nothing is passed over.
    assert project.sql("select * from {s}.late order by id").values.tolist() == [
        [1, 11, 2],
        [2, 9, 1],
    ]
    project.dbt("run", "--select", "late", "--vars", "n: 3")
    assert project.said("late: nothing new")
    both = project.sql("select id, v from {s}.headed union all select id, v from {s}.headed_plain")
    assert both.values.tolist() == [[5, 2], [5, 2]]


TESTED = """
models:
  - name: none
    data_tests:
      - alluvium.{}: {{arguments: {}}}
"""


@pytest.mark.parametrize(
    ("test", "arguments", "said"),
    [
        ("unique_key", "{colums: [id]}", "unknown argument colums; accepted: columns; did you me"),
        ("unique_key", "{}", "columns is missing; accepted: a column, or a list of columns"),
        ("unique_key", "{columns: 5}", "columns is 5; accepted: a column, or a list of columns"),
        ("overlap_depth", "{mx: 3}", "unknown argument mx; accepted: max"),
        ("freshness_slo", "{event: none}", "unknown argument event; accepted: events, slo; did"),
    ],
)
def test_arguments_of_data_tests(project: Any, test: str, arguments: str, said: str) -> None:
    project.write({"models/tested.yml": TESTED.format(test, arguments)})
    result = project.try_dbt("parse")
    project.remove("models/tested.yml")
    assert not result.success
    assert f"alluvium.{test}: {said}" in str(result.exception)
