"""What pyspark's frames cannot do, and Spark's own can."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from alluvium.engine import jvm
from alluvium.engine.internals import DATASET, OUTPUT_MODE, UNSUPPORTED_OPERATIONS


def check_appends(frame: DataFrame) -> None:
    """Raise PySparkException for a query on a stream that cannot run as one that appends."""
    session = frame.sparkSession
    jvm.internal(session, UNSUPPORTED_OPERATIONS).checkForStreaming(
        frame._jdf.queryExecution().analyzed(), jvm.internal(session, OUTPUT_MODE).Append()
    )


def first_of_each_partition(frame: DataFrame) -> DataFrame:
    """The first row of each partition; no more is read."""
    session = frame.sparkSession
    # A limit is one of each partition, and then one of all: the first of the two is what is asked.
    plan: Any = frame.limit(1)._jdf.queryExecution().analyzed().child()
    return DataFrame(jvm.internal(session, DATASET).ofRows(session._jsparkSession, plan), session)


def number(value: int) -> Column:
    """A bigint that Spark does not write into the code that it generates.

    A literal is text of that code. Where it differs from run to run, Spark compiles a stage of the
    same kind in each of them, and the JVM begins with it as slowly as with a new one. An array is
    handed to the code, and an index that is no literal keeps it from being folded.
    """
    return F.get(F.array(F.lit(value).cast("bigint")), F.spark_partition_id().bitwiseAND(F.lit(0)))
