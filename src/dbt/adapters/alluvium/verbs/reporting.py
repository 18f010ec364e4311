"""What tables went through: their snapshots, segments and blocks, and the log of one."""

from __future__ import annotations

from typing import Any

from dbt.adapters.base import available

from dbt.adapters.alluvium import snapshots
from dbt.adapters.alluvium.verbs.base import SessionAdapter


class Reporting(SessionAdapter):
    @available.parse(lambda *a, **k: "")
    def unseen_actions(self, tables: list[dict[str, Any]], kept: str | None) -> str:
        """The name of a view of what commits did that is not kept; `snapshots.unseen`."""
        with self._working() as session:
            return snapshots.unseen(session, tables, kept)

    @available.parse(lambda *a, **k: "")
    def table_actions(
        self, table: str, model: str, kept: str | None, version: Any, who: str
    ) -> str:
        """The name of a view of what the commits of a table did; `snapshots.of_table`."""
        with self._working() as session:
            return snapshots.of_table(session, table, model, kept, version, who)

    @available.parse_list
    def table_log(
        self,
        table: str,
        model: str,
        limit: int | None = None,
        since: str | None = None,
        show: int | None = None,
        published: dict[str, str] | None = None,
    ) -> list[str]:
        """The history of a table in lines, or one version of it in full; `snapshots.log_lines`."""
        with self._working() as session:
            return snapshots.lines(session, table, model, limit, since, show, published or {})
