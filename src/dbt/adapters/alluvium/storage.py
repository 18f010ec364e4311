"""How the project's tables are stored, as their logs say it, in a view of a node's session."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from alluvium.compact import history, storage
from alluvium.compact.state import look
from alluvium.delta.rewrite.table_files import TableFiles
from alluvium.names import quoted
from alluvium.plan.layout.errors import LayoutError
from alluvium.plan.layout.settings import Layout, parse_layout
from alluvium.report import snapshots
from dbt.adapters.alluvium import told
from dbt.adapters.alluvium.handle import mistakes

_TABLE = [("model", pa.string()), ("table_name", pa.string())]
_VERSION = ("table_version", pa.int64())
_Read = Callable[[SparkSession, Mapping[str, Any]], pa.Table]


def view(session: SparkSession, kind: str, tables: Sequence[Mapping[str, Any]], who: str) -> str:
    """Read the logs of the tables, and leave what they say in a temporary view; its name.

    Args:
        kind: of rows, a key of `_KINDS`.
        tables: of each `model`, its name; `table`, as SQL writes it; `layout`, what
            `meta.alluvium_layout` says or None; `version`, for segments and blocks, one that the
            log tells or None for the newest.
        who: for the message of an error.

    Raises:
        DbtRuntimeError: a table cannot have its layout, or is none of Delta's, or has no such
            version.
    """
    schema, read = _KINDS[kind]
    with mistakes(who):
        rows = [_of(one, read(session, one)) for one in tables]
    found = pa.concat_tables(rows) if rows else pa.schema([*_TABLE, *schema]).empty_table()
    # A statement may read the views of two tables.
    asked = json.dumps([(one["table"], one.get("version")) for one in tables])
    name = quoted(f"__alluvium_{kind}_{hashlib.sha256(asked.encode()).hexdigest()[:16]}")
    session.createDataFrame(found).createOrReplaceTempView(name)
    return name


def _of(one: Mapping[str, Any], rows: pa.Table) -> pa.Table:
    for name, value in (("table_name", one["table"]), ("model", one["model"])):
        rows = rows.add_column(0, name, pa.array([value] * rows.num_rows, pa.string()))
    return rows


def _fragments(session: SparkSession, one: Mapping[str, Any]) -> pa.Table:
    files, layout, found = _files(session, one)
    types = files.key_types(layout.sort_by, layout.cuts) if layout else []
    return _versioned(storage.fragment_rows(found, layout, types), files.version)


def _buckets(session: SparkSession, one: Mapping[str, Any]) -> pa.Table:
    files, layout, found = _files(session, one)
    return _versioned(storage.bucket_rows(found, layout, time.time()), files.version)


def _files(
    session: SparkSession, one: Mapping[str, Any]
) -> tuple[TableFiles, Layout | None, pa.Table]:
    """A table's files, its layout and its fragments."""
    if one["layout"] is None:
        files = TableFiles(session, one["table"])
        return files, None, files.fragments(None, None, None)
    with told.refusals(LayoutError):
        layout = parse_layout(one["model"], one["layout"])
        return look(session, one["table"], layout, one["model"])


def _versioned(rows: pa.Table, version: int) -> pa.Table:
    return rows.add_column(0, _VERSION[0], pa.array([version] * rows.num_rows, _VERSION[1]))


def _asking(read: Callable[..., pa.Table], *keys: str) -> _Read:
    """What reads these keys of a table's mapping."""
    return lambda session, one: read(session, *map(one.get, keys))


_KINDS: dict[str, tuple[list[Any], _Read]] = {
    "fragments": ([_VERSION, *storage.FRAGMENT_ROWS], _fragments),
    "buckets": ([_VERSION, *storage.BUCKET_ROWS], _buckets),
    "compactions": (list(history.COMPACTION_ROWS), _asking(history.compactions, "table")),
    "writes": (list(history.WRITE_ROWS), _asking(history.writes, "table")),
    "snapshots": (
        list(snapshots.SNAPSHOT_ROWS),
        _asking(snapshots.snapshots, "table", "model"),
    ),
    "segments": (
        list(snapshots.SEGMENT_ROWS),
        _asking(snapshots.segments, "table", "model", "version"),
    ),
    "blocks": (list(snapshots.BLOCK_ROWS), _asking(snapshots.blocks, "table", "version")),
}
