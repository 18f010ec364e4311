"""Undo what came after a version of a table: rows, columns and progress go back in one commit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from alluvium.merge import progress, skipped
from alluvium.merge.skipped import Events
from alluvium.plan.versions import undo
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
class Shown:
    """A published table of it; hides: whether rows that are marked `_deleted` are left out."""

    table: str
    name: str
    hides: bool


@dataclass(frozen=True)
class Restored:
    """What a restore did, or would do.

    Attributes:
        then: the version that the table went back to.
        version: that it made; None where nothing was to be changed.
        undone: commits, newest first.
        files_removed, files_added: how many went and came.
        skips: the events that it leaves out for good, or no longer does.
        moved: the published tables that showed what is undone, and whether a checkout holds them.
        unknown: those of which the log does not tell whether they show what is undone, and the
            version that each shows; they stay.
    """

    then: int
    version: int | None
    undone: list[Undone]
    files_removed: int
    files_added: int
    skips: list[Events]
    moved: list[tuple[Shown, bool]]
    unknown: list[tuple[Shown, int]]


def restore(
    session: SparkSession,
    subject: Subject,
    shown: Sequence[Shown],
    *,
    version: int | None = None,
    before_batch: int | None = None,
    including: Sequence[str] = (),
    skip: bool | None = None,
    files: Sequence[Events] = (),
    dry_run: bool = False,
) -> Restored:
    """Make a table what it was at a version, and let readers see it.

    A command that was killed after the table's commit is completed by the same one again. Then
    there is nothing to undo. Published tables that still show what was undone are moved.

    Args:
        shown: its published tables.
        version: to go back to.
        before_batch: instead, a batch: the newest version without events of it or of a later one.
        including: kinds of commits to undo that no build brings back, of `undo.NAMED`.
        skip: whether events of that batch are left out for good; None leaves that as it is.
        files: instead of all of that batch, the events that are left out.

    Raises:
        ValueError: it cannot be done, or undoes what `including` does not name. Nothing was
            changed.
        RuntimeError: somebody else wrote meanwhile. Nothing was changed.
    """
    # What is listed and what is undone are of this one look.
    table_log = TableLog(session, subject.table)
    events = files or ([] if before_batch is None else [(before_batch, None)])
    marked = _marked(session, subject, events, skip)
    if version is None:
        then, done = _version_before(subject, table_log, before_batch)
    else:
        then, done = version, _done(table_log, version + 1, table_log.version)
    was = table_log.at(then)
    way = SettingBack(table_log.snapshot, was)
    if before_batch is not None:
        _refuse_batch(subject, before_batch, _merged(subject, was), done)
    found = undo.undone([one for one in done if one.version > then], then)
    _refuse_way(subject, way, then, found, including)
    made = None
    if (way.changes or marked) and not dry_run:
        note: dict[str, Any] = {"version": then, "before_batch": before_batch, "skip": skip}
        if files:
            note["files"] = [file for _, file in files]
        made = _commit(session, table_log, way, then, note, marked)
    due = then if made is None and way.changes else None
    moved, unknown = _follow(session, subject, table_log, shown, made, due, dry_run)
    return Restored(
        then,
        made,
        found if way.changes else [],
        len(way.goes),
        len(way.comes),
        [one for one in events if skipped.app_id(subject.model, one) in marked],
        moved,
        unknown,
    )


def _refuse_batch(subject: Subject, batch: int, came: int, done: Sequence[Done]) -> None:
    """Stop where what a batch brought cannot be undone.

    Args:
        batch: before which the table is to be.
        came: the newest batch of the version that it would go back to.
        done: the commits that were read.
    """
    if came >= batch:
        raise ValueError(_came_along(subject, batch, came))
    named = [one.batches[subject.model] for one in done if subject.model in one.batches]
    if named and batch < min(named):
        # All that was merged would go, for a number that may be a slip.
        raise ValueError(
            f"{subject.table}: no merge in its log is of batch {batch}, or of one before it."
            f" Nothing was changed. Accepted: a batch from {min(named)}; version"
        )


def _refuse_way(
    subject: Subject,
    way: SettingBack,
    then: int,
    found: Sequence[Undone],
    including: Sequence[str],
) -> None:
    """Stop where the way back loses what nobody named, or the table cannot go it."""
    stops = [one for one in found if one.kind in undo.NAMED and one.kind not in including]
    if stops and way.changes:
        kinds = sorted({one.kind for one in stops} | set(including))
        raise ValueError(
            f"going back to version {then:,} would undo what no build brings back:"
            f" {', '.join(map(str, stops))}. Nothing was changed. Accepted:"
            f" including: [{', '.join(kinds)}], or another version"
        )
    if mistakes := way.mistakes():
        raise ValueError(f"{subject.table} cannot go back: " + "; ".join(mistakes))
    if missing := way.missing():
        raise ValueError(
            f"{subject.table}: version {then:,} {pinned.needs(missing)}. Nothing was changed."
            " Accepted: a newer version"
        )


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


def _follow(
    session: SparkSession,
    subject: Subject,
    table_log: TableLog,
    shown: Sequence[Shown],
    made: int | None,
    due: int | None,
    dry_run: bool,
) -> tuple[list[tuple[Shown, bool]], list[tuple[Shown, int]]]:
    """Let readers see what the table is now, where they see what is undone.

    Args:
        table_log: as it was looked at.
        made: the version that the restore made; None where it made none.
        due: the version that the table is yet to go back to; None where it is there.

    Returns `moved` and `unknown` of `Restored`.
    """
    # Behind the commit others may have published what came after it.
    newest = table_log.snapshot if made is None else table_log.snapshot.newest()
    at = table_log.version if made is None else made
    moved, unknown = [], []
    for one, head, is_held, undone_there in _showing(session, newest, shown, due):
        if undone_there is None:
            unknown.append((one, head.version))
        elif undone_there:
            moved.append((one, is_held))
            if not dry_run:
                publish.checkout(
                    session,
                    subject.table,
                    one.table,
                    at,
                    hold=None,
                    hides=one.hides,
                    instead_of=head,
                )
    return moved, unknown


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
    dry_run: bool,
    files: Sequence[Events] = (),
) -> list[Events]:
    """Leave a batch out for good, or no longer; no row changes.

    files: instead of all of the batch, the events that are left out.

    Returns the events of which that was not so before.
    """
    events = files or [(batch, None)]
    marked = _marked(session, subject, events, skip)
    if marked and not dry_run:
        log.commit_transactions(session, subject.table, marked, until=committing.FOREVER)
    return [one for one in events if skipped.app_id(subject.model, one) in marked]


def _marked(
    session: SparkSession, subject: Subject, events: Sequence[Events], skip: bool | None
) -> dict[str, int]:
    """What is to be recorded of events that are left out; nothing where it is so."""
    if not events or skip is None:
        return {}
    so_far = skipped.left_out(session, subject.table, subject.model)
    return {
        skipped.app_id(subject.model, one): int(skip) for one in events if (one in so_far) != skip
    }


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
        raise ValueError(_came_along(subject, batch, came))
    raise ValueError(
        f"{subject.table} holds no batch {batch} or later one, as its log tells; accepted: a"
        " merged batch, or version"
    )


def _merged(subject: Subject, snapshot: TableSnapshot) -> int:
    """The newest batch that a version holds, whoever merged it; -1 before the first."""
    table_id, numbers = snapshot.numbers
    return numbers.get(progress.app_id(subject.model, table_id), -1)


def _came_along(subject: Subject, batch: int, came: int) -> str:
    return (
        f"{subject.table}: no commit in its log brought batch {batch} or a later one up to {came}."
        " A clone or a table of a branch has such batches from its source, an adopted table from"
        " its earlier model. Nothing was changed. Accepted: a restore of the source, and a new"
        f" clone or branch of it; a batch behind {came}; version"
    )


def _showing(
    session: SparkSession, newest: TableSnapshot, shown: Sequence[Shown], then: int | None
) -> Iterator[tuple[Shown, TableVersion, bool, bool | None]]:
    """What published tables show, whether a checkout holds it, and whether it is undone.

    newest: of the table; then: the version that it is yet to go back to.
    """
    for one in shown:
        if session.catalog.tableExists(one.table):
            now = TableSnapshot.of(session, one.table)
            if (head := now.head) is not None:
                goes = then is not None and head.version > then
                yield one, head, now.is_held, goes or newest.is_undone(head.version)


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
