"""Columns that are whole numbers underneath, as intervals.

The intervals hold every value. Where more than fit are needed, the widest gaps between values stay
open: what is let in by closing a gap is as many numbers as it is wide.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from alluvium.plan.ranges.column_type import integer_values, is_decimal, is_integral, spark_type
from alluvium.plan.ranges.keys import decimal_words

Intervals = tuple[tuple[int, int], ...]


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
