"""What a statement wrote: rows, files, seconds, as a scheduler finds them in run_results.json."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, fields

from dbt.adapters.contracts.connection import AdapterResponse
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from alluvium.delta.log import log, own_commit
from alluvium.plan.merge.figures import MergeFigures
from alluvium.windows.write import Written
from alluvium.wording import counted
from dbt.adapters.alluvium.freshness import behind

_NAME = r"(?P<table>(?:`(?:[^`]|``)+`|[\w$]+)(?:\.(?:`(?:[^`]|``)+`|[\w$]+))*)"
_WRITES = re.compile(
    r"\A(?:\s|/\*.*?\*/|--[^\n]*\n)*"
    r"(?:create\s+(?:or\s+replace\s+)?table(?:\s+if\s+not\s+exists)?|replace\s+table"
    r"|insert\s+(?:into|overwrite)(?:\s+table)?|merge(?:\s+with\s+schema\s+evolution)?\s+into"
    rf"|delete\s+from|update|optimize)\s+{_NAME}",
    re.IGNORECASE | re.DOTALL,
)
# Delta names the rows that a commit wrote differently for each operation.
_ROWS = ("numOutputRows", "numAffectedRows", "numUpdatedRows", "numDeletedRows")
_BYTES = ("numOutputBytes", "numTargetBytesAdded", "numAddedBytes")


@dataclass
class ModelResponse(AdapterResponse):
    """AdapterResponse with the figures of the table that was written; None where unknown.

    versions: of tables that the statement read at one version, by name: table id and version.
    kept_since: when (UTC) a test was last run, where it was kept.
    not_kept: why a test that asks for `alluvium_reuse` was run.
    """

    code: str | None = "OK"
    files: int | None = None
    bytes: int | None = None
    seconds: float | None = None
    versions: dict[str, str] | None = None
    kept_since: str | None = None
    not_kept: str | None = None


@dataclass
class MergeResponse(ModelResponse):
    """What a merge of `meta.alluvium_merge` did; `rows_affected` is what changed in the table.

    unchanged: keys whose newest event changed nothing.
    newest_event: time (UTC) of the batch's newest event, where `order_by` begins with a timestamp.
    newest_arrival: time (UTC) of the newest event in the streaming table that it is merged from.
    merged_arrival: the same of the newest batch that is merged.
    behind_seconds: how long ago `newest_event` was, or else `merged_arrival`.
    waiting_batches, waiting_events: of the streaming table, that are not merged.
    waiting_since: time (UTC) of the oldest event that waits.
    rejected_table: what keeps the rejected events; None where there are none.
    refused: why `engine` is `merge_into`, where the model does not ask for it.
    files_kept, files_total: that the merge looked at, and all of the table.
    files_skipped: that it would have looked at without automata.
    """

    events: int | None = None
    upserts: int | None = None
    deletes: int | None = None
    unchanged: int | None = None
    rejected: int | None = None
    rejected_table: str | None = None
    ranges: int | None = None
    method: str | None = None
    engine: str | None = None
    refused: str | None = None
    files_kept: int | None = None
    files_total: int | None = None
    files_skipped: int | None = None
    newest_event: str | None = None
    newest_arrival: str | None = None
    merged_arrival: str | None = None
    behind_seconds: float | None = None
    waiting_batches: int | None = None
    waiting_events: int | None = None
    waiting_since: str | None = None

    @classmethod
    def of(cls, done: MergeFigures) -> MergeResponse:
        batch, merged, fresh = done.batch, done.did, done.freshness
        ignores = batch.on_match == "ignore"
        files = merged.kept.figures() if merged.kept else {}
        known = {**asdict(batch), **asdict(merged), **files, **fresh}
        return cls(
            _message=f"OK {merged.affected:,} rows",
            rows_affected=merged.affected,
            seconds=round(done.seconds, 3),
            upserts=merged.affected if ignores else batch.key_count - batch.deletes,
            unchanged=done.unchanged,
            rejected_table=done.rejected_table,
            behind_seconds=behind(batch.newest_event or fresh.get("merged_arrival")),
            **{one.name: known[one.name] for one in fields(cls) if one.name in known},
        )


@dataclass
class WindowResponse(ModelResponse):
    """What a microbatch did to its window; `rows_affected` is what was written.

    deletes: rows that were taken away.
    kept: rows that were left alone, as was the batch: under --empty and --sample.
    """

    deletes: int | None = None
    kept: int = 0

    @classmethod
    def of(cls, written: Written, seconds: float) -> WindowResponse:
        parts = [message(written.rows, written.files or None)]
        if written.deleted:
            parts.append(f"{written.deleted:,} taken away")
        if written.kept:
            parts.append(f"{written.kept:,} kept")
        return cls(
            _message=", ".join(parts),
            rows_affected=written.rows,
            files=written.files,
            bytes=written.bytes,
            seconds=round(seconds, 3),
            deletes=written.deleted,
            kept=written.kept,
        )


def of_statement(
    session: SparkSession, sql: str, frame: DataFrame, seconds: float, begun: float
) -> ModelResponse:
    """What a statement did that has just run in `session`, in `seconds`.

    begun: of `own_commit.begin`, before it.
    """
    written = written_table(sql)
    metrics = _own_commit(session, written) if written else {}
    if written and "num_affected_rows" in frame.columns:
        metrics["numAffectedRows"] = str(frame.collect()[0]["num_affected_rows"])
    rows, files = _first(metrics, ("numAffectedRows", *_ROWS)), _first(metrics, own_commit.FILES)
    if written and files == 0:
        left = int(metrics.get(own_commit.LEFT, 0)) or own_commit.left_by(frame)
        own_commit.tidy(session, written, begun, left)
    return ModelResponse(
        message(rows, files),
        rows_affected=rows,
        files=files,
        bytes=_first(metrics, _BYTES),
        seconds=round(seconds, 3),
    )


def written_table(sql: str) -> str | None:
    """The name of the table that a statement writes, as it stands there; None for none."""
    found = _WRITES.match(sql)
    return found["table"] if found else None


def message(rows: int | None, files: int | None) -> str:
    """What dbt's console says of a statement; None where a number is not known."""
    said = "OK" if rows is None else f"OK {rows:,} rows"
    return said if files is None else f"{said} in {counted(files, 'file')}"


def written(session: SparkSession, table: str) -> tuple[int | None, int | None]:
    """Files and bytes that the table's newest commit wrote; None where it does not say."""
    try:
        metrics = log.last_commit(session, table).metrics
    except (PySparkException, Py4JJavaError):
        return None, None  # not a Delta table: its writer keeps no figures
    return _first(metrics, own_commit.FILES), _first(metrics, _BYTES)


def _own_commit(session: SparkSession, table: str) -> dict[str, str]:
    try:
        made = own_commit.metrics(session, table)
    except (PySparkException, Py4JJavaError):
        return {}  # not a Delta table: its writer keeps no figures
    nothing = {_ROWS[0]: "0", own_commit.FILES[0]: "0", _BYTES[0]: "0"}
    return nothing if made is None else made


def _first(metrics: dict[str, str], names: tuple[str, ...]) -> int | None:
    return next((int(metrics[name]) for name in names if name in metrics), None)
