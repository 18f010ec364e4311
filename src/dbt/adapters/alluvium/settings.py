"""What the adapter itself can say of `meta.alluvium_*`, where the dbt package is not installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dbt.adapters.alluvium import layouts, streams

_OF_THE_PACKAGE = ("alluvium_merge", "alluvium_tier")
_ACCEPTED = {"model": (layouts.META, *_OF_THE_PACKAGE), "source": (streams.META,)}


def mistakes(nodes: Iterable[Any]) -> list[str]:
    """Every mistake in `meta.alluvium_*` of these nodes and sources, as a manifest has them."""
    found = []
    for node in nodes:
        accepted = _ACCEPTED.get(node.resource_type)
        meta = getattr(node.config, "meta", None)
        if accepted is None or not isinstance(meta, Mapping):
            continue
        ours = [key for key in meta if isinstance(key, str) and key.startswith("alluvium_")]
        found += [
            f"{node.name}: meta.{key} is not known on a {node.resource_type};"
            f" accepted: {', '.join(accepted)}"
            for key in ours
            if key not in accepted
        ]
        found += [
            f"{node.name}: meta.{key} needs the dbt package `alluvium`:"
            " add it to packages.yml and run `dbt deps`"
            for key in ours
            if key in accepted and key in _OF_THE_PACKAGE
        ]
        if layouts.META in accepted and layouts.META in meta:
            found += layouts.mistakes([node.to_dict()])
        if streams.META in accepted and streams.META in meta:
            found += streams.mistakes([node.to_dict()])
    return found
