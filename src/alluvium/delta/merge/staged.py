"""Batches that are read several times, and each time the same rows.

Delta reads a table as it is when a query begins. A batch that is read again would have more rows
where another writer came in between, of which the ranges of its merge do not know. So its tables
are read at one version.

A table that its newest commit wrote whole is read by that commit alone. Before it reads a row of a
new version, Delta puts the state of the table together from its log. That takes three queries, a
third of a small merge. A batch is staged by a statement that replaces its table, so the files that
this one commit adds are all there are.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from alluvium.delta.filters import Optimizer
from alluvium.delta.handles import DeltaSnapshot
from alluvium.delta.internals import BATCH_INDEX, LOG_INDEX
from alluvium.delta.log import checksums, committing, log
from alluvium.engine import jvm
from alluvium.engine.internals import COMPUTE_CURRENT_TIME, DATASET
from alluvium.plan.versions.commit import NOTES

# Operations whose files are all that the table has.
_WHOLE = {
    "CREATE TABLE AS SELECT",
    "REPLACE TABLE AS SELECT",
    "CREATE OR REPLACE TABLE AS SELECT",
}
# What gives no row where its input has none.
_ROW_BY_ROW = ("Project", "Filter", "Generate", "Window", "Sort")
# The files of a commit are read on the driver; so many at most.
_MOST = 1000


def by_newest_commit(frame: DataFrame) -> DataFrame:
    """The rows of `frame`; itself where no table that it reads was written whole by one commit."""
    return _read_as(frame, _by_commit)


def replace_view(frame: DataFrame, name: str, but: str | None = None) -> Callable[[], None] | None:
    """Let the temporary view `name` read its Delta tables as they are now, whatever is committed
    to them later, and have one current time; gives what puts the view back.

    Args:
        frame: what the view gives now.
        but: path of a table that is read as it is then.

    Returns:
        None where nothing was changed: `name` is not a temporary view, or reads no such table.
    """
    session: SparkSession = frame.sparkSession
    identifier = session._jsparkSession.sessionState().sqlParser().parseTableIdentifier(name)
    catalog = session._jsparkSession.sessionState().catalog()
    if identifier.database().isDefined():
        return None
    view = catalog.getRawTempView(identifier.table())
    snapshots: dict[str, DeltaSnapshot] = {}

    def settled(session: SparkSession, relation: Any) -> Any:
        index = relation.location()
        path = str(index.deltaLog().dataPath())
        if path == but:
            return None
        # Of one that is read twice both are the same.
        snapshot = snapshots.setdefault(path, index.getSnapshot())
        return _by_commit(session, relation, snapshot) or _with_index(
            relation,
            index.copy(
                *(index.spark(), index.deltaLog(), index.path(), snapshot),
                *(index.catalogTableOpt(), index.partitionFilters(), True),
            ),
        )

    known = _read_as(frame, settled)
    if view.isEmpty() or known is frame:
        return None
    known.createOrReplaceTempView(name)
    return lambda: catalog.createTempView(identifier.table(), view.get(), True)


def has_none_above(frame: DataFrame, column: str, most: int) -> bool:
    """Whether it is known, without reading a row, that each row has at most `most` in a column.

    NULL counts as more. The optimizer finds it where the column is a constant, or a table that its
    newest commit wrote whole has it: there the statistics of its files tell.
    """
    session: SparkSession = frame.sparkSession
    above = frame.select(column).where(f"`{column}` is null or `{column}` > {most}")
    plan, scan = Optimizer(session).scan(above._jdf.queryExecution().analyzed())
    if scan is None:
        # Spark leaves an outer Generate above what is empty.
        while plan.nodeName() in _ROW_BY_ROW:
            plan = plan.children().head()
        return bool(plan.nodeName() == "LocalRelation" and plan.data().isEmpty())
    source = jvm.items(plan.output())[0]
    index = _index_as_it_is(session, scan)
    if index is None or not scan.outputSet().contains(source):
        return False
    files = _files(session, index.getSnapshot())
    return files is not None and all(_is_at_most(file, source.name(), most) for file in files)


def _is_at_most(file: Any, column: str, most: int) -> bool:
    """Whether the statistics of an AddFile action say so of each row."""
    stats = json.loads(file.stats() or "{}")
    highest, nulls = (stats.get(key, {}).get(column) for key in ("maxValues", "nullCount"))
    return type(highest) is int and highest <= most and nulls == 0


def _read_as(frame: DataFrame, other: Callable[[SparkSession, Any], Any]) -> DataFrame:
    """The rows of `frame` with other relations for Delta tables that are read as they are.

    other: gives it for a relation, None to leave that. Nothing replaced is `frame` itself.
    """
    session: SparkSession = frame.sparkSession
    plan = frame._jdf.queryExecution().analyzed()
    others = jvm.of(session).java.util.HashMap()
    for leaf in jvm.relations(plan):
        if _index_as_it_is(session, leaf) is None:
            continue
        found = other(session, leaf.relation())
        if found is not None:
            new = leaf.copy(found, leaf.output(), leaf.catalogTable(), False, leaf.stream())
            others.put(leaf, new)
    if others.isEmpty():
        return frame
    dataset = jvm.internal(session, DATASET)
    clock = jvm.internal(session, COMPUTE_CURRENT_TIME)
    known = clock.apply(jvm.call_own(session, "alluvium.Leaves", "replaced", plan, others))
    return DataFrame(dataset.ofRows(session._jsparkSession, known), session)


def _index_as_it_is(session: SparkSession, leaf: Any) -> Any:
    """The index of a Delta table that a plan reads as it is; None for what it reads otherwise."""
    relation = leaf.relation()
    if leaf.isStreaming() or not jvm.reads_files(session, relation):
        return None
    index = relation.location()
    is_newest = index.getClass().getName() == LOG_INDEX.name and not index.isTimeTravelQuery()
    return index if is_newest else None


def _by_commit(session: SparkSession, relation: Any, snapshot: DeltaSnapshot | None = None) -> Any:
    """A relation of the files that its newest commit added; None where there may be others."""
    index = relation.location()
    if index.partitionFilters().nonEmpty():
        return None
    snapshot = snapshot or index.getSnapshot()
    files = _files(session, snapshot)
    if files is None:
        return None
    batch = jvm.internal(session, BATCH_INDEX)
    delta_log, seq = index.deltaLog(), jvm.scala_seq(session, files)
    return _with_index(
        relation,
        batch(
            *(session._jsparkSession, "batch", seq),
            *(delta_log, delta_log.dataPath(), snapshot, False),
        ),
    )


def _with_index(relation: Any, index: Any) -> Any:
    return relation.copy(
        index,
        relation.partitionSchema(),
        relation.dataSchema(),
        relation.bucketSpec(),
        relation.fileFormat(),
        relation.options(),
        relation.sparkSession(),
    )


def _files(session: SparkSession, snapshot: DeltaSnapshot) -> list[Any] | None:
    """The AddFile actions of a snapshot that one commit wrote; None where it may have others."""
    checksum = checksums.of(snapshot)
    if checksum.isEmpty() or checksum.get().numFiles() > _MOST:
        return None
    # The newest commit, or the one before where that notes something alone.
    newest_two = islice(log.commits_of(session, snapshot), 2)
    try:
        commit = next((one for one in newest_two if not one.kinds <= NOTES), None)
    except Py4JJavaError:  # a commit that is kept elsewhere
        return None
    if commit is None or commit.operation not in _WHOLE:
        return None
    added = list(commit.added)
    # The checksum counts what the table has.
    whole = len(added) == checksum.get().numFiles()
    whole = whole and sum(file["size"] for file in added) == checksum.get().tableSizeBytes()
    if not whole or any(file.get("deletionVector") for file in added):
        return None
    return [committing.add_file(session, file) for file in added]
