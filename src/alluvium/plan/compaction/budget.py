"""How much of a bucket may still be rewritten."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from alluvium.plan.compaction.bucket import Bucket


@dataclass
class Allowance:
    """Bytes that may still be rewritten.

    budget: in a whole run.
    run: in this run.
    ordered: of them, of fragments that are sorted already.
    limits: whether anything did not fit into the first or the second so far.
    """

    budget: float = float("inf")
    run: float = float("inf")
    ordered: float = float("inf")
    limits: bool = False

    def holds(self, size: int, ordered: int) -> bool:
        """Whether bytes, so many of them of sorted fragments, fit in what is left."""
        if size > self.run:
            self.limits = True
        return size <= self.run and ordered <= self.ordered

    def takes(self, size: int, ordered: int) -> bool:
        """Take bytes, so many of them of sorted fragments, from what is left, if it holds them."""
        if not self.holds(size, ordered):
            return False
        self.run -= size
        self.ordered -= ordered
        return True

    def in_one_run(self, size: int) -> bool:
        """Whether a whole run may rewrite so many bytes."""
        if size > self.budget:
            self.limits = True
        return size <= self.budget

    def heavy(self, bucket: Bucket) -> npt.NDArray[np.bool_]:
        """Fragments of which no two of the size fit into a whole run, and those that are stuck."""
        heavy = 2 * bucket.bytes > self.budget
        self.limits |= bool(heavy.any())
        found: npt.NDArray[np.bool_] = heavy | bucket.stuck
        return found
