"""What a run of compaction did, the merges that failed in it, and the error that tells of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from alluvium.paths import name_of
from alluvium.plan.compaction.bucket import MergeTask
from alluvium.wording import counted

# Merges that fail one after the other, of them for one reason, before a run gives up: what stops so
# many stops all. Where each names its file no two reasons are equal.
_ALIKE, _STREAK = 8, 32


@dataclass(frozen=True)
class Compacted:
    """What a run did.

    Attributes:
        merges: groups of fragments that were merged, and committed.
        inputs, outputs: fragments that they took, and made.
        bytes_read, bytes_written, rows: of these.
        relabelled: fragments that got a new level.
        conflicts: merges that were given up, and new levels. Another writer changed an input of
            theirs, or of a merge that was to be committed with them.
        bytes_given_up: that were read for merges which were given up.
        waiting: merges that the budget leaves for later runs.
        seconds: that it took.
    """

    merges: int = 0
    inputs: int = 0
    outputs: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    rows: int = 0
    relabelled: int = 0
    conflicts: int = 0
    bytes_given_up: int = 0
    waiting: int = 0
    seconds: float = 0.0


class MergeError(RuntimeError):
    """Merges that failed, and changed nothing; `done` is what the run did beside them."""

    def __init__(self, message: str, done: Compacted) -> None:
        self.done = done
        super().__init__(message)


@dataclass
class Failures:
    """Of one run.

    Attributes:
        found: each merge with what stopped it, in one line.
        stuck: paths of the fragments that are left alone from then on. A merge of them would be
            planned once more, and take the budget of all that come after it.
    """

    found: list[tuple[MergeTask, str]] = field(default_factory=list)
    stuck: set[str] = field(default_factory=set)
    _streak: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(self, task: MergeTask, reason: str) -> None:
        self.found.append((task, reason))
        # Others of the bucket go on, without the broken one if the reason names it.
        self.stuck |= named([task], reason) or set(task.inputs)
        self._streak.append(reason)

    def reset_streak(self) -> None:
        """Some merge has not failed."""
        self._streak.clear()

    @property
    def should_try_elsewhere(self) -> bool:
        """Whether so many failed one after the other that others are to be tried elsewhere."""
        return bool(self._streak) and not len(self._streak) % _ALIKE

    @property
    def are_hopeless(self) -> bool:
        alike = max(Counter(self._streak).values(), default=0)
        return alike >= _ALIKE or len(self._streak) >= _STREAK

    def text(self, model: str, stopped_by: str | None = None) -> str:
        """What failed, a line each.

        stopped_by: what stopped the run thereafter.
        """
        if not self:
            return f"{model}: the run was stopped by {stopped_by}"
        merges = "a merge" if len(self.found) == 1 else f"{len(self.found)} merges"
        rest = "the run was given up" if self.are_hopeless else "the others went on"
        if stopped_by is not None:
            rest = f"then the run was stopped by {stopped_by}"
        lines = [
            f"\n  - {task.bucket or 'its only bucket'}, {counted(len(task.inputs), 'fragment')}"
            f" ({task.reason}): {reason}"
            for task, reason in self.found
        ]
        return f"{model}: {merges} failed, {rest}:{''.join(lines)}"


def named(tasks: Iterable[MergeTask], reason: str) -> set[str]:
    """Paths of the inputs that a reason names."""
    paths = [path for task in tasks for path in task.inputs]
    return {path for path in paths if name_of(path) in reason}
