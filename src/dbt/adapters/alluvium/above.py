"""What a node of dbt's graph is made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def parents_of(node: Any) -> Sequence[str]:
    """Unique ids of what a node reads; a seed has no list of them."""
    found: Sequence[str] = getattr(getattr(node, "depends_on", None), "nodes", ())
    return found


def streams_above(
    node: Any, node_of: Callable[[str], Any], passes: Callable[[Any], bool] = lambda parent: True
) -> list[Any]:
    """The streaming tables that a node is made from, by any way, each once.

    Args:
        node_of: a node by its unique id, None if it is none.
        passes: whether to look past a parent that is no streaming table.
    """
    found, seen, due = [], {node.unique_id}, list(parents_of(node))
    while due:
        one = due.pop(0)
        parent = node_of(one)
        if parent is None or one in seen:
            continue
        seen.add(one)
        if parent.config.materialized == "streaming_table":
            found.append(parent)
        elif passes(parent):
            due += parents_of(parent)
    return found
