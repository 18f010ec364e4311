"""Sort keys as text whose order is theirs.

Each value becomes bytes that compare as Spark's ORDER BY compares the values: NULL first, NaN last,
-0.0 equal to 0.0, strings by their UTF-8. The key is their sequence in hexadecimal. So what is
written in the log is compared without knowing the types. Method: the tuple layer of FoundationDB.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

# Bytes of a key that are written. A longer one is cut off, as a lower bound and as an upper one.
# Rounded up, what ends and what begins with one long value would always overlap.
LONGEST = 256
_NULL, _VALUE = b"\x00", b"\x01"
# As many digits as a decimal has: Python rounds to 28 otherwise.
_EXACT = Context(prec=38)
SUPPORTED = (
    "boolean, tinyint, smallint, int, bigint, float, double, decimal(p,s), date, timestamp, "
    "timestamp_ntz, binary and string of the default collation"
)


# A value that `_bytes` wrote, and its end where that is not cut off.
_ENDED = re.compile(rb"((?:[^\x00]|\x00\xff)*)(\x00)?", re.DOTALL)
# What stands for the rest of a key that is cut off.
_CUT = "…"


_SORTABLE = {
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double"),
    *("date", "timestamp", "timestamp_ntz", "binary", "string"),
}


def is_sortable(spark_type: str) -> bool:
    """Whether keys of this type, as `DataType.simpleString()` writes it, can be encoded."""
    return spark_type in _SORTABLE or spark_type.startswith("decimal(")


def encode(columns: Sequence[pa.Array]) -> list[str]:
    """The sort key of each row, in hexadecimal; those that agree in what is written are one.

    Args:
        columns: the key's columns in their order, of one length.

    Raises:
        TypeError: a column's type has no order that is known here.
    """
    encoders = [encoder(column.type) for column in columns]
    keys = []
    for row in zip(*(_plain(column).to_pylist() for column in columns), strict=True):
        key = b"".join(
            _NULL if value is None else _VALUE + encode_one(value)
            for encode_one, value in zip(encoders, row, strict=True)
        )
        keys.append(key[:LONGEST].hex())
    return keys


def decode(key: str, types: Sequence[pa.DataType]) -> str:
    """The values of a key that `encode` wrote, for people: a JSON array, one that is cut off with …

    Instants are in UTC, binaries in hexadecimal.

    Args:
        types: of the key's columns.

    Raises:
        ValueError: this is not a key of columns of these types.
    """
    rest: bytes | None = bytes.fromhex(key)
    values: list[Any] = []
    for kind in types:
        if not rest:
            values.append(_CUT)
            break
        if rest[:1] == _NULL:
            value, rest = None, rest[1:]
        else:
            value, rest = _value(kind, rest[1:])
        values.append(value)
        if rest is None:
            break
    if rest:
        raise ValueError(f"{key} is not a key of {len(types)} columns")
    return json.dumps(values, ensure_ascii=False)


def bounds_by_first(
    lo: pa.Array, hi: pa.Array, nulls: pa.Array, rows: pa.Array
) -> tuple[list[str | None], list[str | None]]:
    """Between which sort keys those of each file lie, by what the log says of the first column.

    Args:
        lo, hi: bounds of the column's values, NULL where they are not known.
        nulls, rows: of each file; tell something only where NULLs are none or all.

    Returns:
        Lower and upper bounds, None where nothing is known; so always for floating point numbers,
        whose bounds say nothing of NaN.
    """
    count = len(lo)
    if pa.types.is_floating(lo.type):
        return [None] * count, [None] * count
    encode_one = encoder(lo.type)
    lows: list[str | None] = []
    highs: list[str | None] = []
    columns = (_plain(lo), _plain(hi), nulls, rows)
    for low, high, lacking, every in zip(*(one.to_pylist() for one in columns), strict=True):
        if lacking is None or every is None:
            lows.append(None)
            highs.append(None)
        elif lacking == every:
            lows.append(_NULL.hex())
            highs.append(_VALUE.hex())
        elif low is None or high is None:
            lows.append(None)
            highs.append(None)
        else:
            # Not above a key that is cut off.
            lows.append(_NULL.hex() if lacking else (_VALUE + encode_one(low))[:LONGEST].hex())
            highs.append(_above(_VALUE + encode_one(high)).hex())
    return lows, highs


def encoder(kind: pa.DataType) -> Callable[[Any], bytes]:
    """What makes bytes of a value of this type.

    Raises:
        TypeError: the type has no order that is known here.
    """
    if pa.types.is_boolean(kind):
        return lambda value: bytes([value])
    if pa.types.is_signed_integer(kind) or pa.types.is_date32(kind) or pa.types.is_timestamp(kind):
        return lambda value: _integer(value, 8)
    if pa.types.is_floating(kind):
        return _float
    if pa.types.is_decimal128(kind):
        scale = kind.scale
        # 38 digits take 127 bits and a sign.
        return lambda value: _integer(int(value.scaleb(scale, _EXACT)), 16)
    if _is_bytes(kind):
        return _bytes
    raise TypeError(f"rows cannot be sorted by the type {kind}; accepted: {SUPPORTED}")


def _plain(column: pa.Array) -> pa.Array:
    """Dates and timestamps as the integers underneath: Python's hold fewer years; strings as their
    bytes, which need not be UTF-8."""
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64())
    return column.cast(pa.large_binary()) if _is_bytes(column.type) else column


def _is_bytes(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


def _integer(value: int, width: int) -> bytes:
    return (value + (1 << (8 * width - 1))).to_bytes(width, "big")


def _float(value: float) -> bytes:
    if value != value:
        return b"\xff" * 8  # one NaN, above infinity
    bits: int = struct.unpack(">Q", struct.pack(">d", value + 0.0))[0]
    # Negative numbers rise as their bits fall.
    flip = 2**64 - 1 if bits >> 63 else 1 << 63
    return (bits ^ flip).to_bytes(8, "big")


def _bytes(value: bytes) -> bytes:
    """Ended by a zero, so that a value sorts before those that it begins."""
    return value.replace(b"\x00", b"\x00\xff") + b"\x00"


def _value(kind: pa.DataType, key: bytes) -> tuple[Any, bytes | None]:
    """The value that a key begins with, and what follows; None where the key is cut off in it."""
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        match = _ENDED.match(key)
        assert match is not None  # it also matches nothing
        found = match[1].replace(b"\x00\xff", b"\x00")
        text = found.decode(errors="replace") if pa.types.is_string(kind) else found.hex()
        return (text, key[match.end() :]) if match[2] else (text + _CUT, None)
    width = 1 if pa.types.is_boolean(kind) else 16 if pa.types.is_decimal128(kind) else 8
    if len(key) < width:
        return _CUT, None
    found, rest = key[:width], key[width:]
    if pa.types.is_boolean(kind):
        return found != b"\x00", rest
    number = int.from_bytes(found, "big")
    if pa.types.is_floating(kind):
        bits = number ^ (1 << 63 if number >> 63 else 2**64 - 1)
        return struct.unpack(">d", struct.pack(">Q", bits))[0], rest
    number -= 1 << (8 * width - 1)
    if pa.types.is_decimal128(kind):
        return str(Decimal(number).scaleb(-kind.scale, _EXACT)), rest
    if pa.types.is_date32(kind):
        return str(np.datetime64(number, "D")), rest
    if pa.types.is_timestamp(kind):
        text = str(np.datetime64(number, "us")).replace("T", " ")
        return text.removesuffix(".000000"), rest
    return number, rest


def _above(key: bytes) -> bytes:
    """The first after all keys that begin with this one, which begins with _NULL or _VALUE."""
    key = key.rstrip(b"\xff")
    return key[:-1] + bytes([key[-1] + 1])
