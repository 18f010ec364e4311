"""Streaming tables that a node is made from, whatever lies between."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from dbt.artifacts.resources import DependsOn
from dbt.artifacts.resources.v1.components import MacroDependsOn

from alluvium.plan.graph import bronze_of, streams_above


def node(name: str, *parents: str, kind: str = "view", meta: Any = None) -> SimpleNamespace:
    config = SimpleNamespace(materialized=kind, meta=meta)
    return SimpleNamespace(unique_id=name, config=config, depends_on=DependsOn(nodes=[*parents]))


SEED = SimpleNamespace(
    unique_id="seed",
    config=SimpleNamespace(materialized="seed", meta=None),
    depends_on=MacroDependsOn(),
)
BRONZE = node("bronze", "source", kind="streaming_table")
BATCH = node("batch", "bronze", "seed", "batch")
MERGED = node("merged", "seed", "batch", "bronze", meta={"alluvium_merge": {}})
OTHER = node("other", "merged", meta={"alluvium_merge": {}})
NODES = {one.unique_id: one for one in (SEED, BRONZE, BATCH, MERGED, OTHER)}


def test_a_seed_beside_the_events() -> None:
    assert bronze_of(MERGED, NODES.get) is BRONZE
    assert streams_above(MERGED, NODES.get) == [BRONZE]


def test_not_past_another_merged_model() -> None:
    assert bronze_of(OTHER, NODES.get) is None
    assert streams_above(OTHER, NODES.get) == [BRONZE]


def test_two_are_none() -> None:
    second = node("second", kind="streaming_table")
    both = node("both", "bronze", "second")
    every = NODES | {"second": second, "both": both}
    assert bronze_of(both, every.get) is None
    assert streams_above(both, every.get) == [BRONZE, second]
