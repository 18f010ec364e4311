"""Tables that their newest commit wrote whole, read by that commit alone.

Before it reads a row of a new version, Delta puts the state of the table together from its log.
That takes three queries, a third of a small merge. A batch is staged by a statement that replaces
its table, so the files that this one commit adds are all there are.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from alluvium.delta import log
from alluvium.engine import jvm
from alluvium.plan.versions.commit import commit_info

# Operations whose files are all that the table has.
_WHOLE = {
    "CREATE TABLE AS SELECT",
    "REPLACE TABLE AS SELECT",
    "CREATE OR REPLACE TABLE AS SELECT",
}
_INDEX = "org.apache.spark.sql.delta.files.TahoeLogFileIndex"
# The files of a commit are read on the driver; so many at most.
_MOST = 1000


def by_newest_commit(frame: DataFrame) -> DataFrame:
    """The rows of `frame`; itself where no table that it reads was written whole by one commit."""
    plan = frame._jdf.queryExecution().analyzed()
    known = _replaced(frame.sparkSession, plan)
    if known is plan:
        return frame
    dataset = jvm.scala_object(frame.sparkSession, "org.apache.spark.sql.classic.Dataset$")
    java_session = frame.sparkSession._jsparkSession
    return DataFrame(dataset.ofRows(java_session, known), frame.sparkSession)


def replace_view(frame: DataFrame, name: str) -> Callable[[], None] | None:
    """Let the temporary view `name` read by newest commits; gives what puts the view back.

    frame: what the view gives now. None where nothing was changed: `name` is not a temporary view,
    or reads no such table.
    """
    session: SparkSession = frame.sparkSession
    identifier = session._jsparkSession.sessionState().sqlParser().parseTableIdentifier(name)
    catalog = session._jsparkSession.sessionState().catalog()
    if identifier.database().isDefined():
        return None
    view = catalog.getRawTempView(identifier.table())
    known = by_newest_commit(frame)
    if view.isEmpty() or known is frame:
        return None
    known.createOrReplaceTempView(name)
    return lambda: catalog.createTempView(identifier.table(), view.get(), True)


def _replaced(session: SparkSession, plan: Any) -> Any:
    """The analysed plan with such tables' files in place; `plan` itself if there are none."""
    children = jvm.items(plan.children())
    if not children:
        return _leaf(session, plan)
    known = [_replaced(session, child) for child in children]
    if all(new is old for new, old in zip(known, children, strict=True)):
        return plan
    return plan.withNewChildren(jvm.scala_seq(session, known))


def _leaf(session: SparkSession, leaf: Any) -> Any:
    if leaf.nodeName() != "LogicalRelation" or leaf.isStreaming():
        return leaf
    relation = leaf.relation()
    if not jvm.reads_files(session, relation):
        return leaf
    index = relation.location()
    if index.getClass().getName() != _INDEX:
        return leaf
    if index.isTimeTravelQuery() or index.partitionFilters().nonEmpty():
        return leaf
    snapshot = index.getSnapshot()
    files = _files(session, snapshot)
    if files is None:
        return leaf
    delta_log = index.deltaLog()
    known = jvm.of(session).org.apache.spark.sql.delta.files.TahoeBatchFileIndex(
        session._jsparkSession,
        "batch",
        jvm.scala_seq(session, files),
        delta_log,
        delta_log.dataPath(),
        snapshot,
        False,
    )
    there = relation.copy(
        known,
        relation.partitionSchema(),
        relation.dataSchema(),
        relation.bucketSpec(),
        relation.fileFormat(),
        relation.options(),
        relation.sparkSession(),
    )
    return leaf.copy(there, leaf.output(), leaf.catalogTable(), False, leaf.stream())


def _files(session: SparkSession, snapshot: Any) -> list[Any] | None:
    """The AddFile actions of a snapshot that one commit wrote; None where it may have others."""
    checksum = snapshot.checksumOpt()
    if checksum.isEmpty() or checksum.get().numFiles() > _MOST:
        return None
    try:
        lines = jvm.texts(log.newest_commit(session, snapshot))
    except Py4JJavaError:  # a commit that is kept elsewhere
        return None
    if commit_info(lines[0] or "{}").get("operation") not in _WHOLE:
        return None
    read = {line: json.loads(line).get("add") for line in lines}
    adds = {line: add for line, add in read.items() if add}
    # The checksum counts what the table has.
    whole = len(adds) == checksum.get().numFiles()
    whole = whole and sum(add["size"] for add in adds.values()) == checksum.get().tableSizeBytes()
    if not whole or any(add.get("deletionVector") for add in adds.values()):
        return None
    actions = jvm.of(session).org.apache.spark.sql.delta.actions
    return [actions.Action.fromJson(line) for line in adds]
