"""Locality: full fragments climb levels in each of which no two overlap in row keys.

After Datadog's Husky (blog, 2025) and O'Neil et al., The log-structured merge-tree (1996). Level 0
holds full fragments as the size tiers made them. When it is over its limit it is merged into level
1, and what is in the way there makes way by new labels, level by level, which costs no rewriting.
So each merge leaves a sorted run; runs that are alike in size are merged, many at a time, as far as
the rewriting stays within what the size tiers have cost.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from alluvium.compaction.allowance import Allowance
from alluvium.compaction.bucket import LOCALITY, UNSORTED, Bucket, Group, Numbers, Relabel
from alluvium.compaction.layout import Layout
from alluvium.compaction.overlap import overlapping
from alluvium.compaction.parts import Parts, sums

# What is in the way is merged along where it is this share of what comes, or less.
_LITTLE = 0.25
# A place in the order of keys before all that there are, and that of unknown ones.
_BEFORE_ALL = -2


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
    if not (climb.level != UNSORTED).any():
        return Locality()
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
        # In pieces it can be merged; until then the others go on without it.
        in_pieces = entering[heavy[entering]]
        fits = [self.allowance.takes(size, 0) for size in self.bucket.bytes[in_pieces].tolist()]
        self._merge(list(in_pieces[fits, None]), 0)
        parts = Parts(self.bucket, entering[~heavy[entering]])
        alone = parts.alone()
        self._relabel(alone[~raw[alone]], 1)
        self._merge(list(self._entering(parts, raw)), 1)

    def _entering(self, parts: Parts, raw: npt.NDArray[np.bool_]) -> Iterator[Numbers]:
        """What is merged into level 1: of each part as much as fits, in the order of the keys."""
        there = Parts(self.bucket, self.at(1))
        is_raw = raw[parts.places].tolist()
        unsorted = np.flatnonzero(is_raw)
        pieces = Parts(self.bucket, parts.places[unsorted])
        piece_starts = unsorted[pieces.starts[:-1]].tolist()
        # Where what is merged ends so far. It leaves nothing in level 1 that starts before.
        merged = _BEFORE_ALL
        for part, (start, end) in enumerate(parts):
            if end - start == 1 and not is_raw[start]:
                continue
            end_of_chosen = parts.fitting(self.allowance, start, end)
            chosen, size = parts.places[start:end_of_chosen], parts.size(start, end_of_chosen)
            along = self._along(parts, part, end_of_chosen, there, merged)
            more = int(self.bucket.bytes[along].sum())
            if len(along) and self.allowance.takes(size[0] + more, size[1] + more):
                yield np.concatenate([chosen, along])
            elif self.allowance.takes(*size):
                yield chosen
            else:
                # What is not sorted yet may be, whatever order has cost so far.
                first, last = (bisect_left(piece_starts, place) for place in (start, end))
                for begin, stop in pairwise(pieces.starts[first : last + 1]):
                    stop = pieces.fitting(self.allowance, begin, stop)
                    if self.allowance.takes(*pieces.size(begin, stop)):
                        yield pieces.places[begin:stop]
                        merged = pieces.reach[stop - 1]
                continue
            merged = parts.reach[end_of_chosen - 1]

    def _along(self, parts: Parts, part: int, end: int, there: Parts, merged: int) -> Numbers:
        """What the beginning of a part meets in level 1, where it is to be merged along.

        Args:
            parts: all that enter.
            part: which of them.
            end: of the beginning, in `parts.places`.
            there: level 1.
            merged: what starts before is no longer in level 1.
        """
        first = max(bisect_right(there.hi, parts.lo[part]), bisect_left(there.lo, merged))
        last = bisect_left(there.lo, parts.reach[end - 1])
        if first >= last:
            return there.places[:0]
        start_of_met, end_of_met = there.starts[first], there.starts[last]
        size, _ = there.size(start_of_met, end_of_met)
        little = size <= _LITTLE * parts.size(parts.starts[part], end)[0]
        # It must not reach over other parts, which are merged by themselves.
        before = part > 0 and there.lo[first] < parts.hi[part - 1]
        behind = part + 1 < len(parts) and there.hi[last - 1] > parts.lo[part + 1]
        met = there.places[start_of_met:end_of_met]
        if not little or before or behind or self.bucket.stuck[met].any():
            return met[:0]
        return met

    def promote(self) -> None:
        """Fragments of a level over its limit to the next one, those first that meet least."""
        every = int(self.bucket.rows.sum())
        for level in range(1, int(self.level.max(initial=0)) + 1):
            limit = self.bucket.rows_of(level, self.layout)
            if limit >= every:
                return
            here = self.at(level)
            over = self.rows(here) - limit
            if over <= 0:
                continue
            here = here[np.argsort(self._rows_met(here, self.at(level + 1)), kind="stable")]
            enough = int(np.searchsorted(np.cumsum(self.bucket.rows[here]), over)) + 1
            self._relabel(here[:enough], level + 1)

    def consolidate(self) -> None:
        """Runs that are alike in size, next to one another, into the highest one's level."""
        heavy = self.allowance.heavy(self.bucket)
        every = np.flatnonzero((self.level > 0) & ~self.taken)
        every = every[np.argsort(self.level[every], kind="stable")]
        levels = np.split(every, np.flatnonzero(np.diff(self.level[every])) + 1)
        rows = [self.rows(level) for level in levels]
        count = self.layout.growth
        for first in range(len(levels) - count + 1):
            block, sizes = levels[first : first + count], rows[first : first + count]
            if max(sizes) >= count * min(sizes):
                continue
            together = np.concatenate(block)
            if (self.level[together] != self.bucket.level[together]).any():
                # What has just made way does so by its label, whatever becomes of a merge.
                continue
            highest = int(self.level[block[-1][0]])
            parts = Parts(self.bucket, together)
            merges = list(self._pieces(Parts(self.bucket, together[~heavy[together]]), highest))
            alone = parts.alone()
            if merges or len(alone) == len(together):
                # Labels alone would only move what overlaps elsewhere.
                self._merge(merges, highest)
                self._relabel(alone[self.level[alone] != highest], highest)
                return

    def _pieces(self, parts: Parts, level: int) -> Iterator[Numbers]:
        """All of each part of several fragments, or where no run's budget holds it as much of its
        beginning as this one's does, with what of `level` that meets."""
        there = self.level[parts.places] == level
        along = np.array(sums(self.bucket.bytes[parts.places] * there))
        lo, hi = self.bucket.lo[parts.places], np.array(parts.reach, dtype=np.int64)
        # For a beginning up to each fragment where what it meets ends, and the bytes of both.
        behind = np.arange(1, len(lo) + 1)
        met = np.maximum(np.searchsorted(lo, hi, side="left"), behind)
        size = (np.array(parts.bytes)[behind] + along[met] - along[behind]).tolist()
        for start, end in parts:
            if end - start == 1:
                continue
            if self.allowance.in_one_run(parts.size(start, end)[0]):
                piece, taken = parts.places[start:end], parts.size(start, end)[0]
            else:
                before = parts.bytes[start]
                last = bisect_right(size, before + self.allowance.run, start, end - 1) - 1
                if last < start:
                    continue
                among = slice(last + 1, int(met[last]))
                more = parts.places[among][there[among]]
                piece = np.concatenate([parts.places[start : last + 1], more])
                taken = size[last] - before
            if len(piece) > 1 and self.allowance.takes(taken, taken):
                yield piece

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
        """Let fragments be of a level, and what they overlap there of the next, and so on."""
        while len(places):
            met = overlapping(self.bucket, places, self.at(level))
            self.level[places] = level
            places, level = met, level + 1

    def _merge(self, merges: Sequence[Numbers], level: int) -> None:
        """Merge fragments into a level, out of which what they overlap there makes way."""
        if not merges:
            return
        places = np.concatenate(merges)
        self.taken[places] = True
        if level > 0:
            self._relabel(overlapping(self.bucket, places, self.at(level)), level + 1)
        self.groups += Group.each(self.bucket, LOCALITY, merges, [level] * len(merges), self.layout)
