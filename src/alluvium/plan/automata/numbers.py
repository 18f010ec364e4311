"""Columns that are whole numbers underneath, as intervals.

The intervals hold every value. Where more than fit are needed, the widest gaps between values stay
open: what is let in by closing a gap is as many numbers as it is wide.
"""

import datetime
import decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from alluvium.plan.ranges.column_type import integer_values, is_decimal, is_integral, spark_type
from alluvium.plan.ranges.keys import decimal_words

Intervals = tuple[tuple[int, int], ...]
_EPOCH = datetime.date(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_DECIMAL = "decimal("
INTEGERS = ("tinyint", "smallint", "int", "bigint")
OTHERS = ("boolean", "date", "timestamp", "timestamp_ntz")


def type_name(kind: pa.DataType) -> str | None:
    """The Spark type of a column of whole numbers; None for any other."""
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_timestamp(kind) and kind.unit == "us":
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if is_integral(kind) or (is_decimal(kind) and kind.precision <= 18):
        return spark_type(kind)
    return None


def whole_numbers(values: pa.Array) -> npt.NDArray[np.int64]:
    """The sorted distinct numbers of a column without NULLs: days, microseconds, unscaled ones."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    if is_decimal(values.type):
        return np.unique(decimal_words(values)[:, 0])
    return np.sort(integer_values(pc.unique(values)))


def intervals(numbers: npt.NDArray[np.int64], most: int) -> Intervals:
    """At most so many intervals that hold the numbers, which are sorted and distinct."""
    if not len(numbers):
        return ()
    # Unsigned: the difference of two 64-bit numbers may be wider than they are.
    gaps = numbers[1:].view(np.uint64) - numbers[:-1].view(np.uint64)
    cuts = np.flatnonzero(gaps > 1)
    if len(cuts) > most - 1:
        cuts = cuts[np.argsort(gaps[cuts].max() - gaps[cuts], kind="stable")[: most - 1]]
    cuts = np.sort(cuts)
    lows = numbers[np.concatenate([[0], cuts + 1]).astype(np.int64)]
    highs = numbers[np.concatenate([cuts, [len(numbers) - 1]]).astype(np.int64)]
    return tuple(zip(lows.tolist(), highs.tolist(), strict=True))


def number_of(value: Any, kind: str) -> int | None:
    """The whole number under a value of a Spark type; None where it is not surely one."""
    exact = type(value)
    if kind == "boolean":
        return int(value) if exact is bool else None
    if kind in INTEGERS:
        return int(value) if exact is int else None
    if kind == "date":
        return (value - _EPOCH).days if exact is datetime.date else None
    if kind in ("timestamp", "timestamp_ntz"):
        return _microseconds(value, kind == "timestamp") if exact is datetime.datetime else None
    if kind.startswith(_DECIMAL) and exact in (int, decimal.Decimal):
        return _unscaled(decimal.Decimal(value), int(kind[:-1].rsplit(",", 1)[1]))
    return None


def _microseconds(value: datetime.datetime, has_zone: bool) -> int | None:
    if (value.tzinfo is not None) is not has_zone:
        return None
    zone = datetime.UTC if has_zone else None
    return (value - datetime.datetime(1970, 1, 1, tzinfo=zone)) // _MICROSECOND


def _unscaled(value: decimal.Decimal, scale: int) -> int | None:
    if not value.is_finite() or value.adjusted() > 40:
        return None
    with decimal.localcontext(prec=100):
        scaled = value.scaleb(scale)
        return int(scaled) if scaled == scaled.to_integral_value() else None


def _complement(parts: list[tuple[float, float]]) -> list[tuple[float, float]]:
    found, low = [], float("-inf")
    for start, end in sorted(parts):
        if start > low:
            found.append((low, start - 1))
        low = max(low, end + 1)
    if low != float("inf"):
        found.append((low, float("inf")))
    return found


def may_pass(held: Intervals, operator: str, numbers: list[int], negated: bool) -> bool:
    """Whether any number of the intervals passes a comparison with numbers."""
    infinite = float("inf")
    first = numbers[0] if numbers else 0
    passing: dict[str, list[tuple[float, float]]] = {
        "<": [(-infinite, first - 1)],
        "<=": [(-infinite, first)],
        ">": [(first + 1, infinite)],
        ">=": [(first, infinite)],
    }
    parts = passing.get(operator, [(number, number) for number in numbers])
    if negated:
        parts = _complement(parts)
    return any(low <= end and start <= high for low, high in held for start, end in parts)
