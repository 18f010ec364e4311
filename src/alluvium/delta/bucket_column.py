"""The generated column of a layout's buckets, in frames and in tables."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta import log
from alluvium.names import among
from alluvium.plan.layout.generated import GeneratedColumn


def with_column(frame: DataFrame, column: GeneratedColumn) -> DataFrame:
    """The rows with the column behind the others; a table that is made of them generates it.

    Schema, rows and partitions are one commit, where CREATE TABLE with GENERATED ALWAYS AS would
    have none of the rows.

    Raises:
        ValueError: it cannot be made of the frame's columns.
    """
    column.check({field.name: field.dataType.simpleString() for field in frame.schema})
    value = F.expr(column.expression).cast(column.type)
    return frame.select("*", value.alias(column.name, metadata={log.GENERATION: column.expression}))


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
        ValueError: all rows would go, though the table is cut by such a column.
    """
    known = log.metadata(session, table)
    generated = known.noted(log.GENERATION)
    if not generated:
        return {}
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
