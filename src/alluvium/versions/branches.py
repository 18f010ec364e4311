"""A branch: a schema of clones of tables, on which builds go on as they would on the tables."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from alluvium.delta import committing, dependents, log, marks, unregistered
from alluvium.delta.dependents import relation
from alluvium.delta.log import TableVersion
from alluvium.delta.refs import Ref, ref_in
from alluvium.engine import jvm
from alluvium.engine.files import Files
from alluvium.merge import progress
from alluvium.names import did_you_mean, in_catalog, literal, quoted
from alluvium.versions import refs
from alluvium.versions.points import Point

# Properties of a schema that a branch made: the branch's name, and the schema that it is of.
_NAME, _OF = "alluvium.branch", "alluvium.branch.of"


@dataclass(frozen=True)
class Branch:
    """A branch of what one target builds.

    Attributes:
        name: of the branch.
        of: the target's schema.
    """

    name: str
    of: str

    @property
    def schema(self) -> str:
        """That of a target which builds on the branch."""
        return f"{self.of}__{self.name}"


@dataclass(frozen=True)
class Table:
    """A table of a branch, or a view.

    Attributes:
        name: quoted, with its schema; the folder's where the catalog does not have it, as a kill
            leaves it.
        location: the folder of a table.
        ref: what its first commit tells; None of what a build made, and the branch did not.
        is_view: whether it is a view.
        is_registered: whether the catalog has it.
    """

    name: str
    location: str
    ref: Ref | None
    is_view: bool = False
    is_registered: bool = True


def base_of(session: SparkSession, table: str) -> TableVersion | None:
    """The version of another table that a table of a branch began as; None where it is none."""
    for action in jvm.items(log.snapshot_of(session, table).setTransactions()):
        if action.appId().startswith(marks.BRANCH):
            return TableVersion(action.appId()[len(marks.BRANCH) :], int(action.version()))
    return None


# Making one --------------------------------------------------------------------------------------


def make_schema(session: SparkSession, branch: Branch, schema: str) -> None:
    """Make a schema of a branch, where there is none.

    Raises:
        ValueError: it is there, and something else made it.
    """
    if session.catalog.databaseExists(quoted(schema)):
        if not is_schema_of(session, branch, schema):
            raise ValueError(
                f"the schema {schema} is there, and the branch {branch.name} did not make it;"
                " accepted: another name for the branch"
            )
        return
    session.sql(
        f"create schema if not exists {quoted(schema)} with dbproperties"
        f" ({literal(_NAME)} = {literal(branch.name)}, {literal(_OF)} = {literal(branch.of)})"
    )


def is_schema_of(session: SparkSession, branch: Branch, schema: str) -> bool:
    """Whether a schema that exists is one that a branch made."""
    properties = _catalog(session).getDatabaseMetadata(schema).properties()
    mark = [properties.get(key) for key in (_NAME, _OF)]
    return [one.get() for one in mark if one.isDefined()] == [branch.name, branch.of]


def make_table(session: SparkSession, branch: Branch, source: Point, name: tuple[str, str]) -> bool:
    """Clone a table into a branch, with its progress; False where the branch has it already.

    The catalog gets it last: whoever finds the table finds its progress too, and what a kill left
    is completed by the next call.

    Args:
        source: its version is given.
        name: schema and name of the new table.

    Raises:
        ValueError: something else is there under that name, or in that folder; or files of that
            version are gone.
    """
    schema, alias = name
    table = f"{quoted(schema)}.{quoted(alias)}"
    place = unregistered.default_folder(session, schema, alias)
    is_ours = _ref(session, branch, place) is not None
    if session.catalog.tableExists(table):
        if not is_ours:
            raise ValueError(
                f"{table} is there, and the branch {branch.name} did not make it;"
                " accepted: another name for the branch"
            )
        return False
    if not is_ours:
        if Files(session).names(place):
            raise ValueError(
                f"{place} is not empty, and the branch {branch.name} did not make what is there;"
                " accepted: to move that folder away, or another name for the branch"
            )
        refs.clone_for(session, branch.name, source, place)
    by_path = relation(place)
    if base_of(session, by_path) is None:
        _begin(session, branch, place)
    unregistered.register(session, table, place, managed=True)
    return True


def _begin(session: SparkSession, branch: Branch, place: str) -> None:
    """Give a clone the progress of its source, and note which version it is of."""
    made, by_path = _ref(session, branch, place), relation(place)
    assert made is not None
    source_id, numbers = log.state(session, made.table, made.version)
    carried = progress.of_clone(session, made.table, made.version, log.table_id(session, by_path))
    # A published table shows what it showed, until its own candidate is published.
    head = {app: one for app, one in numbers.items() if app.startswith(marks.PUBLISHED)}
    began = {f"{marks.BRANCH}{source_id}": made.version}
    log.commit_transactions(
        session, by_path, {**carried, **head, **began}, committing.NEVER_FORGOTTEN / 1000
    )


def _ref(session: SparkSession, branch: Branch, place: str) -> Ref | None:
    """What a folder's table is, if this branch made it."""
    found = ref_in(session, place)
    is_ours = found is not None and (found.kind, found.name) == ("branch", branch.name)
    return found if is_ours else None


# What one holds ----------------------------------------------------------------------------------


def schemas_of(session: SparkSession, branch: Branch, others: Iterable[str]) -> list[str]:
    """The schemas that a branch made: its own, those that begin like it, and of the others.

    others: schemas in which a custom name of the project may have put a table.
    """
    names = (row.namespace for row in session.sql("show schemas").collect())
    likely = {one for one in names if one.startswith(in_catalog(branch.schema))}
    likely |= {in_catalog(one) for one in others}
    return [
        one
        for one in sorted(likely)
        if session.catalog.databaseExists(quoted(one)) and is_schema_of(session, branch, one)
    ]


def tables_of(
    session: SparkSession, branch: Branch, schema: str, built: Container[str]
) -> tuple[list[Table], list[str]]:
    """The tables of a schema that go with the branch, and the names of what else is there.

    built: what the project's models have there, as `schema.name`.
    """
    going, others = list[Table](), list[str]()
    due = set(Files(session).names(unregistered.default_folder(session, schema, "")))
    listed = _catalog(session).listTables(schema, "*", False)  # without temporary views
    for entry in jvm.items(_catalog(session).getTablesByName(listed)):
        name = str(entry.identifier().table())
        due.discard(name)
        place = unregistered.default_folder(session, schema, name)
        ref = _ref(session, branch, place)
        if ref is None and f"{schema}.{name}" not in built:
            others.append(f"{schema}.{name}")
            continue
        is_view = str(entry.tableType().name()) == "VIEW"
        going.append(Table(f"{quoted(schema)}.{quoted(name)}", place, ref, is_view))
    for name in sorted(due):
        place = unregistered.default_folder(session, schema, name)
        ref = _ref(session, branch, place)
        if ref is not None:
            table = f"{quoted(schema)}.{quoted(name)}"
            going.append(Table(table, place, ref, is_registered=False))
    return going, others


@dataclass(frozen=True)
class Discarded:
    """What a discard took away, or would.

    Attributes:
        tables, schemas: names; views are among tables.
        kept: what neither the branch nor a build made, with its schema.
    """

    tables: tuple[str, ...]
    schemas: tuple[str, ...]
    kept: tuple[str, ...]


def discard(
    session: SparkSession,
    branch: Branch,
    built: Container[str],
    others: Iterable[str] = (),
    *,
    dry_run: bool,
) -> Discarded:
    """Drop the tables of a branch, and its schemas where nothing else is in them.

    A kill leaves some of them; the next call drops those.

    Args:
        built: what the project's models have there, as `schema.name`. It goes too.
        others: as `schemas_of` has them.

    Raises:
        ValueError: there is no such branch, or other tables need files of its tables. Nothing was
            dropped.
    """
    schemas = schemas_of(session, branch, others)
    if not schemas:
        raise ValueError(_no_such(session, branch))
    found = {schema: tables_of(session, branch, schema, built) for schema in schemas}
    going = [table for tables, _ in found.values() for table in tables]
    _check_droppable(session, branch, going)
    empty = [schema for schema, (_, kept) in found.items() if not kept]
    if not dry_run:
        for table in going:
            _drop(session, table)
        for schema in empty:
            session.sql(f"drop schema if exists {quoted(schema)} restrict")
    kept = tuple(name for _, names in found.values() for name in names)
    return Discarded(tuple(table.name for table in going), tuple(empty), kept)


def _check_droppable(session: SparkSession, branch: Branch, going: Sequence[Table]) -> None:
    locations = {table.location for table in going}
    for table in going:
        needing = dependents.needing(session, table.location, locations)
        if needing:
            raise ValueError(
                f"files of {table.name} are needed by {dependents.named(needing)}. Nothing of"
                f" {branch.name} was dropped. Accepted: to drop those tables first, and to untag"
                " tags"
            )


def _drop(session: SparkSession, table: Table) -> None:
    if table.ref is None:
        session.sql(f"drop {'view' if table.is_view else 'table'} if exists {table.name}")
        return
    # Out of the catalog first: nobody is to find a table without files.
    if table.is_registered:
        unregistered.unregister(session, table.name)
    refs.drop(session, table.ref)


def _no_such(session: SparkSession, branch: Branch) -> str:
    catalog, found = _catalog(session), []
    for row in session.sql("show schemas").collect():
        properties = catalog.getDatabaseMetadata(row.namespace).properties()
        name, of = (properties.get(key) for key in (_NAME, _OF))
        if name.isDefined() and of.isDefined() and of.get() == branch.of:
            found.append(str(name.get()))
    accepted = ", ".join(sorted(set(found))) or "the name of a branch; there is none"
    return (
        f"there is no branch {branch.name} of {branch.of}; accepted:"
        f" {accepted}{did_you_mean(branch.name, found)}"
    )


def _catalog(session: SparkSession) -> Any:
    return session._jsparkSession.sessionState().catalog()
