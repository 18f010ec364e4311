"""When a node that runs for long is told of, and in which words."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.alluvium import connections, heartbeat, told


def test_due() -> None:
    said, lines = 0.0, []
    for second in range(200):
        if heartbeat.due(said, second):
            said = float(second)
            lines.append(second)
    assert lines == [10, 30, 60, 120, 180]
    # A look that comes late tells once.
    assert heartbeat.due(0.0, 65)
    assert not heartbeat.due(65, 66)


def context(jobs: dict[int, str], active: list[int]) -> Any:
    """Two stages a job, of ten tasks each, of which four are done."""
    tracker = SimpleNamespace(
        getActiveJobsIds=lambda: active,
        getJobIdsForGroup=lambda group: [job for job, of in jobs.items() if of == group],
        getJobInfo=lambda job: SimpleNamespace(stageIds=[job * 2, job * 2 + 1]),
        getStageInfo=lambda stage: SimpleNamespace(numTasks=10, numCompletedTasks=4),
    )
    return SimpleNamespace(statusTracker=lambda: tracker)


@pytest.mark.parametrize(
    ("connection", "line"),
    [
        ("model.shop.orders.v2", "orders.v2: running for 1 second, 8 of 20 tasks done"),
        ("macro_suggest_layout", "suggest_layout: running for 1 second, 8 of 20 tasks done"),
        ("master", None),
        ("list_None_shop", None),
    ],
)
def test_lines(monkeypatch: Any, connection: str, line: str | None) -> None:
    lines: list[str] = []
    monkeypatch.setattr(told, "say", lines.append)
    monkeypatch.setattr(heartbeat, "_SAID_AFTER", (1, 60))
    monkeypatch.setattr(heartbeat, "_LOOK", 0.05)
    heartbeat.begin("g", connection, context({1: "g", 2: "other", 3: "g"}, active=[1, 2]))
    end = time.monotonic() + (10 if line else 1.5)
    while time.monotonic() < end and not lines:
        time.sleep(0.05)
    heartbeat.end("g")
    assert lines == ([line] if line else [])


@pytest.mark.parametrize(("patience", "said"), [(0.0, ["starting Spark"]), (60.0, [])])
def test_a_start_of_spark_that_takes_its_time(
    monkeypatch: pytest.MonkeyPatch, patience: float, said: list[str]
) -> None:
    told_of: list[str] = []
    monkeypatch.setattr(connections, "_PATIENCE", patience)
    monkeypatch.setattr(told, "say", told_of.append)
    connections._say_start.cache_clear()
    for _ in range(2):
        with connections._told_of_start():
            time.sleep(0.1)
    assert told_of == said
