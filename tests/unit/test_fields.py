"""What a batch changes of the fields that a table has."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
)

from alluvium.merge.fields import are_moved, changes, fitted, retyped, untyped

INT, LONG, TEXT, VOID = IntegerType(), LongType(), StringType(), NullType()


def struct(**fields: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in fields.items()])


@pytest.mark.parametrize(
    ("stored", "given_type", "said"),
    [
        (struct(a=INT), struct(a=INT, b=TEXT), ["s.b is new (string)"]),
        (struct(a=INT, b=TEXT), struct(b=TEXT), ["s.a is gone"]),
        (struct(a=INT), struct(A=INT), []),
        (struct(a=INT, b=TEXT), struct(b=TEXT, a=INT), []),
        (struct(a=INT), struct(a=LONG), ["s.a is bigint, in the table int"]),
        (struct(a=INT), ArrayType(INT), ["s is array<int>, in the table struct<a:int>"]),
        (
            ArrayType(struct(a=INT)),
            ArrayType(struct(b=INT)),
            ["s.element.a is gone", "s.element.b is new (int)"],
        ),
        (
            MapType(TEXT, struct(a=INT)),
            MapType(TEXT, struct(a=TEXT)),
            ["s.value.a is string, in the table int"],
        ),
        (struct(x=struct(a=INT)), struct(x=struct(a=INT, c=INT)), ["s.x.c is new (int)"]),
        (INT, LONG, []),
    ],
)
def test_changes(stored: DataType, given_type: DataType, said: list[str]) -> None:
    assert [str(one) for one in changes(struct(s=stored), struct(s=given_type))] == said


@pytest.mark.parametrize(
    ("table", "batch", "is_so"),
    [
        (struct(a=INT, b=TEXT), struct(b=TEXT, a=INT), False),
        (ArrayType(struct(a=INT, b=TEXT)), ArrayType(struct(B=TEXT, a=INT)), True),
        (ArrayType(struct(a=INT, b=TEXT)), ArrayType(struct(a=INT, c=INT, b=TEXT)), False),
        (MapType(TEXT, struct(a=INT, b=TEXT)), MapType(TEXT, struct(b=TEXT, a=INT)), True),
        (ArrayType(ArrayType(struct(a=INT, b=INT))), ArrayType(ArrayType(struct(b=INT))), False),
        (
            struct(x=ArrayType(struct(a=INT, b=INT))),
            struct(x=ArrayType(struct(b=INT, a=INT))),
            True,
        ),
    ],
)
def test_fields_below_arrays_that_are_moved(table: DataType, batch: DataType, is_so: bool) -> None:
    assert are_moved(struct(s=table), struct(s=batch)) == is_so


def test_what_has_no_type_yet() -> None:
    table = struct(a=VOID, b=VOID, c=struct(d=VOID, e=INT), f=ArrayType(VOID), g=INT, gone=VOID)
    batch = struct(A=TEXT, b=VOID, c=struct(d=INT, e=INT), f=ArrayType(LONG), g=VOID)
    assert [(one.name, one.given) for one in untyped(table, batch)] == [
        ("`a`", TEXT),
        ("`c`.`d`", INT),
        ("`f`.`element`", LONG),
    ]


def test_whole_columns_of_another_type() -> None:
    table = struct(a=INT, b=INT, c=struct(d=INT), e=INT, gone=INT)
    batch = struct(A=LONG, b=INT, c=struct(d=LONG), e=struct(f=INT), new=INT)
    assert [str(one) for one in retyped(table, batch)] == [
        "a is bigint, in the table int",
        "e is struct<f:int>, in the table int",
    ]


def test_names_of_any_kind_are_quoted() -> None:
    table = StructType([StructField("a b", struct(x=INT))])
    batch = StructType([StructField("a b", StructType([StructField("y.`z", INT)]))])
    assert [one.name for one in changes(table, batch)] == ["`a b`.`x`", "`a b`.`y.``z`"]


TYPES = st.recursive(
    st.sampled_from([INT, LONG, TEXT]),
    lambda inner: st.one_of(
        inner.map(ArrayType),
        inner.map(lambda kind: MapType(TEXT, kind)),
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1).map(lambda f: struct(**f)),
    ),
    max_leaves=8,
)


@given(TYPES, TYPES)
def test_what_is_fitted_has_the_table_s_fields(stored: Any, brought: Any) -> None:
    table, batch = struct(s=stored), struct(s=brought, more=INT)
    made = fitted(table, batch)
    assert made.names == ["s", "more"]
    left = changes(table, made)
    assert all(one.stored is not None and one.given is not None for one in left)
    assert left == [one for one in changes(table, batch) if one.stored and one.given]
    assert fitted(table, table) == table
