"""MERGE with one read of the candidate files and one commit, for tables with deletion vectors.

MERGE reads the files that hold matches three times: to find them, to write the new rows and to
mark the old ones. Here they are read once; what was found is kept, and the new files and the
deletion vectors are made from it beside one another. docs/merge-engine.md has the whole story.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, Unpack

from pyspark.sql import SparkSession

from alluvium.delta.log import committing
from alluvium.delta.merge import refusal
from alluvium.delta.merge.merge_command import MergeCommand
from alluvium.engine import jvm
from alluvium.engine.causes import full_text
from alluvium.merge.conflicts import LostRowsError, StaleBatchError
from alluvium.plan.merge.figures import Merged
from alluvium.plan.ranges.locate import Kept

ONE_COMMIT = "one_commit"
# Up to this many bytes the batch, or what it matched, goes to every executor, and the new rows
# into one file.
_SMALL = 64 * 2**20
# What Spark says where an executor that is gone had kept rows; and how often a merge begins again.
_LOST = "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"
_MOST_LOST = 3


@dataclass(frozen=True)
class Refusal:
    """The statement was not run, and nothing was written: MERGE has to do it."""

    reason: str


class Asked(TypedDict, total=False):
    """What may be asked of a merge beside its statement.

    progress: application id and version of the `txn` action in the commit; where the table has
        recorded this version or a later one, nothing happens.
    metadata: gives the commit's `userMetadata` from the files that the merge looks at.
    at: version that the table must have when the merge begins; None for any.
    after: what the table must have recorded for that application by then, at least; -1 for nothing,
        None for any.
    sort_by: columns that each new file is sorted by, partition by partition; empty for no order.
    automata: whether files are left unread whose tags have none of the keys, where that pays.
    beside: further `txn` actions of the commit, by application.
    """

    progress: tuple[str, int] | None
    metadata: Callable[[Kept], str] | None
    at: int | None
    after: int | None
    sort_by: Sequence[str]
    automata: bool
    beside: Mapping[str, int]


def merge(session: SparkSession, sql: str, **asked: Unpack[Asked]) -> Merged | Refusal:
    """Run the MERGE statement `sql` with its exact result, or say why not.

    It begins again where an executor was lost with rows that it keeps there.

    Raises StaleBatchError where the table has another version than `at`, or has recorded less than
    `after`. Raises what MERGE raises: AnalysisException for a wrong statement,
    DeltaUnsupportedOperationException where several source rows match one target row. And
    constraint violations, and Delta's concurrency exceptions (delta.exceptions). Nothing of the
    merge is then in the table.
    """
    lost = 0
    while True:
        try:
            prepared = prepare(session, sql, **asked)
            break
        except LostRowsError:
            lost += 1
            if lost > _MOST_LOST:
                raise
    if not isinstance(prepared, Prepared):
        return prepared
    with prepared:
        return replace(prepared.commit(), restarts=lost)


def refused(session: SparkSession, sql: str) -> str | None:
    """Why `merge` would leave this MERGE statement to MERGE INTO; None where it would run it.

    Runs nothing, so that it cannot know what shows only in the files.
    """
    command = MergeCommand(session, sql, {})
    with command.copy.active():
        return refusal.reason(command.facts())


def looked_at(session: SparkSession, sql: str, automata: bool) -> Kept | Refusal:
    """The files that `merge` would look at, or what `refused` says; changes nothing."""
    command = MergeCommand(session, sql, {})
    with command.copy.active():
        why = refusal.reason(command.facts())
        if why is not None:
            return Refusal(why)
        candidates = command.candidates()
        return command.kept(candidates, command.with_keys(candidates) if automata else candidates)


@dataclass
class Prepared:
    """A merge whose files are written and whose commit is still to come. Use as a context."""

    command: MergeCommand
    started: float
    automata: bool = False
    metadata: Callable[[Kept], str] | None = None
    beside: Mapping[str, int] = field(default_factory=dict)
    actions: list[Any] = field(default_factory=list)
    figures: dict[str, int] = field(default_factory=dict)
    kept: Kept = field(default_factory=lambda: Kept(0, 0, 0, 0))
    files_left: int = 0

    def commit(self) -> Merged:
        """Make the merge part of the table.

        Raises Delta's concurrency exceptions (delta.exceptions).
        """
        self.figures["executionTimeMs"] = _milliseconds(self.started)
        with self.command.copy.active():
            if self.metadata is not None:
                self.command.copy.set(committing.COMMIT_METADATA, self.metadata(self.kept))
            session = self.command.copy.session
            noted = [committing.set_transaction(session, *one) for one in self.beside.items()]
            version = self.command.commit([*noted, *self.actions], self.figures)
        return Merged(
            self.figures["numTargetRowsInserted"],
            self.figures["numTargetRowsUpdated"],
            self.figures["numTargetRowsDeleted"],
            version,
            ONE_COMMIT,
            files=self.figures["numTargetFilesAdded"],
            bytes=self.figures["numTargetBytesAdded"],
            files_left=self.files_left,
            kept=self.kept,
        )

    def __enter__(self) -> Prepared:
        return self

    def __exit__(self, *_: object) -> None:
        self.command.close()


def prepare(session: SparkSession, sql: str, **asked: Unpack[Asked]) -> Prepared | Merged | Refusal:
    """All of `merge` but its commit. Arguments and errors are those of `merge`.

    Gives `Merged` where the progress was recorded before: nothing was changed.
    """
    started = time.monotonic()
    settings = {
        # Merging reads row numbers where Parquet has them.
        "spark.databricks.delta.deletionVectors.useMetadataRowIndex": "true",
        # A session's own may cut times to milliseconds, of rows too that are only written again.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    }
    progress, at, after = asked.get("progress"), asked.get("at"), asked.get("after")
    if progress is not None:
        settings |= {committing.TXN_APP: progress[0], committing.TXN_VERSION: str(progress[1])}
    command = MergeCommand(session, sql, settings, asked.get("sort_by", ()))
    with command.copy.active():
        why = refusal.reason(command.facts())
        if why is not None:
            return Refusal(why)
        if at is not None and command.version != at:
            raise StaleBatchError(f"the table has moved on since version {at}")
        if progress is not None and after is not None and command.recorded(progress[0]) < after:
            raise StaleBatchError(f"the table was set back behind event batch {after}")
        if command.was_executed():
            return Merged(engine=ONE_COMMIT, already_merged=True)
        prepared = Prepared(
            command,
            started,
            asked.get("automata", False),
            asked.get("metadata"),
            asked.get("beside", {}),
        )
        try:
            with ThreadPoolExecutor(1, "alluvium-merge") as beside:
                why = _run(prepared, beside)
        except BaseException as error:
            command.close()
            if isinstance(error, Exception) and _LOST in full_text(error):
                raise LostRowsError(
                    "an executor was lost with rows of the merge; nothing was committed. Run it"
                    " again when the cluster is whole"
                ) from error
            raise
        if why is not None:
            command.close()
            return Refusal(why)
    return prepared


def _run(prepared: Prepared, beside: ThreadPoolExecutor) -> str | None:
    """Read and write; gives the reason where that shows that MERGE has to do it."""
    command = prepared.command
    figures = prepared.figures

    def start(task: Callable[[], Any]) -> Any:
        return jvm.beside(beside, command.copy.session, task, command.copy.spark)

    finding = start(command.candidates)
    with command.in_transaction():
        began = time.monotonic()
        source, volume = command.materialise_source()
        figures["materializeSourceTimeMs"] = _milliseconds(began)
        small = volume <= _SMALL
        command.plan_for(volume, small)
        found = finding.result()
        began = time.monotonic()
        # After all of these were registered as read: another writer's commit conflicts as ever.
        candidates = command.with_keys(found, source, small) if prepared.automata else found
        prepared.kept = command.kept(found, candidates)
        matches, matched = command.materialise_matches(source, candidates, small)
        if matched > max(volume, _SMALL):  # keys with very many rows
            small = False
            command.plan_for(matched, small)
        figures["scanTimeMs"] = _milliseconds(began)
        began = time.monotonic()
        marking = None
        if not command.inserts_only:
            marking = start(lambda: _mark(command, matches, candidates, small))
        added = command.write(source, matches, small) if command.writes_rows() else []
        prepared.files_left = command.files_opened() - len(added)
        marked = marking.result() if marking is not None else _Marked()
        figures["rewriteTimeMs"] = _milliseconds(began)
    if isinstance(marked, str):
        return marked
    written = sum(int(file.numPhysicalRecords().get()) for file in added)
    figures |= {
        "operationNumSourceRows": int(command.metrics.apply("numSourceRows").value()),
        "numTargetRowsInserted": written - marked.updated,
        "numTargetRowsUpdated": marked.updated,
        "numTargetRowsMatchedUpdated": marked.updated,
        "numTargetRowsDeleted": marked.changed - marked.updated,
        "numTargetRowsMatchedDeleted": marked.changed - marked.updated,
        "numTargetFilesAdded": len(added),
        "numTargetBytesAdded": sum(int(file.size()) for file in added),
        "numTargetFilesRemoved": marked.files_removed,
        "numTargetBytesRemoved": marked.bytes_removed,
        "numTargetDeletionVectorsAdded": marked.vectors_added,
        "numTargetDeletionVectorsUpdated": marked.vectors_updated,
        "numTargetDeletionVectorsRemoved": marked.vectors_removed,
    }
    prepared.actions = [*added, *marked.actions]
    return None


@dataclass
class _Marked:
    """What became of the files that hold rows which change."""

    actions: list[Any] = field(default_factory=list)
    changed: int = 0
    updated: int = 0
    files_removed: int = 0
    bytes_removed: int = 0
    vectors_added: int = 0
    vectors_updated: int = 0
    vectors_removed: int = 0


def _mark(command: MergeCommand, matches: Any, candidates: Any, small: bool) -> _Marked | str:
    """Deletion vectors for the rows that change; gives a reason where MERGE has to do it."""
    files = command.rows_by_file(matches, small)
    command.check_ambiguous(any(row.getLong(1) > row.getLong(2) for row in files))
    marked = _Marked(updated=sum(row.getLong(3) for row in files))
    changing = [row for row in files if row.getStruct(4).getLong(0)]
    if not changing:
        return marked
    known = command.by_absolute_path(candidates)
    bitmaps = {
        command.touched(row.getString(0), known).path(): (row.getString(0), row.getStruct(4))
        for row in changing
    }
    now = int(time.time() * 1000)
    vectors = command.vector_writer()
    try:
        for file in command.files_with_statistics(bitmaps):
            path, bitmap = bitmaps[file.path()]
            before = file.deletionVector()
            gone = 0 if before is None else before.cardinality()
            rows, why = rows_of(file.stats(), gone)
            if rows is None:
                return f"{file.path()}: {why}"
            marked.changed += bitmap.getLong(0)
            if gone + bitmap.getLong(0) == rows:
                marked.actions.append(file.removeWithTimestamp(now, True))
                marked.files_removed += 1
                marked.bytes_removed += int(file.size())
                marked.vectors_removed += before is not None
                continue
            vector = vectors.write(path, before, bitmap.get(2), bitmap.getLong(0))
            pair = file.removeRows(vector, True, True)
            marked.actions += [pair._1(), pair._2()]
            marked.vectors_added += before is None
            marked.vectors_updated += before is not None
    finally:
        vectors.close()
    return marked


def rows_of(stats: str | None, gone: int) -> tuple[int | None, str]:
    """Rows that a file holds by its statistics (JSON), or why a vector cannot be put on it.

    gone: rows that its deletion vector marks.
    """
    known: Mapping[str, Any] = json.loads(stats) if stats else {}
    rows = known.get("numRecords")
    if rows is None:
        return None, "the log has no row count of this file"
    if gone and known.get("tightBounds", False):
        # Its counts of NULLs leave out the rows that are gone; MERGE knows how to put them right.
        return None, "the statistics of this file were computed again after rows were deleted"
    return int(rows), ""


def _milliseconds(since: float) -> int:
    return max(1, round(1000 * (time.monotonic() - since)))
