"""Seeds travel as an Arrow table: no value ever becomes SQL text."""

from __future__ import annotations

import datetime as dt
import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from dbt.adapters.base import available
from dbt.adapters.contracts.connection import AdapterResponse
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from alluvium.delta.log import own_commit
from dbt.adapters.alluvium.figures import ModelResponse, of_statement
from dbt.adapters.alluvium.verbs.base import SessionAdapter

if TYPE_CHECKING:
    import agate

_VIEW = "__alluvium_seed"


class Seeding(SessionAdapter):
    @available.parse_none
    def load_seed(
        self, create: str, rows: agate.Table, column_types: dict[str, str]
    ) -> AdapterResponse:
        """Write `rows` by `create`, a CREATE TABLE up to its AS, each column cast to its type."""
        with self._working() as session:
            return _load(session, create, rows, column_types)


def _load(
    session: SparkSession, create: str, rows: agate.Table, column_types: dict[str, str]
) -> ModelResponse:
    """Run `create`, a CREATE TABLE up to its AS, over `rows`.

    column_types: Spark type of every column by its name. A value that does not fit its type fails
        the seed (ANSI cast) instead of becoming NULL.
    """
    started, begun = time.perf_counter(), own_commit.begin(session)
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
        *(
            F.col(f"c{place}").cast(column_types[name]).alias(name)
            for place, name in enumerate(names)
        )
    )
    typed.coalesce(1).createOrReplaceTempView(_VIEW)
    try:
        sql = f"{create}\nselect * from {_VIEW}"
        result = session.sql(sql)
        return of_statement(session, sql, result, time.perf_counter() - started, begun)
    finally:
        session.catalog.dropTempView(_VIEW)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dt.datetime):
        return value.isoformat(" ")
    if isinstance(value, dt.date):
        return value.isoformat()
    return str(value)
