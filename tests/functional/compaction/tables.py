"""Tables by path: small ones to compact, and what the log has of their files."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.transaction import AddAction
from pyspark.sql import SparkSession

SORT_BY = ("service", "id")
SCHEMA = pa.schema({"id": pa.int64(), "service": pa.string(), "message": pa.string()})


def make(session: SparkSession, path: Path, files: int, rows: int = 50, **properties: str) -> str:
    """A table with so many files of so many rows; its name in SQL.

    Spark takes two seconds to make one, so it makes those that have properties.
    """
    if properties:
        return make_with_spark(session, path, files, rows, **properties)
    made = DeltaTable.create(path, SCHEMA)
    added = [_file(path, number, rows) for number in range(files)]
    made.create_write_transaction(added, "append", SCHEMA)
    return f"delta.`{path}`"


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


def _file(path: Path, number: int, rows: int) -> AddAction:
    """A file with the rows that `append` puts there, and its entry in the log."""
    ids = range(number * rows, (number + 1) * rows)
    columns = [
        list(ids),
        [f"s{one * 7919 % 31}" for one in ids],
        [hashlib.sha1(str(one).encode()).hexdigest() for one in ids],
    ]
    name = f"part-{number:05}-{uuid.uuid4()}-c000.snappy.parquet"
    pq.write_table(pa.table(columns, schema=SCHEMA), path / name)
    # Of texts the log keeps a prefix; one at the upper end is raised.
    stats = {
        "numRecords": rows,
        "minValues": {
            name: low if name == "id" else low[:32]
            for name, low in zip(SCHEMA.names, map(min, columns), strict=True)
        },
        "maxValues": {
            name: high if name == "id" or len(high) <= 32 else high[:32] + "\x7f"
            for name, high in zip(SCHEMA.names, map(max, columns), strict=True)
        },
        "nullCount": dict.fromkeys(SCHEMA.names, 0),
    }
    size = (path / name).stat().st_size
    return AddAction(name, size, {}, int(time.time() * 1000), True, json.dumps(stats))


def append(session: SparkSession, path: Path, files: int, rows: int = 50, first: int = 0) -> None:
    values = session.range(first, first + files * rows).selectExpr(
        "id", "concat('s', id * 7919 % 31) as service", "sha1(string(id)) as message"
    )
    writer = values.coalesce(1).write.format("delta").option("maxRecordsPerFile", rows)
    writer.mode("append").save(str(path))


def rows_of(session: SparkSession, table: str) -> list[str]:
    """Every row as JSON, sorted."""
    texts = session.sql(f"select to_json(struct(*)) as row from {table}").toArrow()
    return sorted(texts["row"].to_pylist())


def files_of(path: Path) -> list[Path]:
    """The table's data files, as delta-rs has them."""
    actions = pa.table(DeltaTable(path).get_add_actions())
    return [path / unquote(name) for name in actions["path"].to_pylist()]
