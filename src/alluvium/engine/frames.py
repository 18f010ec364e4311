"""What pyspark's frames cannot do, and Spark's own can."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

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
