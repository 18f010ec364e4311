"""A model goes on where another one was, as the log of their table says."""

from __future__ import annotations

from contextlib import suppress

from delta.exceptions import ConcurrentTransactionException
from pyspark.sql import SparkSession

from alluvium.delta.log import committing, log
from alluvium.plan.versions import heirs


def take_over(session: SparkSession, table: str, former: str, model: str) -> dict[str, int]:
    """Give a model what a former one has in a table, and leave that one nothing, in one commit.

    Again where the former model merged meanwhile. Returns the `txn` actions that say so.
    """
    recorded: dict[str, int] = {}
    while True:
        table_id, numbers = log.state(session, table)
        due = heirs.taken_over(numbers, table_id, former, model)
        if not due:
            return recorded
        recorded |= due
        was = {app: numbers.get(app, -1) for app in due}
        with suppress(ConcurrentTransactionException):
            log.commit_transactions(session, table, due, committing.FOREVER, before=was)
