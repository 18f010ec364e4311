"""The names that docs show are imported from where docs say."""

from __future__ import annotations

import importlib

import pytest


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (
            "alluvium.ranges",
            "plan_frame plan_predicate plan Fragments cover_runs typed_literal COST",
        ),
        ("alluvium.merge", "plan_ranges"),
        ("alluvium.merge.one_commit", "merge"),
        ("alluvium.delta.log.log", "fragments"),
        ("alluvium.delta.merge.staged", "replace_view"),
    ],
)
def test_names(module: str, names: str) -> None:
    found = importlib.import_module(module)
    assert [name for name in names.split() if not hasattr(found, name)] == []
