"""Whether a bounded batch that brought nothing was surely the one that was merged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt import selected_resources

from alluvium.merge import progress
from dbt.adapters.alluvium import told
from dbt.adapters.alluvium.verbs import progressing
from dbt.adapters.alluvium.verbs.progressing import Progressing
from dbt.adapters.alluvium.verbs.streaming import Staged

KINDS = ("view", "table", "ephemeral")


def node(name: str, kind: str, *parents: str) -> Any:
    return SimpleNamespace(
        unique_id=name,
        name=name,
        depends_on=SimpleNamespace(nodes=parents),
        config=SimpleNamespace(materialized=kind),
    )


def passed_over(
    monkeypatch: pytest.MonkeyPatch,
    nodes: list[Any],
    readers: set[str],
    selected: set[str],
    *,
    is_deferred: bool = False,
) -> str:
    """What becomes of the bound: passed over, or what is said of it."""
    adapter = object.__new__(Progressing)
    adapter._macro_resolver = SimpleNamespace(nodes={one.name: one for one in nodes})
    adapter._staged = {"items": Staged("events", 3, 5, True, readers)}
    done: list[str] = []
    monkeypatch.setattr(told, "warn", done.append)
    monkeypatch.setattr(progress, "pass_over", lambda *_: done.append("passed over"))
    monkeypatch.setattr(selected_resources, "SELECTED_RESOURCES", selected)
    flags = SimpleNamespace(DEFER=is_deferred)
    monkeypatch.setattr(progressing, "get_flags", lambda: flags)
    adapter._pass_over(None, "s.items", "items")  # type: ignore[arg-type]
    (one,) = done
    return one


@pytest.mark.parametrize("reader", KINDS)
@pytest.mark.parametrize("between", [None, *KINDS, "incremental", "published"])
@pytest.mark.parametrize("is_selected", [True, False])
def test_a_batch_between(
    monkeypatch: pytest.MonkeyPatch, reader: str, between: str | None, is_selected: bool
) -> None:
    """The reader asked in this command, so it was built, or is part of what was."""
    nodes = [node("batch", reader), node("items", "incremental", "clean" if between else "batch")]
    if between:
        nodes.append(node("clean", between, "batch"))
    selected = {"batch", "items"} | ({"clean"} if is_selected else set())
    got = passed_over(monkeypatch, nodes, {"batch"}, selected)
    reads_now = between in (None, "ephemeral") or (between == "view" and reader != "ephemeral")
    is_certain = reads_now or (is_selected and between != "published")
    if is_certain:
        assert got == "passed over"
    else:
        first = "" if reader == "ephemeral" else "batch "
        assert "clean may show an earlier one" in got
        assert got.endswith(f"build them together: --select {first}clean items")


def test_by_several_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [
        node("batch", "table"),
        node("near", "view", "batch"),
        node("far", "table", "near"),
        node("beside", "table"),
        node("items", "incremental", "near", "far", "beside", "source.p.raw.events"),
    ]
    selected = {"batch", "items"}
    assert "far may show" in passed_over(monkeypatch, nodes, {"batch"}, selected)
    assert passed_over(monkeypatch, nodes, {"batch"}, selected | {"far"}) == "passed over"
    # The merged model reads events itself; and so does one above.
    assert passed_over(monkeypatch, nodes, {"items"}, {"items"}) == "passed over"
    assert "far may show" in passed_over(monkeypatch, nodes, {"items", "batch"}, selected)


def test_a_view_of_another_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """With --defer a view that this command does not build reads the tables of that target."""
    nodes = [
        node("batch", "table"),
        node("clean", "view", "batch"),
        node("items", "incremental", "clean"),
    ]
    selected = {"batch", "items"}
    got = passed_over(monkeypatch, nodes, {"batch"}, selected, is_deferred=True)
    assert "clean may show" in got
    selected |= {"clean"}
    got = passed_over(monkeypatch, nodes, {"batch"}, selected, is_deferred=True)
    assert got == "passed over"
