"""Run a MERGE so that its progress and figures are part of its own commit."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from alluvium.delta import log
from alluvium.merge import one_commit, progress
from alluvium.merge.conflicts import ConflictError, StaleBatchError, retry
from alluvium.plan.ranges import Kept

RETRIES = 5


@dataclass(frozen=True)
class Statement:
    """A MERGE, and what the metadata of its commit says of it.

    prune: SQL on the target alone that holds for every match; None says nothing.
    at: version that the target must still have: what the batch was computed from, or what was
        verified; None for any.
    """

    sql: str
    figures: Mapping[str, Any]
    prune: str | None = None
    at: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What a merge did.

    affected: rows it changed.
    files, bytes: what was written, where the engine says so.
    engine: `one_commit` or `merge_into`.
    refused: why the one-commit merge left the statement to MERGE INTO; None where it was not asked.
    already_merged: the table had this batch, from an earlier run or from another process in the
        meantime; nothing was changed.
    conflicts: how often another writer's commit made it start again.
    kept: the files that were looked at, and all.
    """

    affected: int
    engine: str = "merge_into"
    refused: str | None = None
    already_merged: bool = False
    conflicts: int = 0
    files: int | None = None
    bytes: int | None = None
    kept: Kept | None = None


def run(
    session: SparkSession,
    table: str,
    plan: Callable[[], Statement | None],
    model: str,
    through: int | None,
    *,
    table_id: str | None = None,
    engine: str = "auto",
    retries: int = RETRIES,
    sort_by: Sequence[str] = (),
) -> Outcome:
    """Run the MERGE that `plan` gives into `table`, again if other writers are in its way.

    plan: called before every try, so that ranges fit the table as it is then; None where there is
        nothing left to merge.
    through: the newest event batch in the source, recorded as the model's progress; a batch that
        was recorded before, by whomever, changes nothing. None records none.
    table_id: id of the table that the first plan was made for; the present one's if not given.
    engine: `auto`, the one-commit merge and MERGE INTO where that refuses; or `merge_into`.
    retries: tries beyond the first.
    sort_by: columns that the one-commit merge sorts each new file by.

    Raises:
        ConflictError: the retries are used up, or the table was altered or replaced meanwhile.
    """
    table_id = table_id or log.table_id(session, table)

    tries = 0

    def attempt() -> Outcome:
        nonlocal tries
        tries += 1
        # What was in the way may have been this very batch, merged by another process.
        done = recorded() if tries > 1 else None
        if done is not None:
            return done
        statement = plan()
        if log.table_id(session, table) != table_id:
            raise ConflictError(
                f"{table} was replaced while the merge was planned or waited for other writers; the"
                " batch was staged for the table before. Nothing was committed. Run it again."
            )
        if statement is None:
            return recorded() or Outcome(0)
        return _try(session, table, statement, table_id, model, through, engine, sort_by)

    def recorded() -> Outcome | None:
        done = progress.read(session, table, model)
        if through is not None and done is not None and done >= through:
            return Outcome(0, already_merged=True)
        return None

    outcome, conflicts = retry(table, attempt, recorded, retries)
    return replace(outcome, conflicts=conflicts)


def _try(
    session: SparkSession,
    table: str,
    statement: Statement,
    table_id: str,
    model: str,
    through: int | None,
    engine: str,
    sort_by: Sequence[str],
) -> Outcome:
    kept: Kept | None = None

    def describe(looked_at: Kept) -> str:
        nonlocal kept
        kept = looked_at
        figures = {**statement.figures, **looked_at.figures(), "table": table_id}
        return json.dumps({"alluvium_merge": figures}, sort_keys=True)

    recorded = None if through is None else (progress.app_id(model, table_id), through)
    refused = None
    if engine == "auto":
        merged = one_commit.merge(
            session,
            statement.sql,
            progress=recorded,
            metadata=describe,
            at=statement.at,
            sort_by=sort_by,
        )
        if isinstance(merged, one_commit.Merged):
            return Outcome(
                merged.affected,
                "one_commit",
                already_merged=recorded is not None and merged.version is None,
                files=merged.files_written,
                bytes=merged.bytes_written,
                kept=kept,
            )
        refused = merged.reason
    settings = {one_commit.METADATA: describe(log.skipping(session, table, statement.prune))}
    if recorded is not None:
        settings |= {one_commit.APP: recorded[0], one_commit.VERSION: str(recorded[1])}
    try:
        for key, value in settings.items():
            session.conf.set(key, value)
        if statement.at is not None and log.version(session, table) != statement.at:
            raise StaleBatchError(f"{table} has moved on since version {statement.at}")
        rows = session.sql(statement.sql).collect()
    finally:
        # A leaked pair would make Delta skip the session's next write without a word.
        for key in settings:
            session.conf.unset(key)
    # Delta answers with no row where the `txn` is in the log already.
    if not rows:
        return Outcome(0, refused=refused, already_merged=True)
    return Outcome(int(rows[0]["num_affected_rows"]), refused=refused, kept=kept)
