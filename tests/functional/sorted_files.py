"""The data files of a table, and whether pyarrow finds their rows in order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession


def files_of(session: SparkSession, table: str) -> set[Path]:
    """The live files of the newest version."""
    session.sql(f"refresh table {table}")
    return {Path(name.removeprefix("file:")) for name in session.table(table).inputFiles()}


def rows_in(path: Path, columns: Sequence[str]) -> list[tuple[object, ...]]:
    """The file's rows as they lie in it."""
    read = pq.ParquetFile(path).read(columns=list(columns)).to_pylist()
    return [tuple(row[name] for name in columns) for row in read]


def is_sorted(path: Path, columns: Sequence[str]) -> bool:
    """Whether the rows rise by these columns, NULL first."""
    keys = [tuple((one is not None, one) for one in row) for row in rows_in(path, columns)]
    return keys == sorted(keys)
