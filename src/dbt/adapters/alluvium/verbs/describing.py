"""What there is: relations, their columns, and dbt's catalog of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.contracts.relation import RelationType
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, TableMetadata
from dbt_common.exceptions import DbtDatabaseError
from pyspark.errors import AnalysisException

from alluvium.engine import metastore
from alluvium.names import among, in_catalog, quoted
from dbt.adapters.alluvium import lost_tables, told
from dbt.adapters.alluvium.column import AlluviumColumn, columns, has_bounds
from dbt.adapters.alluvium.handle import spark_errors
from dbt.adapters.alluvium.relation import AlluviumRelation
from dbt.adapters.alluvium.verbs.base import SessionAdapter

_STAGED_KEY = re.compile(r"dbt_unique_key(_\d+)?", re.IGNORECASE)
_STATISTICS = re.compile(r"(\d+) (bytes|rows)")
_PROPERTIES = "# Detailed Table Information"
_LABELS = {"bytes": "Size in bytes", "rows": "Rows"}


class Describing(SessionAdapter):
    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """The tables and views of a schema; SHOW TABLE EXTENDED, dbt-spark's, asks for each."""
        schema = in_catalog(str(schema_relation.schema))
        with spark_errors():
            found = metastore.tables(self._handle.session, schema)
            if self._register_lost_tables(schema, {in_catalog(table.name) for table in found}):
                found = metastore.tables(self._handle.session, schema)
        return [
            self.Relation.create(
                schema=schema,
                identifier=table.name,
                type=RelationType.View if table.is_view else RelationType.Table,
                is_delta=table.provider == "delta",
                is_hudi=table.provider == "hudi",
                is_iceberg=table.provider == "iceberg",
            )
            for table in found
        ]

    def check_schema_exists(self, database: str, schema: str) -> bool:
        return in_catalog(schema) in map(in_catalog, self.list_schemas(database))

    def _register_lost_tables(self, schema: str, known: set[str]) -> bool:
        """Register the project's own tables again where the metastore was lost."""
        nodes = self.nodes.values()
        missing = lost_tables.missing(schema, known, nodes)
        session = self._handle.session
        if not missing or not session.catalog.databaseExists(quoted(schema)):
            return False
        home = Path(self.config.credentials.home)
        registered = list(lost_tables.register_own(session, home, known, missing))
        for sentence in registered:
            told.warn(sentence)
        return bool(registered)

    def get_columns_in_relation(self, relation: BaseRelation) -> list[Any]:
        """The columns that a relation stores; none where there is no such relation.

        From Spark's types. The text of DESCRIBE, dbt-spark's way, does not tell a column whose name
        begins with `#` from the heading that ends the columns.
        """
        stored = relation.stored if isinstance(relation, AlluviumRelation) else relation
        session = self._handle.session
        with spark_errors():
            try:
                fields = self._handle.unread(stored.render()).schema.fields
            except AnalysisException as error:
                if error.getCondition() == "TABLE_OR_VIEW_NOT_FOUND":
                    return []
                raise
            table = None
            if has_bounds(fields) and stored.schema:
                table = metastore.table(session, str(stored.schema), str(stored.identifier))
        found = columns(fields, keeps_bounds=table is None or table.provider != "delta")
        return [one for one in found if one.name not in self.HUDI_METADATA_COLUMNS]

    def get_missing_columns(
        self, from_relation: BaseRelation, to_relation: BaseRelation
    ) -> list[Any]:
        """Columns that only the first relation has, less the keys of a snapshot's staging table.

        dbt-spark's snapshot leaves out one key but not several: it would store them, and at the
        next run find each twice.
        """
        missing = super().get_missing_columns(from_relation, to_relation)
        missing = [one for one in missing if not _STAGED_KEY.fullmatch(one.name)]
        stored = [one.name for one in self.get_columns_in_relation(to_relation)] if missing else []
        return [one for one in missing if not among(one.name, stored)]

    def _get_columns_for_catalog(self, relation: BaseRelation) -> list[dict[str, Any]]:
        """The columns of a relation; none, with a warning, where Spark cannot tell them.

        A schema may hold tables of other people. One without its folder must not cost the others.
        """
        try:
            with spark_errors():
                # First: of a folder that is gone it tells the path, the table's types do not.
                rows = self._handle.session.sql(f"describe extended {relation.render()}").collect()
            found = self.get_columns_in_relation(relation)
        except DbtDatabaseError as error:
            reason = str(error.msg).splitlines()[0]
            told.warn(f"{relation.render()} is left out of the catalog: {reason}")
            return []
        return catalog_columns(relation, found, [tuple(row) for row in rows])

    def get_catalog_for_single_relation(self, relation: BaseRelation) -> CatalogTable | None:
        """One relation's part of catalog.json; None if it does not exist."""
        found = self.get_relation("", str(relation.schema), str(relation.identifier))
        columns = self._get_columns_for_catalog(found) if found else []
        if found is None or not columns:
            return None
        return CatalogTable(
            metadata=TableMetadata(
                type=str(found.type),
                schema=str(found.schema),
                name=str(found.identifier),
                owner=columns[0].get("table_owner"),
                comment=columns[0].get("table_comment"),
            ),
            columns={
                column["column_name"]: ColumnMetadata(
                    type=column["column_type"],
                    index=column["column_index"],
                    name=column["column_name"],
                    comment=column.get("column_comment"),
                )
                for column in columns
            },
            stats={},
        )


def catalog_columns(
    relation: BaseRelation,
    found: Iterable[AlluviumColumn],
    described: Sequence[tuple[str, str, str]],
) -> list[dict]:
    """One dict a column, as dbt's catalog takes them: table facts repeated on each.

    found: the columns.
    described: rows (name, value, comment) of DESCRIBE EXTENDED. First are the columns, which may be
        called anything. Behind a heading are the properties of the table, up to an empty row.
    """
    columns = list(found)
    behind = dropwhile(lambda row: row[0] != _PROPERTIES, described[len(columns) :])
    properties = {name: value for name, value, _ in takewhile(lambda row: row[0], behind)}
    table: dict[str, Any] = {
        "table_database": None,
        # dbt looks for its nodes in lower case.
        "table_schema": in_catalog(str(relation.schema)),
        "table_name": in_catalog(str(relation.identifier)),
        "table_type": relation.type,
        "table_comment": properties.get("Comment") or None,
        "table_owner": properties.get("Owner") or None,
    }
    for number, key in _STATISTICS.findall(properties.get("Statistics") or ""):
        table |= {
            f"stats:{key}:label": _LABELS[key],
            f"stats:{key}:value": int(number),
            f"stats:{key}:description": "As the metastore knows it",
            f"stats:{key}:include": True,
        }
    return [
        {
            **table,
            "column_name": column.name,
            "column_index": place,
            "column_type": column.dtype,
            "column_comment": column.comment,
        }
        for place, column in enumerate(columns, start=1)
    ]
