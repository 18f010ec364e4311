"""How far merged models have come: what is read of it, carried, and passed over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import available
from dbt.flags import get_flags
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession

from alluvium.delta import inherited, log
from alluvium.merge import progress
from alluvium.plan.commands import operation
from alluvium.plan.graph import carriers, name_of
from alluvium.plan.versions import heirs, left_out
from dbt.adapters.alluvium import selection, told
from dbt.adapters.alluvium.verbs.base import SessionAdapter
from dbt.adapters.alluvium.verbs.streaming import Staged

# As `log.state` gives it.
State = tuple[str, Mapping[str, int]]


class Progressing(SessionAdapter):
    _staged: dict[str, Staged]  # of Streaming

    @available.parse(lambda *a, **k: True)
    def has_begun(self, table: str) -> bool:
        """Whether a merged table had its first merge; true of what is not a Delta table."""
        with self._working() as session:
            return progress.has_begun(session, table)

    @available.parse_none
    def merge_progress(self, table: str, model_id: str) -> int | None:
        """The newest batch that a model merged into a table, or the one whose place it takes."""
        found = self._with_inherited(self._handle.session, table, model_id)
        return progress.of_model(*found, model_id)

    @available.parse(lambda *_, **__: {})
    def skipped_batches(self, table: str, model_id: str) -> dict[str, list[Any]]:
        """The events that a model leaves out for good: `batches`, and `files` of batches."""
        with self._working() as session:
            _, numbers = self._with_inherited(session, table, model_id)
        events = left_out.left_out(numbers, model_id)
        return {"batches": left_out.batches(events), "files": left_out.files(events)}

    def _take_over(
        self, session: SparkSession, table: str, model_id: str, *, dry_run: bool = False
    ) -> None:
        """Record what a model takes over from the one whose place it takes, and say so."""
        former = self._former(table, *log.state(session, table), model_id)
        if former is not None and not dry_run:
            due = inherited.take_over(session, table, former, model_id)
            name = name_of(self.nodes[model_id])
            told.say(f"{name}: goes on where {former} was: {heirs.said(due)}")

    def _with_inherited(self, session: SparkSession, table: str, model_id: str) -> State:
        """`log.state` of a table, as it is when a model has taken over what it will."""
        table_id, numbers = log.state(session, table)
        former = self._former(table, table_id, numbers, model_id)
        if former is None:
            return table_id, numbers
        return table_id, {**numbers, **heirs.taken_over(numbers, table_id, former, model_id)}

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
        if len(found) == 1 and found[0] not in self.nodes:
            return found[0]
        name = name_of(self.nodes[model_id])
        ways = (f"`{operation('adopt', model=name, former=one, dry_run=False)}`" for one in found)
        raise DbtRuntimeError(
            f"{name}: {table} has progress or marks of {' and '.join(found)} and none of"
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
