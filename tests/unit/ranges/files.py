"""Data files of a table as their rows, for brute force, and as the log describes them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from unit.ranges.columns import TYPES, key

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


@dataclass(frozen=True)
class Same:
    """Stands for a value that is there already: which one, counted around."""

    place: int


# Strategies are made once: to make them anew in each example costs more than to draw from them.
SIZE, ONE_IN_TEN = st.integers(1, 9), st.integers(0, 9)
SAME = st.integers(0, 6).map(Same)
VALUES = {name: st.lists(st.none() | one, max_size=9) for name, (_, one) in TYPES.items()}
NEAR = {name: st.lists(st.none() | one | SAME, max_size=3) for name, (_, one) in TYPES.items()}
WIDER = {name: st.lists(one | SAME, max_size=2) for name, (_, one) in TYPES.items()}
# Values of a batch, each with a 0, and others, each with the bytes of a file of its own.
BESIDE = {
    name: st.lists(
        st.tuples(one, st.sampled_from([0, 0, 0, 1, 2, 9])),
        min_size=6,
        max_size=9,
        unique_by=lambda pair: key(pair[0]),
    )
    for name, (_, one) in TYPES.items()
}


@st.composite
def files(draw: st.DrawFn, name: str, batch: list[Any]) -> File:
    """A file of a few rows, some with values of the batch; its bounds are right, wider, or missing.

    name: of the type.
    """
    kind = TYPES[name][0]

    def stored(drawn: list[Any]) -> list[Any]:  # a float32 is not the double that was drawn
        found = [
            batch[one.place % len(batch)] if isinstance(one, Same) else one
            for one in drawn
            if batch or not isinstance(one, Same)
        ]
        return list(pa.array(found, kind, from_pandas=False).to_pylist())

    values = stored(draw(NEAR[name]))
    present = [value for value in values if value is not None]
    wider = stored(draw(WIDER[name]))
    lo, hi = None, None
    if present:
        lo, hi = min([*present, *wider], key=key), max([*present, *wider], key=key)
        lo, hi = (None if draw(ONE_IN_TEN) == 0 else bound for bound in (lo, hi))
    return File(tuple(values), draw(SIZE), lo, hi, draw(ONE_IN_TEN) > 0)


def table(draw: st.DrawFn, name: str, batch: list[Any], most: int) -> list[File]:
    """At most so many files, of which some have values of the batch."""
    present = [value for value in batch if value is not None]
    return draw(st.lists(files(name, present), max_size=most))


def beside(draw: st.DrawFn, name: str) -> tuple[list[Any], list[File]]:
    """A batch, and files of which none has a value of it: most lie between two of these."""
    drawn = draw(BESIDE[name])
    files = [File((one,), size, one, one) for one, size in drawn if size]
    return [one for one, size in drawn if not size], files


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
