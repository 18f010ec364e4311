"""The error of a layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class LayoutError(ValueError):
    """A layout is described wrongly, or a table cannot have it; `mistakes` holds every reason."""

    def __init__(self, model: str, mistakes: Sequence[str]) -> None:
        self.model = model
        self.mistakes = list(mistakes)
        lines = "".join(f"\n  - {mistake}" for mistake in mistakes)
        super().__init__(f"{model}: meta.alluvium_layout does not fit the table:{lines}")


@contextmanager
def refusals(model: str) -> Iterator[None]:
    """A ValueError, of what a table or a query forbids, as an error of the model's layout."""
    try:
        yield
    except ValueError as error:
        raise LayoutError(model, [str(error)]) from error
