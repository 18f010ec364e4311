"""The errors of compaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alluvium.compact.run import Compacted


class LayoutError(ValueError):
    """A layout is described wrongly, or a table cannot have it; `mistakes` holds every reason."""

    def __init__(self, model: str, mistakes: Sequence[str]) -> None:
        self.model = model
        self.mistakes = list(mistakes)
        lines = "".join(f"\n  - {mistake}" for mistake in mistakes)
        super().__init__(f"{model}: meta.alluvium_layout cannot be had:{lines}")


class MergeError(RuntimeError):
    """Merges that failed, and changed nothing; `done` is what the run did beside them."""

    def __init__(self, message: str, done: Compacted) -> None:
        self.done = done
        super().__init__(message)


@contextmanager
def refusals(model: str) -> Iterator[None]:
    """A ValueError, of what a table or a query forbids, as an error of the model's layout."""
    try:
        yield
    except ValueError as error:
        raise LayoutError(model, [str(error)]) from error
