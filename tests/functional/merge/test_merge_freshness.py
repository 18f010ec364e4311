"""The test of a freshness objective: what waits in bronze, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from alluvium.delta.log import log
from alluvium.plan.versions import left_out

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TESTS = """
version: 2
models:
  - name: items
    data_tests:
      - alluvium.freshness_slo:
          name: by_tier
          arguments:
            events: source('raw', 'events')
      - alluvium.freshness_slo:
          name: by_two_days
          arguments:
            events: source('raw', 'events')
            slo: 2 days
"""


@pytest.fixture(scope="module")
def project(feed: Callable[..., Any]) -> Any:
    made = feed("fresh", {"order_by": "lsn"})
    items = (made.root / "models/items.sql").read_text()
    tier = "'alluvium_tier': 'realtime', 'alluvium_merge'"  # 15 minutes
    made.write(
        {
            "models/items.sql": items.replace("'alluvium_merge'", tier),
            "models/tests.yml": TESTS,
        }
    )
    made.append_events(0, (1, "c", 1, None, "a"))
    made.session.sql("alter table fresh.events add columns (_source_timestamp timestamp)")
    made.session.sql("update fresh.events set _source_timestamp = timestamp'2024-01-01 00:00:00'")
    return made


def late(project: Any) -> list[str]:
    """The objectives that are missed."""
    outcome = project.try_dbt("test")
    assert outcome.exception is None
    statuses = {result.node.name: str(result.status) for result in outcome.result}
    assert set(statuses) == {"by_tier", "by_two_days"}
    assert set(statuses.values()) <= {"pass", "fail"}
    return sorted(name for name, status in statuses.items() if status == "fail")


def test_bronze_before_the_first_merge_is_late(project: Any) -> None:
    assert late(project) == ["by_tier", "by_two_days"]


def test_what_is_merged_is_not_late_however_old(project: Any) -> None:
    project.dbt("run")
    assert late(project) == []


def test_an_event_is_late_after_the_objective(project: Any) -> None:
    project.append_events(1, (2, "c", 2, None, "b"))
    for waited, missed in (("5 minutes", []), ("3 hours", ["by_tier"])):
        project.session.sql(
            "update fresh.events set _source_timestamp ="
            f" current_timestamp() - interval {waited} where _batch_id = 1"
        )
        assert late(project) == missed
    # Not one that is left out for good.
    out = left_out.app_id(f"model.{project.schema}.items", (1, None))
    for number, missed in ((1, []), (0, ["by_tier"])):
        log.commit_transactions(project.session, "fresh.items", {out: number})
        assert late(project) == missed
    project.dbt("run")
    assert late(project) == []
