"""How a column of a landed file becomes one of the schema, beside what NumPy's casts keep."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from alluvium.ingest.own_schemas import way

INT, LONG, DOUBLE, TEXT = IntegerType(), LongType(), DoubleType(), StringType()
MONEY = DecimalType(9, 2)


def struct(*kinds: DataType) -> StructType:
    return StructType([StructField(f"f{n}", kind) for n, kind in enumerate(kinds)])


@pytest.mark.parametrize(
    ("have", "want", "expected"),
    [
        (TEXT, TEXT, "cast"),
        (INT, TEXT, "cast"),
        (TimestampType(), TEXT, "cast"),
        (LONG, INT, "checked"),
        (INT, ByteType(), "checked"),
        (BinaryType(), TEXT, "checked"),
        (LONG, DecimalType(19, 0), "cast"),
        (LONG, DecimalType(20, 2), "lossy"),
        (MONEY, DecimalType(10, 2), "cast"),
        (MONEY, DecimalType(10, 4), "lossy"),
        (MONEY, DecimalType(8, 2), "lossy"),
        (DOUBLE, DecimalType(38, 10), "lossy"),
        (MONEY, DOUBLE, "lossy"),
        # Decimals without a digit before the point.
        (DecimalType(4, 4), DecimalType(18, 4), "cast"),
        (DecimalType(4, 4), DecimalType(18, 3), "lossy"),
        (ArrayType(DecimalType(4, 4)), ArrayType(DecimalType(5, 4)), "spark"),
        (DOUBLE, LONG, "lossy"),
        (ArrayType(INT), ArrayType(LONG), "spark"),
        (TEXT, BinaryType(), "spark"),
        (TimestampNTZType(), TimestampType(), "cast"),
        (TEXT, VarcharType(2), "spark"),
        (NullType(), LONG, "spark"),
        (DateType(), TimestampNTZType(), "cast"),
        (struct(LONG), struct(DecimalType(20, 1), TEXT), "spark"),
        (MapType(TEXT, INT), MapType(TEXT, LONG), "spark"),
        # Of these ORC's reader makes NULL, or a part of the value.
        (TEXT, LONG, "lossy"),
        (TEXT, DateType(), "lossy"),
        (TimestampType(), DateType(), "lossy"),
        (LONG, TimestampType(), "lossy"),
        (BooleanType(), INT, "lossy"),
        (LONG, BooleanType(), "lossy"),
        (ArrayType(LONG), ArrayType(INT), "lossy"),
        (ArrayType(LONG), LONG, "lossy"),
        (ArrayType(TimestampType()), ArrayType(TimestampNTZType()), "spark"),
        (struct(INT, DOUBLE), struct(INT, INT), "lossy"),
        (struct(INT, DOUBLE), struct(INT), "spark"),
        (MapType(TEXT, LONG), MapType(INT, LONG), "lossy"),
    ],
)
def test_ways(have: DataType, want: DataType, expected: str) -> None:
    assert way(have, want) == expected


def test_numbers_are_cast_where_no_value_changes() -> None:
    kinds: dict[DataType, type[np.number]] = {
        ByteType(): np.int8,
        ShortType(): np.int16,
        INT: np.int32,
        LONG: np.int64,
        FloatType(): np.float32,
        DOUBLE: np.float64,
    }
    for have, one in kinds.items():
        for want, other in kinds.items():
            # NumPy lets int64 become float64, which changes large numbers.
            safe = np.can_cast(one, other, "safe") and (have, want) != (LONG, DOUBLE)
            assert (way(have, want) == "cast") == safe, (have, want)
