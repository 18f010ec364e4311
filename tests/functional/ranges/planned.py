"""What `plan_frame` returns, without the job that brings its rows back."""

from __future__ import annotations

from pyspark.sql import DataFrame, Row

from alluvium.merge.range_frame import SCHEMA, plan_rows
from alluvium.ranges import Request

NAMES = [column.split()[0] for column in SCHEMA.split(", ")]


def planned(df: DataFrame, column: str, request: Request) -> list[Row]:
    rows = plan_rows(df, column, request)
    return [Row(**{name: row.get(name) for name in NAMES}) for row in rows]
