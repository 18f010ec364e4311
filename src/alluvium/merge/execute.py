"""Run a MERGE so that its progress and figures are part of its own commit."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from alluvium.delta import log
from alluvium.merge import progress
from alluvium.merge.conflicts import ConflictError, retry

RETRIES = 5

_APP = "spark.databricks.delta.write.txnAppId"
_VERSION = "spark.databricks.delta.write.txnVersion"
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


@dataclass(frozen=True)
class Statement:
    """A MERGE, and what the metadata of its commit says of it."""

    sql: str
    figures: Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What a merge did.

    affected: rows it changed.
    already_merged: the table had this batch, from an earlier run or from another process in the
        meantime; nothing was changed.
    conflicts: how often another writer's commit made it start again.
    """

    affected: int
    already_merged: bool = False
    conflicts: int = 0


def run(
    session: SparkSession,
    table: str,
    plan: Callable[[], Statement],
    model: str,
    through: int | None,
    *,
    retries: int = RETRIES,
) -> Outcome:
    """Run the MERGE that `plan` gives into `table`, again if other writers are in its way.

    plan: called before every try, so that ranges fit the table as it is then.
    through: the newest event batch in the source, recorded as the model's progress; a batch that
        was recorded before, by whomever, changes nothing. None records none.
    retries: tries beyond the first.

    Raises:
        ConflictError: the retries are used up, or the table was altered or replaced meanwhile.
    """
    table_id = log.table_id(session, table)

    def attempt() -> Outcome:
        statement = plan()
        if log.table_id(session, table) != table_id:
            raise ConflictError(
                f"{table} was replaced while the merge waited for other writers; the batch was"
                " staged for the table before. Nothing was committed. Run it again."
            )
        return _try(session, statement, table_id, model, through)

    def recorded() -> Outcome | None:
        done = progress.read(session, table, model)
        if through is not None and done is not None and done >= through:
            return Outcome(0, already_merged=True)
        return None

    outcome, conflicts = retry(table, attempt, recorded, retries)
    return replace(outcome, conflicts=conflicts)


def _try(
    session: SparkSession, statement: Statement, table_id: str, model: str, through: int | None
) -> Outcome:
    metadata = {"alluvium_merge": {**statement.figures, "table": table_id}}
    settings = {_METADATA: json.dumps(metadata, sort_keys=True)}
    if through is not None:
        settings |= {_APP: progress.app_id(model, table_id), _VERSION: str(through)}
    try:
        for key, value in settings.items():
            session.conf.set(key, value)
        rows = session.sql(statement.sql).collect()
    finally:
        # A leaked pair would make Delta skip the session's next write without a word.
        for key in settings:
            session.conf.unset(key)
    # Delta answers with no row where the `txn` is in the log already.
    return Outcome(int(rows[0]["num_affected_rows"])) if rows else Outcome(0, already_merged=True)
