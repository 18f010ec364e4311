"""How much of a bucket may still be rewritten."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from alluvium.plan.compaction.bucket import Bucket


@dataclass
class RewriteBudget:
    """Bytes that may still be rewritten.

    whole_run: in a whole run.
    this_run: in this run.
    ordered: of them, of fragments that are sorted already.
    limits: whether anything did not fit into the first or the second so far.
    """

    whole_run: float = float("inf")
    this_run: float = float("inf")
    ordered: float = float("inf")
    limits: bool = False

    def holds(self, size: int, ordered: int) -> bool:
        """Whether bytes, so many of them of sorted fragments, fit in what is left."""
        if size > self.this_run:
            self.limits = True
        return size <= self.this_run and ordered <= self.ordered

    def takes(self, size: int, ordered: int) -> bool:
        """Take bytes, so many of them of sorted fragments, from what is left, if it holds them."""
        if not self.holds(size, ordered):
            return False
        self.this_run -= size
        self.ordered -= ordered
        return True

    def in_one_run(self, size: int) -> bool:
        """Whether a whole run may rewrite so many bytes."""
        if size > self.whole_run:
            self.limits = True
        return size <= self.whole_run

    def heavy(self, bucket: Bucket) -> npt.NDArray[np.bool_]:
        """Fragments of which no two of the size fit into a whole run, and those that are stuck."""
        heavy = 2 * bucket.bytes > self.whole_run
        self.limits |= bool(heavy.any())
        return np.asarray(heavy | bucket.stuck)
