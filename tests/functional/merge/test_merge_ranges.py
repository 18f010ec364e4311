"""Ranges that look at the table: from a Python model, without one, and after the table moved on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from delta.exceptions import ConcurrentAppendException

from alluvium.merge import execute

pytestmark = pytest.mark.spark

PLANNER = """
from alluvium.merge import plan_ranges


def model(dbt, session):
    return plan_ranges(session, dbt.ref("batch"))
"""
DAY_59 = "timestamp'2024-03-04 00:00:00'"
BODY = "-- depends_on: {{ ref('plans') }}\nselect * from {{ ref('batch') }}"


@pytest.fixture(scope="module")
def project(feed: Callable[..., Any]) -> Any:
    """`items` in files of ten ids each; `at` is a day an id."""
    ranges = {"column": "at", "method": "cover", "k": 2}
    made = feed("covered", {"order_by": "lsn", "ranges": ranges})
    for batch in range(6):
        ids = range(10 * batch, 10 * batch + 10)
        made.append_events(batch, *((i, "c", i, day(i), "old") for i in ids))
        made.dbt("run")
    return made


def day(number: int) -> str:
    return f"2024-{1 + number // 28:02}-{1 + number % 28:02}"


def update(project: Any, batch: int, *ids: int) -> None:
    project.append_events(batch, *((i, "u", 1000 * batch, day(i), str(batch)) for i in ids))


def figures(project: Any) -> tuple[Any, ...]:
    found = project.figures("items")
    return found["method"], found["ranges"], found["files_kept"], found["files_total"]


def updated(project: Any, batch: int) -> list[int]:
    frame = project.sql(f"select id from {{s}}.items where v = '{batch}' order by id")
    return list(frame["id"])


def test_planned_by_the_merge(project: Any) -> None:
    update(project, 6, 5, 6, 55)
    project.dbt("run")
    assert figures(project) == ("cover", 2, 2, 6)
    assert updated(project, 6) == [5, 6, 55]


def test_planned_by_a_python_model(project: Any) -> None:
    items = (project.root / "models/items.sql").read_text()
    items = items.replace("'k': 2", "'k': 2, 'model': 'plans'")
    items = items.replace("select * from {{ ref('batch') }}", BODY)
    project.write({"models/items.sql": items, "models/plans.py": PLANNER})
    update(project, 7, 15, 45)
    project.dbt("run")
    # The file with 5 to 55 that the last merge wrote is one of them.
    assert figures(project) == ("cover", 2, 3, 7)
    assert updated(project, 7) == [15, 45]
    plan = project.sql("select * from {s}.plans")
    assert plan["requested"].tolist() == ["cover"] * 2
    assert plan["files_kept"].tolist() == [3] * 2


def test_the_table_moved_on(project: Any) -> None:
    update(project, 8, 25, 35)
    project.dbt("run", "--select", "batch", "plans")
    project.session.sql(f"optimize {project.schema}.items")
    project.dbt("run", "--select", "items")
    # All rows lie in one file now, so that two ranges save no more than one.
    assert figures(project) == ("cover", 1, 1, 1)
    assert updated(project, 8) == [25, 35]


def test_a_conflict_plans_anew(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer's row comes in while the merge runs: its file is one to look at."""
    run = execute._try
    others = [f"insert into {project.schema}.items select 59, 'c', 1, {DAY_59}, 'other'"]

    def disturbed(session: Any, *args: Any) -> Any:
        if others:
            session.newSession().sql(others.pop())
            raise ConcurrentAppendException("another writer")
        return run(session, *args)

    monkeypatch.setattr(execute, "_try", disturbed)
    update(project, 10, 59)
    project.dbt("run")
    assert project.said(", after 1 conflict")
    assert figures(project)[2:] == (2, 3)
    # The row that was not there when the merge was planned first.
    rows = project.sql("select v from {s}.items where id = 59")["v"].tolist()
    assert rows == ["10", "10"]


def test_auto_takes_none_where_nothing_is_saved(project: Any) -> None:
    items = (project.root / "models/items.sql").read_text()
    project.write({"models/items.sql": items.replace("'cover', 'k': 2", "'auto'")})
    update(project, 11, 1, 58)
    project.dbt("run")
    assert figures(project)[:2] == ("none", 0)
    assert updated(project, 11) == [1, 58]
    project.dbt("run-operation", "alluvium.explain_merge", "--args", "{model: items}")
