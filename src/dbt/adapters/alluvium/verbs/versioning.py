"""Tags and clones of tables, and the vacuum that leaves alone what they need."""

from __future__ import annotations

from typing import Any

from dbt.adapters.base import available
from dbt_common.exceptions import DbtRuntimeError

from alluvium.delta import log, pinned
from alluvium.delta.dependents import Dependent
from dbt.adapters.alluvium import audit, catalog
from dbt.adapters.alluvium.handle import spark_errors
from dbt.adapters.alluvium.relation import AlluviumRelation
from dbt.adapters.alluvium.verbs.publishing import Publishing


class Versioning(Publishing):
    @available.parse_list
    def vacuum(self, relation: AlluviumRelation, dry_run: bool = False) -> list[str]:
        """VACUUM of a table, but for what other tables need of its files; `pinned.vacuum`.

        Those are what its register names, the project's published models that show it, and clones
        that the metastore knows.

        Raises:
            DbtRuntimeError: It is not known what one of them needs; nothing was deleted.
        """
        self._handle.cursor()  # names the job group, so that Ctrl-C reaches the vacuum
        table = relation.stored.render()
        session = self._handle.session
        with spark_errors():
            folder = log.qualified(log.delta_log(session, table))
            tables = [
                Dependent("clone", one.name, one.location)
                for one in catalog.delta_tables(session)
                if one.location and one.location != folder
            ]
            others = [*pinned.clones(session, folder, tables), *self._shows(table)]
            try:
                return pinned.vacuum(session, table, others, dry_run=dry_run)
            except ValueError as error:
                raise DbtRuntimeError(f"alluvium.vacuum of {table}: {error}") from error

    def _shows(self, table: str) -> list[Dependent]:
        """The project's published models that show a table, and were built."""
        session: Any = self._handle.session
        found = []
        for node, candidate in audit.candidates(self.nodes):
            shown = self.table_of(node)
            is_shown = self._candidates[candidate.unique_id].lower() == table.lower()
            if is_shown and self._version(shown) is not None:
                location = log.qualified(log.delta_log(session, shown))
                found.append(Dependent("published", node.name, location))
        return found
