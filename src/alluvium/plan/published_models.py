"""Published models of a project: whose table each shows, and what audits that one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from alluvium.plan.graph import name_of

MATERIALIZED = "published"
META = "alluvium_publish"
# What Jinja makes no SQL of: comments and settings.
NO_SQL = r"""\{#.*?#\}|\{\{-?\s*config\((?:'[^']*'|"[^"]*"|[^'"])*?\)\s*-?\}\}"""
REF = r"\{\{-?\s*ref\((?P<ref>[^()]*)\)\s*-?\}\}"
# What says nothing of rows: a published model may be that besides its one `select *`.
ASIDE = re.compile(rf"{NO_SQL}|/\*.*?\*/|--[^\n]*", re.DOTALL)
_SELECT = re.compile(rf"\s*select\s+\*\s+from\s+{REF}\s*;?\s*", re.IGNORECASE)
# What keeps rows in a table of Delta's.
_TABLES = ("incremental", "table", "snapshot")


def is_published(node: Any) -> bool:
    return bool(node.resource_type == "model" and node.config.materialized == MATERIALIZED)


def candidate_of(node: Any, nodes: Mapping[str, Any]) -> Any:
    """The node whose table a published model shows.

    Args:
        node: the published model.
        nodes: those of the project, by unique id.

    Raises:
        ValueError: it is anything but `select *` from one `ref`; or from what is not a table.
    """
    wanted = "`select * from {{ ref('…') }}`, a table of the project"
    found = _SELECT.fullmatch(ASIDE.sub(" ", node.raw_code))
    if found is None:
        raise ValueError(
            f"{name_of(node)}: a published model shows one whole table; accepted: {wanted}."
            " Filters and columns belong in the model of that table"
        )
    candidates = meant(found["ref"], node, nodes)
    if len(candidates) != 1 or candidates[0].unique_id == node.unique_id:
        named = found["ref"].strip()
        many = "names several tables" if len(candidates) > 1 else "names no table"
        raise ValueError(f"{name_of(node)}: {named} {many} of the project; accepted: {wanted}")
    kind = candidates[0].config.materialized
    if candidates[0].resource_type not in ("model", "snapshot") or kind not in _TABLES:
        raise ValueError(
            f"{name_of(node)}: {name_of(candidates[0])} is materialized as {kind}, of which no"
            f" version is kept; accepted: {', '.join(_TABLES)}"
        )
    return candidates[0]


def meant(ref: str, node: Any, nodes: Mapping[str, Any]) -> list[Any]:
    """The parents of a node that a `ref` may mean.

    ref: what it is called with.
    """
    names, version = _arguments(ref)
    parents = [nodes[one] for one in node.depends_on.nodes if one in nodes]
    return [
        parent
        for parent in parents
        if [parent.package_name, parent.name][-len(names) :] == names
        and (version is None or str(getattr(parent, "version", None)) == version)
    ]


def _arguments(text: str) -> tuple[list[str], str | None]:
    """The names and the version that a `ref` is called with."""
    try:
        call = ast.parse(f"ref({text})", mode="eval").body
        assert isinstance(call, ast.Call)
        names = [str(ast.literal_eval(one)) for one in call.args]
        named = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
    except (SyntaxError, TypeError, ValueError):
        return ["?"], None
    version = named.get("version", named.get("v"))
    return names, None if version is None else str(version)


def candidates(nodes: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Each published model with its candidate; those of which `mistakes` tells are left out."""
    for node in filter(is_published, nodes.values()):
        try:
            yield node, candidate_of(node, nodes)
        except ValueError:
            continue


def tests_of(candidate: Any, nodes: Mapping[str, Any]) -> list[Any]:
    """The audit: data tests attached to the candidate, and singular tests that read it."""
    return [
        node
        for node in nodes.values()
        if node.resource_type == "test"
        and candidate.unique_id
        in (getattr(node, "attached_node", None) or "", *_parents_of_singular(node))
    ]


def _parents_of_singular(test: Any) -> Iterable[str]:
    return () if getattr(test, "test_metadata", None) is not None else test.depends_on.nodes


def settings_of(node: Any) -> dict[str, Any]:
    """`meta.alluvium_publish` of a published model; empty where it is a mistake."""
    given = (node.config.meta or {}).get(META)
    return dict(given) if isinstance(given, Mapping) else {}


def may_publish(node: Any, target: str) -> bool:
    """Whether builds of a target move what readers see of a published model."""
    return target in targets_of(node) or not targets_of(node)


def targets_of(node: Any) -> list[str]:
    """The targets whose builds move what readers see; empty for all of them."""
    named = settings_of(node).get("targets") or []
    return [named] if isinstance(named, str) else list(named)
