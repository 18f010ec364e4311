"""How much of a table falls on a day."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from alluvium.plan.fragment import Fragments
from alluvium.plan.layout.settings import Layout

_DAY = 86_400e6  # microseconds


def fragments_a_day(files: Fragments, layout: Layout) -> float | None:
    """Full fragments that the rows of a day fill, on average between the first and the last day.

    Args:
        files: with what the log says of a date, or a timestamp in microseconds, and of rows.
        layout: says when a fragment is full.

    Returns:
        None where no file's bounds are known.
    """
    lo, hi = pc.min(files.lo), pc.max(files.hi)
    if not (lo.is_valid and hi.is_valid):
        return None
    if pa.types.is_date(lo.type):
        first, last = lo.cast(pa.int32()).as_py(), hi.cast(pa.int32()).as_py() + 1
    else:  # as integers: Python's timestamps hold fewer years
        first, last = (one.cast(pa.int64()).as_py() / _DAY for one in (lo, hi))
    fill = max(
        (pc.sum(files.rows).as_py() or 0) / layout.target_rows,
        int(files.sizes.sum()) / layout.target_bytes,
    )
    return float(fill / max(1.0, last - first))
