"""The generated column of a layout's buckets, in frames and in tables."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.compaction.generated import GeneratedColumn
from alluvium.delta import log
from alluvium.names import among

# Delta's own name for it, in the metadata of a column. A table that is created from rows with it
# generates the column from then on: schema, rows and partitions are one commit, where CREATE TABLE
# with GENERATED ALWAYS AS would have none of the rows.
_EXPRESSION = "delta.generationExpression"


def with_column(frame: DataFrame, column: GeneratedColumn) -> DataFrame:
    """The rows with the column behind the others; a table that is made of them generates it.

    Raises:
        ValueError: it cannot be made of the frame's columns.
    """
    column.check({field.name: field.dataType.simpleString() for field in frame.schema})
    value = F.expr(column.expression).cast(column.type)
    return frame.select("*", value.alias(column.name, metadata={_EXPRESSION: column.expression}))


def check_table(session: SparkSession, table: str, column: GeneratedColumn) -> None:
    """Raises ValueError unless the Delta table `table` generates the column and is cut by it."""
    partitions = log.partition_columns(session, table)
    if among(column.name, partitions) and among(column.name, log.generated_columns(session, table)):
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
