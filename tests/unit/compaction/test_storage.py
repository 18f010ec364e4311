"""What is shown of fragments and buckets: against a look at every one, and every pair, of a few."""

import itertools
import json
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawn import examples

from alluvium.compact import storage
from alluvium.plan.compaction.tags import Tag
from alluvium.plan.fragment import FRAGMENT_SCHEMA
from alluvium.plan.layout import sort_key
from alluvium.plan.layout.settings import Layout

LAYOUT = Layout(("a", "b"), "day", "day", target_rows=100, target_bytes=10_000, fan_in=4)
TYPES = [pa.int64(), pa.string()]
DAY = 86400.0
Row = dict[str, Any]


@cache
def key(values: tuple[int, str]) -> str:
    columns = [pa.array([value], kind) for value, kind in zip(values, TYPES, strict=True)]
    return sort_key.encode(columns)[0]


KEY = st.tuples(st.integers(0, 4), st.sampled_from(["", "x", "y"]))


SORT_KEY = LAYOUT.sort_key
FILES = st.lists(
    st.tuples(
        st.integers(1, 3),  # day
        st.none() | st.integers(1, 150),  # rows
        st.integers(0, 7),  # deleted, where there are as many
        st.lists(KEY, min_size=2, max_size=2).map(sorted),
        st.sampled_from([SORT_KEY, SORT_KEY, 'lexical["b"]', None]),
        st.integers(0, 2),  # level
        st.sampled_from([0.0, DAY * 2.5, DAY * 9]),  # arrived
        st.integers(1, 12_000),  # bytes
        st.sampled_from([DAY * 1.5, DAY * 9.5]),  # written
    ),
    max_size=9,
)
SHUFFLES = st.randoms(use_true_random=False)


@st.composite
def fragments(draw: st.DrawFn) -> list[Row]:
    """Files of a few days, as the log may have them, and `keys` that the tag of some names."""
    found = []
    for number, one in enumerate(draw(FILES)):
        day, rows, deleted, (lo, hi), ours, level, arrived, size, written = one
        tag = ours and Tag(ours, level, key(lo), key(hi), arrived, 7, 3).text()
        found.append(
            {
                "path": f"part-{number:03}",
                "bucket": json.dumps({"day": str(day)}),
                "ends": (day + 1) * DAY,
                "bytes": size,
                "rows": rows,
                "deleted": min(deleted, (rows or 0) // 20),
                "written": written,
                "tag": tag,
                "keys": (lo, hi) if ours == SORT_KEY else None,
            }
        )
    draw(SHUFFLES).shuffle(found)
    return found


def table(rows: list[Row]) -> pa.Table:
    known = [{name: one.get(name) for name in FRAGMENT_SCHEMA.names} for one in rows]
    return pa.Table.from_pylist(known, schema=FRAGMENT_SCHEMA)


def is_full(one: Row) -> bool:
    if one["rows"] is None:
        return bool(one["bytes"] >= 5_000)
    live = one["rows"] - one["deleted"]
    return bool(live >= 50 or int(one["bytes"] * live / one["rows"]) >= 5_000)


@given(rows=fragments(), now=st.sampled_from([DAY * 2, DAY * 2.6, DAY * 12]))
@examples(100)
def test_what_is_shown_of_fragments_and_buckets(rows: list[Row], now: float) -> None:
    """In one, since drawing the fragments costs most."""
    each_fragment_is_shown_as_the_log_has_it(rows)
    each_bucket_is_the_sum_of_its_fragments(rows, now)


def each_fragment_is_shown_as_the_log_has_it(rows: list[Row]) -> None:
    shown = storage.fragment_rows(table(rows), LAYOUT, TYPES)
    assert shown.schema == storage.FRAGMENT_ROWS
    by_path = {one["path"]: one for one in shown.to_pylist()}
    assert len(by_path) == shown.num_rows == len(rows)
    for one in rows:
        found, keys = by_path[one["path"]], one["keys"]
        tag = json.loads(one["tag"]) if keys else {}
        assert found["bucket"] == one["bucket"]
        assert found["bytes"] == one["bytes"]
        assert found["deleted_rows"] == one["deleted"]
        assert found["row_count"] == (None if one["rows"] is None else one["rows"] - one["deleted"])
        assert found["is_sorted"] == (keys is not None)
        assert found["level"] == tag.get("level")
        for end, value in zip(("lo", "hi"), keys or (None, None), strict=True):
            assert found[end] == (None if value is None else json.dumps(list(value)))
        assert found["is_full"] == is_full(one)
        assert found["arrived_at"].timestamp() == tag.get("arrived", one["written"])
        assert found["tier_bytes"] == tag.get("tier_bytes", 0)
        assert found["locality_bytes"] == tag.get("locality_bytes", 0)


def deepest(rows: list[Row]) -> int:
    """The largest set of which each overlaps each other, set by set; what is unsorted all."""
    ends = [one["keys"] or ((-1, ""), (99, "")) for one in rows]
    for size in range(len(ends), 0, -1):
        for chosen in itertools.combinations(ends, size):
            if all(a[0] < b[1] and b[0] < a[1] for a, b in itertools.combinations(chosen, 2)):
                return size
    return 0


def each_bucket_is_the_sum_of_its_fragments(rows: list[Row], now: float) -> None:
    shown = storage.bucket_rows(table(rows), LAYOUT, now)
    assert shown.schema == storage.BUCKET_ROWS
    assert sorted(shown["bucket"].to_pylist()) == sorted({one["bucket"] for one in rows})
    for found in shown.to_pylist():
        mine = [one for one in rows if one["bucket"] == found["bucket"]]
        arrived = {
            one["path"]: json.loads(one["tag"])["arrived"] if one["keys"] else one["written"]
            for one in mine
        }
        unsorted = [one for one in mine if not one["keys"]]
        live = [None if one["rows"] is None else one["rows"] - one["deleted"] for one in mine]
        assert found["fragments"] == len(mine)
        assert found["unsorted_fragments"] == len(unsorted)
        assert found["small_fragments"] == sum(not is_full(one) for one in mine)
        assert found["bytes"] == sum(one["bytes"] for one in mine)
        assert found["row_count"] == (None if None in live else sum(live))
        assert found["deleted_rows"] == sum(one["deleted"] for one in mine)
        assert found["overlap_depth"] == deepest(mine)
        assert found["ends_at"].timestamp() == mine[0]["ends"]
        assert found["arrived_at"].timestamp() == max(arrived.values())
        since = min((arrived[one["path"]] for one in unsorted), default=None)
        assert (found["dirty_since"] and found["dirty_since"].timestamp()) == since
        assert (found["tier_bytes"], found["locality_bytes"]) == tuple(
            each * (len(mine) - len(unsorted)) for each in (7, 3)
        )
        assert found["state"] in expected_states(mine, unsorted, max(arrived.values()), now)


def expected_states(mine: list[Row], unsorted: list[Row], arrived: float, now: float) -> set[str]:
    """By the words of docs/compaction.md: quiet a quarter of the window after it ends, twice the
    lateness if that is more, a day at most."""
    ends = mine[0]["ends"]
    lateness = max(0.0, arrived - ends)
    if now - max(ends, arrived) < min(DAY, max(DAY / 4, 2 * lateness)):
        return {"dirty"} if unsorted else {"open"}
    if unsorted or deepest(mine) > 1:
        return {"quiet"}
    if len(mine) == 1 or all(is_full(one) for one in mine):
        return {"final"}
    return {"quiet", "final"}  # small ones may have full ones between them


def test_without_a_layout_what_depends_on_it_is_unknown() -> None:
    rows = [
        {"path": name, "bucket": "", "bytes": 10, "rows": 2, "deleted": 1, "written": 5.0}
        for name in ("x", "y")
    ]
    [one, _] = storage.fragment_rows(table(rows), None, []).to_pylist()
    assert {name for name, value in one.items() if value is None} == {
        "is_sorted", "level", "lo", "hi", "is_full",
    }  # fmt: skip
    [bucket] = storage.bucket_rows(table(rows), None, 9.0).to_pylist()
    assert {name for name, value in bucket.items() if value is None} == {
        "state", "ends_at", "dirty_since", "overlap_depth", "small_fragments", "unsorted_fragments",
    }  # fmt: skip
    assert (bucket["fragments"], bucket["row_count"], bucket["bytes"]) == (2, 2, 20)


@pytest.mark.parametrize("layout", [LAYOUT, None])
def test_no_fragment_no_row(layout: Layout | None) -> None:
    empty = FRAGMENT_SCHEMA.empty_table()
    types = TYPES if layout else []
    assert storage.fragment_rows(empty, layout, types) == storage.FRAGMENT_ROWS.empty_table()
    assert storage.bucket_rows(empty, layout, 0.0) == storage.BUCKET_ROWS.empty_table()


def test_a_key_of_other_types_is_shown_as_it_is() -> None:
    tag = Tag(LAYOUT.sort_key, 0, "01zz", key((1, "x")), 2.0**53, 0, 0).text()
    rows = [{"path": "x", "bucket": "", "bytes": 10, "rows": 2, "deleted": 0, "written": 5.0}]
    shown = storage.fragment_rows(table([rows[0] | {"tag": tag}]), LAYOUT, TYPES)
    assert shown["lo"].to_pylist() == ["01zz"]
    assert shown["hi"].to_pylist() == ['[1, "x"]']
