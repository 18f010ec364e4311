"""Cuts of a Z-order: ranks never fall as values rise, divide rows evenly and leave room above."""

from __future__ import annotations

import base64
import itertools
import math
import zlib
from collections import Counter
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from alluvium.plan.layout import zorder
from alluvium.plan.layout.settings import Layout
from alluvium.plan.layout.zorder import Axis, Cuts

NUMBERS = st.one_of(
    st.floats(),
    st.integers(-3, 3).map(float),
    st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1.7e308]),
)
BYTES = st.binary(max_size=3)
SAMPLES = {
    kind: (st.lists(st.none() | one, max_size=40), st.lists(st.none() | one, max_size=8))
    for kind, one in {"number": NUMBERS, "timestamp": NUMBERS, "bytes": BYTES}.items()
}


def rank(axis: Axis, value: Any) -> int:
    """By counting, NaN above all others."""
    if value is None:
        return 0
    if value != value:
        return axis.ranks[-1]
    return axis.ranks[sum(cut < value for cut in axis.cuts)]


def order(value: Any) -> tuple[Any, ...]:
    """Spark's: NULL first, NaN last."""
    return () if value is None else (value != value, 0.0 if value != value else value)


@pytest.mark.parametrize("kind", SAMPLES)
@given(data=st.data())
def test_a_larger_value_never_has_a_lower_rank(kind: str, data: st.DataObject) -> None:
    sample, others = SAMPLES[kind]
    axis = Axis.of("a", kind, data.draw(sample))
    assert len(axis.ranks) == len(axis.cuts) + 1
    assert all(low < high for low, high in itertools.pairwise(axis.cuts))
    assert all(low < high for low, high in itertools.pairwise(axis.ranks))
    values = sorted(data.draw(others), key=order)
    ranks = [rank(axis, value) for value in values]
    assert ranks == sorted(ranks)
    assert all(0 <= one < 1024 for one in [*ranks, *axis.ranks])


@given(sample=st.lists(st.none() | NUMBERS, max_size=40), name=st.text(max_size=3))
@example(sample=[-0.0], name="")
def test_what_the_log_keeps_is_the_same_cuts(sample: list[Any], name: str) -> None:
    axes = (Axis.of(name, "number", sample), Axis.of("b", "bytes", [b"", b"\xff\x00", None]))
    cuts = Cuts(axes)
    again = zorder.parse(cuts.text())
    assert again == cuts
    assert again is not None
    assert again.name == cuts.name
    assert [one.cuts for one in again.axes] == [one.cuts for one in axes]
    # A cut at -0.0 would rank two equal values apart.
    assert all(math.copysign(1, cut) == 1 for cut in again.axes[0].cuts if cut == 0)


def packed(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode())).decode()


@pytest.mark.parametrize(
    "text", ["", "a", "{}", "bnVsbA==", "\u0661", *map(packed, ["5", "[5]", "[{}]", "{", "null"])]
)
def test_another_text_is_no_cuts(text: str) -> None:
    assert zorder.parse(text) is None


def test_cuts_fit_their_columns() -> None:
    cuts = Cuts((Axis.of("a", "number", [1.0]), Axis.of("b", "bytes", [b"x"])))
    kinds = [("a", "number"), ("b", "bytes")]
    assert cuts.fit(kinds)
    assert not cuts.fit([("a", "timestamp"), ("b", "bytes")])
    assert not cuts.fit(kinds[::-1])
    assert not cuts.fit(kinds[:1])


@pytest.mark.parametrize(
    ("spark_type", "kind"),
    [
        ("string", "bytes"), ("binary", "bytes"), ("date", "date"), ("timestamp", "timestamp"),
        ("timestamp_ntz", "timestamp_ntz"), ("int", "number"), ("decimal(38,5)", "number"),
        ("boolean", "number"),
    ],
)  # fmt: skip
def test_how_a_type_is_measured(spark_type: str, kind: str) -> None:
    assert zorder.kind_of(spark_type) == kind


def test_ranks_divide_the_rows_evenly() -> None:
    axis = Axis.of("a", "number", [float(value * value) for value in range(10_000)])
    rows = Counter(rank(axis, float(value * value)) for value in range(10_000))
    assert sorted(rows) == list(range(256))
    assert max(rows.values()) <= 2 * min(rows.values())


def test_few_values_are_spread_over_all_ranks() -> None:
    """So that they take part in the first bits of the curve, as a column of many values does."""
    axis = Axis.of("a", "bytes", [bytes([value % 16]) for value in range(10_000)])
    assert len({rank(axis, bytes([value])) >> 4 for value in range(16)}) == 16


def test_nulls_take_the_room_that_they_need() -> None:
    axis = Axis.of("a", "number", [None] * 500 + [float(value) for value in range(500)])
    assert (rank(axis, None), rank(axis, -1.0)) == (0, 128)
    assert rank(axis, 250.0) == pytest.approx(192, abs=1)
    assert rank(Axis.of("a", "number", [None]), 5.0) > 0


def test_ranks_go_on_above_the_sample() -> None:
    """Time grows: a sample of one day tells apart the days of years to come."""
    day = 86_400e6
    start = 1.7e15
    axis = Axis.of("a", "timestamp", [start + day * part / 1000 for part in range(1000)])
    days = [rank(axis, start + day * number) for number in (0, 1, 2, 10, 11, 100, 110, 1000, 1100)]
    assert days == sorted(set(days))
    # The same share of all the time so far, wherever that ends.
    shares = [
        rank(axis, start + day * number * 1.1) - rank(axis, start + day * number)
        for number in (10, 100, 1000)
    ]
    assert all(9 <= share <= 10 for share in shares)
    assert rank(axis, start + 1e9 * day) == axis.ranks[-1] == 255 + 768
    # Not for texts, of which nobody knows what comes next.
    assert Axis.of("a", "bytes", [b"a", b"b"]).cuts == [b"a", b"b"]


def test_one_value_leaves_room_above_too() -> None:
    start = 1.7e15
    axis = Axis.of("a", "timestamp", [start] * 10)
    month = 30 * 86_400e6
    assert 0 < rank(axis, start + month) < rank(axis, start + 2 * month)
    assert Axis.of("a", "number", [0.0]).cuts == [0.0]


@cache
def places(columns: int) -> list[list[int]]:
    """Of so many columns, what each rank of each adds to the place."""
    sample = [float(value) for value in range(10_000)]
    cuts = Cuts(tuple(Axis.of(str(number), "number", sample) for number in range(columns)))
    return [cuts.places(number) for number in range(columns)]


@given(ranks=st.lists(st.integers(0, 1023), min_size=2, max_size=5))
def test_the_place_on_the_curve_takes_bits_in_turns(ranks: list[int]) -> None:
    bits = [f"{one:010b}" for one in ranks]
    by_hand = int("".join(itertools.chain(*zip(*bits, strict=True))), 2)
    found = zip(places(len(ranks)), ranks, strict=True)
    assert sum(of_axis[one] for of_axis, one in found) == by_hand


def test_sort_keys_of_other_cuts_cannot_be_compared() -> None:
    axes = (Axis.of("a", "number", [1.0, 2.0]), Axis.of("b", "number", [1.0]))
    layout = Layout(("a", "b"), curve="zorder", cuts=Cuts(axes))
    others = [
        Layout(("a", "b")),
        Layout(("a", "b"), curve="zorder"),
        Layout(("a", "b"), curve="zorder", cuts=Cuts(axes[::-1])),
    ]
    assert len({one.sort_key for one in [layout, *others]}) == 4
