"""From the values of a batch to ranges. Pure: Arrow and NumPy in, Arrow and NumPy out."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from alluvium.ranges.errors import RangeError
from alluvium.ranges.points import Points, make_points, positions

METHODS = ("none", "min_max", "gaps", "kmeans")
# Spark's driver takes about a second for an OR of 500 ranges, and 30 for one of 2,000.
MAX_K = 256
DEFAULT_K = 3
DEFAULT_SAMPLE_ROWS = 50_000


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

    def joined(self, cuts: npt.NDArray[np.int64]) -> "Ranges":
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


def plan(
    values: pa.Array | pa.ChunkedArray,
    method: str = "min_max",
    k: int = DEFAULT_K,
    sample_rows: int = DEFAULT_SAMPLE_ROWS,
) -> Ranges:
    """Plan ranges over the values of one column.

    Every value that is not NULL lies in exactly one range. Fewer than `k` distinct values give one
    range each (for `gaps` and `kmeans`); no value, or method `none`, gives no range.

    Args:
        values: the column, in any order.
        method: `none`, `min_max` (one range), `gaps` (between the k-1 widest gaps of the distinct
            values) or `kmeans` (scikit-learn on normalised values).
        k: most ranges to plan, 1 to 256.
        sample_rows: most distinct values that k-means is fitted on; at least `k`.

    Raises:
        RangeError: an argument or the column's type is not accepted.
    """
    check_request(method, k, sample_rows)
    points = make_points(values[:0] if method == "none" else values)
    return one_each(points).joined(choose_cuts(points, method, k, sample_rows))


def check_request(method: str, k: int, sample_rows: int) -> None:
    """Raise RangeError for an argument of `plan` that is not accepted."""
    if method not in METHODS:
        raise RangeError(f"unknown range method {method!r}: accepted are {', '.join(METHODS)}")
    if not _is_integer(k) or not 1 <= k <= MAX_K:
        raise RangeError(f"k is {k!r}: accepted is a whole number from 1 to {MAX_K}")
    if not _is_integer(sample_rows) or sample_rows < k:
        raise RangeError(f"sample_rows is {sample_rows!r}: accepted is a whole number from k = {k}")


def one_each(points: Points) -> Ranges:
    """One range per distinct value. All ranges are these, joined: they cannot overlap or touch."""
    return Ranges(points.values, points.values, points.counts)


def choose_cuts(points: Points, method: str, k: int, sample_rows: int) -> npt.NDArray[np.int64]:
    """Indices of the values that open a new range, rising, without 0; at most k - 1."""
    if method == "min_max" or k == 1:
        return np.array([], dtype=np.int64)
    if len(points) <= k:
        return np.arange(1, len(points))
    if method == "gaps":
        return widest_gaps(one_each(points), k)
    from alluvium.ranges.kmeans import kmeans_cuts  # scikit-learn takes a second to import

    return kmeans_cuts(points, k, sample_rows)


def widest_gaps(ranges: Ranges, k: int) -> npt.NDArray[np.int64]:
    """Indices of the ranges behind the `k` - 1 widest gaps; of equal gaps the later ones."""
    bounds = make_points(pa.concat_arrays([ranges.lo, ranges.hi])).values
    places = positions(bounds)
    lo_places = places[pc.index_in(ranges.lo, bounds).to_numpy()]
    hi_places = places[pc.index_in(ranges.hi, bounds).to_numpy()]
    narrow_to_wide = np.argsort(lo_places[1:] - hi_places[:-1], kind="stable")
    return np.sort(narrow_to_wide[max(0, len(narrow_to_wide) - (k - 1)) :]) + 1


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
