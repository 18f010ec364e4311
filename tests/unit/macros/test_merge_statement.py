"""The statement of a merge for every kind of settings, as files to read."""

from __future__ import annotations

import re
from typing import Any

import pytest

COLUMNS = ["id", "carrier", "op", "lsn", "ts_ms", "at", "v"]
CDC = {"order_by": ["lsn", "ts_ms"], "delete_when": "op = 'd'"}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {"unique_key": "id"}),
    "ordered": ({"order_by": "lsn"}, {"unique_key": ["id", "carrier"]}),
    "soft_delete": (CDC | {"ranges": {"column": "at"}}, {"unique_key": ["id", "carrier"]}),
    "hard_delete": (CDC | {"delete": "hard"}, {"unique_key": "id"}),
    "ignore": ({"on_match": "ignore", "order_by": "lsn"}, {"unique_key": "id"}),
}


@pytest.mark.parametrize("name", CASES)
def test_statement(macros: Any, node: Any, golden: Any, name: str) -> None:
    meta, config = CASES[name]
    settings = macros.merge_settings(node(meta, **config))
    prune = "(DBT_INTERNAL_DEST.`at` is null)" if settings["ranges"] else None
    sql = macros.merge_statement(
        "s.items", "items__dbt_tmp", settings, COLUMNS, COLUMNS, prune, ["(1 = 1)"], True
    )
    golden(f"merge_{name}", sql)


def test_update_columns_and_no_dedup(macros: Any, node: Any, golden: Any) -> None:
    settings = macros.merge_settings(node(CDC, unique_key="id"))
    sql = macros.merge_statement("s.items", "src", settings, COLUMNS, ["v"], None, [], False)
    golden("merge_update_columns", sql)


@pytest.mark.parametrize("delete", ["soft", "hard"])
def test_a_batch_without_deletes_has_no_clause_for_them(
    macros: Any, node: Any, delete: str
) -> None:
    settings = macros.merge_settings(node(CDC | {"delete": delete}, unique_key="id"))
    with_, without = (
        macros.merge_statement(
            "t", "src", settings, COLUMNS, ["v"], None, [], False, tombstones=tombstones
        )
        for tombstones in (True, False)
    )
    assert with_.count("when matched") == 2
    clause = r"\nwhen matched[^\n]*`__alluvium_delete` then (delete|update set\n.*?)(?=\nwhen)"
    assert re.sub(clause, "", with_, flags=re.DOTALL) == without


def test_events_without_a_key(macros: Any, node: Any, golden: Any) -> None:
    settings = macros.merge_settings(
        node({"order_by": "lsn", "null_keys": "insert"}, unique_key=["id", "carrier"])
    )
    whole, without = (
        macros.events_by_key("src", settings["unique_key"], whole=whole) for whole in (True, False)
    )
    sql = macros.merge_statement("t", whole, settings, COLUMNS, ["v"], None, [], True, without)
    golden("merge_null_keys_insert", sql)


def test_null_keys_that_match(macros: Any, node: Any) -> None:
    settings = macros.merge_settings(node({"order_by": "lsn", "null_keys": "match"}))
    sql = macros.merge_statement("t", "src", settings, ["id", "lsn"], ["lsn"], None, [], False)
    assert "DBT_INTERNAL_SOURCE.`id` <=> DBT_INTERNAL_DEST.`id`" in sql


def test_rejected_events(macros: Any, golden: Any) -> None:
    golden("keep_rejected", macros.keep_rejected_sql("s.items__rejected", "src", ["`id`", "`v`"]))


def test_verify(macros: Any, node: Any, golden: Any) -> None:
    settings = macros.merge_settings(node({"ranges": {"column": "at"}}, unique_key=["id", "b"]))
    plan = {"settings": settings, "source": "src", "prune": "(DBT_INTERNAL_DEST.`at` = 1)"}
    golden("verify", macros.verify_merge_sql("s.items", plan))


def test_profile(macros: Any, node: Any, golden: Any) -> None:
    settings = macros.merge_settings(
        node(CDC | {"ranges": {"column": "at"}}, unique_key=["id", "carrier"])
    )
    types = {"id": "bigint", "carrier": "string", "at": "timestamp"}
    sql = macros.merge_profile_sql(
        "src", settings, types, ["id", "carrier"], "(`__alluvium_value` = 1)", ["_batch_through"]
    )
    golden("profile", sql)


def test_names_are_quoted(macros: Any, node: Any) -> None:
    settings = macros.merge_settings(node({"order_by": "a`b"}, unique_key="my key"))
    sql = macros.merge_statement("t", "s", settings, ["my key", "a`b"], ["a`b"], None, [], True)
    assert "`a``b`" in sql
    assert "DBT_INTERNAL_SOURCE.`my key` = DBT_INTERNAL_DEST.`my key`" in sql


@pytest.mark.parametrize(
    ("meta", "soft"),
    [
        ({"order_by": "lsn", "delete_when": "d"}, True),
        ({"delete_when": "d"}, False),
        ({"order_by": "lsn", "delete_when": "d", "delete": "hard"}, False),
        ({"delete_when": "d", "delete": "soft"}, True),
        ({"order_by": "lsn"}, False),
    ],
)
def test_tombstones_by_default_where_there_is_an_order(
    macros: Any, node: Any, meta: dict[str, Any], soft: bool
) -> None:
    from types import SimpleNamespace

    from dbt.adapters.alluvium.relation import keeps_tombstones

    assert macros.merge_settings(node(meta))["soft"] is soft
    config = SimpleNamespace(meta={"alluvium_merge": meta})
    assert keeps_tombstones(SimpleNamespace(config=config)) is soft
