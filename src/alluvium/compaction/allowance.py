"""How much of a bucket may still be rewritten."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from alluvium.compaction.bucket import UNSORTED, Bucket, Numbers


@dataclass
class Allowance:
    """Bytes that may still be rewritten.

    budget: in a whole run.
    run: in this run.
    ordered: of them, of fragments that are sorted already.
    """

    budget: float = float("inf")
    run: float = float("inf")
    ordered: float = float("inf")

    def holds(self, bucket: Bucket, places: Numbers) -> bool:
        """Whether the bytes of `places` fit in what is left, and none of them is stuck."""
        if bucket.stuck[places].any():
            return False
        every, ordered = (int(one.sum()) for one in _sizes(bucket, places))
        return every <= self.run and ordered <= self.ordered

    def takes(self, bucket: Bucket, places: Numbers) -> bool:
        """Take the bytes of `places` from what is left, if it holds them."""
        if not self.holds(bucket, places):
            return False
        every, ordered = (int(one.sum()) for one in _sizes(bucket, places))
        self.run -= every
        self.ordered -= ordered
        return True

    def heavy(self, bucket: Bucket) -> npt.NDArray[np.bool_]:
        """Fragments of which no two of the size fit into a whole run, and those that are stuck."""
        found: npt.NDArray[np.bool_] = (2 * bucket.bytes > self.budget) | bucket.stuck
        return found

    def part(self, bucket: Bucket, places: Numbers) -> Numbers:
        """The first of `places` that fit in together; two at least, where there are two."""
        every, ordered = _sizes(bucket, places)
        fits = (np.cumsum(every) <= self.run) & (np.cumsum(ordered) <= self.ordered)
        return places[: max(2, int(fits.sum()))]


def _sizes(bucket: Bucket, places: Numbers) -> tuple[Numbers, Numbers]:
    size = bucket.bytes[places]
    return size, size * (bucket.level[places] != UNSORTED)
