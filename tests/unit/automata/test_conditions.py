"""Conditions on a column: a file with a row that passes is always kept."""

import datetime
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.automata import Conjunct, from_tag, may_contain, may_match
from unit.automata.texts import CLOSE, TEXTS

from alluvium.plan.automata import Index, summarize

ONE = ["=", "<=>", "<", "<=", ">", ">="]
UTC = datetime.UTC
TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "boolean": (pa.bool_(), st.booleans()),
    "tinyint": (pa.int8(), st.integers(-128, 127)),
    "bigint": (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5)),
    "date": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(UTC))),
    "timestamp_ntz": (pa.timestamp("us"), st.datetimes()),
    "decimal(12,2)": (
        pa.decimal128(12, 2),
        st.integers(-(10**12) + 1, 10**12 - 1).map(lambda n: Decimal(n).scaleb(-2)),
    ),
}


def conjuncts(values: st.SearchStrategy[Any], more: list[str]) -> st.SearchStrategy[Conjunct]:
    operands = st.none() | values
    return st.one_of(
        st.builds(Conjunct, st.sampled_from(ONE), st.tuples(operands), st.booleans()),
        st.builds(Conjunct, st.sampled_from(ONE + more), st.tuples(values), st.booleans()),
        st.builds(Conjunct, st.just("in"), st.lists(operands).map(tuple), st.booleans()),
        st.builds(Conjunct, st.just("is_null"), st.just(()), st.booleans()),
    )


BUDGETS = st.integers(30, 400)
TEXT_CONJUNCTS = conjuncts(TEXTS | st.text("ab1-", max_size=4), ["starts_with", "contains"])


def check(index: Index | None, column: list[Any], conjunct: Conjunct) -> None:
    if index is None:
        return
    again = from_tag(index.to_tag())
    assert again == index
    passes = any(conjunct.holds(value) for value in column)
    if passes:
        assert may_match(again, conjunct)
    elif index.exact:
        assert not may_match(again, conjunct)


@given(st.lists(st.none() | TEXTS, max_size=20), st.integers(20, 300), TEXT_CONJUNCTS)
def test_texts(column: list[str | None], budget: int, conjunct: Conjunct) -> None:
    check(summarize(column, budget), column, conjunct)


@given(CLOSE, st.integers(20, 120), TEXT_CONJUNCTS)
def test_texts_that_are_close(column: list[str], budget: int, conjunct: Conjunct) -> None:
    check(summarize(column, budget), column, conjunct)


@dataclass(frozen=True)
class Same:
    """Stands for a value of the column: which one, counted around."""

    place: int


# Made once: to make strategies anew in each example costs more than to draw from them.
OF_TYPE = {
    name: (
        st.lists(st.none() | values, max_size=20),
        conjuncts(st.integers(0, 19).map(Same) | values, []),
    )
    for name, (_, values) in TYPES.items()
}


@pytest.mark.parametrize("name", TYPES)
@given(st.data())
# All types are whole numbers underneath, and in one way: seven times as many examples of that.
@settings(max_examples=40)
def test_whole_numbers(name: str, data: st.DataObject) -> None:
    kind = TYPES[name][0]
    columns, conditions = OF_TYPE[name]
    column = data.draw(columns)
    drawn = data.draw(conditions)
    operands = (
        (column[one.place % len(column)] if column else None) if isinstance(one, Same) else one
        for one in drawn.operands
    )
    conjunct = replace(drawn, operands=tuple(operands))
    budget = data.draw(BUDGETS)
    index = summarize(pa.array(column, kind), budget)
    if index is not None:
        assert index.type == name
        assert len(index.to_tag().encode()) <= budget
        present = {value for value in column if value is not None}
        assert all(may_contain(index, value) for value in present)
    check(index, column, conjunct)


def test_the_widest_gaps_stay_open() -> None:
    column = [1, 2, 3, 1000, 1002, 5000, None]
    tag = '{"v":1,"null":true,"type":"bigint","in":[1,3,1000,1002,5000,5000]}'
    index = summarize(column, len(tag))
    assert index is not None
    assert index.to_tag() == tag
    assert not may_contain(index, 7)
    assert may_contain(index, 1001)


def test_the_extremes_of_64_bits() -> None:
    index = summarize([-(2**63), 2**63 - 1], 200)
    assert index is not None
    assert index.exact
    assert not may_contain(index, 0)


@pytest.mark.parametrize("value", ["1", 1.0, True, Decimal(1), datetime.date(2020, 1, 1), b"1"])
def test_a_literal_of_another_type_keeps(value: Any) -> None:
    index = summarize([5, 6], 99)
    assert index is not None
    assert may_contain(index, value)
    assert may_match(index, Conjunct(">", (value,)))


def test_a_prefix_of_a_trimmed_index() -> None:
    column = [f"item-{n * 7919 % 100_000:05d}" for n in range(2_000)]
    index = summarize(column, 100)
    assert index is not None
    assert not index.exact
    assert may_match(index, Conjunct("starts_with", (column[0][:8],)))
    assert not may_match(index, Conjunct("starts_with", ("item-x",)))
    assert not may_match(index, Conjunct("starts_with", ("item-123456",)))
