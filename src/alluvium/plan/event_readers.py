"""What `alluvium.new_events` reads for a merged model, as the project's texts tell it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from alluvium.plan.graph import ancestors, name_of, parents_of
from alluvium.plan.published_models import ASIDE, NO_SQL, REF, meant

_MACRO = "macro.alluvium.new_events"
_CALL = r"\bnew_events\s*\("
# One whose texts say what is read, and for which model.
_PLAIN = re.compile(
    _CALL + r"\s*(?:events\s*=\s*)?ref\((?P<ref>[^()]*)\)"
    r"""\s*,\s*(?:merged\s*=\s*)?(?:'(?P<one>[^']*)'|"(?P<other>[^"]*)")\s*[,)]"""
)
_NO_SQL = re.compile(NO_SQL, re.DOTALL)
_REF = re.compile(REF)


def read_for(merged: Any, nodes: Mapping[str, Any], macros: Mapping[str, Any]) -> list[Any]:
    """The nodes whose events are left out of a merged model, by a condition on their rows.

    Of a model that asks for new events, and does not tell in plain words whose, all its parents.

    nodes, macros: those of the project, by unique id.
    """
    found = dict[str, Any]()
    for one in (merged.unique_id, *sorted(ancestors(merged.unique_id, nodes.get))):
        node = nodes.get(one)
        if node is not None and _asks(node, macros):
            for read in _read_by(node, merged, nodes):
                found[read.unique_id] = read
    return list(found.values())


def inlined(node: Any, nodes: Mapping[str, Any], table_of: Callable[[Any], str | None]) -> str:
    """What SQL selects from to get a node's rows: a table, or the text of what is none.

    table_of: the name of a node's table or view as SQL writes it; None where there is none.

    Raises:
        ValueError: the text is not known before dbt renders it.
    """
    if (table := table_of(node)) is not None:
        return table

    def of_ref(call: re.Match[str]) -> str:
        parents = meant(call["ref"], node, nodes)
        return inlined(parents[0], nodes, table_of) if len(parents) == 1 else call[0]

    text = _REF.sub(of_ref, _NO_SQL.sub(" ", node.raw_code))
    if re.search(r"\{[{%#]", text):
        raise ValueError(f"{name_of(node)} is not rendered")
    return f"(\n{text}\n)"


def _asks(node: Any, macros: Mapping[str, Any]) -> bool:
    """Whether a node's SQL has the macro, by way of the project's own ones too."""
    due, seen = list(getattr(node.depends_on, "macros", ())), set[str]()
    while due:
        one = due.pop()
        if one == _MACRO:
            return True
        if one in macros and one not in seen:
            seen.add(one)
            due += macros[one].depends_on.macros
    return False


def _read_by(node: Any, merged: Any, nodes: Mapping[str, Any]) -> list[Any]:
    text = ASIDE.sub(" ", node.raw_code)
    calls = list(_PLAIN.finditer(text))
    reads = [meant(call["ref"], node, nodes) for call in calls]
    if not calls or len(calls) < len(re.findall(_CALL, text)) or not all(reads):
        return [nodes[one] for one in parents_of(node) if one in nodes]
    names = {merged.name, name_of(merged)}
    names |= {f"{merged.package_name}.{name}" for name in names} | {merged.unique_id}
    return [
        one
        for call, read in zip(calls, reads, strict=True)
        if (call["one"] or call["other"]) in names
        for one in read
    ]
