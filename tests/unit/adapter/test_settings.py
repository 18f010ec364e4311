"""`meta.alluvium_*` where the dbt package, which checks all of it, is not installed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.alluvium import settings


def node(kind: str, meta: Any, **config: Any) -> Any:
    known = {"name": "items", "source_name": "raw", "config": {"meta": meta, **config}}
    return SimpleNamespace(
        name="items",
        resource_type=kind,
        config=SimpleNamespace(meta=meta),
        to_dict=lambda: known,
    )


@pytest.mark.parametrize(
    ("kind", "meta", "said"),
    [
        ("model", {"alluvium_mrege": {}}, "items: meta.alluvium_mrege is not known on a model"),
        ("model", {"alluvium_stream": {}}, "accepted: alluvium_layout, alluvium_merge, alluvium_t"),
        ("source", {"alluvium_steam": {}}, "not known on a source; accepted: alluvium_stream"),
        ("model", {"alluvium_merge": {}}, "meta.alluvium_merge needs the dbt package `alluvium`"),
        ("model", {"alluvium_tier": "hot"}, "meta.alluvium_tier needs the dbt package `alluvium`"),
        ("model", {"alluvium_layout": {"sortby": "a"}}, "items: meta.alluvium_layout.sortby"),
        ("source", {"alluvium_stream": {"format": "xml"}}, "raw.items: alluvium_stream.format"),
    ],
)
def test_each_mistake(kind: str, meta: Any, said: str) -> None:
    found = settings.mistakes([node("model", {}), node(kind, meta)])
    assert any(said in line for line in found), found
    assert all(line.startswith(("items: ", "source raw.items: ")) for line in found)


def test_what_is_accepted() -> None:
    accepted = [
        node("model", {"alluvium_layout": {"sort_by": ["a"]}, "owner": "me", 1: 2}),
        node("source", {"alluvium_stream": {"format": "text", "path": "landing"}}),
        node("model", None),
        # Neither the package nor the adapter reads these.
        node("seed", {"alluvium_mrege": {}}),
    ]
    assert settings.mistakes(accepted) == []
