"""Locality: full fragments become sorted runs, in levels in each of which no sort keys overlap.

After Datadog's Husky (blog, 2025) and O'Neil et al., The log-structured merge-tree (1996). Level 0
holds full fragments as the size classes made them. When they overlap more than all runs do, they
are merged into a further run. It lies in the lowest level where nothing is in its way, so nothing
has to make way. Runs that are alike in size are merged, many at a time, as far as the rewriting
stays within what the size classes have cost.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from alluvium.plan.compaction.bucket import LOCALITY, UNSORTED, Bucket, MergeTask, Numbers, Relabel
from alluvium.plan.compaction.budget import RewriteBudget
from alluvium.plan.compaction.overlap import depth, meets
from alluvium.plan.compaction.overlap_clusters import OverlapClusters
from alluvium.plan.layout.settings import Layout


@dataclass
class LevelPlan:
    """New labels, to be given first, and merges; no fragment is in two of them."""

    relabels: list[Relabel] = field(default_factory=list)
    tasks: list[MergeTask] = field(default_factory=list)


def plan_levels(bucket: Bucket, layout: Layout, budget: RewriteBudget) -> LevelPlan:
    """What brings the fragments of an open bucket closer to their order.

    Afterwards, if it was so before, no two fragments of one level above 0 overlap, whichever of
    the merges come to nothing.
    """
    order = LevelPlanner(bucket, layout, budget)
    if not (order.level != UNSORTED).any():
        return LevelPlan()
    order.flush()
    if not order.tasks:
        order.consolidate()
    return LevelPlan(list(order.relabels()), order.tasks)


class LevelPlanner:
    def __init__(self, bucket: Bucket, layout: Layout, budget: RewriteBudget) -> None:
        self.bucket = bucket
        self.layout = layout
        self.budget = budget
        self.heavy = budget.heavy(bucket)
        self.raw = bucket.level == UNSORTED
        # Where each fragment will be once the new labels are given.
        self.level = np.where(bucket.is_full(layout), np.maximum(bucket.level, 0), UNSORTED)
        self.tasks: list[MergeTask] = []

    def rows(self, places: Numbers) -> int:
        return int(self.bucket.rows[places].sum())

    def flush(self) -> None:
        """Level 0 into a run.

        Each row is merged once, in batches as deep as there are runs by then. Batches and runs are
        then about as many as the root of twice the depth without merges. Fewer cannot be.
        """
        # What no merge can take stays here, and does not cause one.
        can_be_taken = ~self.heavy | (self.raw & ~self.bucket.stuck)
        entering = np.flatnonzero((self.level == 0) & can_be_taken)
        if self.rows(entering) <= self.bucket.level_0(self.layout):
            return
        if depth(self.bucket, entering) <= depth(self.bucket, np.flatnonzero(self.level > 0)):
            return
        # In pieces it can be merged; until then the others go on without it.
        in_pieces = entering[self.heavy[entering]]
        fits = [self.budget.takes(size, 0) for size in self.bucket.bytes[in_pieces].tolist()]
        in_pieces = in_pieces[fits]
        self._add(list(in_pieces[:, None]), [0] * len(in_pieces))
        clusters = OverlapClusters(self.bucket, entering[~self.heavy[entering]])
        alone = clusters.alone()
        alone = alone[~self.raw[alone]]
        self.level[alone] = self._lowest(self.bucket.lo[alone], self.bucket.hi[alone], alone)
        self._merge(list(self._entering(clusters)))

    def _entering(self, clusters: OverlapClusters) -> Iterator[Numbers]:
        """What is merged of each part of level 0: as much as fits, in the order of the keys."""
        is_raw = self.raw[clusters.places].tolist()
        unsorted = np.flatnonzero(is_raw)
        pieces = OverlapClusters(self.bucket, clusters.places[unsorted])
        piece_starts = unsorted[pieces.starts[:-1]].tolist()
        least = self.bucket.level_0(self.layout)
        for start, end in clusters:
            if end - start == 1 and not is_raw[start]:
                continue
            stop = clusters.fitting(self.budget, start, end)
            # A small run is not worth rewriting: what order may cost grows with time.
            is_much = (
                stop == end
                or clusters.rows_and_bytes(start, stop)[0] > least
                or clusters.size(start, stop + 1)[0] > self.budget.this_run
            )
            if is_much and self.budget.takes(*clusters.size(start, stop)):
                yield clusters.places[start:stop]
                continue
            # What is not sorted yet may be, whatever order has cost so far.
            first, last = (bisect_left(piece_starts, place) for place in (start, end))
            for begin, after in pairwise(pieces.starts[first : last + 1]):
                stop = pieces.fitting(self.budget, begin, after)
                if self.budget.takes(*pieces.size(begin, stop)):
                    yield pieces.places[begin:stop]

    def consolidate(self) -> None:
        """Runs that are alike in size, the smallest that are, into one."""
        can_be_taken = ~self.heavy & (self.level == self.bucket.level)
        # What waits in level 0 has paid for its own order.
        waiting = np.flatnonzero((self.level == 0) & can_be_taken)
        self.budget.ordered -= int(self.bucket.bytes[waiting].sum())
        every = np.flatnonzero((self.level > 0) & can_be_taken)
        every = every[np.argsort(self.level[every], kind="stable")]
        runs = np.split(every, np.flatnonzero(np.diff(self.level[every])) + 1)
        runs.sort(key=self.rows)
        rows = [self.rows(run) for run in runs]
        count = self.layout.growth
        for first in range(len(runs) - count + 1):
            if rows[first + count - 1] >= count * rows[first]:
                continue
            together = np.concatenate(runs[first : first + count])
            clusters = OverlapClusters(self.bucket, together)
            alone = clusters.alone()
            merges = list(self._pieces(clusters))
            if merges or len(alone) == len(together):
                # What overlaps nothing goes along by its label: up, so that labels come to an end.
                highest = self.level[together].max()
                others = np.setdiff1d(np.flatnonzero(self.level == highest), together)
                met = meets(self.bucket, others, self.bucket.lo[alone], self.bucket.hi[alone])
                self.level[alone[~met]] = highest
                self._merge(merges)
                return

    def _pieces(self, clusters: OverlapClusters) -> Iterator[Numbers]:
        """All of each part of several fragments, or where no run's budget holds it as much of its
        beginning as this one's does."""
        for start, end in clusters:
            if self.budget.in_one_run(clusters.size(start, end)[0]):
                stop = end
            else:
                most = clusters.bytes[start] + self.budget.this_run
                stop = bisect_right(clusters.bytes, most, start, end + 1) - 1
            if stop - start > 1 and self.budget.takes(*clusters.size(start, stop)):
                yield clusters.places[start:stop]

    def relabels(self) -> Iterator[Relabel]:
        moved = (self.level != np.maximum(self.bucket.level, 0)) & (self.level > 0)
        for level in np.unique(self.level[moved]):
            places = np.flatnonzero(moved & (self.level == level))
            yield Relabel.of(self.bucket, places, int(level))

    def _merge(self, merges: Sequence[Numbers]) -> None:
        """Merge fragments into runs; no merge overlaps another."""
        if not merges:
            return
        places = np.concatenate(merges)
        starts = np.cumsum([0, *map(len, merges[:-1])])
        lo = np.minimum.reduceat(self.bucket.lo[places], starts)
        hi = np.maximum.reduceat(self.bucket.hi[places], starts)
        self._add(merges, self._lowest(lo, hi, places).tolist())

    def _lowest(self, lo: Numbers, hi: Numbers, inputs: Numbers) -> Numbers:
        """The lowest level above 0 for each range of keys in which it overlaps nothing.

        inputs: what is in no range's way, as it is of one itself and no range overlaps another.
        """
        level = self.level.copy()
        level[inputs] = UNSORTED
        found = np.zeros(len(lo), dtype=np.int64)
        left, lowest = np.arange(len(lo)), 0
        while len(left):
            lowest += 1
            met = meets(self.bucket, np.flatnonzero(level == lowest), lo[left], hi[left])
            found[left[~met]] = lowest
            left = left[met]
        return found

    def _add(self, merges: Sequence[Numbers], levels: Sequence[int]) -> None:
        self.tasks += MergeTask.each(self.bucket, LOCALITY, merges, levels, self.layout)
