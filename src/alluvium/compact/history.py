"""What the commits of a table tell of its compactions, as far back as the log goes."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.log.commit_files import commits

_INSTANT = pa.timestamp("us", tz="UTC")
_TYPES = {pa.string(): "string", pa.float64(): "double"}
COMPACTION_ROWS = pa.schema(
    [
        ("version", pa.int64()),
        ("merge_number", pa.int64()),  # within the commit, from 1
        ("committed_at", _INSTANT),
        ("bucket", pa.string()),
        ("reason", pa.string()),
        ("level", pa.int64()),
        ("inputs", pa.int64()),
        ("outputs", pa.int64()),
        ("outputs_planned", pa.int64()),
        ("relabelled", pa.int64()),
        ("row_count", pa.int64()),
        ("bytes_read", pa.int64()),
        ("bytes_written", pa.int64()),
        ("files_opened", pa.int64()),
        ("files_written", pa.int64()),
        ("core_seconds", pa.float64()),
        ("cpu_seconds", pa.float64()),
    ]
)
# What `run` leaves of each merge in the metadata of its commits.
_FIGURES = ", ".join(
    f"{'rows' if one.name == 'row_count' else one.name} {_TYPES.get(one.type, 'bigint')}"
    for one in list(COMPACTION_ROWS)[3:]
)
WRITE_ROWS = pa.schema(
    [
        ("since", _INSTANT),  # time of the first commit that the log has
        ("commits", pa.int64()),
        ("written_bytes", pa.int64()),
        ("rewritten_bytes", pa.int64()),
        ("write_amplification", pa.float64()),
    ]
)


def compactions(session: SparkSession, table: str) -> pa.Table:
    """A row for each merge that a compaction committed, and for each commit of new labels; columns
    as COMPACTION_ROWS."""
    done = (
        f"from_json(get_json_object(metadata, '$.{marks.COMPACTION_FIGURES}'),"
        f" 'array<struct<{_FIGURES}>>')"
    )
    return (
        commits(session, table)
        .selectExpr("version", "committed_at", f"posexplode({done}) as (place, done)")
        .selectExpr("version", "place + 1 as merge_number", "committed_at", "done.*")
        .withColumnRenamed("rows", "row_count")
        .orderBy("version", "merge_number")
        .toArrow()
        .cast(COMPACTION_ROWS)
    )


def writes(session: SparkSession, table: str) -> pa.Table:
    """What writers wrote and what compactions, ours or others, wrote again; columns as WRITE_ROWS.

    Write amplification is all bytes that were written over those that writers wrote: 1 for a table
    whose files nobody touches. NULL where the log has no commit of a writer.
    """
    return (
        commits(session, table)
        .selectExpr(
            "min(committed_at) as since",
            "count(*) as commits",
            "sum(written) as written_bytes",
            "sum(rewritten) as rewritten_bytes",
        )
        .selectExpr("*", "1 + rewritten_bytes / nullif(written_bytes, 0) as write_amplification")
        .toArrow()
        .cast(WRITE_ROWS)
    )
