"""A merge that the one-commit engine leaves to MERGE INTO says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from functional.merge.conftest import merged

pytestmark = pytest.mark.spark

WHY = "the table keeps a change data feed (delta.enableChangeDataFeed)"
META = {"order_by": "lsn", "delete_when": "op = 'd'"}
BODY = "select 1L as id, 'u' as op, 2L as lsn, 'b' as v"
TABLE = (
    "create table refused.{} using delta tblproperties ({}) as"
    " select 1L as id, 'c' as op, 1L as lsn, 'a' as v, false as _deleted"
)
VECTORS = "'delta.enableDeletionVectors'='true'"
# By model: its settings, properties of its table, and the engine with the reason.
MODELS: dict[str, tuple[dict[str, Any], str, tuple[str, str | None]]] = {
    "fed": (META, f"{VECTORS}, 'delta.enableChangeDataFeed'='true'", ("merge_into", WHY)),
    # What the model asks for is no refusal. Nor is one told where one commit does it, as in
    # `test_merge_ranges.py`.
    "asked": (META | {"engine": "merge_into"}, VECTORS, ("merge_into", None)),
}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any]) -> Any:
    made = make_project(
        "refused", {f"models/{name}.sql": merged(meta, BODY) for name, (meta, *_) in MODELS.items()}
    )
    made.session.sql("create schema if not exists refused")
    for name, (_, properties, _) in MODELS.items():
        made.session.sql(TABLE.format(name, properties))
    return made


@pytest.mark.parametrize("name", MODELS)
def test_the_reason_is_told_before(project: Any, name: str) -> None:
    *_, (engine, why) = MODELS[name]
    project.dbt("run-operation", "alluvium.explain_merge", "--args", f"{{model: {name}}}")
    told = f"  engine: {engine}" + (f", for {why}" if why else "")
    [line] = project.said("  engine: ")
    assert line.startswith(told)
    assert why or line.endswith(told)
    assert project.versions(name) == 1


def test_the_reason_is_told_after(project: Any) -> None:
    project.dbt("run")
    for name, (*_, expected) in MODELS.items():
        figures = project.figures(name)
        assert (figures["engine"], figures.get("refused")) == expected
        assert project.read(f"select v from {{s}}.{name}")["v"].tolist() == ["b"]
