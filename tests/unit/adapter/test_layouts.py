"""`meta.alluvium_layout` as dbt's nodes have it."""

from __future__ import annotations

from typing import Any

import pytest

from alluvium.plan.layout.generated import GeneratedColumn
from dbt.adapters.alluvium import layouts

BLOCK = {"sort_by": ["v"], "bucket_by": {"column": "at", "window": "day"}}


def node(language: str = "sql", **config: Any) -> dict[str, Any]:
    return {
        "name": "logs",
        "language": language,
        "config": {"meta": {"alluvium_layout": BLOCK}} | config,
    }


def test_a_python_model_cannot_have_a_generated_column() -> None:
    assert layouts.mistakes([node(), node("python", partition_by="at")]) == []
    assert layouts.mistakes([node("python", partition_by=["a", "b"]), node("python")]) == [
        "logs: meta.alluvium_layout.bucket_by.column: 'at' is not in partition_by, and the table of"
        f" a Python model has no generated columns; accepted: {accepted}"
        for accepted in ("a, b", "a column of partition_by")
    ]


@pytest.mark.parametrize(
    ("block", "partition_by", "expected"),
    [
        (None, None, None),
        ({"sort_by": "v"}, None, None),
        (BLOCK, "at", None),
        (BLOCK, None, GeneratedColumn("at", "day")),
        (BLOCK, ["region", "at_day"], GeneratedColumn("at", "day")),
    ],
)
def test_what_is_generated(block: Any, partition_by: Any, expected: GeneratedColumn | None) -> None:
    assert layouts.generated(layouts.declared("logs", block), partition_by) == expected


def test_a_batch_is_left_alone_where_nothing_is_asked() -> None:
    plain = layouts.declared("logs", {"sort_by": "v"})
    assert layouts.batch_query("q", {}, None, None, True) is None
    assert layouts.batch_query("q", {}, plain, "day", False) is None
    sorted_query = layouts.batch_query("q", {}, plain, "day", True)
    assert sorted_query == "select *\nfrom q\nsort by day, `v`"
    # A table computes what no layout asks for any more.
    assert layouts.batch_query("q", {"c": "a + 1"}, None, None, True) == (
        "select *, (\na + 1\n) as `c`\nfrom q"
    )
