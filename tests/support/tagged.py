"""Automata in the tags of a table's files, as a compaction writes them; and what a query reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession

from alluvium import marks
from alluvium.delta import log
from alluvium.delta.layout_commits import LayoutCommits
from alluvium.engine import jvm
from alluvium.plan.automata import summarize
from alluvium.plan.automata.tags import to_text

# More than a query here has of its own.
_NEWEST = 100
# Columns of Delta's checkpoints.
_OF_THE_LOG = re.compile(r"\b(add|remove|txn|protocol|metaData|commitInfo)#")


def tag(
    session: SparkSession,
    table: str,
    columns: Sequence[str],
    budget: int = 1024,
    leave: int = 0,
    without: str | None = None,
) -> int:
    """Give the files of a table indexes of columns, by their names in files; how many files have.

    leave: so many files get none.
    without: name of a file that gets none.
    """
    snapshot = log.snapshot_of(session, table)
    folder = Path(unquote(urlparse(log.qualified(snapshot.deltaLog())).path))
    texts = {}
    for file in sorted(snapshot.allFiles().collect(), key=lambda one: str(one.path()))[leave:]:
        place = folder / unquote(urlparse(file.path()).path)
        if place.name == without:
            continue
        rows = _values(place, columns)
        indexes = {name: summarize(rows[name], budget) for name in rows.column_names}
        known = {name: index for name, index in indexes.items() if index is not None}
        texts[file.path()] = {marks.AUTOMATA_TAG: to_text(known)}
    if texts:
        LayoutCommits(session, table).relabel(texts, "")
    return len(texts)


def _values(place: Path, columns: Sequence[str]) -> pa.Table:
    file = pq.ParquetFile(place)
    there = [name for name in columns if name in file.schema_arrow.names]
    return file.read(columns=there)


def files_read(session: SparkSession, query: str | DataFrame) -> int:
    """Files that the scans of a query read, as SQL metrics have them; the query is run."""
    return rows_and_files(session, query)[1]


def rows_and_files(session: SparkSession, query: str | DataFrame) -> tuple[list[Row], int]:
    """The rows of a query, and the files that its scans read, as SQL metrics have them.

    Scans of Delta's log count for nothing: its tables are read as Parquet too.
    """
    store = session._jsparkSession.sharedState().statusStore()
    session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    before = executions(session)
    frame = session.sql(query) if isinstance(query, str) else query
    rows = frame.collect()
    session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    total = 0
    for execution in executions(session) - before:
        values = store.executionMetrics(execution)
        for node in jvm.items(store.planGraph(execution).allNodes()):
            if not node.name().startswith("Scan parquet") or _OF_THE_LOG.search(node.desc()):
                continue
            for metric in jvm.items(node.metrics()):
                found = values.get(metric.accumulatorId())
                if metric.name() == "number of files read" and found.isDefined():
                    total += int(found.get().replace(",", ""))
    return rows, total


def executions(session: SparkSession) -> set[int]:
    """Ids of the newest queries: each id is a call to the JVM, and Spark keeps a thousand."""
    store = session._jsparkSession.sharedState().statusStore()
    first = max(0, store.executionsCount() - _NEWEST)
    return {one.executionId() for one in jvm.items(store.executionsList(first, _NEWEST))}
