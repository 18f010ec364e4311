"""How many rows a row group may have, so that none of its column chunks is too large in memory.

A chunk's size is that of its encoded pages before compression: what a reader that decodes whole
chunks holds at once, and no less than what Parquet's writer does.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow.parquet as pq

# Of the memory that the estimate gives to a chunk: rows differ, and writing again costs more.
_MARGIN = 0.75


def rows_at_most(footers: Iterable[pq.FileMetaData], max_memory: int) -> int | None:
    """Rows that a row group may have, by the heaviest column of these files.

    Args:
        footers: of files whose rows are going to be written.
        max_memory: most bytes of a column chunk.

    Returns:
        At least 1; None where the files say nothing, because they have no rows.
    """
    heaviest = max(
        (size / rows for footer in footers for size, rows in _chunks(footer) if rows), default=0.0
    )
    return max(1, int(_MARGIN * max_memory / heaviest)) if heaviest else None


def rows_to_try(footers: Iterable[pq.FileMetaData], max_memory: int) -> int | None:
    """Rows for another try of files of which a column chunk is too large: half of what its row
    group has, or fewer; None where every chunk has its size, or no more than a row."""
    tries = [
        min(rows // 2, int(_MARGIN * max_memory * rows / size))
        for footer in footers
        for size, rows in _chunks(footer)
        if size > max_memory and rows > 1
    ]
    return max(1, min(tries)) if tries else None


def _chunks(footer: pq.FileMetaData) -> Iterable[tuple[int, int]]:
    """Bytes and rows of each column chunk."""
    for place in range(footer.num_row_groups):
        group = footer.row_group(place)
        for column in range(group.num_columns):
            yield group.column(column).total_uncompressed_size, group.num_rows
