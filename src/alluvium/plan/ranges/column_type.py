"""The column types that ranges are planned for."""

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from alluvium.plan.ranges.errors import RangeError, UnfitError

_ARROW_TYPES = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "string": pa.string(),
}
_DECIMAL = re.compile(r"decimal\(([0-9]{1,2}),([0-9]{1,2})\)")
SUPPORTED = (
    "tinyint, smallint, int, bigint, float, double, decimal(p,s), date, timestamp, "
    "timestamp_ntz and string of the default collation"
)


def parse_type(spark_type: str) -> pa.DataType:
    """The Arrow type of a Spark type.

    Args:
        spark_type: as `DataType.simpleString()` writes it, for example `decimal(10,2)`.

    Raises:
        UnfitError: ranges do not support the type.
    """
    if found := _ARROW_TYPES.get(spark_type):
        return found
    if match := _DECIMAL.fullmatch(spark_type):
        precision, scale = int(match[1]), int(match[2])
        if 1 <= precision <= 38 and scale <= precision:
            return pa.decimal128(precision, scale)
    raise UnfitError(f"ranges do not support the type {spark_type}: accepted are {SUPPORTED}")


def spark_type(kind: pa.DataType) -> str:
    """The Spark type of an Arrow type that ranges support; the inverse of `parse_type`."""
    if is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return next(name for name, arrow in _ARROW_TYPES.items() if arrow == kind)


def check_arrow_type(kind: pa.DataType) -> None:
    """Raise RangeError unless ranges support the Arrow type."""
    if not (is_integral(kind) or is_floating(kind) or is_decimal(kind) or pa.types.is_string(kind)):
        raise RangeError(
            f"ranges do not support the Arrow type {kind}: accepted are int8 to int64, float, "
            "double, decimal128, date32, timestamp[us] and string"
        )


def is_integral(kind: pa.DataType) -> bool:
    """Whether values are integers underneath: integers, days or microseconds."""
    return bool(
        pa.types.is_signed_integer(kind)
        or pa.types.is_date32(kind)
        or (pa.types.is_timestamp(kind) and kind.unit == "us")
    )


def is_floating(kind: pa.DataType) -> bool:
    """Whether values are 32- or 64-bit floats."""
    return bool(pa.types.is_float32(kind) or pa.types.is_float64(kind))


def is_decimal(kind: pa.DataType) -> bool:
    """Whether values are decimals of at most 38 digits."""
    return bool(pa.types.is_decimal128(kind))


def integer_values(values: pa.Array) -> npt.NDArray[np.int64]:
    """The integers underneath an array of an integral type without NULLs."""
    width = pa.int32() if pa.types.is_date32(values.type) else pa.int64()
    integers: npt.NDArray[np.int64] = values.cast(width).cast(pa.int64()).to_numpy()
    return integers
