"""What a run of compaction did, and the error of one in which merges failed."""

from __future__ import annotations

from dataclasses import dataclass


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
