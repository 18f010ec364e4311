"""Which fragments overlap: against every pair, and every set, of a few."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.drawn import examples
from support.playground import BEFORE, BEHIND, components, overlap

from alluvium.plan.compaction.bucket import Bucket, Numbers
from alluvium.plan.compaction.overlap import depth, meets

Interval = tuple[int, int]
Case = tuple[list[Interval], list[int], list[int]]
# Few keys, so that points, duplicates and ends that touch are common.
KNOWN = st.tuples(st.integers(0, 7), st.integers(0, 7)).map(lambda ends: (min(ends), max(ends)))
POINT = st.integers(0, 7).map(lambda key: (key, key))
UNKNOWN = st.just((BEFORE, BEHIND))


@st.composite
def cases(draw: st.DrawFn, most: int) -> Case:
    """Intervals, and two sets of them by place, in any order."""
    intervals = draw(st.lists(KNOWN | POINT, max_size=most))
    intervals += draw(st.lists(UNKNOWN, max_size=1))
    places = list(draw(st.permutations(range(len(intervals)))))
    cut = draw(st.integers(0, len(places)))
    return intervals, places[:cut], places[cut:]


def bucket(intervals: list[Interval]) -> Bucket:
    zero = np.zeros(len(intervals), dtype=np.int64)
    lo, hi = (numbers([one[end] for one in intervals]) for end in (0, 1))
    paths = [str(place) for place in range(len(intervals))]
    arrived, stuck = zero.astype(float), zero.astype(bool)
    return Bucket("", paths, zero, zero, zero, zero, lo, hi, arrived, zero, zero, stuck)


def numbers(values: list[int]) -> Numbers:
    return np.array(values, dtype=np.int64)


def connected(intervals: list[Interval], places: list[int]) -> set[frozenset[int]]:
    """What chains of overlaps connect, pair by pair."""
    group = {place: frozenset([place]) for place in places}
    for a, b in itertools.combinations(places, 2):
        if overlap(intervals[a], intervals[b]):
            both = group[a] | group[b]
            group |= dict.fromkeys(both, both)
    return set(group.values())


def most_at_once(intervals: list[Interval], places: list[int]) -> int:
    """Size of the largest set of which each overlaps each other, set by set."""
    for size in range(len(places), 0, -1):
        for chosen in itertools.combinations(places, size):
            pairs = itertools.combinations(chosen, 2)
            if all(overlap(intervals[a], intervals[b]) for a, b in pairs):
                return size
    return 0


@given(case=cases(most=10))
@examples(125)
def test_components_are_what_chains_of_overlaps_connect(case: Case) -> None:
    intervals, places, _ = case
    found = [part.tolist() for part in components(bucket(intervals), numbers(places))]
    assert sorted(place for part in found for place in part) == sorted(places)
    assert {frozenset(part) for part in found} == connected(intervals, places)
    # In the order of the keys, within each and from one to the next.
    assert all([intervals[p][0] for p in part] == sorted(intervals[p][0] for p in part)
               for part in found)  # fmt: skip
    ends = [(intervals[part[0]][0], max(intervals[p][1] for p in part)) for part in found]
    assert all(before[1] <= behind[0] for before, behind in itertools.pairwise(ends))


@given(case=cases(most=12))
@examples(125)
def test_ranges_meet_what_they_overlap(case: Case) -> None:
    intervals, places, others = case
    every = bucket(intervals)
    ranges = every.lo[numbers(others)], every.hi[numbers(others)]
    assert meets(every, numbers(places), *ranges).tolist() == [
        any(overlap(intervals[other], intervals[p]) for p in places) for other in others
    ]


@given(case=cases(most=7))
@examples(125)
def test_depth_is_the_largest_set_of_which_each_overlaps_each(case: Case) -> None:
    intervals, places, _ = case
    assert depth(bucket(intervals), numbers(places)) == most_at_once(intervals, places)


def test_rows_of_one_key_may_fill_any_number_of_fragments() -> None:
    # Fragments of key 5 alone, beside those that it begins and ends.
    neighbours = bucket([(1, 5), (5, 5), (5, 5), (5, 9)])
    every = np.arange(4)
    assert (depth(neighbours, every), len(components(neighbours, every))) == (1, 4)
    # Inside another they overlap that one, and not each other.
    inside = bucket([(4, 6), (5, 5), (5, 5)])
    assert (depth(inside, np.arange(3)), len(components(inside, np.arange(3)))) == (2, 1)


def test_unknown_bounds_overlap_all() -> None:
    intervals = [(0, 3), (BEFORE, BEHIND), (5, 5), (BEFORE, BEHIND)]
    assert depth(bucket(intervals), np.arange(4)) == 3
    assert len(components(bucket(intervals), np.arange(4))) == 1
