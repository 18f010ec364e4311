"""Places of rows on the Z-curve, by counting: apart from how Spark is told to find them."""

from __future__ import annotations

import base64
import itertools
import json
import math
import zlib
from typing import Any

import pyarrow as pa


def axes_of(text: str) -> list[dict[str, Any]]:
    """Cuts as the log keeps them."""
    found: list[dict[str, Any]] = json.loads(zlib.decompress(base64.b64decode(text)))
    return found


def measured(column: pa.ChunkedArray, kind: str) -> list[Any]:
    """As the cuts are: numbers, or the beginning of texts."""
    if pa.types.is_timestamp(column.type):
        whole = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_pylist()
        # Wall clocks in whole seconds, towards 1970.
        ntz = kind == "timestamp_ntz"
        return [
            None if one is None else float(math.trunc(one / 1e6) if ntz else one) for one in whole
        ]
    if pa.types.is_date(column.type):
        return [None if one is None else float(one) for one in column.cast(pa.int32()).to_pylist()]
    values = column.to_pylist()
    if pa.types.is_string(column.type):
        return [None if one is None else one.encode()[:64] for one in values]
    if pa.types.is_binary(column.type):
        return [None if one is None else one[:64] for one in values]
    return [None if one is None else float(one) for one in values]


def rank(value: Any, axis: dict[str, Any]) -> int:
    """By counting cuts below the value, and those that grow above the last one by the formula."""
    if value is None:
        return 0
    numbers = axis["kind"] != "bytes"
    if value != value:
        value = math.inf
    cuts = [cut if numbers else bytes.fromhex(cut) for cut, _ in axis["quantiles"]]
    found = max([axis["low"], *(one for cut, one in axis["quantiles"] if (
        cut if numbers else bytes.fromhex(cut)) < value)])  # fmt: skip
    if not numbers or not cuts:
        return found
    span = cuts[-1] - cuts[0] or abs(cuts[-1]) / 1024
    above = (cuts[-1] + span * ((97 / 96) ** step - 1) for step in range(1, 769))
    return found + sum(cuts[-1] < cut < min(value, math.inf) for cut in above)


def place(row: tuple[Any, ...], axes: list[dict[str, Any]]) -> int:
    bits = [f"{rank(value, axis):010b}" for value, axis in zip(row, axes, strict=True)]
    return int("".join(itertools.chain(*zip(*bits, strict=True))), 2)
