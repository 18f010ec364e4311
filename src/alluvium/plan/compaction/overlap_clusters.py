"""Fragments of a bucket in clusters that do not overlap, and what is asked of each cluster.

A bucket may have as many clusters as fragments: no question about one looks at the others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from alluvium.plan.compaction.bucket import UNSORTED, Bucket, Numbers
from alluvium.plan.compaction.budget import RewriteBudget
from alluvium.plan.compaction.overlap import in_key_order


class OverlapClusters:
    """Fragments in the order of their keys, cluster by cluster.

    Attributes:
        places: of the fragments.
        starts: where in `places` the clusters start, and the end.
        rows, bytes, ordered: rows, bytes, and bytes of sorted fragments, of all before each of
            `places`, and of all.
    """

    def __init__(self, bucket: Bucket, places: Numbers) -> None:
        self.places, starts, _ = in_key_order(bucket, places)
        self.starts: list[int] = [*starts.tolist(), len(places)]
        size = bucket.bytes[self.places]
        self.rows = sums(bucket.rows[self.places])
        self.bytes = sums(size)
        self.ordered = sums(size * (bucket.level[self.places] != UNSORTED))

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Start and end of each cluster in `places`."""
        return pairwise(self.starts)

    def alone(self) -> Numbers:
        """The fragments of which each is a cluster."""
        starts = np.array(self.starts)
        return np.asarray(self.places[starts[:-1][np.diff(starts) == 1]])

    def size(self, start: int, end: int) -> tuple[int, int]:
        """Bytes, and bytes of sorted fragments, of some of `places`."""
        return self.bytes[end] - self.bytes[start], self.ordered[end] - self.ordered[start]

    def rows_and_bytes(self, start: int, end: int) -> tuple[int, int]:
        """Of some of `places`."""
        return self.rows[end] - self.rows[start], self.bytes[end] - self.bytes[start]

    def fitting(self, budget: RewriteBudget, start: int, end: int) -> int:
        """End of the first of some of `places` that fit in together; two at least, where there are
        two."""
        if budget.holds(*self.size(start, end)):
            return end
        fit = min(
            bisect_right(self.bytes, self.bytes[start] + budget.this_run, start, end + 1),
            bisect_right(self.ordered, self.ordered[start] + budget.ordered, start, end + 1),
        )
        return min(end, max(start + 2, fit - 1))


def sums(values: Numbers) -> list[int]:
    """Of all values before each, and of all."""
    return [0, *np.cumsum(values).tolist()]
