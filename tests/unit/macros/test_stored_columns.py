"""What on_schema_change may add to a merged table on a stock target, and what it may not drop."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

META = {"order_by": "lsn", "delete_when": "op = 'd'", "ranges": {"column": "At"}}


def columns(*names: str) -> list[Any]:
    return [SimpleNamespace(name=name) for name in names]


def test_control_columns_are_not_added_and_tombstones_stay(macros: Any, node: Any) -> None:
    macros.context["model"] = SimpleNamespace(resource_type="model", config=node(META)["config"])
    found = macros.stored_columns(
        columns("extra", "_batch_through", "_batch_after"), columns("v", "_deleted")
    )
    assert found == {"add": columns("extra"), "remove": columns("v")}


@pytest.mark.parametrize(
    ("removed", "said"),
    [
        ("ID", "unique_key: the model does not select id"),
        ("lsn", "order_by: the model does not select lsn"),
        ("at", "ranges.column: the model does not select At"),
    ],
)
def test_columns_that_the_merge_needs_are_not_dropped(
    macros: Any, node: Any, stop: type[Exception], removed: str, said: str
) -> None:
    one = node(META)
    macros.context["model"] = SimpleNamespace(
        resource_type="model", name="items", config=one["config"]
    )
    with pytest.raises(stop, match=f"items cannot be merged:\n  - {said}$"):
        macros.stored_columns(columns("extra"), columns("v", removed))
