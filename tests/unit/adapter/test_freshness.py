"""What a merge's line says of the batches of its streaming table that wait."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from alluvium.delta.log import arrivals
from alluvium.plan.versions.arrivals import Arrival
from dbt.adapters.alluvium import freshness

SESSION: Any = None
# Newest first, as the log has them: 1 to 4 events an hour apart.
BATCHES = [
    Arrival(n, n, datetime(2024, 1, 1, n, tzinfo=UTC), datetime(2024, 1, 1, n, 30, tzinfo=UTC))
    for n in (4, 3, 2, 1)
]


def of_log(session: Any, table: str) -> Iterator[Arrival]:
    return iter(BATCHES)


@pytest.mark.parametrize(
    ("through", "left_out", "waits"),
    [
        (4, set(), None),
        (3, set(), "1 batch (4 events) of orders_events waits since 2024-01-01 04:00"),
        (1, set(), "3 batches (9 events) of orders_events wait since 2024-01-01 02:00"),
        (1, {2, 4}, "1 batch (3 events) of orders_events waits since 2024-01-01 03:00"),
    ],
)
def test_what_waits(
    monkeypatch: pytest.MonkeyPatch, through: int, left_out: set[int], waits: str | None
) -> None:
    """Behind a run that `at_most` bounds, as behind any other."""
    monkeypatch.setattr(arrivals, "_arrivals", of_log)
    found = freshness.figures(SESSION, "t", "orders_events", through, None, left_out)
    said = [part for part in found["freshness"].split(", ") if " wait" in part]
    assert len(said) == (waits is not None)
    assert waits is None or said[0].startswith(waits)
