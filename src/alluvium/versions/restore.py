"""Undo what came after a version of a table: rows, columns and progress go back in one commit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.log import committing, log
from alluvium.delta.log.commit_files import TableLog
from alluvium.delta.log.concurrency_errors import OTHER_ROWS, OTHER_TABLE
from alluvium.delta.log.log import TableVersion
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.published.setting_back import SettingBack
from alluvium.delta.refs import pinned
from alluvium.merge import progress
from alluvium.plan.planned import Planned
from alluvium.plan.versions import left_out, undo
from alluvium.plan.versions.left_out import Events
from alluvium.plan.versions.undo import Done, Undone
from alluvium.publish import publish


@dataclass(frozen=True)
class Subject:
    """The table that goes back, and who reads events into it.

    Attributes:
        table: its name, as SQL writes it.
        model: dbt's unique id of its model.
        name: of the model.
    """

    table: str
    model: str
    name: str


@dataclass(frozen=True)
class Reader:
    """A published table of it.

    Attributes:
        hides: whether rows that are marked `_deleted` are left out.
        head: the version of the table that it shows.
        is_held: whether a checkout holds that.
        is_undone: whether that is undone, and it is moved; None where the log does not tell, and it
            stays.
    """

    table: str
    name: str
    hides: bool
    head: TableVersion | None = None
    is_held: bool = False
    is_undone: bool | None = False


@dataclass(frozen=True)
class Restored:
    """What a restore did, or would do.

    Attributes:
        then: the version that the table went back to.
        version: that it made; None where nothing was to be changed.
        undone: commits, newest first.
        files_removed, files_added: how many went and came.
        skips: the events that it leaves out for good, or no longer does.
        readers: its published tables, that show a version.
    """

    then: int
    version: int | None
    undone: Sequence[Undone]
    files_removed: int
    files_added: int
    skips: list[Events]
    readers: list[Reader]


def restore(
    session: SparkSession,
    subject: Subject,
    readers: Sequence[Reader],
    *,
    version: int | None = None,
    before_batch: int | None = None,
    including: Sequence[str] = (),
    skip: bool | None = None,
    files: Sequence[Events] = (),
    numbers: Mapping[str, int] | None = None,
    has_batch: Callable[[int], bool] = lambda _: False,
) -> Planned[Restored]:
    """Make a table what it was at a version, and let readers see it.

    A command that was killed after the table's commit is completed by the same one again. Then
    there is nothing to undo. Published tables that still show what was undone are moved.

    Args:
        readers: its published tables.
        version: to go back to.
        before_batch: instead, a batch: the newest version without events of it or of a later one.
        including: kinds of commits to undo that no build brings back, of `undo.NAMED`.
        skip: whether events of that batch are left out for good; None leaves that as it is.
        files: instead of all of that batch, the events that are left out.
        numbers: of the table's `txn` actions, where a model is to take over another's.
        has_batch: whether there are events of a batch. It is asked where only the first merge can
            have brought that.

    Raises:
        ValueError: it cannot be done, or undoes what `including` does not name. Nothing was
            changed.
        RuntimeError: somebody else wrote meanwhile. Nothing was changed.
    """
    # What is listed and what is undone are of this one look.
    table_log = TableLog(session, subject.table)
    events = files or ([] if before_batch is None else [(before_batch, None)])
    skips = _changes(session, subject, events, skip, numbers)
    then, done = (
        _version_before(subject, table_log, before_batch)
        if version is None
        else (version, _done(table_log, version + 1, table_log.version))
    )
    way = SettingBack(table_log.snapshot, was := table_log.at(then))
    known = undo.WayBack(
        then,
        undo.undone([one for one in done if one.version > then], then) if way.changes else [],
        before_batch,
        _merged(subject, was),
        [one.batches[subject.model] for one in done if subject.model in one.batches],
        way.mistakes(),
        way.missing(),
    )
    if refusals := list(known.refusals(subject.table, including, has_batch)):
        raise ValueError("\n".join(refusals))
    would = Restored(
        then,
        None,
        known.undone,
        len(way.goes),
        len(way.comes),
        skips,
        _showing(session, table_log.snapshot, readers, then if way.changes else None),
    )

    def apply() -> Restored:
        made, at, now = None, table_log.version, would.readers
        marked = _marks(subject, skips, skip)
        if way.changes or marked:
            of_files = {"files": [file for _, file in files]} if files else {}
            note = {"version": then, "before_batch": before_batch, "skip": skip, **of_files}
            made = at = _commit(session, table_log, way, then, note, marked)
            # Behind the commit others may have published what came after it.
            now = _showing(session, table_log.snapshot.newest(), readers, None)
        for one in (reader for reader in now if reader.is_undone):
            publish.checkout(
                session, subject.table, one.table, at, hides=one.hides, instead_of=one.head
            ).apply()
        return replace(would, version=made, readers=now)

    return Planned(would, apply)


def _commit(
    session: SparkSession,
    table_log: TableLog,
    way: SettingBack,
    then: int,
    note: Mapping[str, Any],
    marked: Mapping[str, int],
) -> int:
    """Go back in one commit, and see that no vacuum takes the files that come; the new version."""
    try:
        made = way.commit(json.dumps({marks.RESTORE_NOTE: note}), marked)
    except (*OTHER_ROWS, *OTHER_TABLE) as error:
        raise RuntimeError(
            f"{table_log.name}: another writer was faster; nothing was changed; run it again"
        ) from error
    if way.comes and (why := pinned.endangered(session, table_log.folder, way.missing)):
        raise ValueError(
            f"{table_log.name}: version {then:,}: {why}. {_forward(table_log, made, marked)}"
        )
    return made


def _forward(table_log: TableLog, made: int, marked: Mapping[str, int]) -> str:
    """Take a restore back whose files a vacuum may delete; what a message says then."""
    forward = SettingBack(table_log.at(made), table_log.snapshot)
    try:
        forward.commit("{}", {app: 1 - on for app, on in marked.items()})
    except (*OTHER_ROWS, *OTHER_TABLE):
        return (
            f"Others have written behind it, so it stays. Accepted: version: {table_log.version}"
            f", from which it came"
        )
    return "The table is what it was. Accepted: a newer version, or again when no vacuum goes on"


def mark(
    session: SparkSession,
    subject: Subject,
    batch: int,
    skip: bool,
    files: Sequence[Events] = (),
    numbers: Mapping[str, int] | None = None,
) -> Planned[list[Events]]:
    """Leave a batch out for good, or no longer; no row changes.

    Args:
        files: instead of all of the batch, the events that are left out.
        numbers: as of `restore`.

    Gives the events of which that was not so before.
    """
    changed = _changes(session, subject, files or [(batch, None)], skip, numbers)

    def apply() -> list[Events]:
        if changed:
            marked = _marks(subject, changed, skip)
            log.commit_transactions(session, subject.table, marked, until=committing.FOREVER)
        return changed

    return Planned(changed, apply)


def _changes(
    session: SparkSession,
    subject: Subject,
    events: Sequence[Events],
    skip: bool | None,
    numbers: Mapping[str, int] | None,
) -> list[Events]:
    if not events or skip is None:
        return []
    if numbers is None:
        _, numbers = log.state(session, subject.table)
    return left_out.changes(left_out.left_out(numbers, subject.model), events, skip)


def _marks(subject: Subject, events: Sequence[Events], skip: bool | None) -> dict[str, int]:
    """What a commit records of events that stay out from it on, or no longer."""
    return {left_out.app_id(subject.model, one): int(bool(skip)) for one in events}


def _version_before(
    subject: Subject, table_log: TableLog, batch: int | None
) -> tuple[int, list[Done]]:
    """The newest version without a batch, and the commits, in order, that were read for it."""
    assert batch is not None
    read = list[Done]()

    def newest_first() -> Iterator[Done]:
        for span in table_log.spans():
            read[:0] = found = _done(table_log, *span)
            yield from reversed(found)

    found = undo.before_batch(newest_first(), subject.model, batch)
    if found is not None and found >= 0:
        return found, read
    # What a killed command had undone already is to be completed.
    notes = (one.note(marks.RESTORE_NOTE) or {} for one in read)
    if found is None and batch in (note.get("before_batch") for note in notes):
        return table_log.version, read
    came = _merged(subject, table_log.snapshot)
    if came >= max(batch, 0):
        raise ValueError(undo.came_along(subject.table, batch, came))
    raise ValueError(
        f"{subject.table} holds no batch {batch} or later one, as its log tells; accepted: a"
        " merged batch, or version"
    )


def _merged(subject: Subject, snapshot: TableSnapshot) -> int:
    """The newest batch that a version holds, whoever merged it; -1 before the first."""
    table_id, numbers = snapshot.numbers
    return numbers.get(progress.app_id(subject.model, table_id), -1)


def _showing(
    session: SparkSession, newest: TableSnapshot, readers: Sequence[Reader], then: int | None
) -> list[Reader]:
    """Those that show a version of a table, and what.

    newest: of the table; then: the version that it is yet to go back to.
    """
    found = []
    for one in readers:
        if session.catalog.tableExists(one.table):
            now = TableSnapshot.of(session, one.table)
            if (head := now.head) is not None:
                goes = then is not None and head.version > then
                # A branch's may show a version of the table that was copied, which stays.
                is_ours = newest.has(head)
                is_so = is_ours and (goes or newest.is_undone(head.version))
                found.append(replace(one, head=head, is_held=now.is_held, is_undone=is_so))
    return found


def _done(table_log: TableLog, first: int, last: int) -> list[Done]:
    """What the commits of these versions say, in order; of those that the log still has."""
    first = max(first, table_log.first())
    if first > last:
        return []
    read = table_log.read(first, last)
    changes = read.actions.filter(read.actions["is_change"])
    naming, changing = (set(one["version"].to_pylist()) for one in (read.actions, changes))
    return [
        Done(one.version, one.lines, one.version in changing, one.version in naming)
        for one in read.commits
    ]
