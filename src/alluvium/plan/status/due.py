"""What is due at a table by its log, each with the command that does it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

import pyarrow.compute as pc

from alluvium import marks
from alluvium.paths import Place, is_absolute
from alluvium.plan.commands import build, operation
from alluvium.plan.compaction import compaction_plan
from alluvium.plan.layout.settings import Layout
from alluvium.plan.status.feed import MOST, FeedStatus
from alluvium.plan.status.fragments import fragments
from alluvium.plan.status.table import SeenTable
from alluvium.plan.versions.batches import deletes_of
from alluvium.wording import counted, in_bytes, span

_WEEK = timedelta(days=7)
# Age from which a purge takes tombstones by default.
_KEPT = timedelta(days=30)
_RETENTION = "delta.deletedFileRetentionDuration"
_INTERVAL = re.compile(r"(?:interval\s+)?(\d+)\s+(second|minute|hour|day|week)s?", re.IGNORECASE)


@dataclass(frozen=True)
class Due:
    """Something that is to be done.

    Attributes:
        model: the name of the model.
        what: a sentence's part that says what.
        command: that does it, arguments filled in.
    """

    model: str
    what: str
    command: str

    def line(self) -> str:
        return f"{self.model}: {self.what}\n    {self.command}"


def of_table(
    table: SeenTable, layout: Layout | None, keeps_tombstones: bool, now: datetime
) -> Iterator[Due]:
    """What is due at the files of a table; nothing where it was not read."""
    if table.snapshot is None:
        return
    if layout is not None:
        yield from _compaction(table, layout, now)
    yield from _vacuum(table, now)
    if keeps_tombstones:
        yield from _purge(table, now)
    for name, version in sorted(table.branches.items()):
        behind = table.snapshot.version - version
        if behind > 0:
            many = counted(behind, "version")
            yield Due(
                table.name,
                f"it is {many} ahead of branch {name}; what a merge would bring:",
                operation("merge_branch", name=name, models=[table.name], dry_run=True),
            )


def of_feed(
    feed: FeedStatus, tables: Sequence[SeenTable], candidate: str, has_progress: bool
) -> Iterator[Due]:
    """What is due where a feed is not as it should be.

    tables: of the feed, in the order in which they are built.
    candidate: the name of the model that merges, or that is published.
    has_progress: whether it is a merged model, whose restore takes progress back.
    """
    unread = [one.name for one in tables if one.problem is not None and one.is_built]
    if unread or feed.is_damaged:
        # Where an old commit is damaged each table has its newest version.
        names = unread or [one.name for one in tables]
        yield Due(feed.name, "to look at the files:", operation("fsck", models=names))
    for one in tables:
        if one.problem is None and one.note is not None and one.note.outcome == "error":
            yield Due(one.name, "its last run failed:", build(f"{one.name}+"))
    missing = [one.name for one in tables if not one.is_built]
    if missing:
        yield Due(missing[0], "it was not built:", build(f"+{missing[-1]}"))
    if feed.is_late and feed.waiting is not None:
        yield Due(candidate, "to merge what waits:", build(f"+{candidate}+"))
    yield from _of_readers(feed, candidate, has_progress)


def _of_readers(feed: FeedStatus, candidate: str, has_progress: bool) -> Iterator[Due]:
    """What is due where readers do not see the newest version."""
    held, readers = feed.held_back, feed.readers
    if readers is None:
        return
    if held is not None:
        failed = ", ".join(f"{name} ({how})" for name, how in sorted(held.failed.items()))
        yield Due(
            candidate,
            f"{held.count} of version {held.version:,} failed: {failed}; what changed:",
            build(f"{candidate}+")
            if readers.version is None or readers.newest is None
            else operation("diff", model=candidate, **{"from": readers.version}),
        )
        if readers.version is not None and readers.newest is not None and has_progress:
            yield Due(
                candidate,
                "what undoing it would change:",
                operation("restore", model=candidate, version=readers.version, dry_run=True),
            )
    if readers.is_checked_out and readers.version is not None:
        yield Due(
            feed.name,
            f"a checkout holds version {readers.version:,}; builds publish again after",
            operation("checkout", model=feed.name, version=readers.version, hold=False),
        )


def _compaction(table: SeenTable, layout: Layout, now: datetime) -> Iterator[Due]:
    assert table.snapshot is not None
    try:
        resolved, files = fragments(table.snapshot, layout)
    except ValueError:  # what a layout cannot be is told by the build
        return
    assert resolved is not None
    found = compaction_plan.plan(files, resolved, now.timestamp())
    if not found:
        return
    merged = sum(len(one.inputs) for one in found.tasks)
    moved = sum(len(one.inputs) for one in found.relabels)
    in_buckets = len({one.bucket for one in found.tasks} | {one.bucket for one in found.relabels})
    said = f"{counted(merged, 'file')} ({in_bytes(found.bytes)}) of {counted(in_buckets, 'bucket')}"
    if not found.tasks:
        said = f"new labels of {counted(moved, 'file')}"
    yield Due(table.name, f"{said} are to be compacted", operation("compact", model=table.name))


def _vacuum(table: SeenTable, now: datetime) -> Iterator[Due]:
    """Files that went so long ago that no version within the retention needs them."""
    assert table.snapshot is not None
    keep = retention(table.snapshot.properties)
    removed, is_all = _removed(table, keep)
    over = millis(now - keep)
    old = {path: size for path, (at, size) in removed.items() if at < over}
    # A file whose deletion vector changed is there still.
    there = set(pc.unique(table.snapshot.files["path"]).to_pylist()) if old else set()
    gone = {path: size for path, size in old.items() if path not in there}
    if gone:
        pinned = table.pinned(now)
        gone = {path: size for path, size in gone.items() if file_name(path) not in pinned}
    if gone:
        reach = "" if is_all else ", as far as the log goes back"
        yield Due(
            table.name,
            f"up to {in_bytes(sum(gone.values()))} of {counted(len(gone), 'file')} went over"
            f" {span(keep.total_seconds())} ago, and no VACUUM took them since{reach}",
            operation("vacuum", model=table.name, dry_run=False),
        )


def _removed(table: SeenTable, keep: timedelta) -> tuple[dict[str, tuple[float, int]], bool]:
    """The table's own files that went and that no VACUUM took, as far as the log goes back.

    Returns:
        By path, when each went last, in milliseconds since 1970, and its bytes: what moves its
        deletion vector names it again. And whether these are all.
    """
    found: dict[str, tuple[float, int]] = {}
    since, is_all = float("-inf"), False
    for one in islice(table.commits(), MOST):
        if one.operation == "VACUUM END" and one.at is not None:
            # What went within the retention before it, it left.
            since, is_all = millis(one.at - keep), True
        if one.at is not None and millis(one.at) < since:
            break
        is_all = is_all or one.version == 0
        for file in one.removed:
            at = file.get("deletionTimestamp") or 0
            if since <= at and _is_own(path := file["path"]):
                found[path] = max(found.get(path, (0, 0)), (at, int(file.get("size") or 0)))
    return found, is_all


def _purge(table: SeenTable, now: datetime) -> Iterator[Due]:
    """Deletes that left tombstones which a purge would take, or may take."""
    merged: list[tuple[datetime, int, bool]] = []
    reached = False
    for one in islice(table.commits(), MOST):
        if one.note(marks.PURGE_NOTE) is not None or one.version == 0:
            reached = True
            break
        merged.append((one.at or now, *deletes_of(one)))
    oldest = min((at for at, _, _ in merged), default=now)
    # Where the log ends before, older tombstones may stand than it tells.
    counted_ones = [one for one in merged if not reached or one[0] < now - _KEPT]
    deletes = sum(count for _, count, _ in counted_ones)
    if not deletes:
        return
    since = f"over {span(_KEPT.total_seconds())} ago, since the last purge"
    if not reached:
        since = f"in the {span((now - oldest).total_seconds())} that the log tells, without a purge"
    most = "" if all(is_exact for _, _, is_exact in counted_ones) else "up to "
    yield Due(
        table.name,
        f"{most}{counted(deletes, 'delete')} merged {since}; how many tombstones stand no log says",
        operation("purge_tombstones", model=table.name, older_than="30 days"),
    )


def retention(properties: Mapping[str, str]) -> timedelta:
    """For how long a table keeps files that went."""
    found = _INTERVAL.fullmatch(str(properties.get(_RETENTION, "")).strip())
    return timedelta(**{f"{found[2].lower()}s": int(found[1])}) if found else _WEEK


def _is_own(path: str) -> bool:
    """Whether a file lies in the table's own folder."""
    return not (is_absolute(path) or path.startswith("../"))


def file_name(path: str) -> str:
    """Of a data file, by a path as a log has it: no two have the same."""
    return Place.of_uri(path, Place.of("/")).name


def millis(time: datetime) -> float:
    """Since 1970, as a log has times."""
    return time.timestamp() * 1000
