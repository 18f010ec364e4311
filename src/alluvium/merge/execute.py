"""Run a MERGE so that its progress and figures are part of its own commit."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.log import committing, log, own_commit
from alluvium.merge import one_commit, progress
from alluvium.merge.conflicts import ConflictError, StaleBatchError, retry
from alluvium.plan.merge.figures import Merged
from alluvium.plan.ranges.locate import Kept

RETRIES = 5


@dataclass(frozen=True)
class Statement:
    """A MERGE, and what the metadata of its commit says of it.

    through: the newest event batch in the source, recorded as the model's progress; a batch that
        was recorded before, by whomever, changes nothing. None records none.
    prune: SQL on the target alone that holds for every match; None says nothing.
    at: version that the target must still have: what the batch was computed from, or what was
        verified; None for any.
    table_id: of the table that it was planned for; the present one's if not given.
    key: of `marks`, under which the commit's metadata has the figures.
    noted: name and number of a `txn` that the commit records, of what is not a batch.
    after: the event batch that the source begins behind, -1 for the first; None for any. Where a
        restore takes the table behind that, events would be passed over.
    needs_one_commit: whether MERGE INTO may not run it: between its look at `at` and Delta's own
        another writer may come.
    automata: whether the one-commit merge leaves files unread whose tags have none of the keys.
    beside: further `txn` actions, by application; MERGE INTO, which takes one, is followed by them.
    """

    sql: str
    figures: Mapping[str, Any]
    through: int | None = None
    prune: str | None = None
    at: int | None = None
    table_id: str | None = None
    key: str = marks.MERGE_FIGURES
    noted: tuple[str, int] | None = None
    after: int | None = None
    needs_one_commit: bool = False
    automata: bool = False
    beside: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class DeltaTable:
    """A table of a session, which a merge changes for one model.

    name: rendered.
    model: dbt's unique id.
    engine: `auto`, the one-commit merge and MERGE INTO where that refuses; or `merge_into`.
    sort_by: columns that the one-commit merge sorts each new file by.
    """

    session: SparkSession
    name: str
    model: str
    engine: str = "auto"
    sort_by: Sequence[str] = ()

    def id(self) -> str:
        """What every (re)creation renews."""
        return log.table_id(self.session, self.name)

    def version(self) -> int:
        """Its newest version."""
        return log.version(self.session, self.name)

    def progress(self) -> int | None:
        """The newest event batch that the model merged into it; None before the first."""
        return progress.read(self.session, self.name, self.model)

    def commit(self, statement: Statement, table_id: str) -> Merged:
        """Run the statement and commit it with its progress, to the table with this id."""

        def describe(kept: Kept) -> str:
            figures = {**statement.figures, **kept.figures(), "table": table_id}
            return json.dumps({statement.key: figures}, sort_keys=True)

        recorded, after = statement.noted, None
        if statement.through is not None:
            after = statement.after
            recorded = (progress.app_id(self.model, table_id), statement.through)
        refused = None
        begun = time.time()
        if self.engine == "auto":
            merged = one_commit.merge(
                self.session,
                statement.sql,
                progress=recorded,
                metadata=describe,
                at=statement.at,
                after=after,
                sort_by=self.sort_by,
                automata=statement.automata,
                beside=statement.beside,
            )
            if isinstance(merged, Merged):
                own_commit.tidy(self.session, self.name, begun, merged.files_left)
                return merged
            refused = merged.reason
            if statement.needs_one_commit:
                raise needs_merge_into(self.name, refused)
        looked_at = log.skipping(self.session, self.name, statement.prune)
        merged = self._merge_into(statement, recorded, describe(looked_at), after)
        if statement.beside:
            log.commit_transactions(self.session, self.name, statement.beside, committing.FOREVER)
        if not merged.affected:  # else a file without rows would be one of several
            own_commit.tidy(self.session, self.name, begun, merged.files_left)
        return replace(merged, refused=refused, kept=None if merged.already_merged else looked_at)

    def _merge_into(
        self,
        statement: Statement,
        recorded: tuple[str, int] | None,
        metadata: str,
        after: int | None,
    ) -> Merged:
        settings = {committing.COMMIT_METADATA: metadata}
        if recorded is not None:
            settings |= {committing.TXN_APP: recorded[0], committing.TXN_VERSION: str(recorded[1])}
        try:
            for key, value in settings.items():
                self.session.conf.set(key, value)
            if statement.at is not None and self.version() != statement.at:
                raise StaleBatchError(f"{self.name} has moved on since version {statement.at}")
            looked_at = self.version()
            self._check_not_behind(after)
            frame = self.session.sql(statement.sql)
            rows = frame.collect()
        finally:
            # A leaked pair would make Delta skip the session's next write without a word.
            for key in settings:
                self.session.conf.unset(key)
        # Delta answers with no row where the `txn` is in the log already.
        if not rows:
            return Merged(already_merged=True)
        if recorded is not None and after is not None:
            self._set_back_again(recorded[0], after, looked_at)
        kinds = ("inserted", "updated", "deleted")
        inserted, updated, deleted = (int(rows[0][f"num_{kind}_rows"]) for kind in kinds)
        return Merged(inserted, updated, deleted, files_left=own_commit.left_by(frame))

    def _check_not_behind(self, after: int | None) -> None:
        if after is None:
            return
        done = self.progress()
        if (-1 if done is None else done) < after:
            raise StaleBatchError(f"{self.name} was set back behind event batch {after}")

    def _set_back_again(self, app: str, after: int, looked_at: int) -> None:
        """Take progress back where a restore came between the look at it and MERGE INTO's own.

        Delta begins that statement's transaction, so nobody can look at the table in it. What it
        merged stays: the same events come once more, and change nothing.

        Raises:
            StaleBatchError: it did; the next try begins where the restore left off.
        """
        commits = log.newest_first(self.session, self.name, looked_at)
        numbers = (one.transactions.get(app, after) for one in commits)
        back = next((number for number in numbers if number < after), None)
        if back is None:
            return
        log.commit_transactions(self.session, self.name, {app: back})
        raise StaleBatchError(f"{self.name} was set back behind event batch {after}")


def needs_merge_into(table: str, reason: str) -> ValueError:
    """What says that a statement cannot be run in one commit, and must be."""
    return ValueError(
        f"{table}: {reason}. So MERGE INTO alone could do it, which may overwrite what another"
        " writer commits meanwhile. Nothing was changed. Accepted: a table of which that does not"
        " hold"
    )


def run(
    table: DeltaTable, plan: Callable[[], Statement | None], retries: int = RETRIES
) -> Merged | None:
    """Run the MERGE that `plan` gives into `table`, again if other writers are in its way.

    Args:
        table: The one that the batch is staged for.
        plan: Called before every try, so that ranges fit the table as it is then; None where there
            is nothing left to merge.
        retries: Tries beyond the first.

    Returns:
        None where the first plan has nothing to merge.

    Raises:
        ConflictError: The retries are used up, or the table was altered or replaced meanwhile.
    """
    tries = 0
    staged_for: str | None = None
    through: int | None = None

    def attempt() -> Merged | None:
        nonlocal tries, staged_for, through
        tries += 1
        # What was in the way may have been this very batch, merged by another process.
        done = recorded() if tries > 1 else None
        if done is not None:
            return done
        statement = plan()
        if statement is None and tries == 1:
            return None
        present = table.id()
        staged_for = staged_for or (statement and statement.table_id) or present
        if present != staged_for:
            raise ConflictError(
                f"{table.name} was replaced while the merge was planned or waited for other"
                " writers; the batch was staged for the table before. Nothing was committed. Run it"
                " again."
            )
        if statement is None:
            return recorded() or Merged()
        through = statement.through
        return table.commit(statement, present)

    def recorded() -> Merged | None:
        done = None if through is None else table.progress()
        if through is not None and done is not None and done >= through:
            return Merged(already_merged=True)
        return None

    merged, conflicts = retry(table.name, attempt, recorded, retries)
    return merged and replace(merged, conflicts=conflicts)
