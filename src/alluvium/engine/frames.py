"""What pyspark's frames cannot do, and Spark's own can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from alluvium.engine import jvm
from alluvium.engine.internals import DATASET, OUTPUT_MODE, UNSUPPORTED_OPERATIONS

# Files that one task looks at, at least.
_TASK_FILES = 16


def check_appends(frame: DataFrame) -> None:
    """See that a query on a stream can run on parts of it, one after the other.

    Raises:
        PySparkException: no query on a stream can do that.
        ValueError: it leaves out rows that no later part brings, which Spark allows.
    """
    session = frame.sparkSession
    plan = frame._jdf.queryExecution().analyzed()
    jvm.internal(session, UNSUPPORTED_OPERATIONS).checkForStreaming(
        plan, jvm.internal(session, OUTPUT_MODE).Append()
    )
    due = [plan]
    while due:
        node = due.pop()
        inputs, kind = jvm.items(node.children()), str(node.nodeName())
        due += inputs
        # A build with `--empty` reads `limit 0` of everything.
        if kind == "GlobalLimit" and node.isStreaming() and str(node.limitExpr()) != "0":
            raise ValueError("LIMIT counts in each part of it")
        if kind == "Join" and all(one.isStreaming() for one in inputs):
            raise ValueError("a join of the stream with itself finds only what comes at once")


def first_of_each_partition(frame: DataFrame) -> DataFrame:
    """The first row of each partition; no more is read."""
    session = frame.sparkSession
    # A limit is one of each partition, and then one of all: the first of the two is what is asked.
    plan: Any = frame.limit(1)._jdf.queryExecution().analyzed().child()
    return DataFrame(jvm.internal(session, DATASET).ofRows(session._jsparkSession, plan), session)


def of_each(
    session: SparkSession,
    paths: Sequence[str],
    name: str,
    returns: DataType,
    *arguments: object,
    conf: Mapping[str, str],
) -> dict[str, Any]:
    """What a class of `own_jar` says of each file.

    Args:
        name: Of the class.
        arguments: Of its constructor, behind Hadoop's configuration.
        conf: Hadoop's settings to open the files with.
    """
    function = "__alluvium_of_each"
    jvm.register_own(session, function, name, returns, *arguments, conf=conf)
    cores = session.sparkContext.defaultParallelism
    tasks = max(1, min(4 * cores, len(paths) // _TASK_FILES))
    frame = session.createDataFrame(pa.table({"path": paths})).repartition(tasks)
    return dict(frame.selectExpr("path", f"{function}(path)").collect())


def number(value: int) -> Column:
    """A bigint that Spark does not write into the code that it generates.

    A literal is text of that code. Where it differs from run to run, Spark compiles a stage of the
    same kind in each of them, and the JVM begins with it as slowly as with a new one. An array is
    handed to the code, and an index that is no literal keeps it from being folded.
    """
    return F.get(F.array(F.lit(value).cast("bigint")), F.spark_partition_id().bitwiseAND(F.lit(0)))
