"""A merge that the one-commit engine leaves to MERGE INTO says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from functional.merge.conftest import BATCH, SOURCES, merged

pytestmark = pytest.mark.spark

WHY = "the table keeps a change data feed (delta.enableChangeDataFeed)"
EXPLAIN = ("run-operation", "alluvium.explain_merge", "--args", "{model: items}")


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any]) -> Any:
    made = make_project(
        "refused",
        {
            "models/sources.yml": SOURCES,
            "models/batch.sql": BATCH,
            "models/items.sql": merged({"order_by": "lsn", "delete_when": "op = 'd'"}),
        },
    )
    made.append_events(0, (1, "c", 1, "2024-01-01", "a"))
    made.dbt("run")
    made.append_events(1, (1, "u", 2, "2024-01-01", "b"))
    made.dbt("run", "--select", "batch")
    return made


def engine(project: Any) -> tuple[str, str | None]:
    figures = project.figures("items")
    return figures["engine"], figures.get("refused")


def test_nothing_is_refused(project: Any) -> None:
    project.dbt(*EXPLAIN)
    assert project.said("  engine: one_commit")
    project.dbt("run", "--select", "items")
    assert engine(project) == ("one_commit", None)


def test_the_reason_is_told_before_and_after(project: Any) -> None:
    project.session.sql(
        "alter table refused.items set tblproperties ('delta.enableChangeDataFeed'='true')"
    )
    project.append_events(2, (1, "u", 3, "2024-01-01", "c"))
    project.dbt("run", "--select", "batch")
    before = project.versions("items")
    project.dbt(*EXPLAIN)
    assert project.said(f"  engine: merge_into, for {WHY}")
    assert project.versions("items") == before
    project.dbt("run", "--select", "items")
    assert engine(project) == ("merge_into", WHY)
    assert project.sql("select v from {s}.items")["v"].tolist() == ["c"]


def test_what_the_model_asks_for_is_no_refusal(project: Any) -> None:
    items = (project.root / "models/items.sql").read_text()
    asked = items.replace("'order_by'", "'engine': 'merge_into', 'order_by'")
    project.write({"models/items.sql": asked})
    project.append_events(3, (1, "u", 4, "2024-01-01", "d"))
    project.dbt("run", "--select", "batch")
    project.dbt(*EXPLAIN)
    assert any(line.endswith("engine: merge_into") for line in project.lines)
    project.dbt("run", "--select", "items")
    assert engine(project) == ("merge_into", None)
