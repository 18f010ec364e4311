"""`meta.alluvium_layout`: what it accepts, and every mistake at once."""

from __future__ import annotations

import math
from typing import Any

import pytest

from alluvium.plan.layout.errors import LayoutError
from alluvium.plan.layout.settings import Layout, parse_layout
from alluvium.schema import shown

HOUR, DAY = 3600.0, 86400.0


def mistakes(block: Any) -> list[str]:
    with pytest.raises(LayoutError) as caught:
        parse_layout("logs", block)
    assert str(caught.value).startswith("logs: meta.alluvium_layout")
    assert all(mistake in str(caught.value) for mistake in caught.value.mistakes)
    return [line.removeprefix("meta.alluvium_layout.") for line in caught.value.mistakes]


def test_least() -> None:
    assert parse_layout("logs", {"sort_by": "a"}) == Layout(sort_by=("a",))
    assert parse_layout("logs", {"sort_by": ["`a b`", "`c``d`"]}).sort_by == ("a b", "c`d")


def test_the_defaults_are_those_of_the_documentation() -> None:
    assert parse_layout("logs", {"sort_by": "a"}) == Layout(
        sort_by=("a",),
        bucket_column=None,
        window=None,
        target_rows=1_000_000,
        target_bytes=128 * 1024 * 1024,
        fan_in=32,
        tiers=8,
        quiet_after=None,
        growth=8,
        level_rows=None,
        budget=None,
        max_memory=128 * 1024 * 1024,
        curve="lexical",
        partial_progress=True,
        index=None,
    )


def test_full() -> None:
    block = {
        "sort_by": ["service", "at"],
        "bucket_by": {"column": "day", "window": "day"},
        "target_rows": 10,
        "target_bytes": "1 KiB",
        "fan_in": 2,
        "quiet_after": "6 hours",
        "budget": "3KiB",
        "max_memory": "1 MiB",
        "curve": "zorder",
        "partial_progress": False,
        "index": "`Host`",
    }
    assert parse_layout("logs", block) == Layout(
        sort_by=("service", "at"),
        bucket_column="day",
        window="day",
        target_rows=10,
        target_bytes=1024,
        fan_in=2,
        quiet_after=21600.0,
        budget=3072,
        max_memory=1048576,
        curve="zorder",
        partial_progress=False,
        index=("Host",),
    )


def test_an_index_may_be_turned_off() -> None:
    assert parse_layout("logs", {"sort_by": "a", "index": False}).index == ()


def test_what_is_null_is_as_if_it_were_not_there() -> None:
    nulls = ("bucket_by", "target_rows", "target_bytes", "fan_in")
    block = dict.fromkeys((*nulls, "quiet_after", "budget", "curve", "partial_progress", "index"))
    assert parse_layout("logs", {"sort_by": "a", **block}) == Layout(sort_by=("a",))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (1, 1), ("1", 1), (134217728, 134217728), ("128 MiB", 134217728), ("128MiB", 134217728),
        ("2 KiB", 2048), ("1 TiB", 1099511627776),
    ],
)  # fmt: skip
def test_sizes(text: Any, number: int) -> None:
    assert parse_layout("logs", {"sort_by": "a", "target_bytes": text}).target_bytes == number
    if number >= 3:
        block = {"sort_by": "a", "target_bytes": 1, "budget": text, "fan_in": 2}
        assert parse_layout("logs", block).budget == number


@pytest.mark.parametrize(("fan_in", "least"), [(8, 4000), (7, 3500), (6, 3000), (2, 3000)])
def test_a_budget_holds_the_largest_merge_of_small_fragments(fan_in: int, least: int) -> None:
    block = {"sort_by": "a", "target_bytes": 1000, "fan_in": fan_in}
    assert parse_layout("logs", block | {"budget": least}).budget == least
    [mistake] = mistakes(block | {"budget": least - 1})
    assert mistake.startswith(
        f"budget: {least - 1}; accepted: at least {least} bytes, which are fan_in / 2 full"
        " fragments by target_bytes, and at least 3"
    )


@pytest.mark.parametrize("columns", ["a", ["a"], ["a", "b", "c", "d", "e", "f"]])
def test_a_z_order_is_of_a_handful_of_columns(columns: Any) -> None:
    [mistake] = mistakes({"sort_by": columns, "curve": "zorder"})
    count = 6 if len(columns) == 6 else 1
    assert mistake == (
        f"curve: 'zorder' with {count} in sort_by; accepted: zorder with 2 to 5 columns, or lexical"
    )
    assert parse_layout("logs", {"sort_by": columns, "curve": "lexical"}).curve == "lexical"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1 minute", 60.0), ("90 minutes", 5400.0), ("1 hour", HOUR), ("6 hours", 6 * HOUR),
        ("2 days", 2 * DAY), ("1 week", 7 * DAY), ("auto", None),
    ],
)  # fmt: skip
def test_durations(text: str, seconds: float | None) -> None:
    assert parse_layout("logs", {"sort_by": "a", "quiet_after": text}).quiet_after == seconds


def test_retain_is_of_buckets() -> None:
    block: dict[str, Any] = {"sort_by": "a", "bucket_by": {"column": "day", "window": "day"}}
    # Compaction itself has no use for it.
    assert parse_layout("logs", block | {"retain": "30 days"}) == parse_layout("logs", block)
    [mistake] = mistakes({"sort_by": "a", "retain": "30 days"})
    assert mistake.startswith("retain: '30 days': whole buckets are dropped")
    assert mistake.endswith("; accepted: with bucket_by")


# A key, a value it cannot have, and what is accepted.
WRONG: list[tuple[str, Any, str]] = [
    *(("sort_by", value, "a column, or a list of columns") for value in (5, [], "", " ", [5])),
    *(("sort_by", value, "a column, or a list of columns") for value in (["a", ""], True, {})),
    *(("sort_by", value, "each column once") for value in (["a", "a"], ["a", "b", "A"])),
    *(("target_rows", value, "a whole number from 1") for value in (0, -1, True, 1.0, "10")),
    *(("fan_in", value, "a whole number from 2")
      for value in (1, 0, -32, True, 2.5, "32", [32], 1001)),
    *(("target_bytes", value, "bytes, such as 134217728, 128 MiB or 1 GiB")
      for value in (0, -1, True, 1.5, "0", "128 MB", "128 mib", "1.5 GiB", "-1 MiB", "MiB", "")),
    *(("budget", value, "bytes, such as 134217728, 128 MiB or 1 GiB")
      for value in ("none", "10 GB", False, 0, ["1 GiB"], " 1", "1 GiB\n", "\u0661 GiB")),
    *(("max_memory", value, "at least 1 MiB") for value in (1, 1048575, "1023 KiB")),
    *(("max_memory", value, "bytes, such as") for value in ("64 MB", True, 0, [])),
    *(("curve", value, "lexical, zorder") for value in ("hilbert", "Zorder", 1, True, [], {})),
    *(("partial_progress", value, "true, false")
      for value in ("false", "no", 0, 1, 0.0, "", [], {})),
    *(("index", value, "false, a column, or a list of columns")
      for value in (True, 0, "", [], [1], {}, ["a", " "])),
    *(("quiet_after", value, "auto, or a number of minutes, hours, days or weeks, such as 6 hours")
      for value in (6, True, "6", "6h", "6 hour ago", "0 hours", "-1 hours", "1.5 hours")),
    *(("quiet_after", value, "auto, or a number") for value in ("1 month", "6  hours", "Auto", [])),
    *(("retain", value, "a number of minutes, hours, days or weeks, such as 15 minutes")
      for value in ("auto", 30, "30", "30d", "1 month", "-1 days", "0 days", True, [])),
    *(("bucket_by.column", value, "a text") for value in (5, "", " ", ["day"], True)),
    *(("bucket_by.window", value, "hour, day, week, month")
      for value in ("year", "days", 1, True, ["day"], {"day": 1})),
]  # fmt: skip


def with_value(key: str, value: Any) -> dict[str, Any]:
    """A block that is right but for this."""
    block: dict[str, Any] = {
        "sort_by": "a",
        "bucket_by": {"column": "d", "window": "day"},
    }
    outer, _, inner = key.rpartition(".")
    (block[outer] if outer else block)[inner] = value
    return block


@pytest.mark.parametrize(("key", "value", "accepted"), WRONG)
def test_a_mistake_names_key_value_and_what_is_accepted(
    key: str, value: Any, accepted: str
) -> None:
    [mistake] = mistakes(with_value(key, value))
    assert mistake.startswith(f"{key}: {shown(value)} is not accepted; accepted: {accepted}")


@pytest.mark.parametrize(
    ("key", "accepted"),
    [
        (
            "sort",
            "sort_by, bucket_by, target_rows, target_bytes, fan_in, quiet_after, retain, budget,"
            " max_memory, curve, partial_progress, index",
        ),
        ("Sort_By", "sort_by, bucket_by"),
        (5, "sort_by"),
        ("bucket_by.columns", "column, window"),
    ],
)
def test_an_unknown_key_is_named_with_those_that_are_known(key: Any, accepted: str) -> None:
    block = with_value(key, 1) if isinstance(key, str) else {"sort_by": "a", key: 1}
    [mistake] = mistakes(block)
    of, _, unknown = str(key).rpartition(".")
    place = f"{of or 'meta.alluvium_layout'}: unknown key {unknown}; accepted: "
    assert mistake.startswith(place)
    assert accepted in mistake


def test_a_key_that_is_misspelt_names_the_one_that_was_meant() -> None:
    for block, meant in (
        ({"sort_by": "a", "target_row": 5}, "target_rows"),
        ({"sort_by": "a", "bucket_by": {"colum": "at", "column": "at", "window": "day"}}, "column"),
    ):
        [mistake] = mistakes(block)
        assert mistake.endswith(f"; did you mean {meant}?")
    assert "did you mean" not in mistakes({"sort_by": "a", "levels_of": 1})[0]


@pytest.mark.parametrize(
    ("target", "fan_in", "least"),
    [
        ("128 MiB", 32, "2 GiB"),
        ("1 GiB", 2, "3 GiB"),
        ("2 KiB", 5, "6 KiB"),
        (1000, 6, "3000 bytes"),
    ],
)
def test_a_budget_that_is_too_small_names_the_least_one_to_write(
    target: Any, fan_in: int, least: str
) -> None:
    block = {"sort_by": "a", "target_bytes": target, "fan_in": fan_in}
    [mistake] = mistakes(block | {"budget": 1})
    assert f"accepted: at least {least}, " in mistake
    assert parse_layout("logs", block | {"budget": least.removesuffix(" bytes")}).budget


@pytest.mark.parametrize("block", [None, "a", ["a"], 5, True])
def test_what_is_no_mapping_is_refused(block: Any) -> None:
    [mistake] = mistakes(block)
    said = f"meta.alluvium_layout: {shown(block)} is not a mapping; accepted keys: sort_by"
    assert mistake.startswith(said)


@pytest.mark.parametrize("value", ["day", ["day"], 5, True, ""])
def test_a_part_that_is_no_mapping_is_refused(value: Any) -> None:
    [mistake] = mistakes({"sort_by": "a", "bucket_by": value})
    assert mistake.startswith(f"bucket_by: {shown(value)} is not a mapping; accepted keys: ")


@pytest.mark.parametrize("block", [{}, {"fan_in": 4}, {"sort_by": None}])
def test_sort_by_is_needed(block: dict[str, Any]) -> None:
    [mistake] = mistakes(block)
    assert mistake == "sort_by: missing; accepted: a column, or a list of columns"


@pytest.mark.parametrize("absent", [{}, {"column": None, "window": None}])
@pytest.mark.parametrize("given", [{}, {"column": "day"}, {"window": "day"}])
def test_a_bucket_needs_its_column_and_its_window(
    absent: dict[str, Any], given: dict[str, Any]
) -> None:
    found = mistakes({"sort_by": "a", "bucket_by": absent | given})
    said = {"column": "a partition column", "window": "hour, day, week, month"}
    assert found == [
        f"bucket_by.{key}: missing; accepted: {said[key]}" for key in said if key not in given
    ]


def test_every_mistake_at_once() -> None:
    found = mistakes(
        {
            "sortby": "a",
            "target_rows": True,
            "target_bytes": "128 MB",
            "fan_in": 1,
            "quiet_after": "soon",
            "retain": "ever",
            "budget": -1,
            "max_memory": "5 MB",
            "curve": "hilbert",
            "partial_progress": "no",
            "index": True,
            "bucket_by": {"column": 5, "size": "day"},
        }
    )
    named = {mistake.partition(":")[0] for mistake in found}
    unknown = {mistake.split(" ")[3] for mistake in found if "unknown key" in mistake}
    assert unknown == {"sortby;", "size;"}
    assert named == {
        "meta.alluvium_layout", "sort_by", "target_rows", "target_bytes", "fan_in", "quiet_after",
        "retain", "budget", "max_memory", "curve", "partial_progress", "index",
        "bucket_by.column",
        "bucket_by", "bucket_by.window",
    }  # fmt: skip
    assert len(found) == len(named)


@pytest.mark.parametrize(
    ("window", "lateness", "seconds"),
    [
        ("hour", 0.0, HOUR / 4),
        ("day", 0.0, 6 * HOUR),
        ("week", 0.0, DAY),
        ("month", 0.0, DAY),
        # Twice the lateness, where that is more.
        ("hour", HOUR / 8, HOUR / 4),
        ("hour", HOUR, 2 * HOUR),
        ("day", 3 * HOUR + 1, 6 * HOUR + 2),
        # But a day at most.
        ("hour", 13 * HOUR, DAY),
        ("day", 365 * DAY, DAY),
        (None, 0.0, math.inf),
        (None, 5 * DAY, math.inf),
    ],
)
def test_when_a_bucket_is_quiet(window: str | None, lateness: float, seconds: float) -> None:
    assert Layout(("a",), window=window).quiet_time(lateness) == seconds
    # What is said counts, whatever was seen.
    assert Layout(("a",), window=window, quiet_after=60.0).quiet_time(lateness) == 60.0


def test_sort_keys_that_cannot_be_compared_have_other_names() -> None:
    keys = {Layout(columns).sort_key for columns in (("a",), ("b",), ("a", "b"), ("b", "a"))}
    assert len(keys) == 4
