"""`ref` of a merged model hides its tombstones, everything else names the table."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import Any

from dbt.adapters.base.relation import EventTimeFilter

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


def test_a_name_of_several_words_is_one() -> None:
    for given, name in {
        "bad rows": "`bad rows`",
        "a-b": "`a-b`",
        "a`b": "`a``b`",
        "`bad rows`": "`bad rows`",
        "items__dbt_tmp": "items__dbt_tmp",
    }.items():
        assert AlluviumRelation.create(schema="s", identifier=given).render() == f"s.{name}"
    quoted = AlluviumRelation.create(schema="s", identifier="a b").quote(identifier=True)
    assert quoted.render() == "s.`a b`"


def test_inputs_are_filtered_by_typed_instants() -> None:
    start, end = dt.datetime(2024, 1, 3, tzinfo=dt.UTC), dt.datetime(2024, 1, 4, tzinfo=dt.UTC)
    bounds = "timestamp'2024-01-03 00:00:00+00:00'", "timestamp'2024-01-04 00:00:00+00:00'"
    for given, name in {
        "at": "at",
        "payload.at": "payload.at",
        "`a b`": "`a b`",
        "a b": "`a b`",
        "größe": "`größe`",
    }.items():
        seen = EventTimeFilter(field_name=given, start=start, end=end)
        where = f"where {name} >= {bounds[0]} and {name} < {bounds[1]}"
        plain = AlluviumRelation.create(schema="s", identifier="t", event_time_filter=seen)
        assert str(plain) == f"(select * from s.t {where})"
        assert (
            str(relation(limit=None, event_time_filter=seen)) == f"(select * from {LIVE} {where})"
        )
    since = EventTimeFilter(field_name="at", start=start, end=None)
    plain = AlluviumRelation.create(schema="s", identifier="t", event_time_filter=since)
    assert str(plain) == f"(select * from s.t where at >= {bounds[0]})"
