"""Merges that failed, while the others of their run go on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from alluvium.compaction.bucket import Group

# Merges that fail for one reason, or one after the other, before a run gives up: what stops so
# many stops all. Where each names its file no two reasons are equal.
_ALIKE, _IN_A_ROW = 8, 32


@dataclass
class Failures:
    """Of one run; each merge with what stopped it, in one line."""

    found: list[tuple[Group, str]] = field(default_factory=list)
    in_a_row: int = 0

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(self, group: Group, reason: str) -> None:
        self.found.append((group, reason))
        self.in_a_row += 1

    def end_a_row(self) -> None:
        """Some merge has not failed."""
        self.in_a_row = 0

    def left_out(self, fragments: pa.Table) -> pa.Table:
        """The fragments of the buckets in which no merge failed.

        The merges of the others would be planned first once more, and take the budget of all that
        come after them.
        """
        failed = pa.array(sorted({group.bucket for group, _ in self.found}), pa.string())
        return fragments.filter(pc.invert(pc.is_in(fragments["bucket"], failed)))

    @property
    def are_hopeless(self) -> bool:
        alike = max(Counter(reason for _, reason in self.found).values(), default=0)
        return alike >= _ALIKE or self.in_a_row >= _IN_A_ROW

    def text(self, model: str, stopped_by: str | None = None) -> str:
        """What failed, a line each.

        stopped_by: what stopped the run thereafter.
        """
        counted = "a merge" if len(self.found) == 1 else f"{len(self.found)} merges"
        rest = "the run was given up" if self.are_hopeless else "the others went on"
        if stopped_by is not None:
            rest = f"then the run was stopped by {stopped_by}"
        lines = [
            f"\n  - {group.bucket or 'its only bucket'}, {len(group.inputs)} fragments"
            f" ({group.reason}): {reason}"
            for group, reason in self.found
        ]
        return f"{model}: {counted} failed, {rest}:{''.join(lines)}"
