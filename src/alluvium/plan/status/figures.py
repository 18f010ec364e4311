"""Figures of a table's commits: the batches that came, and what was written for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from alluvium import marks
from alluvium.plan.status.feed import MOST
from alluvium.plan.versions.arrivals import stream_note
from alluvium.plan.versions.commit import Commit

# Batches that are told at most.
SHOWN = 60


@dataclass(frozen=True)
class Batch:
    """A commit that brought rows.

    Attributes:
        events: of the batch; of a commit that is not ours, rows that it wrote.
        seconds: that the statement took; None where the commit does not say.
        files_kept, files_total: files that a merge looked at, and all; None for other commits.
    """

    version: int
    at: datetime | None
    events: int
    seconds: float | None
    files_kept: int | None
    files_total: int | None


@dataclass(frozen=True)
class Writes:
    """What commits wrote; the same rule as `compact.history.writes`.

    Attributes:
        commits: that were looked at.
        written: bytes of new files with new rows or changed ones.
        rewritten: bytes of those with rows of other files.
    """

    commits: int
    written: int
    rewritten: int

    @property
    def amplification(self) -> float | None:
        """All bytes over those that writers wrote; None where these are 0."""
        return 1 + self.rewritten / self.written if self.written else None


def batches(newest_first: Iterable[Commit]) -> tuple[Batch, ...]:
    """The last batches, in order."""
    found = islice(_batches(islice(newest_first, MOST)), SHOWN)
    return tuple(reversed(list(found)))


def writes(newest_first: Iterable[Commit]) -> Writes:
    """What the commits of a log wrote, as far as a look reads it."""
    commits = written = rewritten = 0
    for one in islice(newest_first, MOST):
        commits += 1
        removed = {file["path"] for file in one.removed}
        # A file that is removed and added in one commit has another deletion vector, and is not
        # new.
        new = {file["path"]: file for file in one.added if file["path"] not in removed}
        sizes = [(int(file.get("size") or 0), file.get("dataChange")) for file in new.values()]
        if one.operation != "RESTORE":
            written += sum(size for size, is_change in sizes if is_change)
        # Without a file that goes, those that come are the same ones again.
        if removed:
            rewritten += sum(size for size, is_change in sizes if not is_change)
    return Writes(commits, written, rewritten)


def _batches(newest_first: Iterable[Commit]) -> Iterator[Batch]:
    for one in newest_first:
        metrics = one.metrics
        note = one.note(marks.MERGE_FIGURES) or {}
        events = _number(note, "events")
        if events is None:
            rows = _number(metrics, "numOutputRows")
            changed = one.changed_rows + one.deleted_rows
            events = changed if rows is None else rows - one.copied_rows
        if events <= 0 and not note and stream_note(one) is None:
            continue
        millis = _number(metrics, "executionTimeMs")
        yield Batch(
            version=one.version,
            at=one.at,
            events=max(events, 0),
            seconds=None if millis is None else millis / 1000,
            files_kept=_number(note, "files_kept"),
            files_total=_number(note, "files_total"),
        )


def _number(values: Mapping[str, Any], key: str) -> int | None:
    value = values.get(key)
    return None if value is None else int(value)
