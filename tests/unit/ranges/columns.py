"""Values of every type that ranges are planned for, and Spark's order of them."""

import datetime
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    return st.integers(1 - 10**precision, 10**precision - 1).map(
        lambda unscaled: Decimal(
            (int(unscaled < 0), tuple(int(d) for d in str(abs(unscaled))), -scale)
        )
    )


def integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


HEX_IDS = st.integers(0, 2**96 - 1).map("{:024x}".format)
LONG_PREFIX = st.text("ab\x00é😀'\\", max_size=5).map(lambda tail: "p" * 40 + tail)
TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "tinyint": (pa.int8(), integers(8)),
    "smallint": (pa.int16(), integers(16)),
    "int": (pa.int32(), integers(32)),
    "bigint": (pa.int64(), integers(64) | st.integers(-5, 5)),
    "float": (pa.float32(), st.floats(width=32) | st.sampled_from([0.0, -0.0, math.nan])),
    "double": (pa.float64(), st.floats() | st.sampled_from([0.0, -0.0, math.nan, math.inf])),
    "decimal(10,2)": (pa.decimal128(10, 2), decimals(10, 2)),
    "decimal(38,0)": (pa.decimal128(38, 0), decimals(38, 0)),
    "decimal(38,38)": (pa.decimal128(38, 38), decimals(38, 38)),
    "date": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("us", tz="UTC"), st.datetimes(timezones=st.just(datetime.UTC))),
    "timestamp_ntz": (pa.timestamp("us"), st.datetimes()),
    "object id": (pa.string(), HEX_IDS),
    "uuid": (pa.string(), st.uuids().map(str)),
    "string": (pa.string(), st.text(max_size=6) | LONG_PREFIX | st.text("'\\\n\x00$", max_size=3)),
}


def key(value: Any) -> Any:
    """Spark's order."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value
