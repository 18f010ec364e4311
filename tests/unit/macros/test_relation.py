"""`ref` of a merged model hides its tombstones, everything else names the table."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from dbt.adapters.alluvium.relation import AlluviumRelation


def relation(**kwargs: Any) -> AlluviumRelation:
    config = SimpleNamespace(
        meta={"alluvium_merge": {"order_by": "lsn", "delete_when": "op = 'd'"}},
        get=lambda key, default: default,
    )
    node = SimpleNamespace(
        config=config, database=None, schema="s", identifier="items", quoting_dict={}
    )
    return AlluviumRelation.create_from(SimpleNamespace(quoting={}), node, **kwargs)


LIVE = "(select * from s.items where not coalesce(`_deleted`, false))"


def test_this_is_the_table() -> None:
    assert str(relation()) == "s.items"


def test_ref_leaves_tombstones_out() -> None:
    assert str(relation(limit=None)) == LIVE
    assert relation(limit=None).render() == "s.items"


def test_ref_of_an_empty_run() -> None:
    assert str(relation(limit=0)) == f"(select * from {LIVE} limit 0)"


def test_statements_about_the_table_name_it() -> None:
    assert str(relation(limit=0).stored) == "s.items"
