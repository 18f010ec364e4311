"""What a merge does when another writer's commit was faster: try again, or say why not.

Delta checks a commit against those made since the statement read the table, and refuses it before
it is written. So a refused statement has changed nothing and can be repeated. Any other error may
have come after the commit, and is never repeated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from time import sleep
from typing import TypeVar

from delta.exceptions import ConcurrentTransactionException
from pyspark.errors import PySparkException

from alluvium.delta.log.concurrency_errors import OTHER_ROWS, OTHER_TABLE
from alluvium.engine.causes import first_line

T = TypeVar("T")


class StaleBatchError(PySparkException):
    """The table has moved on since the version that a merge was computed from or verified on."""


class LostRowsError(PySparkException):
    """An executor was lost with rows that a merge keeps there. Nothing of it was committed."""


# Seconds. A merge takes some, so the first wait only has to part two that collided.
FIRST_LIMIT = 1.0
LONGEST = 30.0


class ConflictError(PySparkException):
    """Other writers kept a merge from its commit. Nothing of the merge is in the table."""

    def __init__(self, message: str) -> None:
        super().__init__(message=message)


def delays(retries: int, random: Random) -> Iterator[float]:
    """Seconds to wait before each retry: anything up to a limit that doubles ("full jitter").

    Method: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
    """
    for number in range(retries):
        yield random.uniform(0, min(LONGEST, FIRST_LIMIT * 2**number))


def retry(
    table: str,
    attempt: Callable[[], T],
    recorded: Callable[[], T | None],
    retries: int,
    what: str = "merge",
) -> tuple[T, int]:
    """Run `attempt` until it meets no conflict; returns its result and the conflicts it met.

    Args:
        table: name of the table, for messages.
        attempt: one try. It should plan again: the table has moved on since the last one.
        recorded: asked when another writer moved the same application's `txn` on. It gives the
            result if that writer has done what `attempt` would do, None if it has not.
        retries: how often to try again, 0 or more.
        what: the statement's name, for messages.

    Raises:
        ConflictError: the retries are used up, or the table itself was changed.
    """
    waits = delays(retries, Random())
    conflicts = 0
    while True:
        try:
            return attempt(), conflicts
        except OTHER_TABLE as error:
            raise ConflictError(
                f"{table} was altered or replaced while the {what} ran. The {what} is not repeated,"
                " for it was written for the table as it was; none of it was committed."
                f" Run it again. Delta said: {first_line(error)}"
            ) from error
        except (StaleBatchError, *OTHER_ROWS) as error:
            conflicts += 1
            if isinstance(error, ConcurrentTransactionException):
                done = recorded()
                if done is not None:
                    return done, conflicts
            wait = next(waits, None)
            if wait is None:
                raise ConflictError(
                    f"Other writers committed to {table} during each of the {what}'s {conflicts}"
                    " tries; none of it was committed. Run it again when they are done."
                    f" Delta said: {first_line(error)}"
                ) from error
            sleep(wait)
