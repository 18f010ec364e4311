"""Files of a source that one streaming table cleans up, and that another node reads too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from alluvium import ingest as stream
from alluvium.ingest.landing import may_be_listed
from alluvium.plan.graph import parents_of
from dbt.adapters.alluvium import streams

_READERS = ("model", "snapshot")


def mistakes(nodes: Iterable[Any]) -> list[str]:
    """Streaming tables that delete or move away files which other nodes of the project read.

    A table of another target or project cannot be seen.

    Args:
        nodes: enabled nodes and sources, as a manifest has them.
    """
    nodes = list(nodes)
    feeds = {node.unique_id: feed for node in nodes if (feed := streams.feed_of(node)) is not None}
    cleaned = {one for one, feed in feeds.items() if feed.cleans}
    if not cleaned:
        return []
    by_id = {node.unique_id: node for node in nodes}
    readers = {
        one: [
            node
            for node in nodes
            if node.resource_type in _READERS
            and node.config.materialized != "ephemeral"
            and one in _read(node, by_id)
        ]
        for one in feeds
    }
    found = []
    for one in sorted(cleaned):
        others = [other for other in feeds if _overlap(feeds[one], feeds[other])]
        reading = {node.unique_id: node.name for other in others for node in readers[other]}
        is_cleaned = any(n.config.materialized == "streaming_table" for n in readers[one])
        if is_cleaned and len(reading) > 1:
            option = feeds[one].options["cleanSource"]
            found.append(
                f"source {feeds[one].spec.source}: alluvium_stream.options.cleanSource: {option}: "
                "a file is taken away once one streaming table has read it, and "
                f"{', '.join(sorted(reading.values()))} read these files; accepted: one streaming "
                "table that reads them, and others that read it by ref(); or no cleanSource"
            )
    return found


def _read(node: Any, by_id: dict[str, Any]) -> Iterator[str]:
    """Unique ids of what a node's query reads, also by ephemeral models."""
    for one in parents_of(node):
        parent = by_id.get(one)
        if parent is not None and parent.resource_type != "source":
            if parent.config.materialized == "ephemeral":
                yield from _read(parent, by_id)
        else:
            yield one


def _overlap(one: stream.Feed, other: stream.Feed) -> bool:
    """Whether a file may be read by both."""
    return may_be_listed(one.place, other.place) and may_be_listed(
        *(feed.options.get("pathGlobFilter", "*") for feed in (one, other))
    )
