"""Numbers, days and times of json and csv as they are written, or none.

Spark's parsers round a decimal, pass over each comma in it, and read 1e400 as an infinity. Of json
they read 200 as the tinyint -56, and 10:30 as that time of the day of the run. They give years of
more than four digits, which other engines cannot read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from alluvium.engine import jvm
from alluvium.engine.data_types import holds
from alluvium.engine.internals import JSON_OPTIONS, PYTHON_UTILS

_DECIMALS = "alluvium.ExactDecimal"
_JSON = "alluvium.ExactJson"
_LOCALE = "locale"
_NUMBERS = (DecimalType, DoubleType, FloatType)
_DAYS = (DateType, TimestampType, TimestampNTZType)


def is_looked_at(kind: DataType) -> bool:
    """Whether Spark may read a value of csv with this type as another one."""
    return holds(kind, *_NUMBERS, *_DAYS)


def mended_json(
    session: SparkSession, record: Column, columns: StructType, options: Mapping[str, str]
) -> Column:
    """Records of JSON without the values that their types do not hold; NULL for whole ones."""
    if not holds(columns, *_NUMBERS, *_DAYS, ByteType):
        return F.lit(None).cast("string")
    function = "__alluvium_json"
    given = jvm.internal(session, PYTHON_UTILS).toScalaMap(dict(options))
    own = jvm.internal(session, JSON_OPTIONS)(given, "UTC", "")
    schema, locale = jvm.data_type(session, columns), options.get(_LOCALE)
    jvm.register_own(session, function, _JSON, StringType(), schema, own, locale)
    return F.call_function(function, record)


def read_type(kind: DataType) -> DataType:
    """The type with which a column of csv is read: decimals come as texts."""
    return StringType() if isinstance(kind, DecimalType) else kind


def exact(
    session: SparkSession, read: Column, kind: DataType, options: Mapping[str, str]
) -> Column:
    """What was read of csv, with its type; NULL for a value that the type does not hold."""
    if isinstance(kind, _DAYS):
        return F.when(F.year(read).between(1, 9999), read)
    if isinstance(kind, DecimalType):
        function, locale = f"__alluvium_decimal_{kind.precision}_{kind.scale}", options.get(_LOCALE)
        jvm.register_own(session, function, _DECIMALS, kind, kind.precision, kind.scale, locale)
        return F.call_function(function, read)
    # A record that says an infinity may have one.
    given = [options[name] for name in ("positiveInf", "negativeInf") if name in options]
    words = "|".join((r"\b(?:Inf|Infinity)\b", *map(re.escape, given)))
    is_wrong = (F.abs(read) == F.lit(float("inf"))) & ~F.col("_value").rlike(words)
    return F.when(~is_wrong, read)
