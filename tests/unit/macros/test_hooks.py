"""The maintenance hooks: what they run, and what they leave to a layout."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

LAYOUT = {"alluvium_layout": {"sort_by": "a"}}
LOGS = SimpleNamespace(render=lambda: "`s`.`logs`", identifier="logs")


@pytest.fixture
def run(macros: Any) -> Any:
    """Renders a hook of a model with this `meta`; `compacted` holds tables and layouts."""
    compacted: list[tuple[str, Any]] = []
    notes: dict[str, Any] = {}

    def hook(name: str, meta: dict[str, Any], *args: Any) -> str:
        macros.context["config"] = {"meta": meta}
        return str(getattr(macros, name)(LOGS, *args))

    def store(name: str, response: Any) -> None:
        notes[name] = SimpleNamespace(response=response)

    macros.context["model"] = SimpleNamespace(name="logs", config={"meta": {}})
    # As dbt: a note is handed out once.
    macros.context["load_result"] = lambda name: notes.pop(name, None)
    macros.context["store_result"] = store
    macros.context["alluvium"]["_compact_table"] = lambda relation, name, block: compacted.append(
        (relation.render(), block)
    )
    hook.compacted = compacted  # type: ignore[attr-defined]
    return hook


def test_without_a_layout_they_are_as_ever(macros: Any, run: Any) -> None:
    assert run("optimize", {}) == "optimize `s`.`logs`"
    assert run("zorder", {}, ["a", "b"]) == "optimize `s`.`logs` zorder by (`a`, `b`)"
    assert run("optimize", {"alluvium_layout": None}) == "optimize `s`.`logs`"
    assert not macros.warnings
    assert not run.compacted


@pytest.mark.parametrize(("hook", "args"), [("optimize", []), ("zorder", []), ("zorder", [["a"]])])
def test_a_layout_is_not_undone(macros: Any, run: Any, hook: str, args: list[Any]) -> None:
    assert run(hook, LAYOUT, *args) == ""
    assert run.compacted == [("`s`.`logs`", LAYOUT["alluvium_layout"])]
    [warning] = macros.warnings
    assert warning.startswith(f"logs: the hook alluvium.{hook} ran alluvium.compact.")
    assert 'Write post_hook: "{{ alluvium.compact(this) }}"' in warning


def test_a_model_is_warned_of_once(macros: Any, run: Any) -> None:
    for hook in ("optimize", "zorder", "optimize", "compact"):
        run(hook, LAYOUT)
    assert len(run.compacted) == 4
    assert len(macros.warnings) == 1


def test_nothing_is_said_where_no_hook_does_anything(macros: Any, run: Any) -> None:
    macros.context["flags"] = SimpleNamespace(EMPTY=True)
    for hook in ("optimize", "zorder", "compact"):
        assert run(hook, LAYOUT) == ""
    macros.context["flags"] = SimpleNamespace(EMPTY=False)
    macros.context["execute"] = False
    assert run("zorder", LAYOUT) == ""
    assert not macros.warnings
    assert not run.compacted


@pytest.mark.parametrize(("hook", "args"), [("optimize", []), ("zorder", [["a"]]), ("vacuum", [])])
def test_a_merge_that_changed_nothing_leaves_nothing_to_do(
    macros: Any, run: Any, hook: str, args: list[Any]
) -> None:
    for rows in (0, 1):
        merged = SimpleNamespace(response=SimpleNamespace(rows_affected=rows))
        macros.context["load_result"] = lambda name, merged=merged: merged
        # A vacuum is run there and then, the others leave a statement.
        done = run(hook, {"alluvium_merge": {}}, *args) or macros.vacuumed
        assert bool(done) == bool(rows)
