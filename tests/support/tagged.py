"""Automata in the tags of a table's files, as a compaction writes them; and what a query reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession

from alluvium import marks
from alluvium.delta.log import log
from alluvium.delta.rewrite.layout_commits import LayoutCommits
from alluvium.delta.rewrite.table_files import TableFiles
from alluvium.engine import jvm
from alluvium.plan.automata import summarize
from alluvium.plan.automata.tags import to_text

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
        LayoutCommits(TableFiles(session, table)).relabel(texts, "")
    return len(texts)


def _values(place: Path, columns: Sequence[str]) -> pa.Table:
    file = pq.ParquetFile(place)
    there = [name for name in columns if name in file.schema_arrow.names]
    return file.read(columns=there)


def files_read(session: SparkSession, query: str | DataFrame) -> int:
    """Files that the scans of a query read, as SQL metrics have them; the query is run."""
    return rows_and_files(session, query)[1]


def rows_and_files(session: SparkSession, query: str | DataFrame) -> tuple[list[Row], int]:
    """The rows of a query, and the files that its scans read."""
    rows, files = rows_and_scans(session, query)
    return rows, sum(files)


def rows_and_scans(session: SparkSession, query: str | DataFrame) -> tuple[list[Row], list[int]]:
    """The rows of a query, and the files that each of its scans read, as SQL metrics have them.

    Scans stand in the order of the query. Those of Delta's log count for nothing: its tables are
    read as Parquet too.
    """
    store = session._jsparkSession.sharedState().statusStore()
    session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    before = newest_execution(session)
    frame = session.sql(query) if isinstance(query, str) else query
    rows = frame.collect()
    session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    files: list[int] = []
    for execution in reversed([*executions(session, before)]):
        values = store.executionMetrics(execution)
        # A node has its number before those below it.
        nodes = jvm.items(store.planGraph(execution).allNodes())
        for node in sorted(nodes, key=lambda one: int(one.id())):
            if not node.name().startswith("Scan parquet") or _OF_THE_LOG.search(node.desc()):
                continue
            counters = (
                values.get(metric.accumulatorId())
                for metric in jvm.items(node.metrics())
                if metric.name() == "number of files read"
            )
            found = (one.get() for one in counters if one.isDefined())
            files.append(sum(int(one.replace(",", "")) for one in found))
    return rows, files


def newest_execution(session: SparkSession) -> int:
    """Id of the newest query; ids rise."""
    known = session._jsparkSession.sharedState().statusStore().executionsList()
    return int(known.last().executionId()) if known.nonEmpty() else -1


def executions(session: SparkSession, after: int) -> Iterator[int]:
    """Ids of the queries since one, newest first: each id is a call to the JVM."""
    known = session._jsparkSession.sharedState().statusStore().executionsList()
    for place in reversed(range(known.size())):
        if (found := int(known.apply(place).executionId())) <= after:
            return
        yield found
