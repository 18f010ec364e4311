"""The generated column of a layout's buckets, in frames and in tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType, TimestampType

from alluvium.delta.log import log
from alluvium.engine import zone
from alluvium.names import among
from alluvium.plan.layout.generated import GeneratedColumn
from alluvium.plan.layout.settings import WINDOWS


def with_column(frame: DataFrame, column: GeneratedColumn) -> DataFrame:
    """The rows with the column behind the others; a table that is made of them generates it.

    Schema, rows and partitions are one commit, where CREATE TABLE with GENERATED ALWAYS AS would
    have none of the rows.

    Raises:
        ValueError: it cannot be made of the frame's columns, or not in the session's time zone.
    """
    check_new(frame.sparkSession, frame.schema, column)
    value = F.expr(column.expression).cast(column.type)
    return frame.select("*", value.alias(column.name, metadata={log.GENERATION: column.expression}))


def check_new(session: SparkSession, schema: StructType, column: GeneratedColumn) -> None:
    """Raises ValueError unless rows with this schema, which the session writes, can have it."""
    column.check({field.name: field.dataType.simpleString() for field in schema})
    _check_zone(session, schema, {column.name: column.expression})


def check_zone(session: SparkSession, table: str) -> None:
    """Raises ValueError where the session would compute buckets of the Delta table `table` wrong.

    A bucket is a window in UTC, and Delta computes it in the time zone of whoever writes.
    """
    if not zone.is_utc(zone.of(session)):
        known = log.metadata(session, table)
        _check_zone(session, known.schema, known.noted(log.GENERATION))


def _check_zone(session: SparkSession, schema: StructType, generated: Mapping[str, str]) -> None:
    """The same of columns and those that are generated: their SQL by name."""
    own = zone.of(session)
    if zone.is_utc(own):
        return
    times = [one.name for one in schema if isinstance(one.dataType, TimestampType)]
    made = (GeneratedColumn(name, window) for name in times for window in WINDOWS)
    for one in made:
        if generated.get(one.name) == one.expression:
            raise ValueError(
                f"bucket_by.column: {one.name} is made from {one.source} in UTC, and the session's"
                f" time zone is {own}; nothing was written. Accepted: UTC for the statement that"
                " writes. For a local time write from_utc_timestamp in the query"
            )


def check_table(session: SparkSession, table: str, column: GeneratedColumn) -> None:
    """Raises ValueError unless the Delta table `table` generates the column and is cut by it."""
    known = log.metadata(session, table)
    partitions = known.partitions
    if among(column.name, partitions) and among(column.name, known.noted(log.GENERATION)):
        return
    fields = {field.name: field.dataType.simpleString() for field in session.table(table).schema}
    if not among(column.name, fields):
        column.check(fields)  # no build can make it of a text, nor of a column that is not there
    others = f", or a partition column of the table: {', '.join(partitions)}" if partitions else ""
    raise ValueError(
        f"bucket_by.column: {table} has no generated partition column {column.name}, made from"
        f" {column.source}, and one cannot be added; nothing was changed. Accepted: one build with"
        f" --full-refresh{others}"
    )


def left_out(
    session: SparkSession, table: str, batch: Callable[[], DataFrame], *, replaces: bool
) -> dict[str, str]:
    """By name, the SQL of what the Delta table `table` generates and a batch has no column of.

    batch: asked for only where the table generates anything.
    replaces: whether the batch is to take the place of all rows.

    Raises:
        ValueError: all rows would go, though the table is cut by such a column. Or the session's
            time zone gives other buckets.
    """
    known = log.metadata(session, table)
    generated = known.noted(log.GENERATION)
    if not generated:
        return {}
    _check_zone(session, known.schema, generated)
    rows = batch()
    missing = {name: sql for name, sql in generated.items() if not among(name, rows.columns)}
    if replaces:
        cut = [name for name in known.partitions if among(name, missing)]
        if cut:
            raise ValueError(
                f"{table} is partitioned by {', '.join(cut)}, which Delta computes, and the model"
                " has neither bucket_by nor partition_by. So insert_overwrite would replace all of"
                " the table's rows; the table was not changed. Accepted: the bucket_by that it was"
                " built with, a query with these columns, or one build with --full-refresh"
            )
    return {name: sql for name, sql in missing.items() if _can_compute(rows, sql)}


def _can_compute(rows: DataFrame, sql: str) -> bool:
    """Whether the rows have what it is computed from; else it is for Delta to say what follows."""
    try:
        rows.select(F.expr(f"(\n{sql}\n)"))
    except AnalysisException:
        return False
    return True
