"""Range rows become SQL that no value can break out of, and never hide a row."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.ranges.columns import TYPES

from alluvium.plan.ranges.column_type import spark_type
from alluvium.ranges import Ranges, Term, canonical_texts


def row(lo: str | None, hi: str | None, kind: str) -> dict[str, Any]:
    return {"column_name": "c", "column_type": kind, "lo": lo, "hi": hi}


@pytest.mark.parametrize(
    ("text", "kind", "sql"),
    [
        ("-5", "int", "-5"),
        ("5", "bigint", "5L"),
        ("5", "tinyint", "5Y"),
        ("5", "smallint", "5S"),
        ("1.5e-7", "double", "1.5e-7D"),
        ("0.10000000149011612", "float", "0.10000000149011612F"),
        ("nan", "double", "cast('nan' as double)"),
        ("-inf", "float", "cast('-inf' as float)"),
        ("0.50", "decimal(10,2)", "0.50BD"),
        ("2024-02-29", "date", "date'2024-02-29'"),
        ("1999-01-01 00:00:00.000001", "timestamp", "timestamp'1999-01-01 00:00:00.000001 UTC'"),
        ("2024-02-29 23:59:59.5", "timestamp_ntz", None),
        (
            "1999-01-01 00:00:00.000000",
            "timestamp_ntz",
            "timestamp_ntz'1999-01-01 00:00:00.000000'",
        ),
        ("65a1b2c3d4e5f60718293a4b", "string", "'65a1b2c3d4e5f60718293a4b'"),
        ("it's", "string", "cast(x'69742773' as string)"),
        ("", "string", "''"),
    ],
)
def test_literals(macros: Any, text: str, kind: str, sql: str | None) -> None:
    assert macros.sql_literal(text, kind) == sql


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("5 or 1=1", "bigint"),
        ("5\n", "bigint"),
        ("1e5", "bigint"),
        ("0E-18", "decimal(38,18)"),
        ("2024-02-29'", "date"),
        ("2024-02-29 23:59:59", "timestamp"),
        ("true", "boolean"),
        ("a", "string collate UTF8_LCASE"),
    ],
)
def test_other_text_is_no_literal_and_no_range(macros: Any, text: str, kind: str) -> None:
    assert macros.sql_literal(text, kind) is None
    assert macros.range_predicate([row(text, text, kind)], "c") == "true"


@given(st.text())
def test_strings_end_where_they_should(compiled: Any, text: str) -> None:
    sql = compiled.sql_literal(text, "string")
    if sql.startswith("'"):
        assert sql == f"'{text}'"
        assert not set(text) & set("'\\${}%\n\0")
    else:
        digits = sql.removeprefix("cast(x'").removesuffix("' as string)")
        assert bytes.fromhex(digits).decode() == text


LITERAL = re.compile(
    r"cast\(x'(?:[0-9a-f]{2})*' as string\)|cast\('(?:nan|-?inf)' as (?:double|float)\)"
    r"|(?:date|timestamp|timestamp_ntz)'[-+0-9:. ]*(?: UTC)?'|'[A-Za-z0-9 _.:/+@-]*'"
    r"|-?[0-9][0-9.]*(?:e[+-]?[0-9]+)?(?:BD|[YSLFD])?(?![0-9A-Za-z_'])"
)
KINDS = (
    "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)", "date",
    "timestamp", "timestamp_ntz", "string", "boolean", "int) or (1=1",
)  # fmt: skip
# Texts that are nearly bounds, and any other.
TEXTS = st.text() | st.from_regex(r"[-+]?[0-9]{1,4}([-.:e' /*;\\]{0,2}[0-9]{1,3}){0,6}[BDL']?\n?")


@given(lo=TEXTS, hi=TEXTS, kind=st.sampled_from(KINDS), column=st.text(min_size=1))
def test_no_row_changes_the_statement(
    compiled: Any, lo: str, hi: str, kind: str, column: str
) -> None:
    rows = [row(lo, hi, kind) | {"column_name": column}]
    sql = compiled.range_predicate(rows, column, "t")
    name = "t.`" + column.replace("`", "``") + "`"
    form = LITERAL.sub("?", sql.replace(name, "c"))
    assert form in ("true", "(c = ?)", "(c between ? and ?)")


def test_ranges_are_alternatives_and_points_are_equalities(macros: Any) -> None:
    rows = [row("1", "3", "int"), row("7", "7", "int")]
    assert macros.range_predicate(rows, "c", "t") == "(t.`c` between 1 and 3 or t.`c` = 7)"


def test_rows_of_another_column_are_not_used(macros: Any) -> None:
    rows = [row("1", "3", "int"), row("7", "7", "int") | {"column_name": "d"}]
    assert macros.range_predicate(rows, "C") == "(`C` between 1 and 3)"


def both_writers(compiled: Any, lo: pa.Array, hi: pa.Array) -> tuple[str, str]:
    """The predicate of the same ranges by the library and by the macro."""
    kind = spark_type(lo.type)
    rows = [
        row(first, last, kind)
        for first, last in zip(canonical_texts(lo), canonical_texts(hi), strict=True)
    ]
    term = Term("c", Ranges(lo, hi, np.ones(len(lo), dtype=np.int64)), or_null=False)
    return term.sql("t."), compiled.range_predicate(rows, "c", "t")


@given(data=st.data(), name=st.sampled_from(sorted(TYPES)))
def test_the_library_and_the_macro_write_one_text(
    compiled: Any, data: st.DataObject, name: str
) -> None:
    kind, one = TYPES[name]
    drawn = data.draw(st.lists(st.tuples(one, one), min_size=1, max_size=3))
    lo, hi = (pa.array(list(side), kind, from_pandas=False) for side in zip(*drawn, strict=True))
    library, macro = both_writers(compiled, lo, hi)
    assert library == macro


NOON = dt.datetime(2024, 2, 29, 12, 0, 0, 1)
BOUNDS: dict[str, list[Any]] = {
    "tinyint": [-128, 127],
    "smallint": [-1, 300],
    "int": [0, 0],
    "bigint": [-(2**63), 2**63 - 1],
    "float": [-0.0, 0.1],
    "double": [float("-inf"), float("inf")],
    "decimal(10,2)": [Decimal("-0.50"), Decimal("12345678.90")],
    "decimal(38,0)": [Decimal("-" + "9" * 38), Decimal("1" + "0" * 15)],
    "decimal(38,38)": [Decimal("0." + "0" * 37 + "1"), Decimal("0." + "9" * 38)],
    "date": [dt.date(1, 1, 1), dt.date(9999, 12, 31)],
    "timestamp": [NOON.replace(tzinfo=dt.UTC), NOON.replace(year=2025, day=28, tzinfo=dt.UTC)],
    "timestamp_ntz": [NOON, NOON],
    "object id": ["65a1b2c3d4e5f60718293a4b", "65a1b2c3d4e5f60718293a4c"],
    "string": ["it's ${x}\\", "\x00😀"],
}


def test_the_text_of_every_type(compiled: Any, golden: Any) -> None:
    texts = []
    for name, (lo, hi) in BOUNDS.items():
        kind = TYPES[name][0]
        # The range, and its ends as points.
        bounds = (
            pa.array([*side], kind, from_pandas=False) for side in ((lo, lo, hi), (hi, lo, hi))
        )
        library, macro = both_writers(compiled, *bounds)
        assert library == macro
        texts.append(f"-- {name}\n{library}")
    golden("range_predicate", "\n".join(texts))


def test_no_rows_hide_nothing(macros: Any) -> None:
    assert macros.range_predicate([], "c") == "true"


def test_statistics_that_leave_out_nan_hide_nothing(compiled: Any) -> None:
    nan = pa.array([1.0, float("nan")], from_pandas=False)
    assert both_writers(compiled, pa.array([0.5, 1.0]), nan) == ("true", "true")


@pytest.mark.parametrize(
    ("text", "kind", "canonical"),
    [
        ("-1", "timestamp", "1969-12-31 23:59:59.999999"),
        ("1709251199000001", "timestamp", "2024-02-29 23:59:59.000001"),
        ("253402300800000000", "timestamp", None),
        ("2024-02-29 23:59:59.5", "timestamp_ntz", "2024-02-29 23:59:59.500000"),
        ("2024-02-29 23:59:59", "timestamp_ntz", "2024-02-29 23:59:59.000000"),
        ("-0.0", "double", "0.0"),
        ("-infinity", "double", "-inf"),
        ("1.0e10", "double", "1.0e10"),
    ],
)
def test_canonical_text(macros: Any, text: str, kind: str, canonical: str | None) -> None:
    assert macros.canonical_text(text, kind) == canonical
