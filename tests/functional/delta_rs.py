"""Tables as delta-rs reads them: without Spark, a hundredth of its CPU seconds.

Its reading is independent of ours, too. What is tested by Spark's own reading stays with Spark.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import duckdb
import pandas as pd
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

if TYPE_CHECKING:  # a process that reads by delta-rs needs none of it
    from pyspark.sql import SparkSession

# As tests name a table: schema and name.
_TABLE = re.compile(r"\b(?P<schema>[a-z_]\w*)\.(?P<name>[a-z_]\w*)\b(?!\()", re.IGNORECASE)


def unused_files(folder: Path) -> set[str]:
    """Parquet files of a table's folder that no commit of its log has added."""
    there = {str(path.relative_to(folder)) for path in folder.rglob("*.parquet")}
    lines = (line for log in folder.glob("_delta_log/*.json") for line in log.open())
    actions = (json.loads(line) for line in lines)
    added = {unquote(one["add"]["path"]) for one in actions if "add" in one}
    return {name for name in there - added if not name.startswith("_delta_log")}


def live_adds(folder: Path) -> list[dict[str, Any]]:
    """The `add` action of each live file of a table, by replaying its log from the first commit."""
    live: dict[str, dict[str, Any]] = {}
    for commit in sorted((folder / "_delta_log").glob("*[0-9].json")):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        # A file that gets a vector leaves and comes in one commit.
        for action in actions:
            if "remove" in action:
                live.pop(action["remove"]["path"], None)
        live |= {action["add"]["path"]: action["add"] for action in actions if "add" in action}
    return list(live.values())


def by_query(table: DeltaTable, query: str = "select * from t") -> pa.Table:
    """The rows of a query on `t`: it reads deletion vectors, which Arrow's reader refuses."""
    return pa.table(QueryBuilder().register("t", table).execute(query).read_all())


def folder_of(home: Path, schema: str, name: str) -> Path:
    """Where a managed table of an embedded home lies."""
    return home / "warehouse" / f"{schema.lower()}.db" / name.lower()


def folder_in(spark: SparkSession, table: str) -> Path:
    """The same by the session that made it, and the table's name as SQL writes it."""
    warehouse = Path(str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:"))
    schema, name = table.replace("`", "").split(".")
    return folder_of(warehouse.parent, schema, name)


def newest(folder: Path) -> int:
    """The newest version of a table, by its folder."""
    # A checkpoint may end in `.json` too, behind letters and digits of its own.
    commits = (folder / "_delta_log").glob("[0-9]" * 20 + ".json")
    return max(int(one.stem) for one in commits)


def read(home: Path, query: str) -> pd.DataFrame:
    """The rows of a query in DuckDB's SQL, on tables of a home that it names `schema.table`.

    Values are those of `DataFrame.toPandas()`: timestamps are in UTC and have no time zone.
    """
    with duckdb.connect() as connection:
        connection.sql("set timezone = 'UTC'")

        def registered(found: re.Match[str]) -> str:
            folder = folder_of(home, found["schema"], found["name"])
            if not (folder / "_delta_log").is_dir():
                return found[0]  # a column of an alias
            view = f"{found['schema']}__{found['name']}"
            connection.register(view, rows(home, found["schema"], found["name"]))
            return view

        return connection.sql(_TABLE.sub(registered, query)).to_arrow_table().to_pandas()


def versions(home: Path, schema: str, name: str) -> int:
    """How many commits the log of a table has."""
    return len(list((folder_of(home, schema, name) / "_delta_log").glob("*[0-9].json")))


def rows(home: Path, schema: str, name: str) -> pa.Table:
    """The rows of a table; timestamps are in UTC and have no time zone."""
    return rows_of(DeltaTable(folder_of(home, schema, name)))


def rows_of(table: DeltaTable) -> pa.Table:
    """The same of a table that lies anywhere."""
    found = by_query(table)
    fields = [
        pa.field(one.name, pa.timestamp("us")) if pa.types.is_timestamp(one.type) else one
        for one in found.schema
    ]
    return found.cast(pa.schema(fields))
