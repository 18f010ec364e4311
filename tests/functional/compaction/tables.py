"""Tables by path: small ones to compact, and what the log has of their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import SparkSession

SORT_BY = ("service", "id")


def make(session: SparkSession, path: Path, files: int, rows: int = 50, **properties: str) -> str:
    """A table with so many files of so many rows; its name in SQL."""
    table = f"delta.`{path}`"
    said = ", ".join(f"'delta.{key}' = '{value}'" for key, value in properties.items())
    session.sql(
        f"create table {table} (id bigint, service string, message string) using delta"
        + (f" tblproperties ({said})" if said else "")
    )
    append(session, path, files, rows)
    return table


def append(session: SparkSession, path: Path, files: int, rows: int = 50, first: int = 0) -> None:
    values = session.range(first, first + files * rows).selectExpr(
        "id", "concat('s', id * 7919 % 31) as service", "sha1(string(id)) as message"
    )
    writer = values.coalesce(1).write.format("delta").option("maxRecordsPerFile", rows)
    writer.mode("append").save(str(path))


@contextmanager
def settings(session: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Spark settings that hold meanwhile."""
    for name, value in values.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name in values:
            session.conf.unset(name)


def rows_of(session: SparkSession, table: str) -> list[str]:
    """Every row as JSON, sorted."""
    texts = session.sql(f"select to_json(struct(*)) as row from {table}").toArrow()
    return sorted(texts["row"].to_pylist())


def files_of(path: Path) -> list[Path]:
    """The table's data files, as delta-rs has them."""
    actions = pa.table(DeltaTable(path).get_add_actions())
    return [path / unquote(name) for name in actions["path"].to_pylist()]
