"""dbt-spark's own adapter: without our settings its statement, with them the same merge."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.spark

PLAIN = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key=['id', 'v'],
          file_format='delta', merge_exclude_columns=['w'], incremental_predicates=['1 = 1']) }}
select 1 as id, 'x' as v, 2 as w
"""
META = {
    "order_by": "lsn",
    "delete_when": "op = 'd'",
    "ranges": {"column": "at", "method": "gaps", "k": 2},
}


@pytest.fixture(scope="module")
def project(feed: Callable[..., Any]) -> Any:
    made = feed("stock", META, file_format="delta")
    made.write(
        {
            "models/plain.sql": PLAIN,
            "models/sources.yml": (made.root / "models/sources.yml")
            .read_text()
            .replace("{{ target.schema }}", "stock"),
            "models/batch.sql": "{{ config(file_format='delta') }}"
            + (made.root / "models/batch.sql").read_text(),
        }
    )
    for schema in ("stock", "stock_stock"):
        made.session.sql(f"create schema if not exists {schema}")
    return made


def test_statement_without_settings_is_dbt_sparks_own(project: Any) -> None:
    args = ("run", "--select", "plain")
    for schema in ("stock", "stock_stock"):
        project.session.sql(
            f"create table {schema}.plain using delta as select 1 as id, 'x' as v, 1 as w"
        )
    project.dbt(*args)
    ours = project.run_sql("plain")
    project.dbt(*args, "--target", "stock")
    theirs = project.run_sql("plain")
    assert "merge into" in theirs
    assert ours == theirs.replace("stock_stock.", "stock.")
    assert project.read("select w from {s}.plain")["w"].tolist() == [1]


def test_merge_on_a_stock_target(project: Any) -> None:
    run = ("run", "--select", "batch", "items", "--target", "stock")
    """Into a table that has a row of the first batch; the other events come in one run."""
    project.append_events(
        0,
        (1, "c", 1, "2024-01-01", "a"),
        (1, "u", 2, "2024-01-01", "b"),
        (2, "c", 3, "2024-06-01", "x"),
        (3, "d", 4, None, None),
    )
    project.session.sql(
        "create table stock_stock.items using delta as select 2L as id, 'c' as op, 3L as lsn,"
        " timestamp'2024-06-01' as at, 'x' as v, false as _deleted"
    )
    project.append_events(1, (2, "d", 5, None, None), (1, "u", 1, "2024-01-01", "late"))
    project.dbt(*run)
    rows = project.read("select id, v, _deleted from stock_stock.items order by id")
    assert rows["id"].tolist() == [1, 2, 3]
    assert rows["v"].tolist()[0] == "b"
    assert rows["_deleted"].tolist() == [False, True, True]
    commits = project.commits("items", "stock_stock")
    merges = [one["userMetadata"] for one in commits if one["operation"] == "MERGE"]
    assert [json.loads(m)["alluvium_merge"]["through"] for m in merges] == [1]
    project.dbt(*run)
    assert project.said("items: nothing new")


def test_first_run_after_full_refresh(project: Any) -> None:
    """After the one before: the new table is made and merged into, from the first event on."""
    run = ("run", "--select", "batch", "items", "--target", "stock", "--full-refresh")
    project.dbt(*run)
    rows = project.read("select id, v, _deleted from stock_stock.items order by id")
    assert rows.values.tolist() == [[1, "b", False], [2, None, True], [3, None, True]]


def test_another_macro_that_wins_is_named(project: Any) -> None:
    text = (project.root / "dbt_project.yml").read_text()
    project.write({"dbt_project.yml": re.sub(r" *- alluvium\n", "", text)})
    result = project.try_dbt("run-operation", "alluvium.validate", "--target", "stock")
    project.write({"dbt_project.yml": text})
    assert not result.success
    assert project.said("dispatch: get_merge_sql is taken from dbt_spark")
