"""Files as writers leave them, made once, and tables that they land in again and again."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from alluvium.delta import internals
from alluvium.delta.log import log
from alluvium.demo.edits import read_edits
from alluvium.engine import jvm
from alluvium.names import quoted
from compacting import events, queries
from compacting.queries import Query

_SPARK_TYPES = {pa.string(): "string", pa.int32(): "int", pa.bool_(): "boolean"}
_SEED = 1


@dataclass(frozen=True)
class Source:
    """Parquet files in `folder`, and how each is added to a Delta table.

    adds: an `add` action a file, in the order of arrival; its time of modification is when the
        file's rows arrived, not when the benchmark wrote it.
    payload: a column that queries read beside those they ask by.
    """

    name: str
    folder: Path
    schema: pa.Schema
    sort_by: tuple[str, ...]
    adds: Sequence[dict[str, Any]]
    sizes: Sequence[int]
    mix: Sequence[Query]
    payload: str

    @property
    def rows(self) -> int:
        return sum(self.sizes)

    @property
    def bytes(self) -> int:
        return sum(add["size"] for add in self.adds)

    def batches(self, files: int) -> list[Sequence[dict[str, Any]]]:
        """Those that a commit adds, so many at a time."""
        return [self.adds[at : at + files] for at in range(0, len(self.adds), files)]

    def table(self, session: SparkSession, path: Path, options: str = "") -> str:
        """An empty table in `path` that the files may land in; its name in SQL."""
        session.sql(create_sql(path, self.schema, options))
        for add in self.adds:
            os.link(self.folder / add["path"], path / add["path"])
        return f"delta.`{path}`"


def create_sql(path: Path, schema: pa.Schema = events.SCHEMA, options: str = "") -> str:
    columns = ", ".join(
        f"{quoted(one.name)} {_SPARK_TYPES.get(one.type, 'timestamp')}" for one in schema
    )
    return f"create table delta.`{path}` ({columns}) using delta {options}"


def log_events(folder: Path, files: int, rows_per_file: int) -> Source:
    """So many files of `events`, about so many rows each."""
    sizes = [events.file_rows(_SEED, file, rows_per_file) for file in range(files)]
    tables = (events.events(_SEED, file, rows) for file, rows in enumerate(sizes))
    adds = _write(folder, tables, events.arrived_at)
    name = f"{files:,} files of {rows_per_file:,} rows"
    return Source(
        name, folder, events.SCHEMA, events.SORT_BY, adds, sizes, queries.mix(files), "message"
    )


def wikiticker(folder: Path, files: int) -> Source:
    """A day of real edits of Wikipedia in the order of their time, the same number a file."""
    edits = sorted(read_edits())
    names = ("channel", "namespace", "page", "user", "comment")
    texts = [json.loads(line) for _, _, line in edits]
    columns = {name: pa.array([one[name] for one in texts], pa.string()) for name in names}
    columns |= {"delta": pa.array([one["delta"] for one in texts], pa.int32())}
    columns |= {"time": pa.array([at * 1000 for at, _, _ in edits], pa.timestamp("us", tz="UTC"))}
    every = pa.table(columns)
    ends = [len(every) * place // files for place in range(files + 1)]
    parts = [every.slice(ends[n], ends[n + 1] - ends[n]) for n in range(files)]
    arrived = [part["time"][-1].as_py().timestamp() for part in parts]
    channels = pc.value_counts(every["channel"]).to_pylist()
    ranked = sorted(channels, key=lambda one: (-one["counts"], one["values"]))
    asked = [ranked[place]["values"] for place in (0, 1, 2, 5, 10, 20)]
    mix = [Query("channel", {"channel": ("string", one, one)}) for one in asked]
    mix += [
        Query(
            "channel + namespace",
            {"channel": ("string", one, one), "namespace": ("string", "Main", "Main")},
        )
        for one in asked
    ]
    return Source(
        f"wikiticker, {files:,} files of {len(every) // files:,} rows",
        folder,
        every.schema,
        ("channel", "namespace"),
        _write(folder, parts, lambda place: arrived[place]),
        [len(part) for part in parts],
        mix,
        "comment",
    )


def land(session: SparkSession, table: str, adds: Iterable[dict[str, Any]]) -> None:
    """Commit files that a writer has written, as Delta's own writers commit theirs."""
    action = jvm.internal(session, internals.ACTION)
    append = jvm.internal(session, internals.MANUAL_UPDATE)
    none = jvm.of(session).scala.Option.empty()
    transaction = log.delta_log(session, table).startTransaction(none, none)
    # Does nothing where auto compaction is off.
    hook = jvm.internal(session, internals.AUTO_COMPACT)
    transaction.registerPostCommitHook(hook)
    made = [action.fromJson(json.dumps({"add": add})) for add in adds]
    transaction.commit(jvm.scala_seq(session, made), append)


def _write(folder: Path, tables: Iterable[pa.Table], arrived_at: Any) -> list[dict[str, Any]]:
    folder.mkdir()
    adds = []
    for number, table in enumerate(tables):
        path = folder / f"part-{number:05}.snappy.parquet"
        pq.write_table(table, path)
        adds.append(add_of(path, json.dumps(_statistics(table)), arrived_at(number)))
    return adds


def add_of(path: Path, stats: str, at: float) -> dict[str, Any]:
    """What a commit says of a data file that arrived at a time, in seconds since 1970."""
    return {
        "path": path.name,
        "partitionValues": {},
        "size": path.stat().st_size,
        "modificationTime": int(at * 1000),
        "dataChange": True,
        "stats": stats,
    }


def _statistics(table: pa.Table) -> dict[str, Any]:
    """As Delta's writers give them; texts are cut off after 32 characters."""
    lows, highs, nulls = {}, {}, {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        nulls[name] = column.null_count
        if column.null_count == len(column):
            continue
        ends = pc.min_max(column).as_py()
        lows[name], highs[name] = _bound(ends["min"], ""), _bound(ends["max"], "\U0010ffff")
    return {"numRecords": len(table), "minValues": lows, "maxValues": highs, "nullCount": nulls}


def _bound(value: Any, behind: str) -> Any:
    if isinstance(value, str):
        return value if len(value) <= 32 else value[:32] + behind
    if isinstance(value, dt.datetime):
        # Cut off at milliseconds, upper bounds too: whoever reads them adds one.
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value
