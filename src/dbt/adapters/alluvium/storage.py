"""How the project's tables are stored, as their logs say it, in a view of a node's session."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from alluvium.compact import history, storage
from alluvium.compact.state import look
from alluvium.delta.table_files import TableFiles
from alluvium.names import quoted
from alluvium.plan.layout.settings import Layout, parse_layout
from dbt.adapters.alluvium.layouts import layout_errors

_TABLE = [("model", pa.string()), ("table_name", pa.string())]
_VERSION = ("table_version", pa.int64())


def view(session: SparkSession, kind: str, tables: Sequence[Mapping[str, Any]]) -> str:
    """Read the logs of the tables, and leave what they say in a temporary view; its name.

    Args:
        kind: of rows, a key of `_KINDS`.
        tables: of each `model`, its name; `table`, as SQL writes it; `layout`, what
            `meta.alluvium_layout` says or None.

    Raises:
        DbtRuntimeError: a table cannot have its layout.
    """
    schema, read = _KINDS[kind]
    rows = [_of(one, read(session, one)) for one in tables]
    found = pa.concat_tables(rows) if rows else pa.schema([*_TABLE, *schema]).empty_table()
    name = quoted(f"__alluvium_{kind}")
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
    with layout_errors():
        layout = parse_layout(one["model"], one["layout"])
        return look(session, one["table"], layout, one["model"])


def _versioned(rows: pa.Table, version: int) -> pa.Table:
    return rows.add_column(0, _VERSION[0], pa.array([version] * rows.num_rows, _VERSION[1]))


_KINDS: dict[str, tuple[list[Any], Callable[[SparkSession, Mapping[str, Any]], pa.Table]]] = {
    "fragments": ([_VERSION, *storage.FRAGMENT_ROWS], _fragments),
    "buckets": ([_VERSION, *storage.BUCKET_ROWS], _buckets),
    "compactions": (
        list(history.COMPACTION_ROWS),
        lambda session, one: history.compactions(session, one["table"]),
    ),
    "writes": (
        list(history.WRITE_ROWS),
        lambda session, one: history.writes(session, one["table"]),
    ),
}
