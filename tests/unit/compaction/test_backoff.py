"""A backoff is no longer than nothing is due, whatever small files land meanwhile."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from alluvium.delta.log.backoffs import app_id
from alluvium.plan.compaction.backoff import Backoff, compaction_backoff, room
from alluvium.plan.compaction.bucket import FINAL, LOCALITY
from alluvium.plan.compaction.compaction_plan import buckets, plan
from alluvium.plan.compaction.tags import Tag
from alluvium.plan.fragment import FRAGMENT_SCHEMA
from alluvium.plan.layout.settings import Layout
from alluvium.plan.versions.commit import Commit

HOUR, DAY = 3600.0, 86400.0
NOW = 1e9
ROWS = 10_000
LAYOUT = Layout(("a",), target_rows=ROWS, target_bytes=10**9)


def fragment(
    path: str,
    rows: int,
    layout: Layout = LAYOUT,
    level: int | None = None,
    bucket: str = "",
    ends: float | None = None,
    arrived: float = NOW - 60,
    deleted: int = 0,
) -> dict[str, Any]:
    """A row of FRAGMENTS; without a level one that no compaction has written."""
    key = path.encode().hex()
    tag = level is not None and Tag(layout.sort_key, level, key, key, arrived, 10**12, 0).text()
    return {
        "path": path, "bucket": bucket, "ends": ends, "bytes": rows * 100, "rows": rows,
        "deleted": deleted, "written": arrived, "tag": tag or None,
        "lo": None, "hi": None,
    }  # fmt: skip


def table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=FRAGMENT_SCHEMA)


def add(one: dict[str, Any]) -> dict[str, Any]:
    """The action by which a writer adds the fragment."""
    action = {
        "path": one["path"],
        "size": one["bytes"],
        "modificationTime": int(one["written"] * 1000),
        "stats": json.dumps({"numRecords": one["rows"]}),
    }
    if one["deleted"]:
        action["deletionVector"] = {"cardinality": one["deleted"]}
    return {"add": action}


def remove(one: dict[str, Any]) -> dict[str, Any]:
    return {"remove": {"path": one["path"], "dataChange": True}}


def commit(*actions: dict[str, Any]) -> str:
    return "\n".join(json.dumps(one) for one in ({"commitInfo": {"operation": "WRITE"}}, *actions))


def backoff(rows: Sequence[dict[str, Any]], layout: Layout = LAYOUT) -> Backoff:
    found = compaction_backoff(table(rows), layout, NOW)
    assert found is not None
    return found


def is_over(found: Backoff, commits: Sequence[str], layout: Layout, now: float) -> bool:
    return found.is_over((Commit(0, text.splitlines()) for text in commits), layout, now)


def settled(files: int) -> list[dict[str, Any]]:
    return [fragment(f"old-{place:05}", ROWS, level=4) for place in range(files)]


LAYOUTS = st.builds(
    lambda fan_in, tiers, quiet: Layout(
        ("a",), "day", "day", ROWS, 10**9, fan_in=fan_in, tiers=tiers, quiet_after=quiet
    ),
    st.sampled_from([8, 9, 16]),
    st.integers(1, 8),
    st.sampled_from([None, HOUR, 3 * DAY]),
)
# Mostly a few sizes, so that many are of one class, and some at its ends.
SMALL = st.sampled_from([10, 10, 10, 19, 20, 21, 1000, 1999, 2000, ROWS // 2 - 1])
LEVEL = st.sampled_from([None, None, 0])
HOT = st.lists(st.tuples(SMALL, LEVEL), max_size=30)


@given(LAYOUTS, HOT, st.data())
def test_no_tier_of_a_hot_bucket_is_due_while_there_is_room(
    layout: Layout, old: list[tuple[int, int | None]], data: st.DataObject
) -> None:
    before = [
        fragment(f"old-{place:03}", rows, layout, level, arrived=NOW)
        for place, (rows, level) in enumerate(old)
    ]
    assume(not plan(table(before), layout, NOW))
    most = min((room(one, layout) for one in buckets(table(before), layout)), default=1)
    assert most >= 0
    landed = data.draw(st.lists(st.tuples(SMALL, LEVEL), min_size=most, max_size=most))
    after = [
        fragment(f"new-{place:03}", rows, layout, level, arrived=NOW)
        for place, (rows, level) in enumerate(landed)
    ]
    assert not plan(table(before + after), layout, NOW)


@pytest.mark.parametrize(
    ("old", "most", "next_one"),
    [
        ([(10, None)] * 5, 2, (10, None)),
        ([(10, 0)] * 5, 2, (10, 0)),
        ([(20, None)] * 5 + [(39, 0)] * 3, 2, (20, None)),
        ([(10, None)] * 6 + [(10, 0)] * 5, 0, (10, 0)),
        ([(10, None)] * 5 + [(1000, None)] * 7, 0, (1000, None)),
    ],
)
def test_room_is_used_up_by_the_next_file(
    old: list[tuple[int, int | None]], most: int, next_one: tuple[int, int | None]
) -> None:
    layout = Layout(("a",), target_rows=ROWS, target_bytes=10**9, fan_in=8)

    def landed(ones: list[tuple[int, int | None]]) -> pa.Table:
        return table(
            [
                fragment(f"{place}", rows, layout, level, arrived=NOW)
                for place, (rows, level) in enumerate(ones)
            ]
        )

    assert [room(one, layout) for one in buckets(landed(old), layout)] == [most]
    assert not plan(landed(old + [next_one] * most), layout, NOW)
    assert plan(landed(old + [next_one] * (most + 1)), layout, NOW)


def test_there_is_no_less_than_no_room() -> None:
    """Merged files enough for a merge, of which a new one is among the first."""
    layout = Layout(("a",), target_rows=ROWS, target_bytes=10**9, fan_in=8)
    files = table(
        [
            fragment(f"{place}", 10, layout, None if place == 7 else 0, arrived=NOW)
            for place in range(9)
        ]
    )
    assert not plan(files, layout, NOW)
    assert [room(one, layout) for one in buckets(files, layout)] == [0]


BUCKETS = {"old": NOW - 3 * DAY, "late": NOW - HOUR, "open": NOW + HOUR, "none": None}
PLACES = st.sampled_from(["none", "none", "open", "late", "old"])
OLD = st.tuples(SMALL | st.just(ROWS), LEVEL, PLACES, st.floats(60, 7 * HOUR))
WHEN = st.just(1 - 1e-9) | st.floats(0, 1)
NEW = st.tuples(SMALL, PLACES | st.just("another"), st.floats(0, 1))


@given(LAYOUTS, st.lists(OLD, max_size=12), st.lists(NEW, max_size=5), st.data())
def test_nothing_but_order_is_due_before_it_is_over(
    layout: Layout,
    old: list[tuple[int, int | None, str, float]],
    new: list[tuple[int, str, float]],
    data: st.DataObject,
) -> None:
    before = [
        fragment(f"old-{place:03}", rows, layout, level, bucket, BUCKETS[bucket], NOW - ago)
        for place, (rows, level, bucket, ago) in enumerate(old)
    ]
    assume(not plan(table(before), layout, NOW))
    found = compaction_backoff(table(before), layout, NOW)
    assume(found is not None)
    assert found is not None
    # Mostly at its very end.
    later = NOW + (found.until - NOW) * data.draw(WHEN)
    landed = [
        fragment(
            f"new-{place:03}", rows, layout, None, bucket, BUCKETS.get(bucket),
            NOW + (later - NOW) * when,
        )
        for place, (rows, bucket, when) in enumerate(new[: found.files])
    ]  # fmt: skip
    changed = {
        one["path"]: one | {"deleted": one["rows"] // 20}
        for one in before[: found.files - len(landed)]
        if one["bucket"] in ("open", "none")
    }
    commits = [commit(add(one)) for one in landed]
    commits += [commit(remove(one), add(one)) for one in changed.values()]
    assume(not is_over(found, commits, layout, later))
    after = [*(changed.get(one["path"], one) for one in before), *landed]
    assert {group.reason for group in plan(table(after), layout, later).tasks} <= {LOCALITY}


def test_a_settled_table_waits_for_half_of_a_merge() -> None:
    found = backoff(settled(50))
    assert found.files == 15
    small = [fragment(f"new-{place}", 100, arrived=NOW) for place in range(16)]
    commits = [commit(add(one)) for one in small]
    assert not is_over(found, [], LAYOUT, NOW + HOUR)
    # Noted by a clock that was far ahead.
    assert is_over(found, [], LAYOUT, found.until - 2 * DAY)
    assert not is_over(found, commits[:15], LAYOUT, NOW + HOUR)
    assert is_over(found, commits, LAYOUT, NOW + HOUR)
    assert is_over(found, [], LAYOUT, found.until)
    assert NOW + 6 * HOUR < found.until <= NOW + DAY


def test_small_ones_that_wait_make_it_shorter() -> None:
    waiting = [fragment(f"new-{place}", 100) for place in range(20)]
    found = backoff(settled(50) + waiting)
    assert found.files == 5
    # The age of the bucket makes 25 alike enough, of the 32 that are asked for.
    assert found.until == pytest.approx(NOW - 60 + DAY * (1 - 25 / 32))
    nearly = [fragment(f"new-{place}", 100) for place in range(28)]
    assert compaction_backoff(table(settled(50) + nearly), LAYOUT, NOW) is None


def test_an_open_bucket_ends_it_when_it_becomes_quiet() -> None:
    layout = Layout(("a",), "day", "day", ROWS, 10**9)
    ends = NOW + HOUR
    full = [fragment(f"full-{place}", ROWS, layout, 1, "b", ends) for place in range(9)]
    found = backoff(full, layout)
    assert NOW + 4 * HOUR < found.until < ends + 6 * HOUR


def test_a_file_that_was_written_long_ago_ends_it() -> None:
    """Its bucket may be quiet: the clock of a bucket begins with what arrived in it."""
    found = backoff(settled(50))
    late = fragment("late", 100, arrived=NOW - 20 * HOUR)
    assert is_over(found, [commit(add(late))], LAYOUT, NOW)
    assert not is_over(found, [commit(add(late | {"written": NOW}))], LAYOUT, NOW)


FULL, SMALL_ONE = fragment("full", ROWS // 2), fragment("small", ROWS // 2 - 1)


@pytest.mark.parametrize(
    ("text", "over"),
    [
        (commit(), False),
        (commit({"cdc": {"path": "x"}}), False),
        (commit({"txn": {"appId": "alluvium/feed", "version": 3}}), False),
        (commit(add(SMALL_ONE)), False),
        (commit(remove(FULL), add(FULL | {"deleted": 0})), False),
        (commit(remove(SMALL_ONE), add(SMALL_ONE | {"deleted": 400})), False),
        # A full one; one that is no longer full, or loses many rows; files that go.
        (commit(add(FULL)), True),
        (commit(add(SMALL_ONE | {"bytes": 500_000_000})), True),
        (commit(remove(FULL), add(FULL | {"deleted": 1})), True),
        (commit(remove(SMALL_ONE), add(SMALL_ONE | {"deleted": 600})), True),
        (commit(remove(FULL), add(FULL | {"rows": None, "deleted": 1})), True),
        (commit(remove(FULL)), True),
        (commit(remove(FULL), add(SMALL_ONE)), True),
        # Other columns, an order that is made anew, what is not known or cannot be read.
        (commit({"metaData": {"id": "x"}}), True),
        (commit({"protocol": {"minReaderVersion": 3}}), True),
        (commit({"domainMetadata": {"domain": "delta.clustering"}}), True),
        (commit({"txn": {"appId": "alluvium.zorder", "version": 3}}), True),
        (commit({"txn": {"appId": "alluvium.zorder:x", "version": 3}}), True),
        (commit({"new in some later version": {}}), True),
        ("{", True),
        ("[]", True),
        ('{"add": {"path": "x"}}', True),
        ('{"add": {"path": "x", "size": "1", "modificationTime": 1, "stats": ""}}', True),
        ('{"add": {"path": "x", "size": 1, "modificationTime": 1, "stats": "[]"}}', True),
    ],
)  # fmt: skip
def test_what_ends_it(text: str, over: bool) -> None:
    assert is_over(Backoff(15, NOW + DAY), [text], LAYOUT, NOW) is over


def test_it_is_of_one_layout_and_one_table() -> None:
    names = {
        app_id(layout, table_id)
        for layout in (LAYOUT, Layout(("a",), fan_in=16), Layout(("b",)))
        for table_id in ("t1", "t2")
    }
    assert len(names) == 6
    assert app_id(LAYOUT, "t1") == app_id(Layout(**vars(LAYOUT)), "t1")


def test_the_final_form_is_what_the_property_guards() -> None:
    """Without a backoff's end late data would be due as well: the property above can fail."""
    layout = Layout(("a",), "day", "day", ROWS, 10**9)
    ends = NOW - 3 * DAY
    rows = [fragment(f"p-{place}", 100, layout, None, "b", ends, NOW) for place in range(2)]
    assert {one.reason for one in plan(table(rows), layout, NOW + DAY).tasks} == {FINAL}
