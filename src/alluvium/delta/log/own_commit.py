"""What a statement of a session committed itself, and the file of one that wrote no row."""

from __future__ import annotations

import time
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from alluvium.delta.log import log
from alluvium.engine import jvm

# With these Delta draws the names of folders for its files.
_DRAWS = ("delta.columnMapping.mode", "delta.randomizeFilePrefixes")
# Delta's own note.
_VERSION = "spark.databricks.delta.lastCommitVersionInSession"
_EMPTY = "alluvium.EmptyFiles"
# Beside Delta's metrics: how many files without rows a write opened, which no version has.
LEFT = "alluvium.filesLeft"
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
    """`operationMetrics` of the session's commit to a table since `begin`, and LEFT; None for none.

    Raises Py4JJavaError or PySparkException if `table` is not a Delta table.
    """
    table_log = log.delta_log(session, table)
    made = version(session)
    if made is None:
        return None
    commit = log.commit_of(session, table_log, made)
    found = commit.metrics
    # Delta counts the file that a write without rows opens, and leaves it out of its commit.
    counted = int(found.get("numFiles", "0")) if found.get("numOutputRows") == "0" else 0
    if counted and "add" not in commit.kinds:
        found |= {"numFiles": "0", "numOutputBytes": "0", LEFT: str(counted)}
    return found


def left_by(frame: DataFrame) -> int:
    """How many files a MERGE or DELETE left that added none; 0 where that is not certain.

    frame: its result. Where nothing changed there is no commit that could tell.
    """
    try:
        plan = frame._jdf.queryExecution().commandExecuted().commandPhysicalPlan()
        command, metrics = plan.cmd(), plan.metrics()
        if not int(metrics.apply("rewriteTimeMs").value()):
            return 0
        kind = command.getClass().getSimpleName()
        # A MERGE that can only change rows, and finds none, opens no file.
        inserts = kind == "MergeIntoCommand" and command.notMatchedClauses().nonEmpty()
        return int(inserts or kind == "DeleteCommand")
    except Py4JError:
        return 0  # another statement


def tidy(session: SparkSession, table: str, begun: float, left: int) -> None:
    """Delete the file that a write without rows left since `begun`: no version has it.

    left: how many it is certain to have left. A file of another writer looks like one, and may be
        in a version by now, or soon: of one that is found, and must be there, it is none.
    """
    if left != 1:
        return
    try:
        snapshot = log.snapshot_of(session, table)
        settings = snapshot.metadata().configuration()
        table_log = snapshot.deltaLog()
        jvm.call_own(
            session,
            _EMPTY,
            "remove",
            table_log.newDeltaHadoopConf(),
            table_log.dataPath(),
            any(map(settings.contains, _DRAWS)),
            jvm.of(session).java.lang.Long.valueOf(int(begun * 1000)),
        )
    except (Py4JError, PySparkException):
        return  # It costs some hundred bytes until the next vacuum.
