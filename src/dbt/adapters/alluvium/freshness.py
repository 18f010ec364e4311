"""How fresh a merged model is beside the streaming table that it is merged from."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.delta.log import arrivals
from alluvium.wording import counted, moment, newest


def figures(
    session: SparkSession,
    table: str,
    name: str,
    through: int | None,
    newest_event: str | None,
    left_out: Collection[int],
) -> dict[str, Any]:
    """What the response and the console's line say; empty where the log tells nothing.

    Args:
        session: Session whose catalog has the streaming table.
        table: Its rendered name.
        name: Its name for the line.
        through: The newest batch that is merged; None before the first.
        newest_event: UTC time of the batch's newest event by `order_by`, where that begins with a
            timestamp.
        left_out: Batches that are left out for good.
    """
    if through is None:
        return {}
    try:
        fresh = arrivals.freshness(session, table, through, left_out)
    except (PySparkException, Py4JJavaError):
        return {}  # It was dropped since, or another writer's: the merge is done all the same.
    if fresh is None:
        return {}
    said = []
    if newest_event is not None:
        said.append(newest(datetime.fromisoformat(newest_event).replace(tzinfo=UTC)))
    elif fresh.merged is not None:
        said.append(newest(fresh.merged, "arrival"))
    if fresh.batches:
        since = "" if fresh.since is None else f" since {moment(fresh.since)}"
        said.append(
            f"{counted(fresh.batches, 'batch')} ({counted(fresh.events, 'event')}) of {name}"
            f" {'waits' if fresh.batches == 1 else 'wait'}{since}"
        )
    return {
        "newest_arrival": as_text(fresh.newest),
        "merged_arrival": as_text(fresh.merged),
        "waiting_batches": fresh.batches,
        "waiting_events": fresh.events,
        "waiting_since": as_text(fresh.since),
        "freshness": ", ".join(said),
    }


def behind(time: str | None) -> float | None:
    """Seconds since a UTC time."""
    if time is None:
        return None
    moment = datetime.fromisoformat(time).replace(tzinfo=UTC)
    return round((datetime.now(UTC) - moment).total_seconds(), 3)


def as_text(time: datetime | None) -> str | None:
    """A time in UTC as the responses have it."""
    return None if time is None else time.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
