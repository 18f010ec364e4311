"""How far merged models have come: what is read of it, carried, and passed over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import BaseRelation, available
from dbt.flags import get_flags
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession

from alluvium.delta.log import inherited, log
from alluvium.merge import progress
from alluvium.plan.commands import operation
from alluvium.plan.graph import carriers, name_of
from alluvium.plan.versions import batches, heirs, left_out
from dbt.adapters.alluvium import selection, streams, told
from dbt.adapters.alluvium.merges import Inherited, State
from dbt.adapters.alluvium.verbs.base import SessionAdapter
from dbt.adapters.alluvium.verbs.streaming import Staged, name_of_bronze

# dbt's commands that build models.
_RUNS = ("build", "run", "retry")


class Progressing(SessionAdapter):
    _staged: dict[str, Staged]  # of Streaming

    @available.parse(lambda *a, **k: True)
    def has_begun(self, table: str) -> bool:
        """Whether a merged table had its first merge; true of what is not a Delta table."""
        with self._working() as session:
            return progress.has_begun(session, table)

    @available.parse_none
    def merge_progress(
        self, table: str, model_id: str, bronze: BaseRelation | str | None = None
    ) -> int | None:
        """The newest batch that a model merged into a table, or the one whose place it takes.

        bronze: the table of events that goes on behind it.

        Raises:
            DbtRuntimeError: The batches were those of another table of events.
        """
        state = log.state(self._handle.session, table)
        numbers = self.inherited(table, state, model_id).numbers
        through = progress.of_model(state[0], numbers, model_id)
        if bronze is not None and through is not None:
            before = numbers.get(batches.read_from(model_id), -1)
            if before != batches.number_of(name_of_bronze(bronze)):
                self._check_same_batches(bronze, through, model_id, is_noted=before >= 0)
        return through

    def _check_same_batches(
        self, bronze: BaseRelation | str, through: int, model_id: str, *, is_noted: bool
    ) -> None:
        """Raise where a table of events does not have the batch that progress stands at.

        Its numbers are others then, and its events up to there would be passed over.

        is_noted: whether the batches were surely those of another table. A first merge does not
        know whose they were where another command has staged its batch.
        """
        table, name = name_of_bronze(bronze), name_of(self.nodes[model_id])
        with self._working() as session:
            below = f"select max(`_batch_id`) from {table} where `_batch_id` <= {through}"
            found = session.sql(below).collect()[0][0]
        if found is None:
            return
        if int(found) == through:
            if is_noted:
                told.say(
                    f"{name}: goes on in another table of events, {table}, behind batch {through:,}"
                )
            return
        if not is_noted and streams.had_batch(session, bronze, through):
            return  # it is the same table, where the rows of that batch are gone
        raise DbtRuntimeError(
            f"{name} has merged event batches of another table up to {through}. {table} has"
            f" batches below {through}, and not that one: they would be passed over. Accepted: the"
            f" table that {name} was merged from before; or {name} and the model that stages its"
            " batch with --full-refresh"
        )

    @available.parse_none
    def note_bronze(self, table: str, model_id: str, caller: str) -> None:
        """Note whose batches `caller` stages for a model that another command merges."""
        staged = self._staged.get(model_id)
        is_apart = get_flags().WHICH in _RUNS and not selection.is_asked_for(model_id)
        if is_apart and staged is not None and caller in staged.readers:
            with self._working() as session:
                if due := self._read_from(model_id, log.state(session, table)[1]):
                    log.commit_transactions(session, table, due)

    def _read_from(self, model_id: str, numbers: Mapping[str, int]) -> dict[str, int]:
        """The `txn` that says whose batches a table has, where its numbers do not say it yet."""
        staged = self._staged.get(model_id)
        if staged is None:
            return {}
        app, bronze = batches.read_from(model_id), batches.number_of(staged.bronze)
        return {} if numbers.get(app) == bronze else {app: bronze}

    @available.parse(lambda *_, **__: {})
    def skipped_batches(self, table: str, model_id: str) -> dict[str, list[Any]]:
        """The events that a model leaves out for good: `batches`, and `files` of batches."""
        with self._working() as session:
            known = self.inherited(table, log.state(session, table), model_id)
        events = left_out.left_out(known.numbers, model_id)
        return {"batches": left_out.batches(events), "files": left_out.files(events)}

    def _take_over(self, session: SparkSession, table: str, former: str, model_id: str) -> None:
        """Record what a model takes over from the one whose place it takes, and say so."""
        due = inherited.take_over(session, table, former, model_id)
        told.say(f"{name_of(self.nodes[model_id])}: goes on where {former} was: {heirs.said(due)}")

    def inherited(self, table: str, state: State, model_id: str) -> Inherited:
        """The numbers of a table as a model goes on with them, and whose place it takes."""
        table_id, numbers = state
        former = self._former(table, table_id, numbers, model_id)
        if former is None:
            return Inherited(numbers, None)
        due = heirs.taken_over(numbers, table_id, former, model_id)
        return Inherited({**numbers, **due}, former)

    def _former(
        self, table: str, table_id: str, numbers: Mapping[str, int], model_id: str
    ) -> str | None:
        """The model whose place another one takes in a table; None for none.

        The project has it under another unique id now: that of a version, or in another package.

        Raises:
            DbtRuntimeError: It is not certain whose place it takes.
        """
        found = heirs.formers(numbers, table_id, model_id) if model_id in self.nodes else []
        if not found:
            return None
        # What another one took over it does not take back by itself: two projects that merge into
        # one table would do so in turns, and each pass over what the other one merged.
        gave = heirs.gave_away(numbers, table_id, model_id)
        if len(found) == 1 and found[0] not in self.nodes and not gave:
            return found[0]
        name = name_of(self.nodes[model_id])
        ways = (f"`{operation('adopt', model=name, former=one, dry_run=False)}`" for one in found)
        lost = "no more" if gave else "none"
        raise DbtRuntimeError(
            f"{name}: {table} has progress or marks of {' and '.join(found)} and {lost} of"
            f" {model_id}, so it is not certain where that goes on. Accepted: {', or '.join(ways)};"
            " or an alias of its own"
        )

    def _pass_over(self, session: SparkSession, table: str, model_id: str) -> None:
        """Go on behind a bounded batch that brought nothing: the next would be the same.

        What was merged must surely be that batch, and not one that a table kept from before.
        """
        bounds = self._staged.get(model_id)
        if bounds is None or not bounds.is_cut or bounds.newest is None:
            return
        merged = self.node_of(model_id)
        due = carriers(
            merged,
            bounds.readers,
            self.node_of,
            are_views_here=not getattr(get_flags(), "DEFER", False),
        )
        left = [one for one in due if not _is_built(one)]
        if not left:
            progress.pass_over(session, table, model_id, bounds.after, bounds.newest)
            return
        names = " and ".join(map(name_of, left))
        told.warn(
            f"{name_of(merged)}: nothing came of the bounded batch, and {names} may show an earlier"
            " one, so the bound stays where it is. To go on, build them together: --select"
            f" {' '.join(map(name_of, [*due, merged]))}"
        )


def _is_built(node: Any) -> bool:
    """Whether a node that is read now was surely built in this command.

    dbt leaves out what comes behind a node that failed. A published model may show what it showed.
    """
    return selection.is_asked_for(node.unique_id) and node.config.materialized != "published"
