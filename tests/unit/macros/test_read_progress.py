"""Progress on stock targets: what the history of a table says was merged."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

MODEL = "model.root.items"
GONE = "model.root.gone"


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
        ([commit("MERGE", 5, table="before a rebuild")], None),
        # Another model's, of which the project has no more: this one takes its place.
        ([commit("MERGE", 5, model=GONE), commit("MERGE", 4, model=GONE)], 5),
        ([commit("MERGE", 5, model=GONE), commit("MERGE", 3)], 3),
    ],
)
def test_the_newest_merge_counts(
    macros: Any, history: list[dict[str, Any]], progress: int | None
) -> None:
    assert read(macros, history) == progress


@pytest.mark.parametrize("others", [["model.root.beside"], [GONE, "model.root.gone_too"]])
def test_a_former_model_that_is_not_certain(
    macros: Any, others: list[str], stop: type[Exception]
) -> None:
    history = [commit("MERGE", 5, model=one) for one in others]
    with pytest.raises(stop, match=rf"of {' and '.join(others)} and none of {MODEL}.*full refresh"):
        read(macros, history)


def read(macros: Any, history: list[dict[str, Any]]) -> Any:
    macros.context["graph"] = SimpleNamespace(nodes={MODEL: {}, "model.root.beside": {}})
    macros.context["run_query"] = lambda sql: SimpleNamespace(
        rows=[{"id": "t1"}] if sql.startswith("describe detail") else history
    )
    macros.context["target"] = SimpleNamespace(type="spark")
    table = SimpleNamespace(render=lambda: "items")
    return macros.read_progress(table, MODEL)
