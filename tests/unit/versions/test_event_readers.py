"""Whose rows `alluvium.new_events` reads for a merged model, and what SQL gets them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from alluvium.plan.event_readers import inlined, read_for

ASKS = "macro.alluvium.new_events"
MACROS = {
    f"macro.p.{name}": SimpleNamespace(depends_on=SimpleNamespace(macros=called))
    for name, called in {"wraps": ["macro.p.inner", ASKS], "inner": ["macro.p.inner"]}.items()
}


def node(name: str, sql: str, *parents: str, asks: str | None = None) -> Any:
    """asks: the macro that it calls; by default the one whose name its text has."""
    macros = [asks or ASKS] if asks or "new_events" in sql else ["macro.p.inner"]
    return SimpleNamespace(
        unique_id=f"model.p.{name}",
        name=name,
        package_name="p",
        version=None,
        raw_code=sql,
        depends_on=SimpleNamespace(nodes=[f"model.p.{one}" for one in parents], macros=macros),
    )


def project(*nodes: Any) -> dict[str, Any]:
    return {one.unique_id: one for one in nodes}


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("{{ alluvium.new_events(ref('mid'), 'items', bronze=ref('bronze')) }}", ["mid"]),
        ('{{ alluvium.new_events( events = ref("p", "mid"), merged="p.items") }}', ["mid"]),
        # Of another merged model, and of both.
        ("{{ alluvium.new_events(ref('bronze'), 'others') }}", []),
        (
            "{{ new_events(ref('bronze'), 'others') }} {{ new_events(ref('mid'), 'items') }}",
            ["mid"],
        ),
        # What no text tells may be any of them.
        ("{{ alluvium.new_events(ref(var('mid')), 'items') }}", ["bronze", "mid"]),
        ("{{ alluvium.new_events(ref('mid'), model.name) }}", ["bronze", "mid"]),
        ("{% set mid = ref('mid') %}{{ alluvium.new_events(mid, 'items') }}", ["bronze", "mid"]),
        ("{{ new_events(ref('mid'), 'it' ~ 'ems') }}", ["bronze", "mid"]),
        ("{{ new_events(ref('mid'), 'items') }} -- new_events(x)", ["mid"]),
        ("{# new_events(mid) #}{{ new_events(ref('mid'), 'items') }}", ["mid"]),
    ],
)
def test_whose_events(sql: str, read: list[str]) -> None:
    merged = node("items", "select * from {{ ref('batch') }}", "batch")
    nodes = [node("bronze", ""), node("mid", "", "bronze"), node("batch", sql, "bronze", "mid")]
    found = read_for(merged, project(merged, *nodes), MACROS)
    assert sorted(one.name for one in found) == read


def test_of_a_macro_of_the_project() -> None:
    merged = node("items", "{{ wraps(ref('mid')) }}", "mid", asks="macro.p.wraps")
    nodes = project(merged, node("mid", "{{ inner() }}", "bronze"), node("bronze", ""))
    assert [one.name for one in read_for(merged, nodes, MACROS)] == ["mid"]


def test_rows_of_what_is_no_table() -> None:
    nodes = project(
        node("bronze", "{{ alluvium.events() }}"),
        node("top", "{{ config(a='}}') }}{# {{ x }} #}select * from {{ ref('bronze') }}", "bronze"),
        node("mid", "select * from {{- ref('p', 'top') -}} join {{ ref('top') }}", "top"),
        node("gone", "select * from {{ ref('none') }}"),
        node("made", "select * from {{ ref('bronze') }} where {{ condition }}", "bronze"),
    )

    def table_of(one: Any) -> str | None:
        return "s.b" if one.name == "bronze" else None

    top = "(select * from s.b)"
    found = " ".join(inlined(nodes["model.p.mid"], nodes, table_of).split())
    assert found.replace("( ", "(").replace(" )", ")") == f"(select * from {top} join {top})"
    for name in ("gone", "made"):
        with pytest.raises(ValueError, match=f"{name} is not rendered"):
            inlined(nodes[f"model.p.{name}"], nodes, table_of)
