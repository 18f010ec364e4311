"""What a node of dbt's graph is made from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from alluvium.marks import MERGE_FIGURES

# The settings of a merged model in `meta`: their key is called as that of a merge's figures.
MERGE_META = MERGE_FIGURES
# Nodes that keep a Delta table.
_KINDS = ("model", "seed", "snapshot")
_IN_FILES = ("incremental", "published", "seed", "snapshot", "streaming_table", "table")


def name_of(node: Any) -> str:
    """The name of a node, by which dbt selects it: of a version of a model with the version."""
    version = getattr(node, "version", None)
    return str(node.name) if version is None else f"{node.name}.v{version}"


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


def ancestors(one: str, node_of: Callable[[str], Any]) -> set[str]:
    """Unique ids of all that a node is made from.

    node_of: a node by its unique id, None if it is none.
    """
    found, due = set[str](), [one]
    while due:
        parents = set(parents_of(node_of(due.pop())))
        due += parents - found
        found |= parents
    return found


def carriers(
    merged: Any,
    readers: Collection[str],
    node_of: Callable[[str], Any],
    *,
    are_views_here: bool = True,
) -> list[Any]:
    """What has to be built before a merged model reads the batch of its readers, in that order.

    Tables between keep the rows of an earlier batch until then. A view is read now, unless its own
    text has the bounds of the batch: that of a reader, or what it has of an ephemeral one.

    Args:
        readers: unique ids of the models that ask for the events which are new to it.
        are_views_here: whether a view that this command does not build is this target's own.
    """
    found, bounded = list[Any](), set[str]()
    leads: dict[str, bool] = {}

    def visit(node: Any) -> bool:
        one = node.unique_id
        if one not in leads:
            parents = [parent for parent in map(node_of, parents_of(node)) if parent is not None]
            above = [parent for parent in parents if visit(parent)]
            inlined = (p for p in above if p.config.materialized == "ephemeral")
            if one in readers or any(parent.unique_id in bounded for parent in inlined):
                bounded.add(one)
            leads[one] = one in readers or bool(above)
            kind = node.config.materialized
            is_read_now = kind == "view" and are_views_here and one not in bounded
            if leads[one] and kind != "ephemeral" and not is_read_now and node is not merged:
                found.append(node)
        return leads[one]

    visit(merged)
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
        node, node_of, lambda parent: MERGE_META not in (parent.config.meta or {})
    )
    return found[0] if len(found) == 1 else None


def keeps_tombstones(node: Any) -> bool:
    """Whether the model's merge keeps deleted rows: `delete: soft`, default where it has an order.

    The same rule as the package's macro `_merge_settings`.
    """
    config = getattr(node, "config", None)
    meta = (getattr(config, "meta", None) or {}) if config is not None else {}
    merge = meta.get(MERGE_META) if isinstance(meta, dict) else None
    if not isinstance(merge, dict) or merge.get("delete_when") is None:
        return False
    return bool((merge.get("delete") or ("soft" if merge.get("order_by") else "hard")) == "soft")


def is_in_files(node: Any) -> bool:
    """Whether a node keeps a Delta table."""
    config = node.config
    return bool(
        node.resource_type in _KINDS
        and config.materialized in _IN_FILES
        and (config.get("file_format") or "delta") == "delta"
    )
