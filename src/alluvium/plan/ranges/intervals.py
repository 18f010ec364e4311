"""Sorted disjoint closed intervals on one column."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from alluvium.plan.ranges.points import Points

# Indices of ranges or of values.
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Ranges:
    """Sorted disjoint closed intervals.

    Attributes:
        lo, hi: bounds, both inclusive, each a value of the batch.
        row_count: rows of the batch per interval.
    """

    lo: pa.Array
    hi: pa.Array
    row_count: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lo)

    def joined(self, cuts: Places) -> "Ranges":
        """The ranges between two cuts as one; a cut is the index of a range that stays a first."""
        if not len(self):
            return self
        starts = np.concatenate([[0], cuts]).astype(np.int64)
        ends = np.concatenate([cuts, [len(self)]]).astype(np.int64) - 1
        return Ranges(
            self.lo.take(pa.array(starts)),
            self.hi.take(pa.array(ends)),
            np.add.reduceat(self.row_count, starts),
        )


def one_each(points: Points) -> Ranges:
    """One range per distinct value. All ranges are these, joined: they cannot overlap or touch."""
    return Ranges(points.values, points.values, points.counts)
