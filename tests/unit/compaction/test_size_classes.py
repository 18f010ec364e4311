"""Size tiers: how often rows are rewritten, and how many small fragments remain."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.arrivals import (
    LARGE,
    ORDERS,
    SIZES,
    arrive,
    settle,
    to_one,
    trickle,
)
from support.drawn import examples
from support.playground import ROW_BYTES, Fragment, Playground, huffman

from alluvium.plan.compaction.bucket import AGE, COUNT, UNSORTED, MergeTask
from alluvium.plan.compaction.size_classes import size_class_merges
from alluvium.plan.layout.settings import Layout

HOUR, DAY = 3600.0, 86400.0


def groups(bucket: Playground, now: float = 0.0) -> list[MergeTask]:
    return list(size_class_merges(bucket.bucket(), bucket.layout, now))


def worst(name: str, seed: int) -> float:
    """Rows rewritten over the least that is possible, in the worst of some orders of arrival."""
    sizes = SIZES[name](np.random.default_rng(seed), 1000)
    ends = [list(arrive(sizes, order))[-1] for order in ORDERS]
    return max(to_one(bucket) for bucket in ends) / huffman(sizes, LARGE.fan_in)


# Measured, mean and largest: seeds 0 to 4, uniform and lognormal 1.00, 1.00; half large 1.01, 1.01;
# seeds 0 to 14, few large 1.04, 1.06; very few large 1.06, 1.15 (1.27 without the longer wait).
@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("half large", 2),
        ("uniform", 0),
        ("very few large", 3),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in [
                ("all equal", 0),
                ("uniform", 2),
                ("few large", 0),
                ("few large", 2),
                ("lognormal", 0),
                ("lognormal", 1),
                ("lognormal", 2),
                ("very few large", 0),
                ("very few large", 8),
            ]
        ),
    ],
)
def test_rewriting_is_close_to_the_least(name: str, seed: int) -> None:
    assert 1 <= worst(name, seed) <= 1.15


@pytest.mark.parametrize(
    ("count", "least", "most"), [(64, 1.3, 1.45), (1025, 1.45, 1.5), (3000, 1, 1.1)]
)
def test_the_bound_knows_how_many_files_will_come(count: int, least: float, most: float) -> None:
    """Just behind a power of `fan_in` what the tiers have merged would have waited for the rest."""
    for name in ("all equal", "uniform"):
        sizes = SIZES[name](np.random.default_rng(0), count)
        *_, bucket = arrive(sizes, "drawn, a run after 10")
        assert least <= to_one(bucket) / huffman(sizes, LARGE.fan_in) <= most


# Measured; the more of the cooling passes from file to file the fewer a merge takes, 8 at last.
@pytest.mark.parametrize(
    ("gap", "ratio", "runs"),
    [
        # The same with fewer runs between two files.
        (0.5, 1.38, 4),
        *(
            pytest.param(*one, 12, marks=pytest.mark.slow)
            for one in [
                (0.01, 1.0),
                (0.25, 1.28),
                (0.5, 1.38),
                (0.75, 1.74),
                (0.9, 1.74),
                (1, 1.74),
            ]
        ),
    ],
)
def test_what_age_costs_where_files_trickle_in(gap: float, ratio: float, runs: int) -> None:
    sizes = SIZES["uniform"](np.random.default_rng(0), 1000)
    *_, bucket = trickle(sizes, gap, runs)
    assert to_one(bucket) / huffman(sizes, LARGE.fan_in) == pytest.approx(ratio, abs=0.06)
    assert set(bucket.rewritten) == {COUNT if gap == 0.01 else AGE}


# Sizes over five orders of magnitude, and layouts in which they make many classes or few.
BUCKETS = st.builds(
    lambda fan_in, tiers, target: Layout(
        ("a",), target_rows=target, target_bytes=10**12, fan_in=fan_in, tiers=tiers
    ),
    st.integers(2, 9) | st.just(32),
    st.integers(1, 5),
    st.sampled_from([10, 1000, 30000]),
)
ARRIVALS = st.lists(
    st.lists(st.floats(0, 1), min_size=1, max_size=40), min_size=1, max_size=4
)  # fmt: skip


def files(layout: Layout, exponents: list[float]) -> list[int]:
    """Rows of files, evenly over the orders of magnitude up to the target."""
    return [round(layout.target_rows**exponent) for exponent in exponents]


@given(layout=BUCKETS, arrivals=ARRIVALS)
@examples(30)
def test_few_small_fragments_remain(layout: Layout, arrivals: list[list[float]]) -> None:
    bucket = Playground(layout)
    for batch in arrivals:
        for size in files(layout, batch):
            bucket.land(np.arange(size))
        # One round leaves so many of those that it found, a run so many of all.
        found = groups(bucket)
        merged = {path for group in found for path in group.inputs}
        left = [one for path, one in bucket.fragments.items() if path not in merged]
        small = sum(2 * len(one.keys) < layout.target_rows for one in left)
        patience = math.ceil(1.5 * layout.fan_in)
        assert small <= layout.tiers * (patience - 1) == layout.most_small
        settle(bucket)
        assert bucket.small() <= layout.most_small


@given(layout=BUCKETS, arrivals=ARRIVALS)
@examples(30)
def test_no_moment_sees_more_fragments_than_is_stated(
    layout: Layout, arrivals: list[list[float]]
) -> None:
    bucket = Playground(layout)

    def within(landed: int) -> bool:
        full = 2 * sum(len(one.keys) for one in bucket.fragments.values()) / layout.target_rows
        return len(bucket.fragments) <= layout.most_small + full + landed

    for batch in arrivals:
        for landed, size in enumerate(files(layout, batch), 1):
            bucket.land(np.arange(size))
            assert within(landed)
        while found := groups(bucket):
            for group in found:
                bucket.merge(group)
                assert within(len(batch))
        assert within(0)


@given(layout=BUCKETS, exponents=st.lists(st.floats(0, 1), max_size=80))
@examples(30)
def test_what_is_merged_while_hot_is_alike_in_size(layout: Layout, exponents: list[float]) -> None:
    bucket = Playground(layout)
    rows = {bucket.land(np.arange(size)): size for size in files(layout, exponents)}
    found = groups(bucket)
    # What is smaller than the bottom of the lowest class counts as of that size.
    bottom = layout.target_rows / 2 / layout.span**layout.tiers
    for group in found:
        sizes = [rows[path] for path in group.inputs]
        assert (group.reason, len(sizes), group.level) == (COUNT, layout.fan_in, 0)
        assert 2 * max(sizes) < layout.target_rows
        assert max(sizes) <= max(min(sizes), bottom) * layout.span
    inputs = [path for group in found for path in group.inputs]
    assert len(inputs) == len(set(inputs))
    assert found == groups(bucket)


def test_a_large_fragment_does_not_wait_on_many_small_ones_nor_is_merged_with_them() -> None:
    bucket = Playground(LARGE)
    large = bucket.land(np.arange(100_000))
    for _ in range(32 * 32 - 1):
        bucket.land(np.arange(100))
        settle(bucket)
        assert large in bucket.fragments
    # They have become as many of its size as a merge takes but one.
    bucket.land(np.arange(100))
    settle(bucket)
    assert sorted(len(one.keys) for one in bucket.fragments.values()) == [100_000, 102_400]


def test_a_class_spans_an_eighth_of_the_fan_in() -> None:
    for factor, merges in ((3.9, 1), (4.1, 0)):
        bucket = Playground(LARGE)
        for size in [1000] * 16 + [int(1000 * factor)] * 16:
            bucket.land(np.arange(size))
        assert LARGE.fan_in == 32
        assert len(groups(bucket)) == merges


@pytest.mark.parametrize(("level", "count"), [(UNSORTED, 32), (0, 48)])
def test_new_ones_among_merged_ones_wait_for_half_as_many_again(level: int, count: int) -> None:
    bucket = Playground(LARGE)
    for _ in range(31):
        bucket.add(Fragment(np.arange(1000), level))
    smallest = set(bucket.fragments)
    while not (found := groups(bucket)):
        bucket.land(np.arange(1500))
    assert len(bucket.fragments) == count
    [group] = found
    assert smallest < set(group.inputs)
    assert len(group.inputs) == 32


def test_full_fragments_are_left_alone_by_rows_or_by_bytes() -> None:
    by_rows = Layout(("a",), target_rows=100, target_bytes=10**12, fan_in=2)
    by_bytes = Layout(("a",), target_rows=10**9, target_bytes=100 * ROW_BYTES, fan_in=2)
    for layout in (by_rows, by_bytes):
        bucket = Playground(layout)
        for size in (50, 50, 80, 400):
            bucket.land(np.arange(size))
        assert groups(bucket) == []
        small = {bucket.land(np.arange(size)) for size in (49, 49)}
        assert [set(group.inputs) for group in groups(bucket)] == [small]


def first_merge(count: int, layout: Layout) -> float:
    """Hours without an arrival after which so many fragments of one size are merged."""
    bucket = Playground(layout)
    for _ in range(count):
        bucket.land(np.arange(10), now=1e6)
    return next(hour for hour in range(100) if groups(bucket, 1e6 + hour * HOUR))


@pytest.mark.parametrize(
    ("layout", "cold"),
    [
        (Layout(("a",), quiet_after=6 * HOUR), 6),
        (Layout(("a",), bucket_column="d", window="day"), 6),
        # A bucket that is never quiet, or late, cools in a day.
        (Layout(("a",)), 24),
        (Layout(("a",), quiet_after=7 * DAY), 24),
    ],
)
def test_the_older_a_bucket_the_fewer_fragments_are_enough(layout: Layout, cold: int) -> None:
    hours = [first_merge(count, layout) for count in range(8, 34)]
    assert hours == sorted(hours, reverse=True)
    assert len(set(hours)) >= 5
    # All that a merge takes at once, the half in half the time, a quarter in three quarters.
    assert (hours[32 - 8], hours[33 - 8]) == (0, 0)
    assert hours[31 - 8] > 0
    assert hours[16 - 8] == pytest.approx(cold / 2, abs=1)
    assert hours[0] == pytest.approx(0.75 * cold, abs=1)
    with pytest.raises(StopIteration):
        first_merge(7, layout)


def test_few_of_each_size_are_left_of_a_cold_bucket() -> None:
    rng = np.random.default_rng(3)
    bucket = Playground(LARGE)
    for size in rng.integers(1, 10**5, 50):
        bucket.land(np.arange(size))
    found = groups(bucket, 2 * DAY)
    assert found
    assert {group.reason for group in found} == {AGE}
    settle(bucket, 2 * DAY)
    sizes = sorted(len(one.keys) for one in bucket.fragments.values())
    # No eight are alike; and two are no reason to rewrite rows again and again.
    assert all(4 * small <= large for small, large in zip(sizes, sizes[7:], strict=False))
    assert len(sizes) > 2
