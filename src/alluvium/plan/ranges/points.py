"""What a batch has in one column: its distinct values in order, how often each occurs, and where
each lies on a line."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from alluvium.plan.ranges.column_type import (
    check_arrow_type,
    integer_values,
    is_decimal,
    is_floating,
    is_integral,
)
from alluvium.plan.ranges.keys import decimal_words, has_numeric_keys, padded_bytes, sort_keys

# Bytes of a string that make its position, counted after what all strings share: a UUID has 36.
_STRING_BYTES = 36
_ALPHABETS = [
    np.frombuffer(digits, dtype=np.uint8)
    for digits in (b"0123456789", b"0123456789abcdef", b"0123456789ABCDEF")
]


@dataclass(frozen=True)
class Points:
    """Sorted distinct values of one column.

    Attributes:
        values: distinct values in Spark's order, without NULL; NaN last, -0.0 as 0.0.
        counts: rows per value.
    """

    values: pa.Array
    counts: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.values)


def positions(values: pa.Array) -> npt.NDArray[Any]:
    """Where values lie on a line: never falling, differences are distances.

    The values are sorted, one at least, none NULL.

    Exact for integers, dates, timestamps and decimals: offsets from the first value, uint64 or
    (beyond 64 bits) Python integers. Floats are themselves, with infinities and NaN set at a
    distance from the finite values that no gap among those exceeds. Strings are numbers. They are
    decimal or hexadecimal ones if only such digits differ: so the distance of ObjectIds and UUIDs
    is the numeric one. Else they are in the alphabet of all bytes that occur. Only the first 36
    bytes after the common prefix count, so strings may share a position.
    """
    if is_integral(values.type):
        return _offsets(integer_values(values))
    if is_floating(values.type):
        return _float_positions(values)
    if is_decimal(values.type):
        return _decimal_positions(values)
    return _string_positions(values)


def make_points(
    values: pa.Array | pa.ChunkedArray, counts: npt.NDArray[np.int64] | None = None
) -> Points:
    """Sanitise the values of a column and put them in order.

    Args:
        values: in any order, repeated or not; NULLs are left out.
        counts: rows that each entry of `values` stands for; 1 each if not given.

    Raises:
        RangeError: ranges do not support the type.
    """
    check_arrow_type(values.type)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if counts is None:
        counts = np.ones(len(values), dtype=np.int64)
    present = np.asarray(values.is_valid())
    counts = counts[present]
    values = values.drop_null()
    if is_floating(values.type):
        numbers = values.to_numpy() + values.type.to_pandas_dtype()(0)  # turns -0.0 into 0.0
        numbers[np.isnan(numbers)] = np.nan  # one bit pattern
        values = pa.array(numbers, type=values.type, from_pandas=False)
    if has_numeric_keys(values.type):
        return _runs(values, counts)
    encoded = values.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    totals = np.zeros(len(order), dtype=np.int64)
    np.add.at(totals, encoded.indices.to_numpy(), counts)
    return Points(encoded.dictionary.take(order), totals[order.to_numpy()])


def _runs(values: pa.Array, counts: npt.NDArray[np.int64]) -> Points:
    """Equal values as one: several times faster than Arrow's dictionary where keys are numbers."""
    keys = sort_keys(values)
    order = np.argsort(keys)
    keys = keys[order]
    fresh = np.ones(len(keys), dtype=np.bool_)
    # NaN equals nothing, itself neither; all of them sort last.
    fresh[1:] = (keys[1:] != keys[:-1]) & ~(np.isnan(keys[:-1]))
    starts = np.flatnonzero(fresh)
    totals = np.add.reduceat(counts[order], starts) if len(starts) else counts
    return Points(values.take(pa.array(order[starts])), totals)


def _offsets(integers: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    unsigned = integers.astype(np.int64).view(np.uint64)
    # Wraps around, and so is exact from the smallest to the largest 64-bit integer.
    return unsigned - unsigned[:1]


def _float_positions(values: pa.Array) -> npt.NDArray[np.float64]:
    numbers: npt.NDArray[np.float64] = values.to_numpy().astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    low, high = (finite[0], finite[-1]) if len(finite) else (0.0, 0.0)
    if max(-low, high) > 1e306:  # leave room for differences and for the infinities
        numbers, low, high = numbers / 16, low / 16, high / 16
    # As wide as any finite gap, and wide enough to show beside the numbers themselves.
    distance = max(high - low, -low, high) or 1.0
    numbers[np.isneginf(numbers)] = low - distance
    numbers[np.isposinf(numbers)] = high + distance
    numbers[np.isnan(numbers)] = high + 2 * distance
    return numbers


def _decimal_positions(values: pa.Array) -> npt.NDArray[Any]:
    words = decimal_words(values)
    low, high = words[:, 0], words[:, 1]
    if np.array_equal(high, low >> 63):
        return _offsets(low)
    unscaled = high.astype(object) * 2**64 + low.view(np.uint64).astype(object)
    return np.asarray(unscaled - unscaled[0], dtype=object)


def _string_positions(values: pa.Array) -> npt.NDArray[Any]:
    texts = values.cast(pa.binary())
    first, last = texts[0].as_py(), texts[-1].as_py()
    shared = 0
    while shared < min(len(first), len(last)) and first[shared] == last[shared]:
        shared += 1
    # A shorter string is filled with zeros, which sort before any byte.
    matrix = padded_bytes(pc.binary_slice(texts, shared, shared + _STRING_BYTES), _STRING_BYTES)
    # Separators and padding, the same in all strings, tell no distance.
    same = (matrix == matrix[:1]).all(axis=0) & ~np.isin(matrix[0], np.concatenate(_ALPHABETS))
    matrix = matrix[:, ~same]
    used = np.unique(matrix)
    alphabet = next((known for known in _ALPHABETS if np.isin(used, known).all()), used)
    base = len(alphabet)
    digits = np.searchsorted(alphabet, matrix).astype(np.uint64)
    # Limbs of as many digits as 63 bits hold; whole numbers only where one limb is not enough.
    per_limb = int(63 / np.log2(base))
    number: npt.NDArray[Any] = np.zeros(len(values), dtype=np.uint64)
    for start in range(0, digits.shape[1], per_limb):
        limb_digits = digits[:, start : start + per_limb]
        powers = np.uint64(base) ** np.arange(limb_digits.shape[1], dtype=np.uint64)[::-1]
        limb = (limb_digits * powers).sum(axis=1, dtype=np.uint64)
        if start == 0:
            number = limb
        else:
            number = number.astype(object) * base ** limb_digits.shape[1] + limb.astype(object)
    return np.asarray(number - number[:1])
