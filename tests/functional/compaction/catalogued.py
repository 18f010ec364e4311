"""Tables of the catalog, in each kind that is compacted, and what their logs and files hold."""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import pyarrow as pa
from deltalake import DeltaTable
from functional import delta_rs
from functional.compaction import tables
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

NUMBER = itertools.count()
COLUMNS = "service string, status int, at timestamp, message string, tags map<string, string>"
VECTORS = "'delta.enableDeletionVectors'='true'"
MAPPED = "'delta.columnMapping.mode'='name'"
DAY = (
    f"({COLUMNS}, day date generated always as (cast(at as date))) using delta partitioned by (day)"
)
KINDS = {
    "plain": f"({COLUMNS}) using delta",
    "vectors": f"({COLUMNS}) using delta tblproperties ({VECTORS})",
    "bucketed": f"{DAY} tblproperties ({VECTORS})",
    "mapped": f"({COLUMNS}) using delta tblproperties ({MAPPED})",
    # All of them in one.
    "all": f"{DAY} tblproperties ({VECTORS}, {MAPPED})",
}
SORT_BY = ("service", "status", "at")
QUIET = 10.0**11  # seconds since 1970: long after all arrivals


def create(session: SparkSession, kind: str, files: int, rows: int = 50, seed: int = 7) -> str:
    """A table of the kind with so many files of so many rows, in the order of time."""
    name = f"compacting.t{next(NUMBER)}"
    session.sql(f"create table {name} {KINDS[kind]}")
    append(session, name, files, rows, seed)
    return name


def append(session: SparkSession, name: str, files: int, rows: int = 50, seed: int = 7) -> None:
    """One commit of so many files; a file's rows are of one hour.

    delta-rs writes them, where it can: Spark takes a tenth of a second for each.
    """
    path = folder_of(session, name)
    table = DeltaTable(path)
    by_name = table.metadata().configuration.get("delta.columnMapping.mode") == "name"
    partition_by = next(iter(table.metadata().partition_columns), None)
    made = [rows_of_an_hour(hour, rows, seed) for hour in range(files)]
    if partition_by is None:
        made = [one.drop_columns("day") for one in made]
    if not by_name:
        tables.commit(path, made, partition_by)
        return
    parts = session.createDataFrame(pa.concat_tables(made)).repartitionById(
        files,
        F.expr("cast((unix_seconds(at) - unix_seconds(timestamp'2024-03-01')) / 3600 as int)"),
    )
    parts.writeTo(name).append()


def rows_of_an_hour(hour: int, rows: int, seed: int) -> pa.Table:
    draw = random.Random(hour)
    ids = range(hour * rows, (hour + 1) * rows)
    began = dt.datetime(2024, 3, 1, tzinfo=dt.UTC) + dt.timedelta(hours=hour)
    texts = [hashlib.sha1(f"{seed}/{one}".encode()).hexdigest() for one in ids]
    columns = {
        "service": [f"s{int(draw.random() ** 2 * 30)}" if one % 17 else None for one in ids],
        "status": pa.array([draw.choice((200, 200, 404, 500)) for _ in ids], pa.int32()),
        "at": pa.array(
            [began + dt.timedelta(seconds=place) for place in range(rows)],
            pa.timestamp("us", "UTC"),
        ),
        "message": [text * 2 for text in texts],
        "tags": pa.array(
            [[("env", f"e{one % 4}")] for one in ids], pa.map_(pa.string(), pa.string())
        ),
        "day": [began.date()] * rows,
    }
    return pa.table(columns)


def folder_of(session: SparkSession, table: str) -> Path:
    if table.startswith("delta."):
        return Path(table.split("`")[1])
    warehouse = Path(session.conf.get("spark.sql.warehouse.dir", "").removeprefix("file:"))
    return delta_rs.folder_of(warehouse.parent, *table.split("."))


def rows_of(session: SparkSession, table: str, version: int | None = None) -> list[str]:
    return tables.read(folder_of(session, table), version)


def log_of(session: SparkSession, table: str) -> list[list[dict[str, Any]]]:
    """The actions of each commit."""
    commits = sorted((folder_of(session, table) / "_delta_log").glob("*.json"))
    return [[json.loads(line) for line in one.read_text().splitlines()] for one in commits]


def live_files(session: SparkSession, table: str) -> dict[str, dict[str, Any]]:
    """The `add` action of every live file, by replaying the log."""
    live: dict[str, dict[str, Any]] = {}
    for commit in log_of(session, table):
        for action in commit:
            if "remove" in action:
                live.pop(action["remove"]["path"], None)
        for action in commit:
            if "add" in action:
                live[action["add"]["path"]] = action["add"]
    return live


def names_in_files(session: SparkSession, table: str, columns: Sequence[str]) -> list[str]:
    """Those of columns that may be mapped, by the newest schema in the log."""
    actions = itertools.chain(*log_of(session, table))
    schema = [one["metaData"]["schemaString"] for one in actions if "metaData" in one][-1]
    fields = {field["name"]: field["metadata"] for field in json.loads(schema)["fields"]}
    return [fields[one].get("delta.columnMapping.physicalName", one) for one in columns]


def is_sorted(session: SparkSession, table: str, path: str) -> bool:
    """Whether DuckDB finds the file's rows in the order of the sort key, NULL first."""
    path = unquote(path)
    columns = ", ".join(f'"{column}"' for column in names_in_files(session, table, SORT_BY))
    keys = duckdb.sql(  # in the file's order
        f"select {columns} from read_parquet('{folder_of(session, table)}/{path}')"
    ).fetchall()
    places = [(one[0] is not None, one[0] or "", one[1], one[2]) for one in keys]
    return places == sorted(places)
