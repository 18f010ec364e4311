"""How far merged models have come: what is read of it, carried, and passed over."""

from __future__ import annotations

from typing import Any

from dbt.adapters.base import available
from dbt.flags import get_flags
from pyspark.sql import SparkSession

from alluvium.merge import progress
from alluvium.plan.graph import carriers, name_of
from dbt.adapters.alluvium import selection, told
from dbt.adapters.alluvium.verbs.base import SessionAdapter
from dbt.adapters.alluvium.verbs.streaming import Staged


class Progressing(SessionAdapter):
    _staged: dict[str, Staged]  # of Streaming

    @available.parse(lambda *a, **k: True)
    def has_begun(self, table: str) -> bool:
        """Whether a merged table had its first merge; true of what is not a Delta table."""
        with self._working() as session:
            return progress.has_begun(session, table)

    @available.parse_none
    def merge_progress(self, table: str, model_id: str) -> int | None:
        return progress.read(self._handle.session, table, model_id)

    @available.parse_none
    def copy_progress(self, source: str, target: str) -> int:
        return progress.copy(self._handle.session, source, target)

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
