"""Delta's log through py4j."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from alluvium.delta.jvm import scala_object


@dataclass(frozen=True)
class Skipping:
    """Files of a table that a predicate leaves to read, and all of them."""

    files: int
    files_total: int
    bytes: int
    bytes_total: int


def _jvm(session: SparkSession) -> Any:
    return session._jvm


def _delta_log(session: SparkSession, table: str) -> Any:
    # Delta asks for the thread's session; SQL sets it, calls past SQL do not.
    SparkSession._get_j_spark_session_class(_jvm(session)).setActiveSession(session._jsparkSession)
    name = session._jsparkSession.sessionState().sqlParser().parseTableIdentifier(table)
    return _jvm(session).org.apache.spark.sql.delta.DeltaLog.forTable(session._jsparkSession, name)


def _snapshot(session: SparkSession, table: str) -> Any:
    none = _jvm(session).scala.Option.empty()
    return _delta_log(session, table).update(False, none, none)


def table_id(session: SparkSession, table: str) -> str:
    """The id of the table's metadata: every CREATE OR REPLACE and every clone gets a new one."""
    return str(_snapshot(session, table).metadata().id())


def state(session: SparkSession, table: str) -> tuple[str, dict[str, int]]:
    """Table id, and the newest version of each application's `txn` action, in one snapshot."""
    snapshot = _snapshot(session, table)
    actions = snapshot.setTransactions()
    found = (actions.apply(place) for place in range(actions.size()))
    return str(snapshot.metadata().id()), {a.appId(): a.version() for a in found}


def last_commit(session: SparkSession, table: str) -> dict[str, Any]:
    """The `commitInfo` of the newest commit: operation, operationMetrics (texts), timestamp, …

    Reads one file of the log where DESCRIBE HISTORY runs a Spark job. Raises Py4JJavaError or
    PySparkException if `table` is not a Delta table.
    """
    snapshot = _snapshot(session, table)
    delta_log = snapshot.deltaLog()
    names = _jvm(session).org.apache.spark.sql.delta.util.FileNames
    path = names.unsafeDeltaFile(delta_log.logPath(), snapshot.version())
    # Delta writes commitInfo first: conflict detection reads it there.
    lines = delta_log.store().read(path, delta_log.newDeltaHadoopConf())
    first = json.loads(lines.head()) if lines.nonEmpty() else {}
    return dict(first.get("commitInfo") or {})


def commit_transactions(session: SparkSession, table: str, versions: Mapping[str, int]) -> None:
    """Commit `txn` actions alone, without data."""
    jvm = _jvm(session)
    delta = jvm.org.apache.spark.sql.delta
    actions = jvm.java.util.ArrayList()
    now = jvm.scala.Option.apply(jvm.java.lang.System.currentTimeMillis())
    for app_id, version in versions.items():
        actions.add(delta.actions.SetTransaction(app_id, version, now))
    none = jvm.scala.Option.empty()
    transaction = _delta_log(session, table).startTransaction(none, none)
    manual = scala_object(session, "org.apache.spark.sql.delta.DeltaOperations$ManualUpdate$")
    scala_list = jvm.scala.jdk.javaapi.CollectionConverters.asScala(actions).toSeq()
    transaction.commit(scala_list, manual)


def skipping(session: SparkSession, table: str, predicate: str | None) -> Skipping:
    """What Delta's own skipping keeps of `table` for `predicate` (SQL; None keeps all)."""
    frame = session.table(table)
    if predicate:
        frame = frame.where(predicate)
    leaves = frame._jdf.queryExecution().optimizedPlan().collectLeaves()
    if leaves.isEmpty() or "LogicalRelation" not in leaves.head().getClass().getName():
        # The optimizer saw that no row can match and dropped the scan.
        total = skipping(session, table, None)
        return Skipping(0, total.files_total, 0, total.bytes_total)
    scan = leaves.head().relation().location().preparedScan()
    return Skipping(
        files=_number(scan.scanned().files()),
        files_total=_number(scan.total().files()),
        bytes=_number(scan.scanned().bytesCompressed()),
        bytes_total=_number(scan.total().bytesCompressed()),
    )


def _number(option: Any) -> int:
    return int(option.get()) if option.isDefined() else 0
