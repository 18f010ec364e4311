"""Data files of a table as their rows, for brute force, and as the log describes them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from unit.ranges.columns import key

from alluvium.ranges import Fragments


@dataclass(frozen=True)
class File:
    """A file's values of one column (None: a row without), its bytes, and what its log says.

    `lo` and `hi` may be wider than the values; `known` is False if the log has no statistics.
    """

    values: tuple[Any, ...]
    size: int
    lo: Any
    hi: Any
    known: bool = True

    def may_hold(self, lo: Any, hi: Any) -> bool:
        """By its bounds alone."""
        if self.known and all(value is None for value in self.values):
            return False
        if not self.known or self.lo is None or self.hi is None or key(self.lo) > key(self.hi):
            return True
        return bool(key(self.lo) <= key(hi) and key(lo) <= key(self.hi))

    def may_lack(self) -> bool:
        return not self.known or None in self.values


@st.composite
def files(draw: st.DrawFn, kind: pa.DataType, one: st.SearchStrategy[Any]) -> File:
    """A file of a few rows; its bounds are right, wider, or missing."""

    def stored(value: Any) -> Any:  # a float32 is not the double that was drawn
        return pa.array([value], kind, from_pandas=False)[0].as_py()

    values = [stored(value) for value in draw(st.lists(st.none() | one, max_size=3))]
    present = [value for value in values if value is not None]
    wider = [stored(value) for value in draw(st.lists(one, max_size=2))]
    lo, hi = None, None
    if present:
        lo, hi = min([*present, *wider], key=key), max([*present, *wider], key=key)
        lo, hi = (None if draw(st.integers(0, 9)) == 0 else bound for bound in (lo, hi))
    return File(tuple(values), draw(st.integers(1, 9)), lo, hi, draw(st.integers(0, 9)) > 0)


def fragments(kind: pa.DataType, table: list[File]) -> Fragments:
    """As the log gives them."""

    def column(values: list[Any], of: pa.DataType) -> pa.Array:
        return pa.array(values, of, from_pandas=False)

    known = [file if file.known else None for file in table]
    return Fragments.read(
        pa.table(
            {
                "size": column([file.size for file in table], pa.int64()),
                "rows": column([f and len(f.values) for f in known], pa.int64()),
                "nulls": column([f and f.values.count(None) for f in known], pa.int64()),
                "lo": column([f and f.lo for f in known], kind),
                "hi": column([f and f.hi for f in known], kind),
            }
        )
    )


def plain(kind: pa.DataType, bounds: list[tuple[Any, Any, int]]) -> Fragments:
    """Files without rows that lack the column."""
    sizes = np.array([size for _, _, size in bounds], dtype=np.int64)
    lo, hi = (pa.array([b[i] for b in bounds], kind, from_pandas=False) for i in (0, 1))
    every = np.ones(len(bounds), dtype=np.bool_)
    return Fragments(lo, hi, sizes, ~every, every)
