"""Locality: full fragments climb levels in each of which no two overlap in row keys.

After Datadog's Husky (blog, 2025) and O'Neil et al., The log-structured merge-tree (1996). Level 0
holds full fragments as the size tiers made them. When it is over its limit it is merged into level
1, and what is in the way there makes way by new labels, level by level, which costs no rewriting.
So each merge leaves a sorted run; runs that are alike in size are merged, many at a time, as far as
the rewriting stays within what the size tiers have cost.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from alluvium.compaction.allowance import Allowance
from alluvium.compaction.bucket import LOCALITY, UNSORTED, Bucket, Group, Numbers, Relabel
from alluvium.compaction.layout import Layout
from alluvium.compaction.overlap import components, overlapping

# What is in the way is merged along where it is this share of what comes, or less.
_LITTLE = 0.25


@dataclass
class Locality:
    """New labels, to be given first, and merges; no fragment is in two of them."""

    relabels: list[Relabel] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)


def locality(bucket: Bucket, layout: Layout, allowance: Allowance) -> Locality:
    """What brings the fragments of an open bucket closer to their order.

    Afterwards, if it was so before, no two fragments of one level above 0 overlap.
    """
    climb = _Climb(bucket, layout, allowance)
    climb.flush()
    climb.promote()
    climb.consolidate()
    return Locality(list(climb.relabels()), climb.groups)


class _Climb:
    def __init__(self, bucket: Bucket, layout: Layout, allowance: Allowance) -> None:
        self.bucket = bucket
        self.layout = layout
        self.allowance = allowance
        # Where each fragment will be once the new labels are given.
        self.level = np.where(bucket.is_full(layout), np.maximum(bucket.level, 0), UNSORTED)
        self.taken = np.zeros(len(bucket), dtype=bool)
        self.groups: list[Group] = []

    def at(self, level: int) -> Numbers:
        return np.flatnonzero((self.level == level) & ~self.taken)

    def rows(self, places: Numbers) -> int:
        return int(self.bucket.rows[places].sum())

    def flush(self) -> None:
        """Level 0 into level 1."""
        heavy = self.allowance.heavy(self.bucket)
        raw = self.bucket.level == UNSORTED
        entering = self.at(0)
        # What no merge can take stays here, and is no reason for one.
        entering = entering[~heavy[entering] | (raw & ~self.bucket.stuck)[entering]]
        above = self.rows(np.flatnonzero(self.level > 0))
        limit = max(self.bucket.rows_of(0, self.layout), above // self.layout.growth)
        if self.rows(entering) <= limit:
            return
        for alone in entering[heavy[entering], None]:
            # In pieces it can be merged; until then the others go on without it.
            if self.allowance.takes(self.bucket, alone):
                self.taken[alone] = True
                self.groups.append(Group.of(self.bucket, LOCALITY, alone, 0, self.layout))
        entering = entering[~heavy[entering]]
        parts = components(self.bucket, entering)
        alone = [part for part in parts if self._is_sorted(part)]
        self._relabel(np.concatenate(alone) if alone else entering[:0], 1)
        for part in parts:
            if self._is_sorted(part):
                continue
            chosen = self.allowance.part(self.bucket, part)
            met = overlapping(self.bucket, chosen, self.at(1))
            # Merged along it must not reach over other parts, which are merged by themselves.
            others = np.setdiff1d(entering, part)
            size = self.bucket.bytes
            little = size[met].sum() <= _LITTLE * size[chosen].sum()
            if little and not len(overlapping(self.bucket, met, others)):
                along = np.concatenate([chosen, met])
                if self._merge(along, 1):
                    continue
            if self._merge(chosen, 1):
                continue
            # What is not sorted yet may be, whatever order has cost so far.
            for piece in components(self.bucket, part[raw[part]]):
                self._merge(self.allowance.part(self.bucket, piece), 1)

    def promote(self) -> None:
        """Fragments of a level over its limit to the next one, those first that meet least."""
        for level in range(1, int(self.level.max(initial=0)) + 1):
            here = self.at(level)
            over = self.rows(here) - self.bucket.rows_of(level, self.layout)
            if over <= 0:
                continue
            here = here[np.argsort(self._rows_met(here, self.at(level + 1)), kind="stable")]
            enough = int(np.searchsorted(np.cumsum(self.bucket.rows[here]), over)) + 1
            self._relabel(here[:enough], level + 1)

    def consolidate(self) -> None:
        """Runs that are alike in size, next to one another, into the highest one's level."""
        heavy = self.allowance.heavy(self.bucket)
        levels = [
            level for level in range(1, int(self.level.max(initial=0)) + 1) if len(self.at(level))
        ]
        count = self.layout.growth
        for first in range(len(levels) - count + 1):
            block = levels[first : first + count]
            sizes = [self.rows(self.at(level)) for level in block]
            if max(sizes) >= count * min(sizes):
                continue
            together = np.concatenate([self.at(level) for level in block])
            if (self.level[together] != self.bucket.level[together]).any():
                # What has just made way does so by its label, whatever becomes of a merge.
                continue
            parts = components(self.bucket, together)
            overlap = [part for part in parts if len(part) > 1]
            merged = False
            for part in overlap:
                for rest in components(self.bucket, part[~heavy[part]]):
                    piece = self._piece(rest, block[-1])
                    merged |= len(piece) > 1 and self._merge(piece, block[-1])
            if merged or not overlap:
                # Labels alone would only move what overlaps elsewhere.
                for part in parts:
                    if len(part) == 1 and self.level[part[0]] != block[-1]:
                        self._relabel(part, block[-1])
                return

    def _piece(self, part: Numbers, level: int) -> Numbers:
        """All of a component, or where no run's budget holds it as much of its beginning as this
        one's does, with what of `level` that meets."""
        there = part[self.level[part] == level]

        def beginning(count: int) -> Numbers:
            first = part[:count]
            return np.union1d(first, overlapping(self.bucket, first, there))

        def weight(count: int) -> int:
            return int(self.bucket.bytes[beginning(count)].sum())

        if weight(len(part)) <= self.allowance.budget:
            return part
        counts = range(len(part))
        return beginning(bisect_right(counts, self.allowance.run, key=weight) - 1)

    def relabels(self) -> Iterator[Relabel]:
        moved = (self.level != np.maximum(self.bucket.level, 0)) & (self.level > 0) & ~self.taken
        for level in np.unique(self.level[moved]):
            places = np.flatnonzero(moved & (self.level == level))
            yield Relabel.of(self.bucket, places, int(level))

    def _rows_met(self, places: Numbers, level: Numbers) -> Numbers:
        """Rows of the fragments of a level, disjoint, that each of `places` overlaps."""
        level = level[np.argsort(self.bucket.lo[level], kind="stable")]
        before = np.concatenate([[0], np.cumsum(self.bucket.rows[level])])
        first = np.searchsorted(self.bucket.hi[level], self.bucket.lo[places], side="right")
        last = np.searchsorted(self.bucket.lo[level], self.bucket.hi[places], side="left")
        met: Numbers = before[np.maximum(last, first)] - before[first]
        return met

    def _relabel(self, places: Numbers, level: int) -> None:
        self._make_way(places, level)
        self.level[places] = level

    def _make_way(self, coming: Numbers, level: int) -> None:
        """Let `level` hold nothing that overlaps `coming`, by new labels alone."""
        while len(met := overlapping(self.bucket, coming, self.at(level))):
            # First those above: from then on nothing there overlaps what comes.
            self._relabel(met, level + 1)

    def _merge(self, places: Numbers, level: int) -> bool:
        """Merge fragments into a level, where they fit in; gives whether they do."""
        if not self.allowance.takes(self.bucket, places):
            return False
        self.taken[places] = True
        self._make_way(places, level)
        self.groups.append(Group.of(self.bucket, LOCALITY, places, level, self.layout))
        return True

    def _is_sorted(self, part: Numbers) -> bool:
        return len(part) == 1 and bool(self.bucket.level[part[0]] != UNSORTED)
