"""Progress on stock targets: what the history of a table says was merged."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

MODEL = "model.root.items"


def commit(operation: str, through: int, table: str = "t1", model: str = MODEL) -> dict[str, Any]:
    merged = {"model": model, "table": table, "through": through}
    return {"operation": operation, "userMetadata": json.dumps({"alluvium_merge": merged})}


@pytest.mark.parametrize(
    ("history", "progress"),
    [
        ([], None),
        ([{"operation": "WRITE", "userMetadata": None}, commit("MERGE", 3)], 3),
        ([commit("MERGE", 5), commit("MERGE", 3)], 5),
        # What a failed MERGE left to the connection's next statement was not merged.
        ([commit("OPTIMIZE", 5), commit("MERGE", 3)], 3),
        ([commit("OPTIMIZE", 5)], None),
        ([commit("MERGE", 5, table="before a rebuild"), commit("MERGE", 4, model="another")], None),
    ],
)
def test_the_newest_merge_counts(
    macros: Any, history: list[dict[str, Any]], progress: int | None
) -> None:
    macros.context["run_query"] = lambda sql: SimpleNamespace(
        rows=[{"id": "t1"}] if sql.startswith("describe detail") else history
    )
    macros.context["target"] = SimpleNamespace(type="spark")
    table = SimpleNamespace(render=lambda: "items")
    assert macros.read_progress(table, MODEL) == progress
