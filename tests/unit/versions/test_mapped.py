"""Schemas whose columns have ids: which changes of theirs are renames and drops."""

from __future__ import annotations

import json
from typing import Any

import pytest

from alluvium.plan.versions import mapped

MODE = "delta.columnMapping.mode"
FEED = "delta.enableChangeDataFeed"


def struct(kind: Any = "long", **columns: str) -> dict[str, Any]:
    """By their names, columns with these names in files."""
    fields = [
        {"name": name, "type": kind, "metadata": {"delta.columnMapping.physicalName": physical}}
        for name, physical in columns.items()
    ]
    return {"type": "struct", "fields": fields}


def listed(kind: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": kind}


def mapped_to(kind: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": "string", "valueType": kind}


@pytest.mark.parametrize(
    ("before", "after", "is_blocked"),
    [
        (struct(a="x", b="y"), struct(b="y", a="x"), False),
        (struct(a="x"), struct(a="x", b="y"), False),
        (struct(a="x", b="y"), struct(a="x"), True),
        (struct(a="x"), struct(b="x"), True),
        (struct(a="x"), struct(a="y"), True),
        (struct(a="x", b="y"), struct(a="y", b="x"), True),
    ],
)
def test_renames_and_drops(before: dict[str, Any], after: dict[str, Any], is_blocked: bool) -> None:
    for inside in (lambda one: one, listed, mapped_to, lambda one: listed(mapped_to(one))):
        old, new = (json.dumps(struct(inside(one), of="z")) for one in (before, after))
        assert mapped.renames_or_drops(old, new) == is_blocked
    assert mapped.renames_or_drops(*map(json.dumps, (before, after))) == is_blocked


def test_tables_that_tell_changes() -> None:
    assert mapped.tells_changes({MODE: "name", FEED: "true"})
    for one in ({MODE: "none", FEED: "true"}, {FEED: "true"}, {MODE: "id"}, {}):
        assert not mapped.tells_changes(one)
