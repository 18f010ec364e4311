"""The window of a microbatch as SQL."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alluvium.windows.window import Window, window

START = dt.datetime(2024, 1, 3, 22)
END = dt.datetime(2024, 1, 3, 23)


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        (
            "timestamp",
            "timestamp'2024-01-03 22:00:00.000000+00:00'",
            "timestamp'2024-01-03 23:00:00.000000+00:00'",
        ),
        (
            "timestamp_ntz",
            "timestamp_ntz'2024-01-03 22:00:00.000000'",
            "timestamp_ntz'2024-01-03 23:00:00.000000'",
        ),
        ("date", "date'2024-01-04'", "date'2024-01-04'"),
    ],
)
def test_bounds_have_the_columns_type(kind: str, low: str, high: str) -> None:
    found = window("AT", START, END, {"id": "int", "at": kind})
    assert found.predicate == f"`at` >= {low} and `at` < {high}"


def test_the_name_is_the_columns_and_the_zone_utc() -> None:
    zone = dt.timezone(dt.timedelta(hours=2))
    for name in ("a `b`.c", "`a ``b``.c`"):
        found = window(name, START.replace(tzinfo=zone), END, {"a `b`.c": "date", "at": "date"})
        assert found.column == "a `b`.c"
        assert found.start == dt.datetime(2024, 1, 3, 20)
        assert "`a ``b``.c` >= date'2024-01-04'" in found.predicate


@given(st.dates(dt.date(2020, 1, 1), dt.date(2030, 1, 1)), st.integers(-30, 30))
def test_a_date_is_in_the_one_hour_that_it_begins_in(day: dt.date, hours: int) -> None:
    begins = dt.datetime.combine(day, dt.time())
    start = begins + dt.timedelta(hours=hours)
    found = Window("d", "date", start, start + dt.timedelta(hours=1))
    low, high = (part.split("date'")[1][:10] for part in found.predicate.split(" and "))
    assert (dt.date.fromisoformat(low) <= day < dt.date.fromisoformat(high)) is (hours == 0)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"id": "int"}, "event_time: no column 'at'; accepted: id"),
        ({"at": "string"}, "event_time: 'at' is string; accepted: timestamp, timestamp_ntz, date"),
    ],
)
def test_what_no_window_can_be_of(columns: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        window("at", START, END, columns)


def test_a_mistake_counts_the_rows() -> None:
    found = window("at", START, END, {"at": "timestamp"})
    said = found.mistake(1234, 2)
    assert said.startswith(
        "1,234 rows of the batch have `at` (2 of them NULL) outside of its window,"
        " 2024-01-03 22:00:00 up to 2024-01-03 23:00:00 (UTC); nothing was written."
    )
    assert "1 row of the batch has `at` outside" in found.mistake(1, 0)
