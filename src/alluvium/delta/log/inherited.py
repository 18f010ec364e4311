"""A model goes on where another one was, as the log of their table says."""

from __future__ import annotations

from contextlib import suppress

from delta.exceptions import ConcurrentTransactionException
from pyspark.sql import SparkSession

from alluvium.delta.log import committing, log
from alluvium.plan.versions import heirs


def take_over(
    session: SparkSession, table: str, former: str, model: str, *, leaves: bool = False
) -> dict[str, int]:
    """Give a model what a former one has in a table, in one commit.

    Again where the former model merged meanwhile, or somebody made the table again: what one table
    has says nothing of another. Returns the `txn` actions that say so.

    leaves: whether the former model keeps what it has; else nothing is left to it.
    """
    what = heirs.carried if leaves else heirs.taken_over
    recorded: dict[str, int] = {}
    while True:
        table_id, numbers = log.state(session, table)
        due = what(numbers, table_id, former, model)
        if not due:
            return recorded
        was = {app: numbers.get(app, -1) for app in due}
        was |= {app: number for app, number in numbers.items() if f"/{former}/" in app}
        with suppress(ConcurrentTransactionException):
            if log.commit_transactions(session, table, due, committing.FOREVER, before=was):
                recorded |= due
