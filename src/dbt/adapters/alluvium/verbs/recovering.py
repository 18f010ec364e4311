"""Recovery: whether the files of tables are what their logs say, and what puts them right."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from dbt.adapters.base import available
from pyspark.sql import SparkSession

from alluvium.delta.log.log_folder import LogFolder
from alluvium.engine import homes
from alluvium.recovery.fsck import Fsck, Report
from alluvium.recovery.recover import Recovery
from alluvium.recovery.tables import Table
from dbt.adapters.alluvium import lost_tables, noting, project_tables, told
from dbt.adapters.alluvium.verbs.base import SessionAdapter

# Seconds between lines that say how far the work is.
_PAUSE = 10


class _Progress:
    """Tells how far long work is."""

    def __init__(self, who: str) -> None:
        self._who, self._said = who, time.monotonic()

    def __call__(self, line: str) -> None:
        if time.monotonic() - self._said >= _PAUSE:
            told.say(f"{self._who}: {line}")
            self._said = time.monotonic()


class Recovering(SessionAdapter):
    @available.parse_none
    def fsck(self, models: list[str] | None, full: bool) -> Report:
        """What is wrong with the files of tables; nothing is changed.

        models: unique ids; None for all tables of the project.
        full: whether the rows of all files are read.
        """
        with self._working() as session:
            tables = self._tables_in_files()
            known = project_tables.homes(session, self._home, self.nodes)
            look = Fsck(session, tables, known, full=full, say=_Progress("alluvium.fsck"))
            return look.run(_chosen(tables, models))

    @available.parse_list
    def recover(self, models: list[str] | None, dry_run: bool) -> list[str]:
        """Put tables right, or say what would be done; a line for each thing.

        models: unique ids; None for all tables of the project and of the warehouse, and its views.
        """
        with self._working() as session:
            tables = self._tables_in_files()
            if models is None:
                tables += project_tables.others(session, tables)
            recovery = Recovery(
                session,
                tables,
                project_tables.homes(session, self._home, self.nodes),
                dry_run=dry_run,
                say=_Progress("alluvium.recover"),
            )
            lines = recovery.run(_chosen(tables, models))
            if models is None and not dry_run and not recovery.left:
                homes.arrived(self._home)
            if models is None and (views := project_tables.missing_views(session, self.nodes)):
                lines.append(
                    f"{', '.join(views)}: the metastore does not know these views, and views have"
                    f" no files; accepted: `dbt run --select {' '.join(views)}`"
                )
        return lines

    def _tables_in_files(self) -> list[Table]:
        session = self._handle.session
        found = project_tables.tables(session, self._home, self.nodes, self.table_of)
        return [replace(one, renamed=self._renamed(session, one)) for one in found]

    def _renamed(self, session: SparkSession, table: Table) -> str | None:
        """What a table is called now, as builds would tell."""
        node = self.node_of(table.model)
        if table.is_registered or not lost_tables.keeps_rows(node):
            return None
        noted = noting.read(self._home, f"{node.schema}.{node.alias}")
        if noted is None or noted.table_id is None or LogFolder(session, table.place).exists():
            return None
        return lost_tables.renamed_to(session, node, noted.table_id, self.nodes.values())


def _chosen(tables: Iterable[Table], models: list[str] | None) -> list[str] | None:
    """The names of the tables of these models."""
    if models is None:
        return None
    return [one.name for one in tables if one.model in models]
