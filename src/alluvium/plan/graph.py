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


def bronze_of(node: Any, node_of: Callable[[str], Any]) -> Any:
    """The one streaming table that a merged model is built from; None for none and for several.

    node: the model, None if dbt does not know it.
    node_of: a node by its unique id, None if it is none. Other merged models are not looked past:
    what waits there is told by them.
    """
    if node is None:
        return None
    found = streams_above(
        node, node_of, lambda parent: "alluvium_merge" not in (parent.config.meta or {})
    )
    return found[0] if len(found) == 1 else None
