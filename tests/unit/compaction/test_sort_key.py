"""The order of encoded sort keys is Spark's order of the values they are made of."""

import itertools
import json
import math
from datetime import UTC
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawn import examples
from unit.ranges.columns import decimals, integers

from alluvium.plan.layout import sort_key

FLOATS = [0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 5e-324, -5e-324, 1e308]
TEXT = st.text("\x00\x01aé\x7f\uffff😀", max_size=4) | st.text(max_size=5)
BYTES = st.lists(st.sampled_from([0, 1, 0x61, 0xFE, 0xFF]), max_size=4).map(bytes)


def numeral(digits: int, scale: int) -> tuple[pa.DataType, st.SearchStrategy[Any]]:
    # The largest differ in the last digit alone.
    edge = [10**digits - 1, 10**digits - 2, 1, 0, -1, 2 - 10**digits, 1 - 10**digits]
    near = st.sampled_from(edge).map(lambda n: Decimal((int(n < 0), digits_of(n), -scale)))
    return pa.decimal128(digits, scale), decimals(digits, scale) | near


def digits_of(number: int) -> tuple[int, ...]:
    return tuple(int(digit) for digit in str(abs(number)))


def whole(bits: int) -> st.SearchStrategy[int]:
    edge = [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, -1, 0, 1]
    return integers(bits) | st.sampled_from(edge)


# Dates and timestamps as the integers underneath: Python's do not hold all years of Spark's.
TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "boolean": (pa.bool_(), st.booleans()),
    "tinyint": (pa.int8(), whole(8)),
    "smallint": (pa.int16(), whole(16)),
    "int": (pa.int32(), whole(32)),
    "bigint": (pa.int64(), whole(64)),
    "float": (
        pa.float32(),
        st.floats(width=32) | st.sampled_from([0.0, -0.0, math.nan, -math.inf, 2.0**-149]),
    ),
    "double": (pa.float64(), st.floats() | st.sampled_from(FLOATS)),
    "decimal(10,2)": numeral(10, 2),
    "decimal(38,0)": numeral(38, 0),
    "decimal(38,18)": numeral(38, 18),
    "decimal(38,38)": numeral(38, 38),
    "date": (pa.date32(), whole(32)),
    "timestamp": (pa.timestamp("us", tz="UTC"), whole(64)),
    "timestamp_ntz": (pa.timestamp("us"), whole(64)),
    "binary": (pa.binary(), BYTES),
    "string": (pa.string(), TEXT),
}
Rows = list[tuple[Any, ...]]


def spark(value: Any) -> Any:
    """Spark's order of one column: NULL first, NaN last, -0.0 as 0.0, text by its UTF-8."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (1, math.isnan(value), 0.0 if math.isnan(value) else value)
    return (1, value.encode() if isinstance(value, str) else value)


def order(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(spark(value) for value in row)


def arrays(kinds: list[pa.DataType], rows: Rows) -> list[pa.Array]:
    columns = zip(*rows, strict=True)
    return [
        pa.array(one, kind, from_pandas=False) for kind, one in zip(kinds, columns, strict=True)
    ]


# Made once: to make strategies anew in each example costs more than to draw from them.
POOLS = {
    name: st.lists(st.none() | one, min_size=1, max_size=4) for name, (_, one) in TYPES.items()
}
COLUMNS = {name: st.lists(st.none() | one, max_size=8) for name, (_, one) in TYPES.items()}
NAMES = st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=3)
# Which value of its pool each column of a row has, counted around.
PLACES = st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=6)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[pa.DataType], Rows]:
    """Rows of one to three columns that have values in common."""
    chosen = draw(NAMES)
    pools = [draw(POOLS[name]) for name in chosen]
    rows = [
        tuple(pool[place % len(pool)] for pool, place in zip(pools, places, strict=False))
        for places in draw(PLACES)
    ]
    return [TYPES[name][0] for name in chosen], rows


def check(kinds: list[pa.DataType], rows: Rows) -> None:
    keys = sort_key.encode(arrays(kinds, rows))
    known = [(order(row), row, key) for row, key in zip(rows, keys, strict=True)]
    for (one, a, left), (other, b, right) in itertools.product(known, repeat=2):
        assert (left < right, left == right) == (one < other, one == other), (a, b)


@pytest.mark.parametrize("name", sorted(TYPES))
@given(data=st.data())
@examples(30)
def test_keys_are_in_the_order_of_the_values(name: str, data: st.DataObject) -> None:
    check([TYPES[name][0]], [(value,) for value in data.draw(COLUMNS[name])] or [(None,)])


@given(table=tables())
@examples(75)
def test_keys_of_several_columns_are_in_the_order_of_the_rows(
    table: tuple[list[pa.DataType], Rows],
) -> None:
    check(*table)


def test_strings_need_not_be_utf8() -> None:
    texts = [b"", b"a", b"a\xff", b"\xc3", b"\xc3\xa9", b"\xff"]
    wild = pa.array(texts, pa.binary()).cast(pa.string(), safe=False)
    keys = sort_key.encode([wild])
    assert keys == sort_key.encode([pa.array(texts, pa.binary())]) == sorted(keys)
    assert keys == sort_key.encode([pa.array(texts, pa.large_binary())])
    nulls, rows = pa.array([0] * 6, pa.int64()), pa.array([1] * 6, pa.int64())
    assert sort_key.bounds_by_first(wild, wild, nulls, rows)[0] == keys


def test_a_value_sorts_before_those_that_it_begins() -> None:
    text = [
        None,
        "",
        "\x00",
        "\x00\x00",
        "\x00a",
        "\x01",
        "a",
        "a\x00",
        "a\x00b",
        "a\x01",
        "aa",
        "é",
        "😀",
    ]
    rows = [(one, other) for one in text for other in (None, "", "\x00", "z")]
    keys = sort_key.encode(arrays([pa.string(), pa.string()], rows))
    assert keys == sorted(set(keys))


# What is cut off is most dangerous where it goes on with the largest byte, or the escape of NUL.
LONG = {
    "binary": st.tuples(
        st.sampled_from([b"\xff", b"\x00", b"\xfe", b"a"]), st.integers(245, 260), BYTES
    ).map(lambda of: of[0] * of[1] + of[2]),
    "string": st.tuples(
        st.sampled_from(["a", "\x00", "\uffff"]), st.integers(230, 260), TEXT
    ).map(lambda of: of[0] * of[1] + of[2]),
}  # fmt: skip


LONG_ROWS = {
    (name, behind): st.lists(
        st.tuples(LONG[name] | TYPES[name][1], st.none() | TYPES[behind][1]), min_size=2, max_size=5
    )
    for name, behind in itertools.product(sorted(LONG), sorted(TYPES))
}
KINDS = st.tuples(st.sampled_from(sorted(LONG)), st.sampled_from(sorted(TYPES)))


@st.composite
def long_tables(draw: st.DrawFn) -> tuple[list[pa.DataType], Rows]:
    names = draw(KINDS)
    return [TYPES[name][0] for name in names], draw(LONG_ROWS[names])


def whole(columns: list[pa.Array]) -> list[str]:
    """The keys, however long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sort_key, "LONGEST", 10**6)
        return sort_key.encode(columns)


@given(table=long_tables())
@examples(75)
def test_keys_that_agree_in_what_is_written_are_one(table: tuple[list[pa.DataType], Rows]) -> None:
    kinds, rows = table
    keys = sort_key.encode(arrays(kinds, rows))
    assert keys == [key[: 2 * sort_key.LONGEST] for key in whole(arrays(kinds, rows))]
    for a, b in itertools.product(range(len(rows)), repeat=2):
        if order(rows[a]) <= order(rows[b]):
            assert keys[a] <= keys[b]


@given(table=long_tables())
@examples(25)
def test_bounds_of_the_first_column_are_bounds_of_keys_that_are_cut_off(
    table: tuple[list[pa.DataType], Rows],
) -> None:
    kinds, rows = table
    first = arrays(kinds, rows)[0]
    in_order = [value for (value, *_) in sorted(rows, key=order)]
    ends = (pa.array([in_order[place]], first.type) for place in (0, -1))
    counts = (pa.array([count], pa.int64()) for count in (0, len(rows)))
    [low], [high] = sort_key.bounds_by_first(*ends, *counts)
    assert low is not None
    assert high is not None
    assert all(low <= key <= high for key in sort_key.encode(arrays(kinds, rows)))


@pytest.mark.parametrize(
    "kind",
    [
        pa.uint8(), pa.uint64(), pa.time64("us"), pa.duration("us"), pa.list_(pa.int64()),
        pa.struct([("a", pa.int64())]), pa.map_(pa.string(), pa.int64()), pa.null(),
        pa.month_day_nano_interval(), pa.dictionary(pa.int32(), pa.string()), pa.decimal256(50, 2),
    ],
    ids=str,
)  # fmt: skip
def test_a_type_without_a_known_order_is_refused(kind: pa.DataType) -> None:
    with pytest.raises(TypeError) as caught:
        sort_key.encode([pa.array([1]), pa.nulls(1, kind)])
    assert str(kind) in str(caught.value)
    assert "accepted: boolean, tinyint" in str(caught.value)


def test_the_types_of_spark_that_are_accepted_are_those_that_can_be_encoded() -> None:
    assert all(sort_key.is_sortable(name) for name in TYPES)
    for other in (
        "string collate UTF8_LCASE", "array<int>", "struct<a:int>", "map<string,int>", "variant",
        "interval day to second", "void", "time(6)",
    ):  # fmt: skip
        assert not sort_key.is_sortable(other)


PAIRS = st.lists(
    st.tuples(st.none() | st.text(max_size=4), st.none() | st.integers(-5, 5)),
    min_size=1,
    max_size=12,
)


@given(PAIRS)
def test_the_first_column_bounds_whole_keys(rows: list[tuple[str | None, int | None]]) -> None:
    columns = [
        pa.array(list(one), kind)
        for one, kind in zip(zip(*rows, strict=True), (pa.string(), pa.int64()), strict=True)
    ]
    keys = sort_key.encode(columns)
    present = sorted((one for one, _ in rows if one is not None), key=str.encode)
    ends = [present[0], present[-1]] if present else [None, None]
    counts = [len(rows) - len(present), len(rows)]
    [low], [high] = sort_key.bounds_by_first(
        *(pa.array([end], pa.string()) for end in ends),
        *(pa.array([count], pa.int64()) for count in counts),
    )
    assert low is not None
    assert high is not None
    assert all(low <= key <= high for key in keys)


@pytest.mark.parametrize(
    ("kind", "lo", "nulls", "rows"),
    [
        (pa.int64(), 1, None, 5),
        (pa.int64(), 1, 0, None),
        (pa.int64(), None, 1, 5),
        (pa.float64(), 1.0, 0, 5),  # NaN may be above every bound
    ],
)
def test_without_statistics_nothing_is_known(
    kind: pa.DataType, lo: Any, nulls: int | None, rows: int | None
) -> None:
    bound = pa.array([lo], kind)
    counts = (pa.array([nulls], pa.int64()), pa.array([rows], pa.int64()))
    assert sort_key.bounds_by_first(bound, bound, *counts) == ([None], [None])


# Values with what a person is to read; dates and times here within Python's years.
READ: dict[str, tuple[pa.DataType, st.SearchStrategy[Any], Any]] = {
    name: (kind, values, lambda value: value)
    for name, (kind, values) in TYPES.items()
    if name in ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string")
} | {
    "decimal(38,18)": (*TYPES["decimal(38,18)"], lambda value: value),
    "decimal(38,0)": (*TYPES["decimal(38,0)"], lambda value: value),
    "binary": (*TYPES["binary"], lambda value: value.hex()),
    "date": (pa.date32(), st.dates(), str),
    "timestamp_ntz": (pa.timestamp("us"), st.datetimes(), str),
    "timestamp": (
        pa.timestamp("us", tz="UTC"),
        st.datetimes(timezones=st.just(UTC)),
        lambda value: str(value.replace(tzinfo=None)),
    ),
}


READ_NAMES = st.lists(st.sampled_from(sorted(READ)), min_size=1, max_size=3)
READ_VALUES = {name: st.none() | one for name, (_, one, _) in READ.items()}


@st.composite
def readable(draw: st.DrawFn) -> tuple[list[str], tuple[Any, ...]]:
    names = draw(READ_NAMES)
    return names, tuple(draw(READ_VALUES[name]) for name in names)


@given(case=readable())
@examples(200)
def test_a_key_is_read_as_the_values_it_was_made_of(
    case: tuple[list[str], tuple[Any, ...]],
) -> None:
    names, row = case
    kinds = [READ[name][0] for name in names]
    [key] = sort_key.encode(arrays(kinds, [row]))
    found = json.loads(sort_key.decode(key, kinds))
    for name, value, one in zip(names, row, found, strict=True):
        if value is None:
            assert one is None
        elif isinstance(value, float):
            assert one == value or (math.isnan(one) and math.isnan(value))
        elif isinstance(value, Decimal):
            assert Decimal(one) == value
        else:
            assert one == READ[name][2](value)


@given(table=long_tables())
@examples(75)
def test_of_a_key_that_is_cut_off_the_beginning_is_read(
    table: tuple[list[pa.DataType], Rows],
) -> None:
    kinds, rows = table
    [whole_key] = whole(arrays(kinds, rows[:1]))
    [key] = sort_key.encode(arrays(kinds, rows[:1]))
    if len(whole_key) > 2 * sort_key.LONGEST:
        assert "…" in sort_key.decode(key, kinds)


@pytest.mark.parametrize("key", ["zz", "0", "00" * 9, "01" + "00" * 9])
def test_what_is_no_key_of_these_types_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match=r"not a key of|hexadecimal"):
        sort_key.decode(key, [pa.int64()])
