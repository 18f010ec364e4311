"""Where the data files of a table lie among the values of a batch."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from alluvium.ranges.column_type import integer_values, is_floating, is_integral
from alluvium.ranges.points import Points, make_points

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Fragments:
    """Data files, with what the log knows of one column.

    Attributes:
        lo, hi: bounds of the column's values, both inclusive; they may be wider than the values
            are. NULL where the log does not say: such a file may hold anything.
        sizes: bytes of each file.
    """

    lo: pa.Array
    hi: pa.Array
    sizes: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True)
class Located:
    """Fragments by their place among the values of a batch.

    Attributes:
        gap: how many values lie below the fragment if none lies in it, so that it is within the
            gap before that value; -1 where a value lies in it, or nothing is known.
        sizes: bytes of each fragment.
        values: how many distinct values the batch has.
    """

    gap: Places
    sizes: npt.NDArray[np.int64]
    values: int

    def gap_bytes(self) -> npt.NDArray[np.int64]:
        """Bytes of the fragments within each gap: before the first value, …, behind the last."""
        found = np.zeros(self.values + 1, dtype=np.int64)
        np.add.at(found, self.gap[self.gap >= 0], self.sizes[self.gap >= 0])
        return found

    def kept(self, cuts: Places) -> npt.NDArray[np.bool_]:
        """Which fragments the ranges between these cuts leave to read.

        cuts: indices of the values that open a new range, without 0.
        """
        if not self.values:
            return np.zeros(len(self.gap), dtype=np.bool_)
        return ~np.isin(self.gap, np.concatenate([[0], cuts, [self.values]]))


def locate(points: Points, fragments: Fragments) -> Located:
    """Find the gap of the batch's values that each fragment lies in."""
    # Bounds in the wrong order say nothing; nor do NULLs, of which `greater` makes NULL.
    known = np.asarray(pc.fill_null(pc.invert(pc.greater(fragments.lo, fragments.hi)), False))
    lo, hi = (bound.filter(pa.array(known)) for bound in (fragments.lo, fragments.hi))
    below, upto = _search(points.values, lo, "left"), _search(points.values, hi, "right")
    gap = np.full(len(fragments), -1, dtype=np.int64)
    gap[known] = np.where(below == upto, below, -1)
    return Located(gap, fragments.sizes, len(points))


def _search(values: pa.Array, bounds: pa.Array, side: str) -> Places:
    """How many of the sorted values lie below each bound ("left"), or not above it ("right")."""
    if is_integral(values.type):
        places = np.searchsorted(integer_values(values), integer_values(bounds), side)  # type: ignore[call-overload]
    elif is_floating(values.type):
        places = np.searchsorted(values.to_numpy(), bounds.to_numpy(zero_copy_only=False), side)  # type: ignore[call-overload]
    else:
        order = make_points(pa.concat_arrays([values, bounds])).values
        ranks = [pc.index_in(one, order).to_numpy() for one in (values, bounds)]
        places = np.searchsorted(*ranks, side)  # type: ignore[call-overload]
    return np.asarray(places, dtype=np.int64)
