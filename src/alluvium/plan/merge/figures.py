"""What a merge did, and the one line that says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from alluvium.plan.ranges.locate import Kept
from alluvium.wording import counted


@dataclass(frozen=True)
class BatchFigures:
    """What is known before the statement runs; the commit's metadata has it under these names.

    Attributes:
        model: dbt's unique id.
        through: Newest event batch; None where the batch does not say.
        deletes: Keys whose newest event deletes.
        newest_event: UTC time of the newest event, to the microsecond, where `order_by` begins with
            a timestamp.
        method: How ranges were found; `none` for none, None where the model that planned them does
            not say.
        rejected: Events that are kept aside.
    """

    model: str
    through: int | None
    events: int
    key_count: int
    deletes: int
    newest_event: str | None
    on_match: str
    method: str | None
    ranges: int
    rejected: int

    def metadata(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Merged:
    """What the statement of a merge did; it changed nothing unless it says so.

    Attributes:
        inserted, updated, deleted: Rows.
        version: Of the table, that the one-commit merge made; None for none.
        engine: `one_commit` or `merge_into`; None where no statement ran.
        refused: Why the one-commit merge left it to MERGE INTO; None where it was not asked.
        already_merged: Whether the table had this batch, from an earlier run or by another process.
        conflicts: How often another writer was faster.
        restarts: How often an executor was lost with rows of the merge.
        files, bytes: What was written, where that is known.
        files_left: Without rows, that no version has.
        kept: Files that were looked at, and all.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    version: int | None = None
    engine: str | None = "merge_into"
    refused: str | None = None
    already_merged: bool = False
    conflicts: int = 0
    restarts: int = 0
    files: int | None = None
    bytes: int | None = None
    files_left: int = 0
    kept: Kept | None = None

    @property
    def affected(self) -> int:
        return self.inserted + self.updated + self.deleted


@dataclass(frozen=True)
class MergeFigures:
    """All that is said of a merge.

    Attributes:
        merged: None where there was nothing to merge when it began.
        seconds: From the look at the batch to the last figure.
        rejected_table: Keeps the rejected events.
        freshness: What `freshness.figures` of the adapter says.
    """

    batch: BatchFigures
    merged: Merged | None
    seconds: float
    rejected_table: str | None = None
    freshness: Mapping[str, Any] = field(default_factory=dict)

    @property
    def did(self) -> Merged:
        return self.merged or Merged(engine=None)

    @property
    def unchanged(self) -> int:
        """Keys whose newest event changed nothing."""
        return max(self.batch.key_count - self.did.affected, 0)


def merge_line(name: str, done: MergeFigures) -> str:
    """The line of the console."""
    batch, merged = done.batch, done.did
    newest = done.freshness.get("freshness") or (
        f"newest event {batch.newest_event[:19]} UTC" if batch.newest_event else ""
    )
    ending = f" in {done.seconds:.1f} s"
    if merged.conflicts:
        ending += f", after {counted(merged.conflicts, 'conflict')}"
    if merged.restarts:
        ending += f", begun again after {counted(merged.restarts, 'lost executor')}"
    if newest:
        ending += f", {newest}"
    rejected = ""
    if batch.rejected:
        rejected = f", {batch.rejected:,} rejected (kept in {done.rejected_table})"
    if done.merged is None:
        # Only where bronze was looked at it is known to wait for nothing.
        waits = done.freshness.get("waiting_batches")
        state = "up to date" if waits == 0 else "nothing new"
        return f"{name}: {state}{rejected}{ending}"
    parts = [counted(batch.events, "event")]
    if batch.method != "none":
        parts.append(f"{counted(batch.ranges, 'range')} ({batch.method})")
    if (kept := merged.kept) is not None and kept.files_total:
        part = 100 * kept.files / kept.files_total
        less = f", {kept.skipped:,} fewer by automata" if kept.skipped else ""
        parts.append(f"{kept.files:,} of {kept.files_total:,} files ({part:.1f} %{less})")
    parts.append(f"{_outcome(done)}{rejected}{ending}")
    return f"{name}: {' → '.join(parts)}"


def _outcome(done: MergeFigures) -> str:
    batch, merged = done.batch, done.did
    if merged.already_merged:
        return "already merged"
    if batch.on_match == "ignore":
        return f"{counted(merged.affected, 'insert')}, {done.unchanged:,} known"
    if not merged.affected:
        older = f" ({counted(batch.events, 'older event')})" if batch.events else ""
        return f"nothing changed{older}"
    outcome = counted(batch.key_count - batch.deletes, "upsert")
    if batch.deletes:
        outcome += f", {counted(batch.deletes, 'delete')}"
    if done.unchanged:
        outcome += f", {done.unchanged:,} of them without effect"
    return outcome
