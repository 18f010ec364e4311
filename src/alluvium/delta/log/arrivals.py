"""When the events of a streaming table came, told by its log alone: no job reads the table."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from itertools import islice

from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.plan.reuse import keeps_rows
from alluvium.plan.versions import arrivals
from alluvium.plan.versions.arrivals import TIME, Arrival, Freshness

# Commits of maintenance behind the newest batch, each a file of the log; a query is then as quick.
_LOOKED_AT = 20


def newest(session: SparkSession, table: str) -> datetime | None:
    """Time (UTC) of the newest event of a streaming table's newest batch, if its log says it."""
    return next((arrival.newest for arrival in _arrivals(session, table)), None)


def newest_batch(session: SparkSession, table: str) -> int | None:
    """The number of a streaming table's newest batch; None where its newest commits do not tell.

    None of its rows has a higher `_batch_id`. The rows of that batch may be gone.

    Raises Py4JJavaError or PySparkException if `table` is not a Delta table.
    """
    for commit in islice(log.newest_first(session, table), _LOOKED_AT):
        note = arrivals.stream_note(commit)
        if note is not None:
            return int(note["batch_id"])
        if not keeps_rows(commit):
            return None
    return None


def had_batch(session: SparkSession, table: str, batch: int) -> bool:
    """Whether the log of a streaming table has this batch, be its rows there or gone.

    Raises Py4JJavaError or PySparkException if `table` is not a Delta table.
    """
    return next((one for one in batches(session, table) if one <= batch), None) == batch


def batches(session: SparkSession, table: str) -> Iterator[int]:
    """The numbers of the batches that the log of a streaming table tells, newest first."""
    notes = map(arrivals.stream_note, log.newest_first(session, table))
    return (int(note["batch_id"]) for note in notes if note is not None)


def freshness(
    session: SparkSession, table: str, through: int, left_out: Collection[int]
) -> Freshness | None:
    """What of a streaming table is merged up to the batch `through`; None where nothing tells.

    left_out: batches that are left out for good.

    Raises Py4JJavaError or PySparkException if `table` is not a Delta table.
    """
    return arrivals.freshness(_arrivals(session, table), through, left_out)


def _arrivals(session: SparkSession, table: str) -> Iterator[Arrival]:
    snapshot = log.snapshot_of(session, table)
    column = log.physical_name(snapshot, TIME)
    return arrivals.arrivals(log.commits_of(session, snapshot), column)
