"""The error of compaction."""

from __future__ import annotations

from collections.abc import Sequence


class LayoutError(ValueError):
    """A layout is described wrongly, or a table cannot have it; `mistakes` holds every reason."""

    def __init__(self, model: str, mistakes: Sequence[str]) -> None:
        self.model = model
        self.mistakes = list(mistakes)
        lines = "".join(f"\n  - {mistake}" for mistake in mistakes)
        super().__init__(f"{model}: meta.alluvium_layout cannot be had:{lines}")
