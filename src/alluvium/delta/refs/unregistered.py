"""Delta tables whose folder is there and whose entry in the catalog is lost."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from alluvium.delta.log.log_folder import is_draft
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.refs.dependents import LOG, relation
from alluvium.engine import jvm
from alluvium.engine.files import Files
from alluvium.engine.handles import JavaObject
from alluvium.engine.internals import CATALOG_TABLE_TYPE
from alluvium.names import in_catalog, literal
from alluvium.paths import Place

_PLACE_OF_TYPE = 1  # in Spark's case class CatalogTable


@dataclass(frozen=True)
class Unregistered:
    """A Delta table in a folder that no table of the catalog names.

    Attributes:
        location: the folder, a path or URI.
        table_id: its id.
        version: its newest one.
        written_at: when its newest commit was made.
        transactions: its `txn` actions, by application id.
    """

    location: str
    table_id: str
    version: int
    written_at: dt.datetime | None
    transactions: Mapping[str, int]

    def __str__(self) -> str:
        at = (
            ""
            if self.written_at is None
            else f", last written {self.written_at:%Y-%m-%d %H:%M} UTC"
        )
        return (
            f"{self.location} holds a Delta table (id {self.table_id}, version {self.version}{at})"
        )


def look(session: SparkSession, location: str) -> Unregistered | None:
    """The Delta table at `location`, a path or URI; None where no commit of one is there."""
    if not Files(session).is_there(f"{location}/{LOG}"):
        return None
    table = relation(location)
    now = TableSnapshot.of(session, table)
    if now.version < 0:
        return None
    table_id, transactions = now.numbers
    at = now.commit(now.version).at
    return Unregistered(location, table_id, now.version, at, transactions)


def default_location(session: SparkSession, schema: str, name: str, root: str | None = None) -> str:
    """Where a table is made; root: its `location_root`, None where it names no place."""
    if root is not None:
        return f"{root.rstrip('/')}/{name}"
    catalog = _catalog(session)
    if catalog.databaseExists(schema):
        folder = Place.of_uri(str(catalog.getDatabaseMetadata(schema).locationUri()))
    else:  # where Spark would make it
        warehouse = Place.of(str(session.conf.get("spark.sql.warehouse.dir")))
        folder = warehouse / f"{in_catalog(schema)}.db"
    return (folder / in_catalog(name)).shown


def default_folder(session: SparkSession, schema: str, name: str, root: str | None = None) -> str:
    """`default_location` with its file system, as `log.qualified` writes a folder."""
    return Files(session).qualified(default_location(session, schema, name, root))


def is_free(session: SparkSession, location: str) -> bool:
    """Whether nothing is in a folder that a new table is going to have.

    A log without a commit is nobody's. It stays, for another process may be about to commit.
    """
    files = Files(session)
    return set(files.names(location)) <= {LOG} and is_draft(files, f"{location}/{LOG}")


def register(session: SparkSession, name: str, location: str, *, managed: bool) -> None:
    """Enter the Delta table at `location` into the catalog.

    name: quoted, with its schema.
    managed: whether dropping the table is to delete its files, as for one without a location.
    """
    session.sql(f"create table {name} using delta location {literal(location)}")
    if managed:
        manage(session, name)


def enter(session: SparkSession, name: str, location: str) -> None:
    """Enter a managed table into the catalog; of that a kill may have left a part.

    name: quoted, with its schema.
    """
    if not session.catalog.tableExists(name):
        register(session, name, location, managed=True)
    elif not is_managed(session, name):  # as a kill leaves it
        manage(session, name)


def manage(session: SparkSession, name: str) -> None:
    """Let the files of a table that was made with a location go with it when it is dropped.

    name: quoted, with its schema.
    """
    # Spark creates no managed table over files. The entry of the external one says it all but that.
    # To alter it is not enough: Hive then goes on to leave its files when it is dropped.
    made = _of_type(session, _entry(session, name), "MANAGED")
    unregister(session, name)
    _catalog(session).externalCatalog().createTable(made, False)
    session.catalog.refreshTable(name)


def is_managed(session: SparkSession, name: str) -> bool:
    """Whether the files of a table that the catalog has go with it; name: quoted."""
    return str(_entry(session, name).tableType().name()) == "MANAGED"


def unregister(session: SparkSession, name: str) -> None:
    """Take a table out of the catalog; its files stay.

    name: quoted, with its schema.
    """
    entry, catalog = _entry(session, name), _catalog(session).externalCatalog()
    if is_managed(session, name):
        # Hive would delete its files in whatever order.
        catalog.alterTable(_of_type(session, entry, "EXTERNAL"))
    identifier = entry.identifier()
    catalog.dropTable(identifier.database().get(), str(identifier.table()), True, False)


def _catalog(session: SparkSession) -> Any:
    return session._jsparkSession.sessionState().catalog()


def _entry(session: SparkSession, name: str) -> JavaObject:
    """What the catalog has of a table; name: quoted, with its schema."""
    parser = session._jsparkSession.sessionState().sqlParser()
    entry: JavaObject = _catalog(session).getTableMetadata(parser.parseTableIdentifier(name))
    return entry


def _of_type(session: SparkSession, entry: JavaObject, kind: str) -> JavaObject:
    """The same entry for a managed or an external table."""
    fields = []
    values = entry.productIterator()
    while values.hasNext():
        fields.append(values.next())
    fields[_PLACE_OF_TYPE] = getattr(jvm.internal(session, CATALOG_TABLE_TYPE), kind)()
    [constructor] = entry.getClass().getConstructors()
    made: JavaObject = constructor.newInstance(jvm.array(session, fields))
    return made
