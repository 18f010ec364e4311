"""The history of a table in lines, newest first, as `git log` shows one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from alluvium.delta.log.commit_files import TableLog
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.log.states import TOMBSTONE
from alluvium.delta.refs import refs
from alluvium.names import among
from alluvium.plan.versions import history
from alluvium.plan.versions.history import Told, block_line, line, message
from alluvium.wording import counted, moment

# The most versions that are shown where nobody says how many.
LIMIT = 20


def log_lines(
    table_log: TableLog,
    model: str,
    limit: int | None = None,
    since: datetime | None = None,
    pointers: Mapping[int, list[str]] | None = None,
) -> Iterator[str]:
    """A line for each version, and one more for a message.

    Args:
        model: the name of the table's.
        limit: the most versions; None for LIMIT, and for all of them where `since` is given.
        since: the earliest time of a commit.
        pointers: `names`.
    """
    most = limit if limit is not None or since is not None else LIMIT
    shown = 0
    for one in _newest_first(table_log, most):
        if since is not None and one.commit.at is not None and one.commit.at < since:
            break
        shown += 1
        yield line(model, one, pointers or {})
        yield from message(one.commit)
    if not shown:
        yield f"{model}: no version since {moment(since)}" if since else f"{model}: no version"
    elif table_log.version - shown >= table_log.first() and since is None:
        older = table_log.version - shown - table_log.first() + 1
        yield f"  … {counted(older, 'older version')}; limit: {shown + older} shows all"


def version_lines(
    table_log: TableLog,
    model: str,
    version: int,
    pointers: Mapping[int, list[str]] | None = None,
) -> Iterator[str]:
    """One version in full: what it says of itself, and the blocks that came, changed and went.

    pointers: `names`.

    Raises:
        ValueError: the table's log does not tell that version.
    """
    first = table_log.first()
    if not first <= version <= table_log.version:
        raise ValueError(
            f"show is {version}; accepted: the versions of {table_log.name} that its log tells,"
            f" {first} to {table_log.version}"
        )
    one = _read(table_log, version, version)[0]
    yield line(model, one, pointers or {})
    yield f"  snapshot {one.commit.id}"
    yield from message(one.commit, in_full=True)
    for block in one.blocks:
        yield block_line(block)


def names(
    session: SparkSession, table_log: TableLog, published: Mapping[str, str]
) -> dict[int, list[str]]:
    """`history.pointers` of a table. HEAD of a candidate is what its published tables show.

    published: by the name of its model, tables that may show this one.
    """
    heads = {name: TableSnapshot.of(session, one).head for name, one in published.items()}
    return history.pointers(
        table_log.version,
        {
            name: one.version
            for name, one in heads.items()
            if one is not None and one.table_id == table_log.snapshot.table_id
        },
        {one.name: one.version for one in refs.branches(session, table_log.folder)},
        {one.name: one.version for one in refs.tags(session, table_log.folder)},
    )


def _newest_first(table_log: TableLog, most: int | None) -> Iterator[Told]:
    for first, last in table_log.spans(most):
        yield from reversed(_read(table_log, first, last))


def _read(table_log: TableLog, first: int, last: int) -> list[Told]:
    """Some commits in order; from their own files alone."""
    found = table_log.read(first, last)
    keeps_tombstones = among(TOMBSTONE, table_log.snapshot.schema.names)
    return history.told(found.commits, found.actions, keeps_tombstones)


def parsed_moment(text: str) -> datetime:
    """A date, or a date and time, in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
