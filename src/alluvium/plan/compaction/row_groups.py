"""How many rows a row group may have, so that none of its column chunks is too large in memory.

A chunk's size is that of its encoded pages before compression. A reader that decodes whole chunks
holds so much at once; Parquet's writer does not hold more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import pyarrow.parquet as pq

# Of the memory that the estimate gives to a chunk: rows differ, and writing again costs more.
_MARGIN = 0.75


def rows_at_most(footers: Iterable[pq.FileMetaData], max_memory: int) -> int | None:
    """Rows that a row group may have, by the heaviest rows of these files.

    Args:
        footers: of files whose rows are going to be written.
        max_memory: most bytes of a column chunk.

    Returns:
        At least 1; None where the files say nothing, because they have no rows.
    """
    columns = defaultdict(list)
    for footer in footers:
        for name, size, rows in _chunks(footer):
            if size and rows:
                columns[name].append((size, rows))
    most = [_rows_within(_MARGIN * max_memory, chunks) for chunks in columns.values()]
    return max(1, min(most)) if most else None


def _rows_within(room: float, chunks: Sequence[tuple[int, int]]) -> int:
    """Rows of a column that fit in so many bytes, were its heaviest ones to lie together."""
    every, total = sum(rows for _, rows in chunks), sum(size for size, _ in chunks)
    if total <= room:
        return int(every * room / total)
    taken = 0
    for size, rows in sorted(chunks, key=lambda one: one[0] / one[1], reverse=True):
        if size > room:
            return taken + int(rows * room / size)
        room -= size
        taken += rows
    return taken


def alike(limits: Mapping[int, int | None]) -> Iterator[tuple[int | None, list[int]]]:
    """Merges whose row groups may have one limit: none, or each at least half of its own."""

    def magnitude(number: int) -> int:
        return (limits[number] or 0).bit_length()

    for _, same in groupby(sorted(limits, key=magnitude), magnitude):
        together = list(same)
        yield min((limits[number] for number in together), key=lambda one: one or 0), together


def rows_to_try(footers: Iterable[pq.FileMetaData], max_memory: int) -> int | None:
    """Rows for another try of files with a column chunk that is too large: half of what its row
    group has, or fewer. None where every chunk has its size, or no more than a row."""
    tries = [
        min(rows // 2, int(_MARGIN * max_memory * rows / size))
        for footer in footers
        for _, size, rows in _chunks(footer)
        if size > max_memory and rows > 1
    ]
    return max(1, min(tries)) if tries else None


def _chunks(footer: pq.FileMetaData) -> Iterable[tuple[str, int, int]]:
    """Column, bytes and rows of each column chunk."""
    for place in range(footer.num_row_groups):
        group = footer.row_group(place)
        for column in range(group.num_columns):
            chunk = group.column(column)
            yield chunk.path_in_schema, chunk.total_uncompressed_size, group.num_rows
