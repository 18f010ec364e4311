"""What arrived in a streaming table, by what its commits note and its files' statistics say.

Each commit of a streaming table notes its batch, and its data files have the bounds of
`_source_timestamp`. The newest commits say how fresh the table is, and what of it is not merged.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from alluvium.marks import STREAM_NOTE
from alluvium.plan.versions.commit import Commit

TIME = "_source_timestamp"
# Commits without a batch are those of maintenance: few. A table of another writer has no others.
_WITHOUT_BATCH = 100
# Behind these the events before are no longer the table's.
_REPLACES = ("CREATE OR REPLACE", "REPLACE TABLE", "RESTORE", "TRUNCATE", "CLONE")


@dataclass(frozen=True)
class Arrival:
    """One batch of a streaming table.

    Attributes:
        batch: its `_batch_id`.
        events: how many came.
        oldest, newest: bounds of `_source_timestamp`, in UTC; None where the log does not say.
    """

    batch: int
    events: int
    oldest: datetime | None
    newest: datetime | None


@dataclass(frozen=True)
class Freshness:
    """How far a streaming table has come, and how far what is merged from it.

    Attributes:
        newest: time (UTC) of the newest batch's newest event; None where the log does not say.
        merged: the same of the newest batch that is merged.
        batches, events: that wait to be merged.
        since: time (UTC) of the oldest event that waits.
    """

    newest: datetime | None = None
    merged: datetime | None = None
    batches: int = 0
    events: int = 0
    since: datetime | None = None


def noted(**note: int) -> str:
    """The user metadata of a streaming table's commit."""
    return json.dumps({STREAM_NOTE: note})


def stream_note(commit: Commit) -> dict[str, int] | None:
    """What a stream noted in its commit; None for a commit of another."""
    note = commit.note(STREAM_NOTE)
    return note if note is not None and isinstance(note.get("batch_id"), int) else None


def freshness(
    arrivals: Iterable[Arrival], through: int, left_out: Collection[int] = ()
) -> Freshness | None:
    """What of a streaming table is merged up to the batch `through`; None where nothing tells.

    Args:
        arrivals: its batches, newest first.
        left_out: batches that are left out for good: they wait for nothing.
    """
    waiting: list[Arrival] = []
    latest = merged = None
    for arrival in arrivals:
        latest = latest or arrival
        if arrival.batch <= through:
            merged = arrival
            break
        if arrival.batch not in left_out:
            waiting.append(arrival)
    if latest is None:
        return None
    return Freshness(
        newest=latest.newest,
        merged=None if merged is None else merged.newest,
        batches=len(waiting),
        events=sum(one.events for one in waiting),
        since=min((one.oldest for one in waiting if one.oldest is not None), default=None),
    )


def arrivals(newest_first: Iterable[Commit], column: str) -> Iterator[Arrival]:
    """The batches of a streaming table, newest first, as far back as its commits tell them.

    column: the name that files have `TIME` under.
    """
    without = 0
    for commit in newest_first:
        note = stream_note(commit)
        without = without + 1 if note is None else 0
        if note is not None:
            stats = [json.loads(file.get("stats") or "{}") for file in commit.added]
            yield Arrival(
                int(note["batch_id"]),
                int(commit.metrics.get("numOutputRows", 0)),
                min(_bounds(stats, "minValues", column), default=None),
                max(_bounds(stats, "maxValues", column), default=None),
            )
        if str(commit.operation).upper().startswith(_REPLACES) or without == _WITHOUT_BATCH:
            return


def _bounds(stats: Iterable[Mapping[str, Any]], kind: str, column: str) -> Iterator[datetime]:
    for one in stats:
        text = (one.get(kind) or {}).get(column)
        if text is not None:
            yield datetime.fromisoformat(text).astimezone(UTC)
