"""Z-orders in Spark: samples of columns, and the places of rows on the curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.internal import InternalFunction

from alluvium.engine import jvm
from alluvium.names import quoted
from alluvium.plan.layout.zorder import NUMBERS, PREFIX, Axis, Cuts

# Rows of a sample: 128 for each quantile.
_SAMPLE = 32_768
_SEED = 1966
_UNITS: dict[str, Callable[[Column], Column]] = {
    "date": F.unix_date,
    "timestamp": F.unix_micros,
    "timestamp_ntz": F.unix_timestamp,  # of no time zone
}


def sample(frame: DataFrame, kinds: Sequence[tuple[str, str]]) -> list[Axis]:
    """The axes for columns, each with its `zorder.kind_of`, by a sample of the frame's rows.

    One pass over the columns; the sample is bounded, whatever the frame holds.
    """
    measured = [_measured(*one).alias(str(place)) for place, one in enumerate(kinds)]
    found = frame.select(measured).orderBy(F.rand(_SEED)).limit(_SAMPLE).toArrow()
    return [Axis.of(*one, found[place].to_pylist()) for place, one in enumerate(kinds)]


def place(session: SparkSession, cuts: Cuts) -> Column:
    """The place of a row on the curve, a bigint."""
    # A Column is no more than a description: it belongs to no session.
    parts = [_part(session, axis, cuts.places(number)) for number, axis in enumerate(cuts.axes)]
    together = parts[0]
    for part in parts[1:]:
        together = together + part
    return together


def _part(session: SparkSession, axis: Axis, places: Sequence[int]) -> Column:
    if axis.cuts:
        found = InternalFunction.array_binary_search(
            _array(session, axis.cuts), _measured(axis.column, axis.kind)
        )
        # Below 0 for a value that is not a cut: the complement of how many cuts are below it.
        below = F.greatest(found, F.bitwise_not(found))
    else:
        below = F.when(F.col(quoted(axis.column)).isNotNull(), 0)
    # NULL comes first. No CASE WHEN, in whose branches Spark would search twice.
    return F.coalesce(F.get(_array(session, places), below), F.lit(0))


def _measured(column: str, kind: str) -> Column:
    """The column as doubles or bytes: a larger value never becomes a smaller one."""
    value = F.col(quoted(column))
    if kind not in NUMBERS:
        return F.substring(value.cast("binary"), 1, PREFIX)
    if kind in _UNITS:
        value = _UNITS[kind](value)
    return value.cast("double")


def _array(session: SparkSession, values: Sequence[Any]) -> Column:
    """An array as one literal: one of many literals would be folded again in every plan."""
    array: Any
    if isinstance(values[0], bytes):
        gateway: Any = session.sparkContext._gateway
        array = gateway.new_array(gateway.jvm.byte, len(values), 0)
        for place, value in enumerate(values):
            array[place] = bytearray(value)
    else:
        array = np.array(values)  # pyspark converts it
    return Column(jvm.functions(session).lit(array))
