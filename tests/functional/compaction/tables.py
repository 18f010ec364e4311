"""Tables by path: small ones to compact, and what the log has of their files."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.transaction import AddAction
from functional.delta_rs import by_query
from pyspark.sql import SparkSession

SORT_BY = ("service", "id")
SCHEMA = pa.schema({"id": pa.int64(), "service": pa.string(), "message": pa.string()})


def make(session: SparkSession, path: Path, files: int, rows: int = 50, **properties: str) -> str:
    """A table with so many files of so many rows; its name in SQL.

    Spark takes two seconds to make one, so it makes those whose properties delta-rs does not know.
    """
    if not properties.keys() <= {"setTransactionRetentionDuration"}:
        return make_with_spark(session, path, files, rows, **properties)
    DeltaTable.create(path, SCHEMA, configuration={f"delta.{k}": v for k, v in properties.items()})
    land(path, files, rows)
    return f"delta.`{path}`"


def land(path: Path, files: int, rows: int = 50, first: int = 0) -> None:
    """A commit of delta-rs with the files and rows that `append` would put there."""
    commit(path, [_rows(first + number * rows, rows) for number in range(files)])


def commit(path: Path, files: Sequence[pa.Table], partition_by: str | None = None) -> None:
    """A commit of delta-rs that appends these files; each lies in one partition."""
    added = [_file(path, number, rows, partition_by) for number, rows in enumerate(files)]
    table, by = DeltaTable(path), partition_by and [partition_by]
    table.create_write_transaction(added, "append", table.schema(), by)


def make_with_spark(
    session: SparkSession, path: Path, files: int, rows: int = 50, **properties: str
) -> str:
    """The same, as Spark writes it under the session's settings."""
    table = f"delta.`{path}`"
    said = ", ".join(f"'delta.{key}' = '{value}'" for key, value in properties.items())
    session.sql(
        f"create table {table} (id bigint, service string, message string) using delta"
        + (f" tblproperties ({said})" if said else "")
    )
    append(session, path, files, rows)
    return table


def _rows(first: int, rows: int) -> pa.Table:
    """Those that `append` puts there."""
    ids = range(first, first + rows)
    columns = [
        list(ids),
        [f"s{one * 7919 % 31}" for one in ids],
        [hashlib.sha1(str(one).encode()).hexdigest() for one in ids],
    ]
    return pa.table(columns, schema=SCHEMA)


def _file(path: Path, number: int, rows: pa.Table, partition_by: str | None) -> AddAction:
    """A file of the table and its entry in the log."""
    values, folder = {}, ""
    if partition_by:
        (value,) = set(rows[partition_by].to_pylist())
        values, folder = {partition_by: str(value)}, f"{partition_by}={value}/"
        rows = rows.drop_columns(partition_by)
    name = f"{folder}part-{number:05}-{uuid.uuid4()}-c000.snappy.parquet"
    (path / name).parent.mkdir(exist_ok=True)
    pq.write_table(rows, path / name)
    ends = {one: _ends(rows[one]) for one in rows.column_names}
    stats = {
        "numRecords": len(rows),
        "minValues": {one: low for one, (low, _) in ends.items() if low is not None},
        "maxValues": {one: high for one, (_, high) in ends.items() if high is not None},
        "nullCount": {one: rows[one].null_count for one in rows.column_names},
    }
    size = (path / name).stat().st_size
    return AddAction(name, size, values, int(time.time() * 1000), True, json.dumps(stats))


def _ends(values: pa.ChunkedArray) -> tuple[Any, Any]:
    """The bounds of a column as the log has them."""
    if pa.types.is_nested(values.type):
        return None, None
    low, high = pc.min_max(values).as_py().values()
    if isinstance(low, dt.datetime):
        ceiled = high + dt.timedelta(milliseconds=1)
        return tuple(
            f"{one:%Y-%m-%dT%H:%M:%S}.{one.microsecond // 1000:03}Z" for one in (low, ceiled)
        )
    if isinstance(low, str):
        # Of texts the log keeps a prefix; one at the upper end is raised.
        return low[:32], high if len(high) <= 32 else high[:32] + "\x7f"
    return low, high


def append(session: SparkSession, path: Path, files: int, rows: int = 50, first: int = 0) -> None:
    values = session.range(first, first + files * rows).selectExpr(
        "id", "concat('s', id * 7919 % 31) as service", "sha1(string(id)) as message"
    )
    writer = values.coalesce(1).write.format("delta").option("maxRecordsPerFile", rows)
    writer.mode("append").save(str(path))


def read(path: Path, version: int | None = None) -> list[str]:
    """Every row as JSON, sorted: as delta-rs reads them, in a hundredth of Spark's time."""
    rows = by_query(DeltaTable(path, version=version)).to_pylist()
    return sorted(json.dumps(row, default=str) for row in rows)


def rows_of(session: SparkSession, table: str) -> list[str]:
    """The same as Spark reads them."""
    texts = session.sql(f"select to_json(struct(*)) as row from {table}").toArrow()
    return sorted(texts["row"].to_pylist())


def files_of(path: Path) -> list[Path]:
    """The table's data files, as delta-rs has them."""
    actions = pa.table(DeltaTable(path).get_add_actions())
    return [path / unquote(name) for name in actions["path"].to_pylist()]
