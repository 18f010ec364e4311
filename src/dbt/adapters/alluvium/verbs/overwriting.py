"""Windows of microbatches, each put in place of the rows that stand there."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import available
from dbt.flags import get_flags
from pyspark.sql import DataFrame, SparkSession

from alluvium.delta.log import own_commit
from alluvium.windows import write
from alluvium.windows.window import Window, window
from dbt.adapters.alluvium import told
from dbt.adapters.alluvium.figures import WindowResponse, of_statement
from dbt.adapters.alluvium.verbs.base import SessionAdapter


class Overwriting(SessionAdapter):
    @available.parse_none
    def batch_window(self, batch: str, table: str | None, node: dict[str, Any]) -> Window:
        """The window of event time that this batch of the model `node` is to overwrite.

        table: the one that is there; None where `batch`, a staged relation, becomes one.
        """
        with self._working(node["name"]):
            return _of_batch(self._handle.table(table or batch), node)

    @available.parse_none
    def write_window(
        self,
        window: Window,
        table: str,
        batch: str,
        node: dict[str, Any],
        create: str | None = None,
        fills: bool = False,
    ) -> dict[str, Any]:
        """Put the rows of `batch` in place of the window's: the statement, and dbt's response.

        Under --empty and --sample rows that stand there are left alone, and so is the batch.

        create: the statement that makes the table of them; None where it is there.
        fills: whether a column that the batch leaves out becomes NULL.
        """
        with self._working(node["name"]) as session:
            if create is not None:
                return _create(session, table, create, batch, window)
            return _overwrite(session, table, batch, window, node["name"], fills)


def _of_batch(rows: DataFrame, node: Mapping[str, Any]) -> Window:
    """The window of the batch that dbt runs of the model `node`.

    rows: of its table, or of what that is made of.

    Raises:
        ValueError: there is none, or `rows` have no such time.
    """
    batch = node.get("batch")
    if not batch:
        raise ValueError(
            "dbt runs this microbatch model without batches, for the project has a macro"
            " get_incremental_microbatch_sql; nothing was written. Accepted: without it, or"
            " with the flag require_batched_execution_for_custom_microbatch_strategy: true"
        )
    columns = {field.name: field.dataType.simpleString() for field in rows.schema}
    start, end = batch["event_time_start"], batch["event_time_end"]
    return window(str(node["config"]["event_time"]), start, end, columns)


def _create(
    session: SparkSession, table: str, sql: str, batch: str, window: Window
) -> dict[str, Any]:
    """Run `sql`, which makes the table of the guarded rows of `batch`."""
    started, begun = time.perf_counter(), own_commit.begin(session)
    frame, _ = write.run(session, table, sql, batch, window)
    response = of_statement(session, sql, frame, time.perf_counter() - started, begun)
    return {"sql": sql, "response": response}


def _overwrite(
    session: SparkSession,
    table: str,
    batch: str,
    window: Window,
    model: str,
    fills: bool,
) -> dict[str, Any]:
    """Write the window, or leave it alone where rows stand that must not be replaced."""
    started = time.perf_counter()
    flags = get_flags()
    # Their batches do not have rows of the window.
    replaces = not (getattr(flags, "EMPTY", False) or getattr(flags, "SAMPLE", None))
    columns = write.columns(session, table, batch, fills)
    sql = write.statement(table, batch, columns, window, adds=not replaces)
    kept = 0 if replaces else write.standing(session, table, window)
    if kept:
        told.say(
            f"{model}: {kept:,} rows stand in {window.text}; --empty and --sample replace none,"
            " so this batch was not written"
        )
        done = write.Written(0, kept=kept)
    else:
        begun = time.time()
        _, version = write.run(session, table, sql, batch, window)
        done = write.written(session, table, version, window)
        if done.rows == 0:
            # Whatever the commit says of files: INSERT opens one before it knows of a row.
            own_commit.tidy(session, table, begun, left=1)
    response = WindowResponse.of(done, time.perf_counter() - started)
    return {"sql": sql, "response": response}
