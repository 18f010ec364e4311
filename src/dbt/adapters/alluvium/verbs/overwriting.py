"""Windows of microbatches, each put in place of the rows that stand there."""

from __future__ import annotations

from typing import Any

from dbt.adapters.base import available

from alluvium.windows.window import Window
from dbt.adapters.alluvium import windows
from dbt.adapters.alluvium.verbs.base import SessionAdapter


class Overwriting(SessionAdapter):
    @available.parse_none
    def batch_window(self, batch: str, table: str | None, node: dict[str, Any]) -> Window:
        """The window of event time that this batch of the model `node` is to overwrite.

        table: the one that is there; None where `batch`, a staged relation, becomes one.
        """
        with self._working(node["name"]):
            return windows.of_batch(self._handle.table(table or batch), node)

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
                return windows.create(session, table, create, batch, window)
            return windows.overwrite(session, table, batch, window, node["name"], fills)
