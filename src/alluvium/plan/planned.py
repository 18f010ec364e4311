"""An operation that has looked and found nothing in its way: what it would do, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Planned(Generic[T]):
    """An operation before it does anything.

    Attributes:
        would: what it would do, as far as the look tells.
        apply: does it, against what was seen; what it did.
    """

    would: T
    apply: Callable[[], T]

    def done(self, *, dry_run: bool) -> T:
        """What it would do, or what it did."""
        return self.would if dry_run else self.apply()
