"""Merges that failed, while the others of their run go on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from alluvium.compaction.bucket import Group

# Merges that fail for one reason before a run gives up: what stops so many stops all.
_ALIKE = 8


@dataclass
class Failures:
    """Of one run; each merge with what stopped it, in one line."""

    found: list[tuple[Group, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(self, group: Group, reason: str) -> None:
        self.found.append((group, reason))

    def touch(self, group: Group) -> bool:
        """Whether a fragment of the group was in a merge that failed."""
        return any(not set(group.inputs).isdisjoint(failed.inputs) for failed, _ in self.found)

    @property
    def are_hopeless(self) -> bool:
        return max(Counter(reason for _, reason in self.found).values(), default=0) >= _ALIKE

    def text(self, model: str) -> str:
        """What failed, a line each."""
        counted = "a merge" if len(self.found) == 1 else f"{len(self.found)} merges"
        rest = "the run was given up" if self.are_hopeless else "the others are done"
        lines = [
            f"\n  - {group.bucket or 'its only bucket'}, {len(group.inputs)} fragments"
            f" ({group.reason}): {reason}"
            for group, reason in self.found
        ]
        return f"{model}: {counted} failed, {rest}:{''.join(lines)}"
