"""Writing a window: its rows and what stood there, in one commit."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from alluvium.delta.log import log, own_commit
from alluvium.merge.conflicts import retry
from alluvium.merge.execute import RETRIES
from alluvium.names import among
from alluvium.windows.window import Window

# A lock for each table in which windows of this process met another writer. Their batches then
# write one after another: in a table without fitting partitions each two of them would conflict.
_alone: dict[str, threading.Lock] = {}


@dataclass(frozen=True)
class Written:
    """What was done to a window.

    rows, deleted: written, and taken away; None where the commit does not say.
    kept: rows that stand there and were left alone, and so was the batch.
    """

    rows: int | None
    deleted: int | None = 0
    files: int | None = 0
    bytes: int | None = 0
    kept: int = 0


def statement(table: str, batch: str, columns: Sequence[str], window: Window, adds: bool) -> str:
    """SQL that puts the rows of the relation `batch` in place of the window's, or beside them.

    columns: what is written of the batch, by name.
    adds: whether nothing is taken away.
    """
    replaces = "" if adds else f" replace where {window.predicate}"
    return f"insert into {table} by name{replaces}\n{window.guarded(batch, columns)}"


def columns(session: SparkSession, table: str, batch: str, fills: bool) -> list[str]:
    """The table's columns that the batch has, and those that it must not leave out.

    fills: whether a column that is left out becomes NULL. Else only what Delta makes itself may be.
    """
    rows = session.table(batch).columns
    made = log.metadata(session, table).made
    return [
        name
        for name in session.table(table).columns
        if among(name, rows) or not (fills or name in made)
    ]


def standing(session: SparkSession, table: str, window: Window) -> int:
    """How many rows the table has in the window."""
    return session.table(table).where(window.predicate).count()


def run(
    session: SparkSession, table: str, sql: str, batch: str, window: Window
) -> tuple[DataFrame, int | None]:
    """Run a guarded statement, again where other writers were faster.

    Returns its result, and the version of `table` that it committed; None where it had nothing to
    do. Batches of one process that met one another go on one after another.

    Raises:
        ValueError: rows of `batch` are outside of the window. Nothing was written.
        ConflictError: other writers were faster each time, or altered the table.
    """
    tries = 0

    def attempt() -> DataFrame:
        nonlocal tries
        tries += 1
        if tries > 1:
            _alone.setdefault(table, threading.Lock())
        with _alone.get(table, nullcontext()):
            own_commit.begin(session)
            return session.sql(sql)

    try:
        result, _ = retry(table, attempt, lambda: None, RETRIES, "microbatch")
    except (PySparkException, Py4JJavaError) as error:
        if window.text not in str(error):
            raise
        outside = session.sql(window.outside(batch)).collect()[0]
        if not outside["rows"]:
            raise  # a batch that is another one each time that it is read
        raise ValueError(window.mistake(outside["rows"], outside["nulls"])) from error
    return result, own_commit.version(session)


def written(session: SparkSession, table: str, version: int | None, window: Window) -> Written:
    """What the commit of an overwritten window did."""
    if version is None:
        return Written(0)
    metrics = log.commit(session, table, version).metrics

    def figure(name: str) -> int | None:
        return int(metrics[name]) if name in metrics else None

    files = figure("numFiles")
    deleted = figure("numDeletedRows")
    if deleted is None and version > 0:
        # Delta does not count them where the batch has no rows.
        before = (
            f"select count(*) from {table} version as of {version - 1} where {window.predicate}"
        )
        deleted = session.sql(before).collect()[0][0]
    rows = 0 if files == 0 else figure("numOutputRows")
    if rows:
        # Rows beside the window, of files that had to be written again.
        rows -= figure("numCopiedRows") or 0
    return Written(rows, deleted, files, figure("numOutputBytes"))
