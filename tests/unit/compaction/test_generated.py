"""The generated column of buckets: its name, its SQL, what it can be made of."""

from __future__ import annotations

import pytest

from alluvium.plan.layout.generated import (
    GeneratedColumn,
    bucket_partition,
    completed_query,
    generated_column,
    with_time,
)
from alluvium.plan.layout.settings import Layout

DAY = GeneratedColumn("at", "day")
COLUMNS = {"service": "string", "at": "timestamp", "on": "date", "local": "timestamp_ntz"}


@pytest.mark.parametrize(
    ("source", "window", "name", "expression", "kind"),
    [
        ("at", "hour", "at_hour", "DATE_TRUNC('HOUR', `at`)", "timestamp"),
        ("at", "day", "at_day", "CAST(`at` AS DATE)", "date"),
        ("at", "week", "at_week", "TRUNC(`at`, 'WEEK')", "date"),
        ("at", "month", "at_month", "TRUNC(`at`, 'MONTH')", "date"),
        ("the time`s é", "day", "the_time_s___day", "CAST(`the time``s é` AS DATE)", "date"),
    ],
)
def test_name_and_sql(source: str, window: str, name: str, expression: str, kind: str) -> None:
    column = GeneratedColumn(source, window)
    assert (column.name, column.expression, column.type) == (name, expression, kind)


@pytest.mark.parametrize(
    ("layout", "partition_by", "sort_by"),
    [
        (Layout(("a",), "at", "day"), [], ("a", "at")),
        (Layout(("a",), "at", "day"), ["region", "at_day"], ("a", "at")),
        (Layout(["At", "a"], "at", "day"), [], ["At", "a"]),
        (Layout(("a",), "at", "day"), ["AT"], ("a",)),
        (Layout(("a", "b"), "at", "day", curve="zorder"), [], ("a", "b")),
        (Layout(("a",)), ["day"], ("a",)),
    ],
)
def test_the_time_comes_last_in_the_sort_key(
    layout: Layout, partition_by: list[str], sort_by: tuple[str, ...]
) -> None:
    found = with_time(layout, partition_by)
    assert found.sort_by == sort_by
    assert with_time(found, partition_by) == found


def test_only_what_is_no_partition_column_is_generated() -> None:
    layout = Layout(("service",), bucket_column="at", window="day")
    assert generated_column(layout, []) == DAY
    # dbt has put it among them already.
    assert generated_column(layout, ["region", "at_day"]) == DAY
    assert generated_column(layout, ["region", "AT"]) is None
    assert generated_column(Layout(("service",)), []) is None


@pytest.mark.parametrize(
    ("source", "window"), [("at", "hour"), ("AT", "week"), ("on", "day"), ("on", "month")]
)
def test_timestamps_and_dates_are_accepted(source: str, window: str) -> None:
    GeneratedColumn(source, window).check(COLUMNS)


@pytest.mark.parametrize(
    ("source", "window", "said"),
    [
        ("when", "day", "no column 'when'; accepted: service, at, on, local"),
        ("service", "day", "'service' is string; accepted for the window day: timestamp, date, or"),
        ("on", "hour", "'on' is date; accepted for the window hour: timestamp, or a column of"),
        ("local", "day", "'local' is timestamp_ntz; accepted for the window day: timestamp, date"),
    ],
)
def test_other_columns_are_refused(source: str, window: str, said: str) -> None:
    with pytest.raises(ValueError, match=r"bucket_by\.column") as caught:
        GeneratedColumn(source, window).check(COLUMNS)
    assert said in str(caught.value)


def test_a_column_of_its_name_is_refused() -> None:
    with pytest.raises(ValueError, match="'at_day' is computed from 'at' and is a column"):
        DAY.check(COLUMNS | {"AT_day": "date"})


def test_the_partition_that_buckets_are_made_by() -> None:
    assert bucket_partition("day", "day", ["region", "day"]) == "day"
    assert bucket_partition("at", "day", ["region", "At_Day"]) == "at_day"
    for partitions, known in ((["region"], "region"), ([], "none")):
        with pytest.raises(ValueError, match="neither by 'at' nor by 'at_day'") as caught:
            bucket_partition("at", "day", partitions)
        assert str(caught.value).endswith(f"accepted now: {known}")


def test_the_query_of_a_batch() -> None:
    day = {"at_day": DAY.expression}
    assert completed_query("q", day, ["region", "at_day"], ["a`b", "at"]) == (
        "select *, (\nCAST(`at` AS DATE)\n) as `at_day`\nfrom q\n"
        "sort by region, at_day, `a``b`, `at`"
    )
    assert completed_query("q", day | {"a`b": "a + b"}, ["at_day"], []) == (
        "select *, (\nCAST(`at` AS DATE)\n) as `at_day`, (\na + b\n) as `a``b`\nfrom q"
    )
    assert completed_query("q", {}, [], ["v"]) == "select *\nfrom q\nsort by `v`"
