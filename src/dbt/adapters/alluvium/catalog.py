"""What the metastore knows: the tables of a schema, and what `dbt docs generate` shows of one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile
from typing import Any

from dbt.adapters.base import BaseRelation
from pyspark.sql import SparkSession

from alluvium.engine import jvm
from alluvium.engine.files import Files
from alluvium.engine.internals import TABLE_IDENTIFIER
from alluvium.names import in_catalog
from dbt.adapters.alluvium.column import AlluviumColumn

_STATISTICS = re.compile(r"(\d+) (bytes|rows)")
_PROPERTIES = "# Detailed Table Information"
_LABELS = {"bytes": "Size in bytes", "rows": "Rows"}


@dataclass(frozen=True)
class Table:
    name: str
    is_view: bool
    provider: str | None
    location: str | None = None
    is_managed: bool = False


def tables(session: SparkSession, schema: str) -> list[Table]:
    """The tables and views of `schema` by name; none if there is no such schema.

    Three calls to the metastore, however many tables there are.
    """
    catalog = session._jsparkSession.sessionState().catalog()
    if not catalog.databaseExists(schema):
        return []
    return [_table(one) for one in _entries(catalog, schema)]


def table(session: SparkSession, schema: str, name: str) -> Table | None:
    """What the metastore says of one table or view, with the folder of a table; None without."""
    catalog = session._jsparkSession.sessionState().catalog()
    option = jvm.of(session).scala.Option.apply(schema)
    identifier = jvm.internal(session, TABLE_IDENTIFIER)(name, option)
    if not catalog.tableExists(identifier):
        return None
    found = catalog.getTableMetadata(identifier)
    return replace(_table(found), location=_location(session, found))


def delta_tables(session: SparkSession) -> list[Table]:
    """The Delta tables of every schema that the metastore knows, by their whole names."""
    catalog = session._jsparkSession.sessionState().catalog()
    files, found = Files(session), []
    for schema in map(str, jvm.items(catalog.listDatabases())):
        for entry in _entries(catalog, schema):
            one = _table(entry)
            if one.provider == "delta" and not one.is_view:
                place = _location(session, entry)
                location = None if place is None else files.qualified(place)
                found.append(replace(one, name=f"{schema}.{one.name}", location=location))
    return found


def _entries(catalog: Any, schema: str) -> list[Any]:
    return jvm.items(catalog.getTablesByName(catalog.listTables(schema, "*", False)))


def _location(session: SparkSession, table: Any) -> str | None:
    uri = table.storage().locationUri()
    path = jvm.of(session).org.apache.hadoop.fs.Path
    return str(path(uri.get())) if uri.isDefined() else None


def _table(table: Any) -> Table:
    provider = table.provider()
    return Table(
        name=table.identifier().table(),
        is_view=table.tableType().name() == "VIEW",
        is_managed=table.tableType().name() == "MANAGED",
        provider=provider.get().lower() if provider.isDefined() else None,
    )


def columns(
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
