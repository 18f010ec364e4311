"""Ranges against brute force in plain Python, for every method and type."""

import datetime
import itertools
import math
import sys
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawn import examples
from unit.ranges.columns import TYPES, key

from alluvium.plan.ranges.plan import MAX_K, ON_FRAGMENTS
from alluvium.plan.ranges.points import make_points, positions
from alluvium.ranges import METHODS, Plan, RangeError, Request, plan

# Made once: to make strategies anew in each example costs more than to draw from them.
OF_TYPE = {
    name: st.tuples(st.just(kind), st.lists(st.none() | one, max_size=40))
    for name, (kind, one) in TYPES.items()
}
COLUMNS = st.sampled_from(sorted(TYPES)).flatmap(OF_TYPE.__getitem__)


WITHOUT_TABLE = [method for method in METHODS if method not in ON_FRAGMENTS]


def intervals(found: Plan) -> list[tuple[Any, Any, int]]:
    ranges = found.ranges
    return list(
        zip(ranges.lo.to_pylist(), ranges.hi.to_pylist(), ranges.row_count.tolist(), strict=True)
    )


def check_sound(found: list[tuple[Any, Any, int]], values: list[Any]) -> None:
    keys = sorted(key(value) for value in values if value is not None)
    previous = None
    for lo, hi, count in found:
        assert key(lo) in keys
        assert key(hi) in keys
        assert key(lo) <= key(hi)
        assert previous is None or previous < key(lo)
        assert sum(key(lo) <= one <= key(hi) for one in keys) == count
        previous = key(hi)
    # Disjoint ranges that count every value hold every value.
    assert sum(count for _, _, count in found) == len(keys)


@given(column=COLUMNS, k=st.integers(1, 6))
@examples(125)
def test_every_value_lies_in_one_range(column: tuple[pa.DataType, list[Any]], k: int) -> None:
    array = pa.array(column[1], column[0], from_pandas=False)
    stored = array.to_pylist()
    distinct = {key(value) for value in stored if value is not None}
    # Each method on the same column: drawing one is what costs most.
    for method in ("min_max", "gaps", "kmeans"):
        found = plan(array, Request(method, k))
        ranges = found.ranges
        check_sound(intervals(found), stored)
        if method == "min_max":
            assert len(ranges) == min(1, len(distinct))
        elif len(distinct) <= k:
            assert len(ranges) == len(distinct)
        else:
            assert 1 <= len(ranges) <= k
    # In the order of the values as well.
    points = make_points(array)
    if len(points):
        places = positions(points.values).tolist()
        assert places == sorted(places)
        assert all(math.isfinite(place) for place in places)


def number(value: Any) -> Fraction:
    """Exact distance from a fixed point."""
    if isinstance(value, str):
        return Fraction(int(value, 16))
    if isinstance(value, datetime.datetime):
        since = value.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)
        return Fraction(since // datetime.timedelta(microseconds=1))
    return Fraction(value.toordinal()) if isinstance(value, datetime.date) else Fraction(value)


EXACT = [
    "bigint", "decimal(10,2)", "decimal(38,0)", "decimal(38,38)", "date", "timestamp",
]  # fmt: skip


PRESENT = {name: st.lists(one, min_size=1, max_size=30) for name, (_, one) in TYPES.items()}


@given(data=st.data(), name=st.sampled_from([*EXACT, "object id"]), k=st.integers(1, 6))
@examples(150)
def test_gaps_are_the_widest(data: st.DataObject, name: str, k: int) -> None:
    kind = TYPES[name][0]
    values = data.draw(PRESENT[name])
    if name == "object id":  # with a letter in it nobody takes them for decimal numbers
        values = [value[:23] + "f" for value in values]
    distinct = sorted({number(value) for value in values})
    widths = sorted(b - a for a, b in itertools.pairwise(distinct))
    found = intervals(plan(pa.array(values, kind), Request("gaps", k)))
    chosen = [number(b[0]) - number(a[1]) for a, b in itertools.pairwise(found)]
    assert sorted(chosen) == widths[max(0, len(widths) - (k - 1)) :]


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=30), st.integers(2, 5))
def test_float_gaps_are_the_widest(values: list[float], k: int) -> None:
    finite = [value for value in values if math.isfinite(value)]
    found = intervals(plan(pa.array(finite, pa.float64()), Request("gaps", k)))
    distinct = sorted({Fraction(value) for value in finite})
    widths = sorted(b - a for a, b in itertools.pairwise(distinct))
    best = sum(widths[max(0, len(widths) - (k - 1)) :])
    chosen = sum(Fraction(b[0]) - Fraction(a[1]) for a, b in itertools.pairwise(found))
    assert chosen >= best * (1 - Fraction(1, 10**12))


def test_kmeans_finds_three_blobs_exactly() -> None:
    rng = np.random.default_rng(7)
    blobs = [rng.integers(start, start + 1000, 5000) for start in (0, 1_000_000, 9_000_000)]
    values = np.concatenate(blobs)
    rng.shuffle(values)
    for sample_rows in (50, 50_000):
        found = intervals(plan(pa.array(values), Request("kmeans", 3, sample_rows)))
        assert found == [(int(b.min()), int(b.max()), 5000) for b in blobs]


def test_kmeans_follows_the_rows_not_the_distinct_values() -> None:
    # Weighted, the far end of the line is where most rows are, so it is worth a second centre.
    values = [*range(10), *(v for v in (1000, 1040) for _ in range(10_000))]
    found = intervals(plan(pa.array(values, pa.int64()), Request("kmeans", 3)))
    assert [(lo, hi) for lo, hi, _ in found] == [(0, 9), (1000, 1000), (1040, 1040)]


def test_kmeans_tells_nothing_of_cores_that_nobody_can_count(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from joblib.externals.loky.backend import context
    from sklearn.cluster import KMeans
    from sklearn.utils import _openmp_helpers

    fit, consoles = KMeans.fit, []

    def count() -> int:
        raise OSError("no lscpu")

    def watched(self: Any, *args: Any, **given: Any) -> Any:
        consoles.append(sys.stderr)
        return fit(self, *args, **given)

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(_openmp_helpers, "_CPU_COUNTS", {})
    monkeypatch.setattr(context, "physical_cores_cache", None)
    monkeypatch.setattr(context, "_cpu_count_user", lambda cores: cores)
    monkeypatch.setattr(context, f"_count_physical_cores_{sys.platform}", count)
    monkeypatch.setattr(KMeans, "fit", watched)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        plan(pa.array([1, 2, 9]), Request("kmeans", 2))
    assert context.physical_cores_cache == "not found"
    assert not told
    assert capsys.readouterr() == ("", "")
    # Nor is the console of other threads taken away meanwhile.
    assert consoles == [sys.stderr]


def test_kmeans_is_deterministic() -> None:
    values = pa.array(np.random.default_rng(3).normal(size=20_000))
    assert intervals(plan(values, Request("kmeans", 8, 500))) == intervals(
        plan(values, Request("kmeans", 8, 500))
    )


def test_gaps_of_object_ids_of_two_days() -> None:
    ids = [f"{seconds:08x}{i:016x}" for seconds in (1_357_000_000, 1_388_000_000) for i in range(9)]
    found = intervals(plan(pa.array(ids), Request("gaps", 2)))
    assert found == [(ids[0], ids[8], 9), (ids[9], ids[17], 9)]


def test_chunks_and_slices() -> None:
    whole = pa.array([Decimal(n) for n in (1, 2, 3, 50, 51)], pa.decimal128(38, 0))
    chunks = pa.chunked_array([whole.slice(1, 2), whole.slice(3, 2)])
    assert intervals(plan(chunks, Request("gaps", 2))) == [(2, 3, 2), (50, 51, 2)]
    assert intervals(plan(whole.slice(1), Request("gaps", 2))) == [(2, 3, 2), (50, 51, 2)]


@pytest.mark.parametrize("method", WITHOUT_TABLE)
def test_no_values_no_ranges(method: str) -> None:
    for values in ([], [None, None]):
        assert len(plan(pa.array(values, pa.int64()), Request(method)).ranges) == 0


def test_none_plans_nothing() -> None:
    assert len(plan(pa.array([1, 2]), Request("none")).ranges) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"method": "k_means"}, "'k_means': accepted are none, min_max, gaps, kmeans, cover, auto"),
        ({"k": 0}, f"k is 0: accepted is a whole number from 1 to {MAX_K}"),
        ({"k": MAX_K + 1}, f"from 1 to {MAX_K}"),
        ({"k": 2.5}, "k is 2.5"),
        ({"k": True}, "k is True"),
        ({"max_ranges": 0}, "max_ranges is 0: accepted is a whole number from 1"),
        ({"method": "cover"}, "method cover needs the table's fragments"),
        ({"method": "auto"}, "method auto needs the table's fragments"),
        ({"k": 9, "sample_rows": 8}, "sample_rows is 8: accepted is a whole number from k = 9"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(RangeError, match=said):
        plan(pa.array([1, 2, 3]), Request(**arguments))


@pytest.mark.parametrize(
    "values",
    [
        pa.array([True]),
        pa.array([b"x"]),
        pa.array([[1]]),
        pa.array([{"a": 1}]),
        pa.array([1], pa.timestamp("ns")),
        pa.array([1], pa.uint64()),
        pa.array([None]),
    ],
    ids=lambda values: str(values.type),
)
def test_unsupported_types(values: pa.Array) -> None:
    with pytest.raises(RangeError, match="accepted are int8 to int64"):
        plan(values, Request())
