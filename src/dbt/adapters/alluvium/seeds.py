"""Seeds travel as an Arrow table: no value ever becomes SQL text."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from dbt.adapters.alluvium.session import spark_errors

if TYPE_CHECKING:
    import agate


def load(
    session: SparkSession, table: str, rows: agate.Table, column_types: dict[str, str]
) -> None:
    """Append `rows` to `table`, whose columns stand in the same order.

    column_types: Spark type of every column by its name; a value that does not fit its type
        fails the seed (ANSI cast) instead of becoming NULL.
    """
    names = list(rows.column_names)
    columns = [
        pa.array([_text(value) for value in rows.columns[name].values()], pa.string())
        for name in names
    ]
    # Positional names: a seed's header may hold anything, twice in differing case even.
    frame = session.createDataFrame(
        pa.table(columns, names=[f"c{place}" for place in range(len(names))])
    )
    typed = frame.select(
        *(F.col(f"c{place}").cast(column_types[name]) for place, name in enumerate(names))
    )
    view = "__alluvium_seed"
    typed.coalesce(1).createOrReplaceTempView(view)
    try:
        with spark_errors():
            session.sql(f"insert into {table} select * from {view}")
    finally:
        session.catalog.dropTempView(view)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, (dt.date, dt.datetime)):
        return value.isoformat(*(" ",) if isinstance(value, dt.datetime) else ())
    return str(value)
