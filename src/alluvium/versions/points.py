"""A version of a table, by whatever a person names it: number, time, tag or batch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.delta.log.commit_files import TableLog
from alluvium.delta.log.log import TableVersion
from alluvium.delta.refs import refs
from alluvium.delta.refs.dependents import relation
from alluvium.engine import causes
from alluvium.names import did_you_mean
from alluvium.plan.versions.batches import batch_of
from alluvium.plan.versions.commit import Commit
from alluvium.plan.versions.heads import head_of
from alluvium.report.log_lines import parsed_moment

NAMES = ("version", "timestamp", "tag", "batch")


@dataclass(frozen=True)
class Point:
    """A version of a table.

    Attributes:
        table: its name as SQL writes it, which may be a path's: delta.`file:/…`.
        version: None for the newest.
        table_id: of the table's newest version, when this one was looked for. A table that is
            dropped and made again has other rows in a version of the same number.
    """

    table: str
    version: int | None = None
    table_id: str | None = field(default=None, compare=False)

    def sql(self) -> str:
        """The table at this version, as `from` has it."""
        return self.table if self.version is None else f"{self.table} version as of {self.version}"


@dataclass(frozen=True)
class PointTable:
    """A table that points are asked of.

    Attributes:
        name: as SQL writes it.
        model: the name of its model, or of itself where it has none.
        candidate: of a published table, the one that it shows.
    """

    name: str
    model: str
    candidate: PointTable | None = None


def resolve(
    session: SparkSession,
    table: PointTable,
    *,
    version: int | None = None,
    timestamp: str | None = None,
    tag: str | None = None,
    batch: int | None = None,
) -> Point:
    """The version of a table that one of these names; the newest where none is given.

    Args:
        timestamp: a date, or a date and time, in UTC: the newest version at that time.
        tag: the name of one of this table's.
        batch: the newest version that holds nothing of a later batch. Of a published table, the
            newest that shows such a version of its candidate.

    Raises:
        ValueError: there is no such version, and which there are; or two are given.
    """
    values = (version, timestamp, tag, batch)
    given = {name: one for name, one in zip(NAMES, values, strict=True) if one is not None}
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} are given; accepted: one of {', '.join(NAMES)}")
    table_log = TableLog(session, table.name)
    if tag is not None:
        return Point(relation(find_tag(session, table_log.folder, tag, table.model).location))
    if version is not None:
        found = _there(table, table_log, version)
    elif timestamp is not None:
        found = _at(table, table_log, timestamp)
    elif batch is not None:
        found = _of_batch(session, table, table_log, batch)
    else:
        found = table_log.version
    return Point(table.name, found, table_log.snapshot.table_id)


def _there(table: PointTable, table_log: TableLog, version: int) -> int:
    first = table_log.earliest()
    if not first <= version <= table_log.version:
        raise ValueError(
            f"{table.model} has no version {version:,}; accepted: {_span(first, table_log.version)}"
        )
    return version


def _span(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def find_tag(session: SparkSession, folder: str, name: str, whose: str) -> refs.Ref:
    """A tag of the table in a folder; raises ValueError where there is none, and which there are.

    whose: the table's name, for the message.
    """
    found = {one.name: one for one in refs.tags(session, folder)}
    if name not in found:
        accepted = ", ".join(sorted(found)) or "a tag; it has none yet"
        raise ValueError(
            f"{whose} has no tag {name!r}; accepted: {accepted}{did_you_mean(name, found)}"
        )
    return found[name]


def _at(table: PointTable, table_log: TableLog, timestamp: str) -> int:
    try:
        return table_log.version_at(parsed_moment(timestamp))
    except (Py4JJavaError, PySparkException) as error:
        raise ValueError(f"{table.model}: {causes.explain(error).text}") from error


def _of_batch(session: SparkSession, table: PointTable, table_log: TableLog, batch: int) -> int:
    if table.candidate is not None:
        candidate = TableLog(session, table.candidate.name)
        shown = _of_batch(session, table.candidate, candidate, batch)
        found = _newest(table_log, _shown_of(session, candidate), shown)
        if found.version is None:
            is_last = shown == candidate.version
            accepted = "version or timestamp" if is_last else f"a later batch than {batch}"
            raise ValueError(
                f"{table.model} never showed version {shown:,} of {table.candidate.model}, nor an"
                f" older one; accepted: {accepted}"
            )
        return found.version
    feeds = set[str]()

    def number(commit: Commit) -> int | None:
        feed, one = batch_of(table.model, commit)
        if feed is not None:
            feeds.add(feed)
        return one

    found = _newest(table_log, number, batch)
    if len(feeds) > 1:
        raise ValueError(
            f"{table.model} has batches of {', '.join(sorted(feeds))}, which count for themselves;"
            " accepted: version, timestamp or tag"
        )
    if not found.numbers:
        raise ValueError(
            f"{table.model}: no commit that its log tells brought a batch;"
            " accepted: version, timestamp or tag"
        )
    known = found.numbers
    if batch > max(known):
        # Progress may have been more once: a restore takes it back.
        known = {one for commit in _newest_first(table_log) if (one := number(commit)) is not None}
    if found.version is None or batch > max(known):
        raise ValueError(
            f"{table.model} has no batch {batch}; accepted: {min(known)} to {max(known)}, as its"
            " log tells"
        )
    return found.version


def _shown_of(session: SparkSession, candidate: TableLog) -> Callable[[Commit], int | None]:
    """What tells the version of a candidate that a commit shows readers; None of another commit.

    A table of a branch begins with what its target's showed. What is another table's counts as
    later than all: nobody can compare it.
    """
    base = refs.base_of(session, candidate.name)
    has = cache(candidate.snapshot.has)

    def shown(commit: Commit) -> int | None:
        found = head_of(commit.transactions)
        if found is None:
            return None
        head = TableVersion(*found)
        if base is not None and head.table_id == base.table_id:
            return 0 if head.version <= base.version else sys.maxsize
        return head.version if has(head) else sys.maxsize

    return shown


@dataclass(frozen=True)
class _Found:
    """The newest version that was looked for, if any, and the numbers that were read on the way."""

    version: int | None
    numbers: set[int]


def _newest(table_log: TableLog, number: Callable[[Commit], int | None], bound: int) -> _Found:
    """The newest version up to which the last commit with a number has one up to `bound`.

    A version before the first such commit is none: nothing is known of what it holds.
    """
    numbers, newest = set[int](), table_log.version
    for commit in _newest_first(table_log):
        found = number(commit)
        if found is None:
            continue
        numbers.add(found)
        if found <= bound:
            return _Found(newest, numbers)
        newest = commit.version - 1
    return _Found(None, numbers)


def _newest_first(table_log: TableLog) -> Iterator[Commit]:
    for span in table_log.spans():
        yield from reversed(table_log.read(*span).commits)
