"""The errors of a compaction that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alluvium.compact.run import Compacted


class MergeError(RuntimeError):
    """Merges that failed, and changed nothing; `done` is what the run did beside them."""

    def __init__(self, message: str, done: Compacted) -> None:
        self.done = done
        super().__init__(message)
