"""Distinct values of columns of data files, read through Hadoop: few kilobytes of each file."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from alluvium.engine import jvm
from alluvium.engine.handles import HadoopConf

_READER = "alluvium.ParquetValues"
_TEXTS, _NUMBERS = 1, 2
# Files that are read at a time, and columns of files whose values one call gives. Each has up to 2
# MiB, as a rule, in one array.
_THREADS, _TOGETHER = 8, 64
# Distinct values that a column may have in a file: of more an automaton excludes next to nothing.
_MOST_VALUES = 65_536
# Bytes of a column in a file that are read where it has no dictionary.
_MOST_BYTES = 2**21
# The first day of the Gregorian calendar, in days since 1970. Old writers had another one before.
_GREGORIAN = -141_427


def distinct(
    session: SparkSession,
    conf: HadoopConf,
    uris: Sequence[str],
    columns: Sequence[tuple[str, pa.DataType]],
) -> Iterator[list[pa.Array | None]]:
    """For each file, for each column, its distinct values, and a NULL if it may have any.

    None where they are not known: there are too many, the file has no such column, or it cannot be
    read.

    Args:
        conf: Hadoop's configuration.
        uris: of Parquet files.
        columns: the name that each has in files, and its type: string, an integer, boolean, date.
    """
    java = jvm.of(session)
    bytes_at_most = java.java.lang.Long.valueOf(_MOST_BYTES)
    reader = jvm.new_own(session, _READER, conf, _THREADS, _MOST_VALUES, bytes_at_most)
    names = _list(java, [name for name, _ in columns])
    together = max(1, _TOGETHER // len(columns))
    for begin in range(0, len(uris), together):
        some = uris[begin : begin + together]
        left = memoryview(reader.read(_list(java, some), names))
        for _ in some:
            found = []
            for _, kind in columns:
                values, left = _column(left, kind)
                found.append(values)
            yield found


def _list(java: Any, items: Sequence[str]) -> Any:
    made = java.java.util.ArrayList()
    for item in items:
        made.add(item)
    return made


def _column(data: memoryview, kind: pa.DataType) -> tuple[pa.Array | None, memoryview]:
    """The values of one column at the beginning of the bytes, and the bytes behind them."""
    told, data = data[0], data[1:]
    if told not in (_TEXTS, _NUMBERS):
        return None, data
    has_null, count = struct.unpack_from(">?i", data)
    data = data[5:]
    values: pa.Array | None
    if told == _TEXTS:
        lengths = np.frombuffer(data, ">i4", count)
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        data = data[4 * count :]
        size = int(ends[-1])
        values = _texts(ends, bytes(data[:size])) if pa.types.is_string(kind) else None
        data = data[size:]
    else:
        numbers = np.frombuffer(data, ">i8", count).astype(np.int64)
        data = data[8 * count :]
        values = _numbers(numbers, kind)
    if values is not None and has_null:
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    return values, data


def _texts(ends: np.ndarray[Any, Any], content: bytes) -> pa.Array | None:
    made = pa.LargeStringArray.from_buffers(
        len(ends) - 1, pa.py_buffer(ends.tobytes()), pa.py_buffer(content)
    )
    try:
        made.validate(full=True)
    except pa.ArrowInvalid:
        return None  # what is not UTF-8 is compared otherwise
    return made


def _numbers(numbers: np.ndarray[Any, Any], kind: pa.DataType) -> pa.Array | None:
    if pa.types.is_string(kind):
        return None
    made = pa.array(numbers)
    if pa.types.is_date(kind):
        if len(numbers) and numbers.min() < _GREGORIAN:
            return None
        return made.cast(pa.int32()).cast(pa.date32())
    try:
        return made.cast(kind)
    except pa.ArrowInvalid:
        return None
