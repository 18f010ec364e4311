"""Values as NumPy arrays that sort and compare as Spark sorts and compares the values."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from alluvium.plan.ranges.column_type import integer_values, is_decimal, is_floating, is_integral


def has_numeric_keys(kind: pa.DataType) -> bool:
    """Whether the keys of a type are integers or floats, not bytes."""
    return is_integral(kind) or is_floating(kind) or (is_decimal(kind) and kind.precision <= 18)


def sort_keys(values: pa.Array, width: int = 0) -> npt.NDArray[Any]:
    """Keys of values without NULL, in their order.

    Keys of one type are comparable. Those of strings are bytes: two strings compare rightly if at
    least one of them has `width` bytes at most. Longer ones with the same first bytes are equal.

    Args:
        values: of a type that ranges support.
        width: for strings, the bytes of each that count.
    """
    if is_integral(values.type):
        return integer_values(values)
    if is_floating(values.type):
        numbers: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
        return numbers
    if is_decimal(values.type):
        words = decimal_words(values)
        if values.type.precision <= 18:
            return words[:, 0]
        # Big-endian, with the sign turned round, so that bytes are in the order of the numbers.
        turned = words[:, ::-1].astype(">i8")
        turned[:, 0] ^= np.int64(-(2**63))
        return turned.view("S16").ravel()
    texts = values.cast(pa.binary())
    lengths = np.minimum(pc.binary_length(texts).to_numpy(zero_copy_only=False), width + 1)
    # The length tells a string from the same one with zero bytes behind it.
    ends = lengths.astype(">u4").view(np.uint8).reshape(-1, 4)
    return np.hstack([padded_bytes(texts, width), ends]).view(f"S{width + 4}").ravel()


def decimal_words(values: pa.Array) -> npt.NDArray[np.int64]:
    """Unscaled values as pairs of 64-bit words, the lower (unsigned) one first."""
    words = np.frombuffer(values.buffers()[1], dtype=np.int64)
    return words.reshape(-1, 2)[values.offset : values.offset + len(values)]


def padded_bytes(texts: pa.Array, width: int) -> npt.NDArray[np.uint8]:
    """A row per binary value without NULL: its first `width` bytes, filled up with zeros."""
    texts = pc.binary_slice(texts, 0, width)
    matrix = np.zeros((len(texts), width), dtype=np.uint8)
    lengths = pc.binary_length(texts).to_numpy(zero_copy_only=False)
    if lengths.any():
        offsets = np.frombuffer(texts.buffers()[1], dtype=np.int32)[texts.offset :]
        data = np.frombuffer(texts.buffers()[2], dtype=np.uint8)
        data = data[offsets[0] : offsets[len(texts)]]
        if (lengths == width).all():
            return data.reshape(len(texts), width)
        matrix[np.arange(width) < lengths[:, None]] = data
    return matrix
