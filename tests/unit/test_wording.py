"""Numbers and times in what is said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from alluvium.wording import counted, in_bytes, listed, newest, span


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "0 seconds"),
        (1, "1 second"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (7_199, "119 minutes"),
        (7_200, "2 hours"),
        (172_799, "47 hours"),
        (172_800, "2 days"),
        (86_400 * 1500, "1,500 days"),
    ],
)
def test_span(seconds: float, said: str) -> None:
    assert span(seconds) == said


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0.0 KiB"),
        (2**20 - 1, "1,024.0 KiB"),
        (2**20, "1.0 MiB"),
        (2**30, "1.0 GiB"),
        (106_667_000_000, "99.3 GiB"),
        (3 * 2**40, "3.0 TiB"),
    ],
)
def test_in_bytes(number: int, said: str) -> None:
    assert in_bytes(number) == said


def test_counted() -> None:
    assert [counted(n, "batch") for n in (0, 1, 2)] == ["0 batches", "1 batch", "2 batches"]


def test_newest() -> None:
    time = datetime(2025, 1, 31, 23, 59, tzinfo=UTC)
    said = newest(time, now=time + timedelta(days=3))
    assert said == "newest event 2025-01-31 23:59:00 UTC (3 days ago)"


def test_listed() -> None:
    assert listed(["a"], 2) == "a"
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
