"""Where fragments lie, what ranges leave of them, and the best ranges: against brute force."""

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.ranges.columns import TYPES, key

from alluvium.ranges import plan
from alluvium.ranges.cover import cover_cuts
from alluvium.ranges.fragments import Fragments, Located, locate
from alluvium.ranges.plan import one_each
from alluvium.ranges.points import Points, make_points

Bounds = tuple[Any, Any, int]


@st.composite
def cases(draw: st.DrawFn) -> tuple[pa.DataType, list[Any], list[Bounds]]:
    """A type, a batch's values, and fragments with bounds, some unknown."""
    kind, one = TYPES[draw(st.sampled_from(sorted(TYPES)))]
    values = draw(st.lists(st.none() | one, max_size=7))
    # Bounds near the values, so that fragments lie in gaps as well as on values.
    near = one if not values else one | st.sampled_from(values)
    bound = st.none() | near
    ordered = st.tuples(bound, bound).map(
        lambda pair: pair if None in pair else tuple(sorted(pair, key=key))
    )
    sizes = st.integers(1, 9)
    fragments = draw(st.lists(st.tuples(ordered, sizes), max_size=9))
    return kind, values, [(lo, hi, size) for (lo, hi), size in fragments]


def read(kind: pa.DataType, values: list[Any], bounds: list[Bounds]) -> tuple[Points, Located]:
    def column(which: int) -> pa.Array:
        return pa.array([bound[which] for bound in bounds], kind, from_pandas=False)

    points = make_points(pa.array(values, kind, from_pandas=False))
    sizes = np.array([size for _, _, size in bounds], dtype=np.int64)
    return points, locate(points, Fragments(column(0), column(1), sizes))


def meets(bound: Bounds, ranges: list[tuple[Any, Any]]) -> bool:
    """Whether a file with these bounds may hold a value of the ranges."""
    lo, hi, _ = bound
    if lo is None or hi is None or key(lo) > key(hi):
        return bool(ranges)
    return any(key(lo) <= key(b) and key(a) <= key(hi) for a, b in ranges)


def stored(kind: pa.DataType, bounds: list[Bounds]) -> list[Bounds]:
    """Bounds as the type keeps them: a float32 is not the double that was drawn."""

    def one(value: Any) -> Any:
        return pa.array([value], kind, from_pandas=False)[0].as_py()

    return [(one(lo), one(hi), size) for lo, hi, size in bounds]


def joined(points: Points, cuts: tuple[int, ...]) -> list[tuple[Any, Any]]:
    ranges = one_each(points).joined(np.array(cuts, dtype=np.int64))
    return list(zip(ranges.lo.to_pylist(), ranges.hi.to_pylist(), strict=True))


@given(case=cases(), data=st.data())
@settings(max_examples=400)
def test_a_fragment_is_kept_where_a_range_meets_it(case: Any, data: st.DataObject) -> None:
    kind, values, bounds = case
    points, located = read(kind, values, bounds)
    every = range(1, len(points))
    cuts = data.draw(st.sets(st.sampled_from(every)) if len(points) > 1 else st.just(set()))
    chosen = tuple(sorted(cuts))
    expected = [meets(bound, joined(points, chosen)) for bound in stored(kind, bounds)]
    assert located.kept(np.array(chosen, dtype=np.int64)).tolist() == expected


@given(case=cases(), k=st.integers(1, 5))
@settings(max_examples=400)
def test_no_ranges_keep_fewer_bytes(case: Any, k: int) -> None:
    kind, values, bounds = case
    points, located = read(kind, values, bounds)
    kept_bytes = [
        sum(b[2] for b in stored(kind, bounds) if meets(b, joined(points, cuts)))
        for count in range(min(k, max(1, len(points))))
        for cuts in itertools.combinations(range(1, len(points)), count)
    ]
    cuts = cover_cuts(located, k)
    assert len(cuts) < k
    assert cuts.tolist() == sorted(set(cuts.tolist()))
    assert located.sizes[located.kept(cuts)].sum() == min(kept_bytes)


@given(case=cases(), k=st.integers(1, 5), method=st.sampled_from(["min_max", "gaps", "kmeans"]))
@settings(max_examples=200)
def test_it_keeps_no_more_than_the_other_methods(case: Any, k: int, method: str) -> None:
    kind, values, bounds = case
    _, located = read(kind, values, bounds)
    other = plan(pa.array(values, kind, from_pandas=False), method, k)
    ranges = list(zip(other.lo.to_pylist(), other.hi.to_pylist(), strict=True))
    theirs = sum(b[2] for b in stored(kind, bounds) if meets(b, ranges))
    assert located.sizes[located.kept(cover_cuts(located, k))].sum() <= theirs


def test_gaps_without_fragments_stay_closed() -> None:
    points = make_points(pa.array([1, 10, 100, 1000]))
    fragments = Fragments(pa.array([20]), pa.array([30]), np.array([5]))
    assert cover_cuts(locate(points, fragments), 4).tolist() == [2]


def test_no_fragments() -> None:
    points = make_points(pa.array(["a", "b"]))
    empty = pa.array([], pa.string())
    located = locate(points, Fragments(empty, empty, np.array([], dtype=np.int64)))
    assert cover_cuts(located, 3).tolist() == []


@pytest.mark.parametrize("order", [(5.0, 3.0), (math.nan, 3.0)])
def test_bounds_in_the_wrong_order_say_nothing(order: tuple[float, float]) -> None:
    points = make_points(pa.array([1.0, 10.0]))
    lo, hi = (pa.array([bound], pa.float64(), from_pandas=False) for bound in order)
    located = locate(points, Fragments(lo, hi, np.array([5])))
    assert located.kept(np.array([1])).tolist() == [True]
