"""Canonical text and literals. That Spark reads them back is tests/functional/ranges' part."""

import math
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.ranges.columns import decimals

from alluvium.merge import range_frame
from alluvium.plan.ranges.literal import told
from alluvium.plan.ranges.row import RangeRow
from alluvium.ranges import RangeError, canonical_texts, typed_literal

EXACT = Context(prec=60)


@pytest.mark.parametrize(
    ("value", "kind", "spark_type", "literal"),
    [
        (-128, pa.int8(), "tinyint", "-128Y"),
        (32767, pa.int16(), "smallint", "32767S"),
        (-(2**31), pa.int32(), "int", "-2147483648"),
        (-(2**63), pa.int64(), "bigint", "-9223372036854775808L"),
        (0.1, pa.float32(), "float", "0.10000000149011612F"),
        (3.4028234663852886e38, pa.float32(), "float", "3.4028234663852886e+38F"),
        (5e-324, pa.float64(), "double", "5e-324D"),
        (-0.0, pa.float64(), "double", "0.0D"),
        (math.nan, pa.float64(), "double", "cast('nan' as double)"),
        (-math.inf, pa.float32(), "float", "cast('-inf' as float)"),
        (Decimal("0.5"), pa.decimal128(10, 2), "decimal(10,2)", "0.50BD"),
        (Decimal("-1E-38"), pa.decimal128(38, 38), "decimal(38,38)", "-0." + "0" * 37 + "1BD"),
        (Decimal("9" * 38), pa.decimal128(38, 0), "decimal(38,0)", "9" * 38 + "BD"),
        (0, pa.date32(), "date", "date'1970-01-01'"),
        (2932897, pa.date32(), "date", "date'+10000-01-01'"),
        (-719893, pa.date32(), "date", "date'-0001-01-01'"),
        (-719528, pa.date32(), "date", "date'0000-01-01'"),
        (-1, pa.timestamp("us"), "timestamp_ntz", "timestamp_ntz'1969-12-31 23:59:59.999999'"),
        (
            -(2**63),
            pa.timestamp("us", tz="Asia/Tokyo"),
            "timestamp",
            "timestamp'-290308-12-21 19:59:05.224192 UTC'",
        ),
        (
            2**63 - 1,
            pa.timestamp("us", tz="UTC"),
            "timestamp",
            "timestamp'+294247-01-10 04:00:54.775807 UTC'",
        ),
        ("507f1f77bcf86cd799439011", pa.string(), "string", "'507f1f77bcf86cd799439011'"),
        ("", pa.string(), "string", "''"),
        ("a'b", pa.string(), "string", "cast(x'612762' as string)"),
        ("${env:HOME}", pa.string(), "string", "cast(x'247b656e763a484f4d457d' as string)"),
        ("\\", pa.string(), "string", "cast(x'5c' as string)"),
        ("a\n", pa.string(), "string", "cast(x'610a' as string)"),
        ("\x00😀", pa.string(), "string", "cast(x'00f09f9880' as string)"),
        ("1٣", pa.string(), "string", "cast(x'31d9a3' as string)"),
    ],
)
def test_literals(value: Any, kind: pa.DataType, spark_type: str, literal: str) -> None:
    [text] = canonical_texts(pa.array([value], kind, from_pandas=False))
    assert typed_literal(text, spark_type) == literal


@given(st.floats(width=32, allow_nan=False))
def test_float_text_is_exact(value: float) -> None:
    [text] = canonical_texts(pa.array([value], pa.float32()))
    assert np.float32(text) == np.float32(value)


@pytest.mark.parametrize(
    ("text", "spark_type"),
    [
        ("1 or 1=1", "int"),
        ("1\n", "bigint"),
        ("٣", "int"),
        ("", "int"),
        ("1e5", "bigint"),
        ("0.5", "decimal(10,2)"),
        ("0E-38", "decimal(38,38)"),
        ("5", "decimal(10,2)"),
        ("NaN", "double"),
        ("nan", "decimal(10,2)"),
        ("1.", "double"),
        ("2020-01-01' or '1'='1", "date"),
        ("2020-01-01", "timestamp"),
        ("2020-01-01 00:00:00.000000 UTC", "timestamp"),
        ("2020-01-01T00:00:00.000000", "timestamp_ntz"),
        ("\ud800", "string"),
    ],
)
def test_text_of_another_form_is_refused(text: str, spark_type: str) -> None:
    with pytest.raises(RangeError, match=r"is not a bound of type"):
        typed_literal(text, spark_type)


@pytest.mark.parametrize(
    "spark_type",
    [
        "boolean", "binary", "array<int>", "map<string,int>", "struct<a:int>", "void",
        "string collate UTF8_LCASE", "decimal(39,0)", "decimal(2,3)", "int) or (1=1",
    ],
)  # fmt: skip
def test_types_without_ranges(spark_type: str) -> None:
    with pytest.raises(RangeError, match=r"do not support the type .*accepted are tinyint"):
        typed_literal("1", spark_type)


@given(
    st.text(),
    st.sampled_from(["string", "int", "double", "decimal(5,1)", "date", "timestamp"]),
)
def test_no_text_leaves_its_literal(text: str, spark_type: str) -> None:
    """A quote, a backslash, a comment or a substitution can only come from our own form."""
    try:
        literal = typed_literal(text, spark_type)
    except RangeError:
        assert spark_type != "string"
        return
    assert literal.isascii()
    assert literal.isprintable()
    assert literal.count("'") in (0, 2)
    assert not set(literal) & set('\\$;{}%"`')


def test_a_row_has_the_columns_that_a_ranges_model_has() -> None:
    columns = [column.split()[0] for column in range_frame.SCHEMA.split(", ")]
    assert set(RangeRow.__annotations__) == set(columns)
    assert {"column_name", "column_type", "lo", "hi"} == RangeRow.__required_keys__


TEXTS = st.text("aé中\ufffd😀\U0010ffff", max_size=3)


@given(st.lists(st.binary(max_size=3) | TEXTS.map(str.encode)))
def test_a_text_is_found_beside_bytes_that_statistics_show_as_others(values: list[bytes]) -> None:
    for value in values:
        try:
            text = value.decode()
        except UnicodeDecodeError:
            continue
        bounds = told(text, text, "string")
        assert bounds is not None
        lo, hi = (one.encode() for one in bounds)
        least, most = (end(values).decode(errors="replace").encode() for end in (min, max))
        assert least <= hi
        assert lo <= most
        assert lo <= value <= hi
        assert not text.isascii() or (lo, hi) == (value, value)


@given(st.floats(width=32, allow_nan=False))
def test_a_float_that_became_a_double_is_found_by_its_old_statistics(value: float) -> None:
    text, shown = repr(value), float(str(np.float32(value)))
    bounds = told(text, text, "double")
    assert bounds is not None
    lo, hi = map(float, bounds)
    assert lo <= shown <= hi
    assert lo <= value <= hi
    assert value != 0 or lo < -0.0 < hi


@given(decimals(38, 10) | decimals(18, 10))
def test_a_decimal_is_found_by_statistics_that_are_doubles(value: Decimal) -> None:
    text = f"{value:f}"
    bounds = told(text, text, "decimal(38,10)")
    assert bounds is not None
    lo, hi = map(Decimal, bounds)
    # Divided as delta-rs does it, and as it should be done.
    for shown in (int(value.scaleb(10, EXACT)) / 1e10, float(value)):
        assert lo <= Decimal(repr(shown)) <= hi or abs(Decimal(repr(shown))) >= Decimal("1e28")
    assert abs(value) >= 10**5 or (lo, hi) == (value, value)
