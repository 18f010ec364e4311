"""What a restore would undo: the commits that made a version of what an earlier one was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from alluvium import marks
from alluvium.plan.versions.batches import merged_by
from alluvium.plan.versions.commit import Commit
from alluvium.wording import needs

# Kinds of commits.
BATCH = "batch"  # events that the next build reads again
BACKFILL = "backfill"  # events that no progress records, so that no build reads them again
COMPACTION = "compaction"  # the same rows in other files, or with other tags
PURGE = "purge"  # a delete of what must not come back
WRITE = "write"  # of rows, by somebody else
REBUILD = "full refresh"
SCHEMA = "schema"
RESTORE = "restore"
PROGRESS = "progress"
# Those that are undone only where they are named.
NAMED = (BACKFILL, PURGE, WRITE)
_MADE = ("CREATE TABLE", "CREATE OR REPLACE TABLE", "REPLACE TABLE", "CLONE")


@dataclass(frozen=True)
class Done(Commit):
    """A commit, and what it did to files.

    Attributes:
        changes_rows: whether it brings or takes files with other rows.
        has_files: whether it names files.
    """

    changes_rows: bool = False
    has_files: bool = False

    @property
    def batches(self) -> dict[str, int]:
        """By unique id, the newest batch of each model whose events it brought."""
        return {model: number for model, number in merged_by(self).items() if number >= 0}


@dataclass(frozen=True)
class Undone:
    """A commit that a restore would undo."""

    version: int
    kind: str
    about: str

    def __str__(self) -> str:
        said = f"{self.kind} {self.about}".rstrip()
        return f"{said} (version {self.version:,})"


@dataclass(frozen=True)
class WayBack:
    """What one look tells of a table's way back to an earlier version.

    Attributes:
        then: that version.
        undone: commits, newest first; none where nothing would change.
        batch: that the table is to be without; None where a version was asked for.
        came: the newest batch that the version holds; -1 for none.
        named: the batches that commits tell since, of each merge its newest.
        mistakes: why the table cannot go back.
        missing: files that would come back, and that are gone.
    """

    then: int
    undone: Sequence[Undone]
    batch: int | None
    came: int
    named: Sequence[int]
    mistakes: Sequence[str]
    missing: Sequence[str]

    def _is_below(self, batch: int) -> bool:
        """Whether no merge ended at a batch or before it: only the first can have brought it."""
        return bool(self.named) and batch < min(self.named)

    def refusals(
        self, table: str, including: Sequence[str], has_batch: Callable[[int], bool]
    ) -> Iterator[str]:
        """Why the table does not go back.

        including: kinds of commits that are undone though no build brings them back.
        has_batch: whether there are events of a batch: one merge may bring several.
        """
        if self.batch is not None and self.came >= self.batch:
            yield came_along(table, self.batch, self.came)
        elif self.batch is not None and self._is_below(self.batch) and not has_batch(self.batch):
            # All that was merged would go, for a number that may be a slip.
            yield (
                f"{table}: no merge in its log is of batch {self.batch}, or of one before it."
                f" Nothing was changed. Accepted: a batch from {min(self.named)}; version"
            )
        if stops := [one for one in self.undone if one.kind in {*NAMED} - {*including}]:
            kinds = sorted({one.kind for one in stops} | set(including))
            yield (
                f"going back to version {self.then:,} would undo what no build brings back:"
                f" {', '.join(map(str, stops))}. Nothing was changed. Accepted:"
                f" including: [{', '.join(kinds)}], or another version"
            )
        if self.mistakes:
            yield f"{table} cannot go back: " + "; ".join(self.mistakes)
        if self.missing:
            yield (
                f"{table}: version {self.then:,} {needs(self.missing)}. Nothing was changed."
                " Accepted: a newer version"
            )


def came_along(table: str, batch: int, came: int) -> str:
    """What is said of batches up to `came` that no merge brought."""
    return (
        f"{table}: no commit in its log brought batch {batch} or a later one up to {came}."
        " A clone or a table of a branch has such batches from its source, an adopted table from"
        " its earlier model. Nothing was changed. Accepted: a restore of the source, and a new"
        f" clone or branch of it; a batch behind {came}; version"
    )


def kind_of(commit: Done) -> str:
    """The kind of a commit."""
    operation = commit.operation or ""
    if commit.note(marks.RESTORE_NOTE) is not None:
        return RESTORE
    if operation.startswith(_MADE):
        return REBUILD
    if commit.note(marks.PURGE_NOTE) is not None:
        return PURGE
    if commit.batches and _has_events(commit):
        return BATCH
    if commit.changes_rows:
        return WRITE if commit.note(marks.MERGE_FIGURES) is None else BACKFILL
    if commit.has_files:
        return COMPACTION
    return PROGRESS if commit.transactions else SCHEMA


def undone(commits: Sequence[Done], then: int) -> list[Undone]:
    """What lies between the newest version and an earlier one, newest first.

    commits: in order, from behind `then` up to the newest. What a restore undid is not undone
    twice.
    """
    found = []
    for commit in _effective(reversed(commits), then):
        kind = kind_of(commit)
        about = commit.operation or "" if kind not in (BATCH, BACKFILL, COMPACTION) else ""
        if kind == BATCH:
            about = ", ".join(str(number) for number in commit.batches.values())
        elif kind == WRITE and commit.author:
            about += f" by {commit.author}"
        found.append(Undone(commit.version, kind, about))
    return found


def before_batch(commits: Iterable[Done], model: str, batch: int) -> int | None:
    """The newest version without events of a batch or a later one; None where there are none.

    Events that a clone or an adopted table has of its source, as progress alone, are not counted.
    Who asks looks at the progress of the version found.

    commits: newest first, as far back as the log tells them. They are taken until it is known.
    """
    found = None
    for commit in _effective(commits, -1):
        number = commit.batches.get(model)
        if number is not None and commit.restored is None and _has_events(commit):
            if number < batch:
                break
            found = commit.version - 1
    return found


def _has_events(commit: Done) -> bool:
    """Whether the batches that a commit tells came with it."""
    operation = commit.operation or ""
    return operation == "MERGE" or (commit.has_files and operation != "CLONE")


def _effective(commits: Iterable[Done], then: int) -> Iterator[Done]:
    """The commits that made the newest version, but for what was undone.

    commits: newest first.
    """
    at: int | None = None
    for commit in commits:
        if at is None or commit.version == at:
            yield commit
            at = commit.restored if commit.restored is not None else commit.version - 1
            if at <= then:
                return
