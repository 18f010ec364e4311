"""The models of docs/recipes.md, run from the page: CDC or not, append, upsert and delete."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from functional.runner import REPO

pytestmark = pytest.mark.spark

PAGE = (REPO / "docs/recipes.md").read_text()
RECIPES = dict(re.findall(r"```sql\n-- (models/\w+\.sql)\n(.*?)```", PAGE, re.DOTALL))
ACCOUNTS = "id int, op string, lsn bigint, balance int, _batch_id bigint"
ORDERS = "order_id int, updated_at string, status string, _batch_id bigint"
# A TRUNCATE and a broken line.
BAD = [(None, "t", 9, None), (None, None, None, None)]
BATCHES = [
    (
        # An account that is opened, changed and closed; an event that comes twice.
        [(1, "c", 1, 10), (1, "u", 2, 20), (2, "c", 3, 5), (2, "c", 3, 5), (3, "c", 4, 7)],
        [(1, "02", "new"), (2, "02", "new"), (1, "03", "packed"), (1, "03", "packed")],
    ),
    (
        # A delete by key alone, an update that comes late, and what came before once more.
        [(2, "d", 6, None), (2, "u", 5, 6), (3, "u", 7, 8), (1, "u", 2, 20), (4, "c", 8, 1), *BAD],
        [(1, "04", "shipped"), (2, "01", "draft"), (3, "02", "new"), (1, "03", "packed")],
    ),
]
EXPECTED = {
    "accounts_log": [(1, 1), (1, 2), (2, 3), (2, 5), (2, 6), (3, 4), (3, 7), (4, 8)],
    "accounts_seen": [(1, 2), (2, 5), (3, 7), (4, 8)],
    "accounts": [(1, 2), (3, 7), (4, 8)],
    "orders_log": [(1, "new"), (1, "packed"), (1, "shipped"), (2, "draft"), (2, "new"), (3, "new")],
    "orders": [(1, "shipped"), (2, "new"), (3, "new")],
    "open_orders": [(2, "new"), (3, "new")],
}


BRONZE = "{{ config(materialized='view') }} select * from {{ target.schema }}.landed_%s"
# `ref` hides tombstones.
LIVE = "{{ config(materialized='table') }} select a.* from {{ ref('accounts') }} as a"
# What the first batch has left of four of them; the run makes the tables of the others.
STATE = "false as _deleted, cast(null as timestamp) as _tombstone_time"
LEFT = {
    "accounts_log": "id, op, lsn, balance from recipes.landed_accounts where _batch_id = 0",
    "accounts": f"id, op, lsn, balance, {STATE} from recipes.landed_accounts where _batch_id = 0"
    " and lsn > 1",
    "orders": "order_id, updated_at, status from recipes.landed_orders where _batch_id = 0"
    " and (status != 'new' or order_id = 2)",
}
LEFT["open_orders"] = LEFT["orders"]


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any]) -> Any:
    made = make_project(
        "recipes",
        {
            **RECIPES,
            "models/accounts_events.sql": BRONZE % "accounts",
            "models/orders_events.sql": BRONZE % "orders",
            "models/live_accounts.sql": LIVE,
        },
    )
    made.session.sql("create schema if not exists recipes")
    accounts, orders = [], []
    for number, (of_accounts, of_orders) in enumerate(BATCHES):
        accounts += [(*row, number) for row in of_accounts]
        orders += [(key, f"2024-01-{day}", status, number) for key, day, status in of_orders]
    land(made, "accounts", ACCOUNTS, accounts)
    land(made, "orders", ORDERS, orders)
    for name, query in LEFT.items():
        made.session.sql(
            f"create table recipes.{name} using delta tblproperties"
            f" ('delta.enableDeletionVectors' = 'true') as select distinct {query}"
        )
    made.dbt("run")
    return made


def land(project: Any, feed: str, schema: str, rows: list[tuple[Any, ...]]) -> None:
    frame = project.session.createDataFrame(rows, schema)
    frame.coalesce(1).write.saveAsTable(f"recipes.landed_{feed}")


def test_the_page_has_six() -> None:
    assert {path.removeprefix("models/").removesuffix(".sql") for path in RECIPES} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_recipe(project: Any, name: str) -> None:
    table = "live_accounts" if name == "accounts" else name
    columns = "id, lsn" if "accounts" in name else "order_id, status"
    key = columns.partition(",")[0]
    rows = project.read(f"select {columns} from {{s}}.{table} where {key} is not null")
    assert sorted(rows.itertuples(index=False, name=None)) == EXPECTED[name]


def test_a_truncate_is_no_broken_line(project: Any) -> None:
    rejected = project.read("select reason from {s}.accounts__rejected")
    assert sorted(rejected["reason"]) == ["broken", "truncate"]


def test_the_next_run_reads_none_of_it_again(project: Any) -> None:
    """By the name that each recipe gives to `new_events`."""
    before = {name: project.versions(name) for name in EXPECTED}
    project.dbt("run", "--select", *EXPECTED)
    assert {name: project.versions(name) for name in EXPECTED} == before
    assert all(project.said(f"{name}: nothing new") for name in EXPECTED)


def test_tombstones_of_the_recipe_can_be_purged(project: Any) -> None:
    """Nothing in the events is a time: the merge notes its own."""
    rows = project.read("select id, _deleted, _tombstone_time is not null as t from {s}.accounts")
    found = sorted(rows.itertuples(index=False, name=None))
    assert found == [(1, False, False), (2, True, True), (3, False, False), (4, False, False)]
    # One row is a tombstone now, one changed, and one came.
    # A key's event came late and changed nothing, so it may have been the delete.
    project.dbt("run-operation", "alluvium.commits", "--args", "{model: accounts, limit: 1}")
    assert project.said("+3 -2 rows, of them up to 1 delete")
    ask = ("run-operation", "alluvium.purge_tombstones", "--args")
    project.dbt(*ask, "{model: accounts}")
    assert project.said("accounts: would delete 0 of 1 tombstone older than 30 days (dry run; ")
    project.session.sql(
        "update recipes.accounts set _tombstone_time = _tombstone_time - interval 31 days"
    )
    project.dbt(*ask, "{model: accounts, dry_run: false}")
    assert project.said("accounts: deleted 1 of 1 tombstone older than 30 days")
    assert sorted(project.read("select id from {s}.accounts")["id"]) == [1, 3, 4]
    # Of a table that is older than the column, and of rows that are.
    project.session.sql("insert into recipes.accounts (id, _deleted) values (9, true)")
    project.dbt(*ask, "{model: accounts}")
    undated = "1 cannot be dated: they are older than the column _tombstone_time (dry run; "
    assert project.said(f"would delete 0 of 1 tombstone older than 30 days, {undated}")
    project.session.sql(
        "create or replace table recipes.accounts using delta"
        " as select * except (_tombstone_time) from recipes.accounts"
    )
    assert not project.try_dbt(*ask, "{model: accounts}").success
    assert project.said("accounts does not say when a tombstone was made, so 1 tombstone cannot be")
    assert project.said(" add columns (_tombstone_time timestamp)`, after which merges note the")
