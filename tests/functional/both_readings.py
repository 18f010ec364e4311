"""A table as Spark reads its log, as `alluvium.status` does, and as delta-rs does: all alike."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from alluvium.compact import history
from alluvium.compact.state import look
from alluvium.compact.storage import bucket_rows
from alluvium.delta.log import log
from alluvium.delta.log.commit_files import TableLog
from alluvium.plan.layout.settings import Layout, parse_layout
from alluvium.plan.snapshot import Snapshot
from alluvium.plan.status import figures
from alluvium.plan.status.fragments import fragments
from alluvium.plan.status.model import told
from alluvium.plan.versions.commit import Commit
from alluvium.report.log_lines import log_lines
from alluvium.status import log_reader

# What a commit says of itself.
_SAID = (
    *("version", "id", "at", "operation", "message", "author", "transactions", "restored"),
    *("copied_rows", "changed_rows", "deleted_rows"),
)
_NOW = 10.0**11  # seconds since 1970: every bucket that stands for a time is quiet


def agree(
    session: SparkSession,
    table: str,
    layout: dict[str, Any] | None = None,
    *,
    by_delta_rs: bool = True,
) -> Snapshot:
    """Assert it; the snapshot.

    layout: a value of `meta.alluvium_layout`, by which fragments are compared too.
    by_delta_rs: whether that can read the table's log.
    """
    spark_log = TableLog(session, table)
    folder = Path(spark_log.folder.removeprefix("file:"))
    found_log, found = log_reader.read(folder)
    snapshot = log.snapshot_of(session, table)
    assert found.version == spark_log.version
    assert (found.id, dict(found.transactions)) == log.numbers(snapshot)
    assert found.bytes == int(snapshot.sizeInBytes())
    schema = log.schema_of(snapshot)
    assert [one.name for one in found.fields.values()] == schema.names
    state = spark_log.state(spark_log.version).select(["path", "rows", "deleted", "bytes"])
    files = {"path": found.files["path"], "rows": found.rows}
    files |= {"deleted": found.files["deleted"], "bytes": found.files["size"]}
    assert _in_order(pa.table(files)) == _in_order(state)
    newest_first = list(found_log.newest_first())
    read = spark_log.read(spark_log.first(), spark_log.version).commits
    assert [_said(one) for one in reversed(newest_first)] == [_said(one) for one in read]
    some = list(islice(newest_first, 20))
    keeps = "_deleted" in schema.names
    assert [line for one in told("t", some, {}, keeps) for line in one.lines()] == [
        line for line in log_lines(spark_log, "t") if "older version" not in line
    ]
    if by_delta_rs:
        theirs = DeltaTable(folder)
        added = pa.table(theirs.get_add_actions(flatten=True))
        assert (theirs.version(), str(theirs.metadata().id)) == (found.version, found.id)
        assert sorted(added["size_bytes"].to_pylist()) == sorted(files["bytes"].to_pylist())
    if layout is not None:
        _agree_on_fragments(session, table, found, parse_layout("t", layout))
        _agree_on_writes(session, table, newest_first)
    return found


def _said(commit: Commit) -> dict[str, Any]:
    return {name: getattr(commit, name) for name in _SAID}


def _agree_on_fragments(session: SparkSession, table: str, found: Snapshot, layout: Layout) -> None:
    _, wanted_layout, wanted = look(session, table, layout, "t")
    own_layout, own = fragments(found, layout)
    assert own_layout == wanted_layout
    assert own.schema == wanted.schema
    assert _in_order(own) == _in_order(wanted)
    assert _states(own, wanted_layout) == _states(wanted, wanted_layout)


def _agree_on_writes(session: SparkSession, table: str, newest_first: Sequence[Commit]) -> None:
    [wanted] = history.writes(session, table).to_pylist()
    own = figures.writes(newest_first)
    assert (own.commits, own.written, own.rewritten, own.amplification) == tuple(
        wanted[name]
        for name in ("commits", "written_bytes", "rewritten_bytes", "write_amplification")
    )


def _states(files: pa.Table, layout: Layout) -> list[Any]:
    rows = bucket_rows(files, layout, _NOW).to_pylist()
    return sorted(rows, key=lambda one: str(one["bucket"]))


def _in_order(files: pa.Table) -> list[dict[str, Any]]:
    return list(files.sort_by("path").to_pylist())
