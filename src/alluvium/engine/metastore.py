"""What the metastore knows of schemas and their tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from alluvium.engine import jvm
from alluvium.engine.internals import TABLE_IDENTIFIER
from alluvium.paths import Place


@dataclass(frozen=True)
class Registered:
    """A table or a view.

    Attributes:
        provider: in lower case, such as `delta`; None of a view.
        location: the folder of a table, where it is asked for.
        is_managed: whether dropping the table deletes its files.
    """

    name: str
    is_view: bool
    provider: str | None
    location: str | None = None
    is_managed: bool = False


def tables(session: SparkSession, schema: str) -> list[Registered]:
    """The tables and views of `schema` by name, temporary ones left out; none without a schema.

    Three calls to the metastore, however many tables there are.
    """
    catalog = _catalog(session)
    if not catalog.databaseExists(schema):
        return []
    return [_table(one) for one in _entries(catalog, schema)]


def table(session: SparkSession, schema: str, name: str) -> Registered | None:
    """What the metastore says of one table or view, with the folder of a table; None without."""
    catalog = _catalog(session)
    option = jvm.of(session).scala.Option.apply(schema)
    identifier = jvm.internal(session, TABLE_IDENTIFIER)(name, option)
    if not catalog.tableExists(identifier):
        return None
    found = catalog.getTableMetadata(identifier)
    return replace(_table(found), location=_location(found))


def delta_tables(session: SparkSession) -> list[Registered]:
    """The Delta tables of every schema that the metastore knows, by their whole names."""
    catalog = _catalog(session)
    found = []
    for schema in map(str, jvm.items(catalog.listDatabases())):
        for entry in _entries(catalog, schema):
            one = _table(entry)
            if one.provider == "delta" and not one.is_view:
                found.append(replace(one, name=f"{schema}.{one.name}", location=_location(entry)))
    return found


def schema_properties(session: SparkSession, schema: str) -> dict[str, str]:
    """The properties of a schema, which is there."""
    properties = _catalog(session).getDatabaseMetadata(schema).properties()
    return {str(one._1()): str(one._2()) for one in jvm.items(properties.toSeq())}


def _catalog(session: SparkSession) -> Any:
    return session._jsparkSession.sessionState().catalog()


def _entries(catalog: Any, schema: str) -> list[Any]:
    return jvm.items(catalog.getTablesByName(catalog.listTables(schema, "*", False)))


def _location(table: Any) -> str | None:
    uri = table.storage().locationUri()
    return str(Place.of_uri(str(uri.get()))) if uri.isDefined() else None


def _table(table: Any) -> Registered:
    provider = table.provider()
    return Registered(
        name=str(table.identifier().table()),
        is_view=str(table.tableType().name()) == "VIEW",
        is_managed=str(table.tableType().name()) == "MANAGED",
        provider=str(provider.get()).lower() if provider.isDefined() else None,
    )
