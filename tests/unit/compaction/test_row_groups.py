"""Rows of a row group, by the footers of real Parquet files."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alluvium.plan.compaction.row_groups import alike, rows_at_most, rows_to_try


def footer(rows: int, *, wide: int = 100, per_group: int = 2**20, seed: int = 0) -> pq.FileMetaData:
    """Of a file with a number, and a text of so many bytes that does not shrink, in each row."""
    table = pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "text": [f"{seed}-{place}-".ljust(wide, "x") for place in range(rows)],
        }
    )
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=per_group, use_dictionary=False)
    file.seek(0)
    return pq.read_metadata(file)


def written(per_group: int, rows: int = 5000, wide: int = 100) -> int:
    """Bytes of the largest column chunk with so many rows a group."""
    made = footer(rows, wide=wide, per_group=per_group)
    return max(
        made.row_group(group).column(column).total_uncompressed_size
        for group in range(made.num_row_groups)
        for column in range(2)
    )


@pytest.mark.parametrize("max_memory", [10_000, 50_000, 200_000])
def test_as_many_rows_as_fit(max_memory: int) -> None:
    rows = rows_at_most([footer(1000)], max_memory)
    assert rows is not None
    assert 0.5 * max_memory < written(rows) <= max_memory


def test_the_heaviest_column_of_the_heaviest_file_counts() -> None:
    light, heavy = footer(1000, wide=10), footer(1000, wide=1000)
    assert rows_at_most([light, heavy], 10**6) == rows_at_most([heavy], 10**6)
    assert rows_at_most([heavy], 10**6) < 1000 < rows_at_most([light], 10**6)


def test_a_few_heavy_rows_are_not_taken_for_all() -> None:
    light, heavy = footer(100_000, wide=10), footer(10, wide=10_000)
    rows = rows_at_most([light, heavy], 10**6)
    assert rows is not None
    # They fit in next to as many others.
    assert 20_000 < rows < 0.75 * 10**6 / 10
    alone = rows_at_most([heavy], 10**6)
    assert alone is not None
    assert alone < 100


@given(st.dictionaries(st.integers(0, 50), st.none() | st.integers(1, 10**9)))
def test_alike_limits_are_at_least_half(limits: dict[int, int | None]) -> None:
    found = list(alike(limits))
    assert sorted(number for _, together in found for number in together) == sorted(limits)
    for limit, together in found:
        for own in (limits[number] for number in together):
            assert own == limit if limit is None or own is None else own / 2 <= limit <= own
    # Powers of two apart, at most 30 of them, and none.
    assert len(found) <= 31


def test_at_least_a_row() -> None:
    assert rows_at_most([footer(5, wide=10_000)], 1000) == 1


def test_files_without_rows_say_nothing() -> None:
    assert rows_at_most([], 10**6) is None
    assert rows_at_most([footer(0)], 10**6) is None
    assert rows_to_try([], 10**6) is None
    assert rows_to_try([footer(0)], 10**6) is None


def test_another_try_only_where_a_chunk_is_too_large() -> None:
    made = footer(5000, per_group=1000)
    size = written(1000)
    assert rows_to_try([made], size) is None
    rows = rows_to_try([made], size - 1)
    assert rows is not None
    assert rows <= 500
    assert written(rows) < size


def test_a_chunk_far_too_large_needs_one_more_try() -> None:
    rows = rows_to_try([footer(5000)], 20_000)
    assert rows is not None
    assert written(rows) <= 20_000


def test_a_row_that_is_too_large_by_itself_is_not_tried_again() -> None:
    assert rows_to_try([footer(3, wide=10_000, per_group=1)], 1000) is None
    assert rows_to_try([footer(3, wide=10_000, per_group=2)], 1000) == 1


def test_a_tail_is_enough(tmp_path: Path) -> None:
    """What `alluvium.delta.files.footers` reads: a footer without the file before it."""
    file = tmp_path / "file.parquet"
    pq.write_table(pa.table({"a": list(range(1000))}), file, row_group_size=10)
    data = file.read_bytes()
    length = int.from_bytes(data[-8:-4], "little") + 8
    assert pq.read_metadata(pa.BufferReader(data[-length:])) == pq.read_metadata(file)
