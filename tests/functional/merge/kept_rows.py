"""Which line of the table under `keep_by` in docs/merge.md says what a column becomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# By the first two cells of a line.
ROWS = {
    "newer": ("newer than the row, or there is no row", "any"),
    "live": ("none, or not newer", "live"),
    "none": ("none, or not newer", "tombstone, none"),
}


def row_of(
    column: str, batch: Sequence[dict[str, Any]], place: int | None, *, is_live: bool
) -> str | None:
    """The line for a column of a key; None where its newest event has it.

    Args:
        batch: The key's events, in order.
        place: Of the table's row; None for none.
        is_live: Whether that row is no tombstone.
    """
    *before, newest = batch
    if newest["op"] == "d" or column not in (newest["lacks"] or ()):
        return None
    having = [one for one in before if one["op"] == "d" or column not in (one["lacks"] or ())]
    if having and (place is None or having[-1]["place"] > place):
        return "newer"
    return "live" if place is not None and is_live else "none"
