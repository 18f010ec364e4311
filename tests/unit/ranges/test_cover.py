"""Where fragments lie, what ranges leave of them, and the best ranges: against brute force."""

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawn import examples
from unit.ranges.columns import TYPES, key
from unit.ranges.files import File, beside, fragments, plain
from unit.ranges.files import table as files_near

from alluvium.plan.ranges.cover import cover_cuts
from alluvium.plan.ranges.intervals import one_each
from alluvium.plan.ranges.locate import locate
from alluvium.plan.ranges.points import make_points
from alluvium.ranges import (
    METHODS,
    CostModel,
    Fragments,
    Kept,
    Plan,
    RangeError,
    Request,
    cover_runs,
    plan,
)

COSTS = st.builds(
    CostModel,
    byte=st.sampled_from([0.0, 1.0, 3.0]),
    file=st.sampled_from([0.0, 1.0, 5.0]),
    range=st.sampled_from([0.0, 4.0, 20.0]),
    range_file=st.sampled_from([0.0, 0.5]),
    range_byte=st.sampled_from([0.0, 0.25]),
    planning=st.just(0.0),
)


NAMES = st.sampled_from(sorted(TYPES))
BATCHES = {name: st.lists(st.none() | one, max_size=7) for name, (_, one) in TYPES.items()}


@st.composite
def cases(draw: st.DrawFn) -> tuple[pa.DataType, list[Any], list[File]]:
    """A type, a batch's values, and a table's files, with some values of the batch in them, or
    between them."""
    name = draw(NAMES)
    if draw(st.booleans()):
        return TYPES[name][0], *beside(draw, name)
    values = draw(BATCHES[name])
    return TYPES[name][0], values, files_near(draw, name, values, 9)


def column(kind: pa.DataType, values: list[Any]) -> pa.Array:
    return pa.array(values, kind, from_pandas=False)


def bounds(found: Plan) -> list[tuple[Any, Any]]:
    return list(zip(found.ranges.lo.to_pylist(), found.ranges.hi.to_pylist(), strict=True))


def kept(table: list[File], ranges: list[tuple[Any, Any]], or_null: bool) -> list[bool]:
    """What Delta reads for these ranges, file by file."""
    return [
        any(file.may_hold(lo, hi) for lo, hi in ranges)
        or (bool(ranges) and or_null and file.may_lack())
        for file in table
    ]


def counted(table: list[File], mask: list[bool]) -> Kept:
    sizes = [file.size for file in table]
    chosen = [size for size, keep in zip(sizes, mask, strict=True) if keep]
    return Kept(len(chosen), len(sizes), sum(chosen), sum(sizes))


@given(case=cases(), k=st.integers(1, 5), or_null=st.booleans(), cost=COSTS)
@examples(50)
def test_no_match_is_lost(case: Any, k: int, or_null: bool, cost: CostModel) -> None:
    kind, values, files = case
    batch, files_of = column(kind, values), fragments(kind, files)
    present = {key(v) for v in batch.to_pylist() if v is not None}
    # Each method on the same case: drawing one is what costs most.
    for method in METHODS:
        found = plan(
            batch,
            Request(method, k, fragments=files_of, max_ranges=k, or_null=or_null, cost=cost),
        )
        ranges = bounds(found)
        if found.method == "none":
            assert not ranges
            mask = [bool(present) or method == "none"] * len(files)
        else:
            assert len(ranges) <= k
            mask = kept(files, ranges, or_null)
            for one in present:
                assert any(key(lo) <= one <= key(hi) for lo, hi in ranges)
        assert found.kept == counted(files, mask)
        for file, keep in zip(files, mask, strict=True):
            if not keep:  # the rows themselves, whatever the log says of them
                assert not present & {key(v) for v in file.values if v is not None}
                assert not (or_null and present and None in file.values)


def every_choice(kind: pa.DataType, values: list[Any], most: int) -> list[list[tuple[Any, Any]]]:
    """All ways to join the distinct values to at most `most` ranges."""
    one = {key(v): v for v in column(kind, values).to_pylist() if v is not None}
    ordered = [one[k] for k in sorted(one)]
    choices = []
    for count in range(min(most, len(ordered))):
        for cuts in itertools.combinations(range(1, len(ordered)), count):
            starts, ends = [0, *cuts], [*cuts, len(ordered)]
            choices.append(
                [(ordered[a], ordered[b - 1]) for a, b in zip(starts, ends, strict=True)]
            )
    return choices


@given(case=cases(), most=st.integers(1, 5), or_null=st.booleans(), cost=COSTS)
@examples(100)
def test_no_ranges_keep_fewer_bytes_than_cover_or_are_cheaper_than_auto(
    case: Any, most: int, or_null: bool, cost: CostModel
) -> None:
    kind, values, files = case
    batch, files_of = column(kind, values), fragments(kind, files)
    choices = [
        (counted(files, kept(files, ranges, or_null)), len(ranges))
        for ranges in every_choice(kind, values, most)
    ]
    cover = plan(batch, Request("cover", most, fragments=files_of, or_null=or_null))
    assert cover.kept is not None
    assert cover.kept.bytes == min((one.bytes for one, _ in choices), default=0)
    found = plan(
        batch, Request("auto", fragments=files_of, max_ranges=most, or_null=or_null, cost=cost)
    )
    if not batch.drop_null():
        assert found.kept == counted(files, [False] * len(files))
        return
    everything = counted(files, [True] * len(files))
    prices = [(cost.price(one, count), count) for one, count in [(everything, 0), *choices]]
    assert found.kept is not None
    # The cheapest, and of those the one with the fewest ranges: costs here are exact in binary.
    assert (cost.price(found.kept, len(found.ranges)), len(found.ranges)) == min(prices)


@given(case=cases(), k=st.integers(1, 5))
@examples(50)
def test_cover_keeps_no_more_than_the_other_methods(case: Any, k: int) -> None:
    kind, values, files = case
    batch, files_of = column(kind, values), fragments(kind, files)
    best, *others = (
        plan(batch, Request(one, k, fragments=files_of)).kept
        for one in ("cover", "min_max", "gaps", "kmeans")
    )
    assert best is not None
    for other in others:
        assert other is not None
        assert best.bytes <= other.bytes


@given(case=cases(), k=st.integers(1, 4), more=st.integers(0, 4), or_null=st.booleans())
@examples(100)
def test_ranges_are_priced_anew(case: Any, k: int, more: int, or_null: bool) -> None:
    """Finer ranges than the best ones, joined on the files of later, are the best ones of later."""
    kind, values, table = case
    runs = plan(column(kind, values), Request("gaps", min(256, k + more))).ranges
    found = cover_runs(runs, Request("cover", k, fragments=fragments(kind, table), or_null=or_null))
    pieces = list(zip(runs.lo.to_pylist(), runs.hi.to_pylist(), strict=True))
    all_bytes = []
    for count in range(min(k, len(pieces))):
        for cuts in itertools.combinations(range(1, len(pieces)), count):
            ends = zip([0, *cuts], [*cuts, len(pieces)], strict=True)
            joined = [(pieces[a][0], pieces[b - 1][1]) for a, b in ends]
            all_bytes.append(counted(table, kept(table, joined, or_null)).bytes)
    assert found.kept is not None
    assert found.kept.bytes == min(all_bytes, default=0)
    assert found.kept == counted(table, kept(table, bounds(found), or_null))


def test_gaps_without_fragments_stay_closed() -> None:
    runs = one_each(make_points(pa.array([1, 10, 100, 1000])))
    assert cover_cuts(locate(runs, plain(pa.int64(), [(20, 30, 5)]), False), 4).tolist() == [2]


def test_the_gaps_of_the_most_bytes_are_opened() -> None:
    """Not those of the most files; and one byte is worth a range too."""
    runs = one_each(make_points(pa.array([1, 10, 100, 1000])))
    table = plain(pa.int64(), [(2, 3, 4), (4, 5, 4), (20, 30, 9), (200, 300, 1)])
    located = locate(runs, table, False)
    found = [cover_cuts(located, k).tolist() for k in range(1, 6)]
    assert found == [[], [2], [1, 2], [1, 2, 3], [1, 2, 3]]


def test_runs_are_joined_for_methods_that_look_at_files() -> None:
    runs, files = one_each(make_points(pa.array([1, 10]))), plain(pa.int64(), [(20, 30, 5)])
    with pytest.raises(RangeError, match="gaps joins no runs: accepted are cover, auto"):
        cover_runs(runs, Request("gaps", fragments=files))


def test_a_batch_spread_over_everything_gets_no_ranges() -> None:
    table = plain(pa.int64(), [(10 * i, 10 * i + 9, 100_000_000) for i in range(1000)])
    found = plan(pa.array(range(0, 10_000, 5)), Request("auto", fragments=table))
    assert (found.method, len(found.ranges)) == ("none", 0)
    assert found.kept == Kept(1000, 1000, 10**11, 10**11)


def test_one_old_row_is_worth_a_second_range() -> None:
    table = plain(pa.int64(), [(10 * i, 10 * i + 9, 100_000_000) for i in range(1000)])
    recent = list(range(9_900, 10_000, 5))
    one, two = (plan(pa.array(v), Request("auto", fragments=table)) for v in (recent, [3, *recent]))
    assert (one.method, bounds(one)) == ("min_max", [(9900, 9995)])
    assert (two.method, bounds(two)) == ("cover", [(3, 3), (9900, 9995)])


def test_no_fragments() -> None:
    found = plan(pa.array(["a", "b"]), Request("cover", fragments=plain(pa.string(), [])))
    assert bounds(found) == [("a", "b")]
    found = plan(pa.array(["a", "b"]), Request("auto", fragments=plain(pa.string(), [])))
    assert (found.method, found.kept) == ("none", Kept(0, 0, 0, 0))


@pytest.mark.parametrize("order", [(5.0, 3.0), (math.nan, 3.0), (math.nan, 0.5), (11.0, 10.5)])
def test_bounds_in_the_wrong_order_say_nothing(order: tuple[float, float]) -> None:
    runs = one_each(make_points(pa.array([1.0, 10.0])))
    located = locate(runs, plain(pa.float64(), [(*order, 5)]), False)
    assert located.kept(np.array([1])).tolist() == [True]


def test_a_table_of_another_type() -> None:
    with pytest.raises(RangeError, match="is int64 in the batch and int32 in the table"):
        plan(pa.array([1]), Request("cover", fragments=plain(pa.int32(), [(1, 2, 3)])))


@given(st.text(max_size=400), st.integers(-3, 3), st.text("a\x00\x7f😀", max_size=3))
@examples(50)  # of seven lengths near the width, and few tails
def test_bounds_of_any_length(text: str, by: int, tail: str) -> None:
    """Beyond the width that is compared a file may be kept in vain, but never lost."""
    stem = "p" * (256 + by) + text
    table = plain(pa.string(), [(stem, stem + tail, 5)])
    for value in (stem, stem[:-1], stem + "\x00", stem + tail):
        holds = stem.encode() <= value.encode() <= (stem + tail).encode()
        found = plan(
            pa.array(["a", value, "z"]), Request("cover", 3, fragments=table, or_null=False)
        )
        assert found.kept is not None
        assert found.kept.files or not holds


def test_a_million_values_and_a_hundred_thousand_files() -> None:
    rng = np.random.default_rng(1)
    starts = np.arange(100_000, dtype=np.int64) * 1000
    every = np.ones(len(starts), dtype=np.bool_)
    table = Fragments(
        pa.array(starts), pa.array(starts + 999), np.full(len(starts), 10**8), ~every, every
    )
    recent = rng.integers(95_000_000, 100_000_000, 1_000_000)
    old = rng.choice(95_000, 40, replace=False) * 1000 + 7
    found = plan(pa.array(np.concatenate([recent, old])), Request("auto", fragments=table))
    assert found.kept is not None
    assert 5040 <= found.kept.files <= 1.05 * 5040
    # Far above what it takes, so that a busy machine does not fail the test.
    assert found.seconds < 10


def test_files_behind_the_batch_are_saved_too() -> None:
    table = plain(pa.int64(), [(10 * i, 10 * i + 9, 100_000_000) for i in range(1000)])
    found = plan(pa.array([1, 2]), Request("auto", fragments=table))
    assert (found.method, found.kept) == ("min_max", Kept(1, 1000, 10**8, 10**11))


@pytest.mark.parametrize(("value", "files"), [("ab", 1), ("aba", 0), ("ab\x00", 0), ("a", 0)])
def test_a_string_that_goes_on_beyond_the_bounds(value: str, files: int) -> None:
    found = plan(
        pa.array([value, "z"]), Request("cover", 2, fragments=plain(pa.string(), [("ab", "ab", 5)]))
    )
    assert found.kept is not None
    assert found.kept.files == files
