"""A batch of any size as few ranges that tell the same about a table's files.

The bounds of the files cut the column into cells, each behind one bound up to the next. A file that
holds no value of the batch has its bounds between two neighbouring values, which so lie in two
cells. Smallest and largest value of each cell therefore tell exactly which files hold none, and
there is one cell more than there are bounds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from alluvium.plan.fragment import Fragments
from alluvium.plan.ranges.keys import has_numeric_keys, sort_keys
from alluvium.plan.ranges.locate import string_width


@dataclass(frozen=True)
class Cells:
    """The cells of a column.

    Attributes:
        bounds: sorted distinct keys of the files' bounds.
        width: bytes of a string that count in a key.
    """

    bounds: npt.NDArray[Any]
    width: int

    @staticmethod
    def of(fragments: Fragments) -> "Cells":
        both = [bound.drop_null() for bound in (fragments.lo, fragments.hi)]
        width = string_width(*both)
        return Cells(np.unique(sort_keys(pa.concat_arrays(both), width)), width)

    def split(self, values: pa.Array) -> pa.Table:
        """A row per cell that holds a value: cell (rising with the values), lo, hi, row_count."""
        values = values.drop_null()
        keys = sort_keys(values, self.width)
        if has_numeric_keys(values.type):
            # Not Arrow's minimum, which passes over NaN.
            order = np.argsort(keys)
            cells = np.searchsorted(self.bounds, keys[order])
            starts = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]])[: len(cells)])
            ends = np.append(starts[1:], len(cells))[: len(starts)]
            return pa.table(
                {
                    "cell": cells[starts],
                    "lo": values.take(pa.array(order[starts])),
                    "hi": values.take(pa.array(order[ends - 1])),
                    "row_count": (ends - starts).astype(np.int64),
                }
            )
        numbers = np.searchsorted(self.bounds, keys)
        grouped = pa.table({"cell": numbers, "value": values}).group_by("cell")
        parts = grouped.aggregate([("value", "min"), ("value", "max"), ("value", "count")])
        parts = parts.select(["cell", "value_min", "value_max", "value_count"])
        return parts.rename_columns(["cell", "lo", "hi", "row_count"]).sort_by("cell")
