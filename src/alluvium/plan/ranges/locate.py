"""Where the data files of a table lie among the values of a batch."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from alluvium.plan.fragment import Flags, Fragments
from alluvium.plan.ranges.column_type import is_floating
from alluvium.plan.ranges.errors import RangeError
from alluvium.plan.ranges.intervals import Places, Ranges
from alluvium.plan.ranges.keys import sort_keys

# Bytes of a string that are compared with a bound. Delta writes 33 characters at most. Of longer
# bounds the rest is not looked at, and a file that only it would tell apart is kept.
_WIDEST = 256


@dataclass(frozen=True)
class Kept:
    """Files of a table that ranges or a predicate leave to read, and all of them.

    Attributes:
        skipped: files that automata left out beyond that; they are none of `files`.
    """

    files: int
    files_total: int
    bytes: int
    bytes_total: int
    skipped: int = 0

    def figures(self) -> dict[str, int]:
        """By the names that figures of a merge have."""
        return {
            "files_kept": self.files,
            "files_total": self.files_total,
            "bytes_kept": self.bytes,
            "bytes_total": self.bytes_total,
            "files_skipped": self.skipped,
        }


@dataclass(frozen=True)
class Located:
    """Fragments by their place among the ranges of a batch.

    Attributes:
        gap: how many ranges lie below the fragment if it meets none. It is then within the gap
            before that range. -1 where it meets one, or nothing is known.
        sizes: bytes of each fragment.
        ranges: how many ranges there are.
    """

    gap: Places
    sizes: npt.NDArray[np.int64]
    ranges: int

    def gap_sums(self, weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Weights of the fragments within each gap: before the first range, …, behind the last."""
        within = self.gap >= 0
        found = np.zeros(self.ranges + 1, dtype=weights.dtype)
        np.add.at(found, self.gap[within], weights[within])
        return found

    def among(self, chosen: Flags) -> "Located":
        """The same with nothing to be saved on the other fragments."""
        return Located(np.where(chosen, self.gap, -1), self.sizes, self.ranges)

    def kept(self, cuts: Places) -> Flags:
        """Which fragments the ranges between these cuts leave to read.

        cuts: indices of the ranges that open a new one, without 0.
        """
        if not self.ranges:
            return np.zeros(len(self.gap), dtype=np.bool_)
        return ~np.isin(self.gap, np.concatenate([[0], cuts, [self.ranges]]))


def locate(ranges: Ranges, fragments: Fragments, or_null: bool) -> Located:
    """Find the gap between the ranges that each fragment lies in.

    or_null: rows of the table without a value in the column are to be read as well.

    Raises RangeError if the column has another type in the table than in the batch.
    """
    check_same_type(ranges.lo.type, fragments)
    gap = np.full(len(fragments), -1, dtype=np.int64)
    known = np.asarray(pc.and_(fragments.lo.is_valid(), fragments.hi.is_valid()))
    lo, hi = (bound.filter(pa.array(known)) for bound in (fragments.lo, fragments.hi))
    width = string_width(lo, hi)
    lo_keys, hi_keys = sort_keys(lo, width), sort_keys(hi, width)
    starts = sort_keys(ranges.lo, width)
    ends = starts if ranges.lo is ranges.hi else sort_keys(ranges.hi, width)
    below, upto = np.searchsorted(ends, lo_keys), np.searchsorted(starts, hi_keys, "right")
    # Bounds in the wrong order say nothing.
    ordered = lo_keys <= hi_keys
    if is_floating(lo.type):
        ordered |= np.isnan(hi_keys)
    gap[known] = np.where((below == upto) & ordered, below, -1)
    gap[~fragments.has_value] = 0  # in no range at all, like what lies before the first
    if or_null:
        gap[fragments.has_null] = -1
    return Located(gap, fragments.sizes, len(ranges))


def check_same_type(kind: pa.DataType, fragments: Fragments) -> None:
    """Raise RangeError if a batch's column has another type than the table's."""
    if fragments.lo.type != kind or fragments.hi.type != kind:
        raise RangeError(
            f"the column is {kind} in the batch and {fragments.lo.type} in the table: "
            "accepted is one type in both"
        )


def string_width(*bounds: pa.Array) -> int:
    """Bytes of strings that tell them from all of these bounds, which are all of one type."""
    if not pa.types.is_string(bounds[0].type):
        return 0
    longest = [pc.max(pc.binary_length(one)).as_py() or 0 for one in bounds]
    return min(_WIDEST, max(longest))


def measure(fragments: Fragments, kept: Flags) -> Kept:
    """Count the kept fragments."""
    sizes = fragments.sizes
    return Kept(int(kept.sum()), len(fragments), int(sizes[kept].sum()), int(sizes.sum()))
