"""What a statement of a session committed itself, and the file of one that wrote no row."""

from __future__ import annotations

import time
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.delta import log
from alluvium.engine import jvm
from alluvium.plan.versions.commit import commit_info

# Delta's own note.
_VERSION = "spark.databricks.delta.lastCommitVersionInSession"
_EMPTY = "alluvium.EmptyFiles"
# What Delta's metrics call the files that a commit added, by operation.
FILES = ("numFiles", "numTargetFilesAdded", "numAddedFiles")


def begin(session: SparkSession) -> float:
    """Forget what the session committed; what comes is of the next statement.

    Returns:
        Seconds since 1970, for `tidy`.
    """
    session.conf.unset(_VERSION)
    return time.time()


def version(session: SparkSession) -> int | None:
    """That the session committed since `begin`; None for nothing."""
    noted = session.conf.get(_VERSION, None)
    return None if noted is None else int(noted)


def metrics(session: SparkSession, table: str) -> dict[str, Any] | None:
    """`operationMetrics` of the session's commit to a table since `begin`; None for no commit.

    Raises Py4JJavaError or PySparkException if `table` is not a Delta table.
    """
    table_log = log.delta_log(session, table)
    made = version(session)
    if made is None:
        return None
    lines = log.commit_of(session, table_log, made)
    found = dict(commit_info(lines.head()).get("operationMetrics") or {})
    # Delta counts the file that a write without rows opens, and leaves it out of its commit.
    counts_it = found.get("numOutputRows") == "0" and found.get("numFiles", "0") != "0"
    if counts_it and not any(line.startswith('{"add":') for line in jvm.texts(lines)):
        found |= {"numFiles": "0", "numOutputBytes": "0"}
    return found


def tidy(session: SparkSession, table: str, begun: float) -> None:
    """Delete the file that a write without rows left since `begun`: no version has it."""
    try:
        table_log = log.delta_log(session, table)
        jvm.call_own(
            session,
            _EMPTY,
            "remove",
            table_log.newDeltaHadoopConf(),
            table_log.dataPath(),
            jvm.of(session).java.lang.Long.valueOf(int(begun * 1000)),
        )
    except (Py4JError, PySparkException):
        return  # It costs some hundred bytes until the next vacuum.
