"""What `alluvium.suggest_layout` knows of the project's models, and where it stops."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

MERGE = {"order_by": "version", "delete_when": "op = 'd'"}


def relation(**facts: Any) -> SimpleNamespace:
    given = {"schema": "s", "identifier": "items", "is_delta": True, "is_view": False}
    return SimpleNamespace(render=lambda: "`s`.`items`", **given | facts)


def table_of(macros: Any, node: Any, found: Any, name: str | None = None) -> Any:
    node["language"] = "sql"
    macros.context["graph"] = SimpleNamespace(nodes={"model.root.items": node})
    macros.context["alluvium"]["_existing_relation"] = lambda one: found
    return macros.tables_to_suggest_for(name)


@pytest.mark.parametrize(
    ("meta", "config", "updates", "hides"),
    [
        (MERGE, {}, True, ["_deleted"]),
        (MERGE | {"delete": "hard"}, {}, True, []),
        ({"on_match": "ignore"}, {}, False, []),
        (None, {}, True, []),
        (None, {"incremental_strategy": "append", "unique_key": None}, False, []),
        (None, {"materialized": "table"}, False, []),
    ],
)
def test_of_a_table(
    macros: Any, node: Any, meta: Any, config: Any, updates: bool, hides: list[str]
) -> None:
    (found,) = table_of(macros, node(meta, **config), relation())
    assert (found["updates"], found["hides"]) == (updates, hides)
    assert found["key"] == ([] if "unique_key" in config else ["id"])
    assert (found["model"], found["table"], found["layout"]) == ("items", "`s`.`items`", None)


@pytest.mark.parametrize("other", [None, relation(is_view=True), relation(is_delta=False)])
def test_what_is_no_delta_table_is_passed_over_unless_named(
    macros: Any, node: Any, stop: type[Exception], other: Any
) -> None:
    assert table_of(macros, node(), other) == []
    said = "has no table yet" if other is None else "is not a Delta table"
    with pytest.raises(stop, match=f"'items' {said}; accepted: "):
        table_of(macros, node(), other, "items")
    with pytest.raises(stop, match="there is no enabled model 'nobody'; accepted: "):
        table_of(macros, node(), other, "nobody")


def test_a_stock_target_is_refused(macros: Any, stop: type[Exception]) -> None:
    macros.context["target"] = SimpleNamespace(type="databricks")
    with pytest.raises(stop, match=r"target is of type databricks, .*; accepted: alluvium"):
        macros.suggest_layout()
