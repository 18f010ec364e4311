"""What reads may skip, and the values that a model prunes by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dbt.adapters.base import BaseRelation, available
from pyspark.errors import AnalysisException

from alluvium.engine import metastore
from alluvium.pruning import explain_read, values_of
from alluvium.pruning.counts import count_by
from dbt.adapters.alluvium import live, told
from dbt.adapters.alluvium.relation import AlluviumRelation
from dbt.adapters.alluvium.verbs.publishing import Publishing


class Pruning(Publishing):
    def _is_settled(self, table: str) -> bool:
        """Whether the node that is compiled reads a table at a version settled before.

        dbt compiles a test before it begins. A candidate's tests all read one version of it.
        """
        node = told.node_now()
        if getattr(node, "resource_type", None) == "test":
            self.begin_test(node)
        return table in self._handle.versions

    @available.parse_list
    def values_of(
        self, relation: BaseRelation | str, join: BaseRelation, columns: Sequence[str]
    ) -> list[str]:
        """Conditions on columns of rows that have a partner in a relation, as SQL.

        None where one of both is not a table: a query, as in unit tests, has its rows elsewhere.
        None either where the query is going to read an older version of the partners.
        """
        if self._is_settled(join.render()) or not self.get_columns_in_relation(join):
            return []
        with self._working("alluvium.prune") as session:
            try:
                rows = self._handle.unread(str(relation)).schema
            except AnalysisException:
                return []
            return values_of(session, rows, join.render(), columns)

    @available.parse_none
    def count_by(
        self,
        relation: AlluviumRelation,
        by: Sequence[str],
        where: str | None,
        min_max: Sequence[str],
    ) -> str | None:
        """Rows by columns, from the log and from the files of which it does not tell, as SQL.

        The query has them in a view of the node's session: `alluvium.pruning.counts`. None where
        the plain query is as good, or the relation is not the whole of a Delta table.
        """
        table = relation.stored.render()
        if relation.limit is not None or relation.event_time_filter is not None:
            return None
        # What a test read at a settled version is noted by the table's name.
        if not relation.schema or self._is_settled(table):
            return None
        with self._working("alluvium.count_by") as session:
            found = metastore.table(session, str(relation.schema), str(relation.identifier))
            if found is None or found.is_view or found.provider != "delta":
                return None
            parts = [where] if where else []
            if relation.live_only and live.marks(session)(table):
                parts.append(live.FILTER.removeprefix("where "))
            counts = count_by(session, table, by, " and ".join(parts) or None, min_max)
        if counts is None:
            return None
        files = f"of {counts.files} files the log tells all of {counts.told}"
        return (
            f"(/* version {counts.version}: {files}, {counts.read} are read */"
            f" select * from {counts.view})"
        )

    @available.parse_list
    def explain_read(self, unique_id: str, where: Mapping[str, Any] | str | None) -> list[str]:
        """What Spark reads of a model's table for a condition, in lines.

        Raises:
            DbtRuntimeError: there is no such table, or a mistake is in the condition.
        """
        with self._working("alluvium.explain_read") as session:
            table = self.table_of(self.nodes[unique_id])
            return explain_read(session, table, where).splitlines()
