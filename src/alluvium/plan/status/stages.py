"""The way of a feed's events, stage by stage, and how each stands: where they stop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from alluvium.plan.status.feed import FINE, NOTICE, UNKNOWN, WRONG, FeedStatus, ago, waits
from alluvium.plan.status.table import SeenTable

# A stage of which nothing is known.
IDLE = "idle"
SOURCE, BRONZE, CANDIDATE, MERGED, AUDIT, PUBLISHED = (
    *("source", "bronze", "candidate", "merged", "audit", "published"),
)


@dataclass(frozen=True)
class Stage:
    """A stage of a feed.

    Attributes:
        kind: what it is.
        name: of its model or source; of an audit empty.
        state: as that of a feed, or `idle`.
        said: how it stands, in few words.
    """

    kind: str
    name: str
    state: str
    said: str


def source(name: str, feed: FeedStatus, now: datetime) -> Stage:
    """Where events come from: nobody looks there but the stream."""
    return Stage(SOURCE, name, IDLE, f"asked {ago(feed.looked, now)}" if feed.looked else "")


def bronze(table: SeenTable, feed: FeedStatus, now: datetime) -> Stage:
    problem = _of_table(BRONZE, feed, table, now)
    if problem is not None or feed.newest is None:
        return problem or Stage(BRONZE, table.name, IDLE, "no arrival known")
    return Stage(BRONZE, table.name, FINE, f"newest {ago(feed.newest, now)}")


def after_bronze(
    feed: FeedStatus, merged: SeenTable, published: SeenTable | None, now: datetime
) -> Iterator[Stage]:
    """The stages behind the streaming table; and of a table without one, all."""
    yield _merged(MERGED if published is None else CANDIDATE, feed, merged, now)
    if published is not None:
        yield _audit(feed)
        yield _published(feed, published, now)


def _merged(kind: str, feed: FeedStatus, table: SeenTable, now: datetime) -> Stage:
    waiting = waits(feed.waiting, named=False) if feed.waiting else "nothing waits"
    if feed.is_late:
        return Stage(kind, table.name, WRONG, f"late: {waiting}")
    problem = _of_table(kind, feed, table, now)
    if problem is not None or feed.newest is None:
        return problem or Stage(kind, table.name, IDLE, "")
    return Stage(kind, table.name, FINE, waiting)


def _audit(feed: FeedStatus) -> Stage:
    readers, held = feed.readers, feed.held_back
    if held is not None:
        return Stage(AUDIT, "", WRONG, f"version {held.version:,}: {held.count} failed")
    if readers is None or readers.version is None:
        return Stage(AUDIT, "", IDLE, "" if feed.is_damaged else "nothing passed yet")
    if readers.newest is not None and readers.newest > readers.version:
        return Stage(AUDIT, "", IDLE, f"version {readers.newest:,} is not published")
    return Stage(AUDIT, "", FINE, f"version {readers.version:,} passed")


def _published(feed: FeedStatus, table: SeenTable, now: datetime) -> Stage:
    problem, readers = _of_table(PUBLISHED, feed, table, now), feed.readers
    if problem is not None or readers is None:
        return problem or Stage(PUBLISHED, table.name, IDLE, "")
    if readers.version is None:
        return Stage(PUBLISHED, table.name, IDLE, "readers see nothing yet")
    since = f" of {ago(readers.since, now)}" if readers.since else ""
    seen = f"version {readers.version:,}{since}"
    if readers.is_checked_out:
        return Stage(PUBLISHED, table.name, NOTICE, f"a checkout holds {seen}")
    if feed.held_back is not None:
        return Stage(PUBLISHED, table.name, NOTICE, f"stays at {seen}")
    return Stage(PUBLISHED, table.name, FINE, seen)


def _of_table(kind: str, feed: FeedStatus, table: SeenTable, now: datetime) -> Stage | None:
    """A table that was not read, or whose last run failed; else None."""
    is_told = (feed.newest, feed.rejected, feed.readers) != (None, None, None)
    if not table.is_built:
        return Stage(kind, table.name, NOTICE, "not built")
    if table.problem is not None:
        return Stage(kind, table.name, UNKNOWN, "cannot be read")
    if feed.is_damaged and not is_told:
        # An old commit of one of the tables: of which is not known.
        return Stage(kind, table.name, UNKNOWN, "its past cannot be read")
    note = table.note
    if note is not None and note.outcome == "error":
        return Stage(kind, table.name, NOTICE, f"the last run failed {ago(note.at, now)}")
    return None
