"""What reads may skip, and the values that a model prunes by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dbt.adapters.base import BaseRelation, available

from alluvium.pruning import explain_read, values_of
from dbt.adapters.alluvium.handle import mistakes
from dbt.adapters.alluvium.verbs.base import SessionAdapter


class Pruning(SessionAdapter):
    @available.parse_list
    def values_of(self, join: BaseRelation, columns: Sequence[str]) -> list[str]:
        """Conditions on columns of rows that have a partner in a relation, as SQL.

        None where the relation is not a table: a query, as in unit tests, has its rows elsewhere.
        """
        if not self.get_columns_in_relation(join):
            return []
        with mistakes("alluvium.prune"):
            return values_of(self._handle.session, join.render(), columns)

    @available.parse_list
    def explain_read(self, unique_id: str, where: Mapping[str, Any] | str | None) -> list[str]:
        """What Spark reads of a model's table for a condition, in lines.

        Raises:
            DbtRuntimeError: there is no such table, or a mistake is in the condition.
        """
        with mistakes("alluvium.explain_read"):
            table = self.table_of(self.nodes[unique_id])
            return explain_read(self._handle.session, table, where).splitlines()
