"""A branch: a schema of clones of tables, on which builds go on as they would on the tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.delta import committing, log, marks, unregistered
from alluvium.delta.log import TableVersion
from alluvium.engine import jvm
from alluvium.engine.files import Files
from alluvium.merge import progress
from alluvium.names import did_you_mean, in_catalog, literal, quoted
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
    """A table that a branch made.

    Attributes:
        name: quoted, with its schema.
        location: its folder.
        is_registered: whether the catalog has it; a branch that was killed may have left a folder.
        is_published: whether it shows another one's files.
    """

    name: str
    location: str
    is_registered: bool
    is_published: bool


def base_of(session: SparkSession, table: str) -> TableVersion | None:
    """The version of another table that a table of a branch began as; None where it is none."""
    return _base(log.snapshot_of(session, table))


def _base(snapshot: Any) -> TableVersion | None:
    for action in jvm.items(snapshot.setTransactions()):
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
        ValueError: something else is there under that name, or in that folder.
    """
    schema, alias = name
    table = f"{quoted(schema)}.{quoted(alias)}"
    place = unregistered.default_location(session, schema, alias)
    if session.catalog.tableExists(table):
        if _made(session, branch, table) is None:
            raise ValueError(
                f"{table} is there, and the branch {branch.name} did not make it;"
                " accepted: another name for the branch"
            )
        return False
    by_path = f"delta.{quoted(place)}"
    if unregistered.look(session, place) is None:
        _clone(session, branch, source, by_path)
    elif _made(session, branch, by_path) is None:
        raise ValueError(
            f"{place} holds a table that the branch {branch.name} did not make; accepted: to move"
            " that folder away, or another name for the branch"
        )
    if base_of(session, by_path) is None:
        _begin(session, by_path)
    unregistered.register(session, table, place, managed=True)
    return True


def _clone(session: SparkSession, branch: Branch, source: Point, by_path: str) -> None:
    note = {"kind": "branch", "name": branch.name, "table": source.table, "version": source.version}
    session.conf.set(committing.COMMIT_METADATA, json.dumps({marks.REF_NOTE: note}))
    try:
        session.sql(
            f"create table {by_path} shallow clone {source.table} version as of {source.version}"
        ).collect()
    finally:
        session.conf.unset(committing.COMMIT_METADATA)


def _begin(session: SparkSession, by_path: str) -> None:
    """Give a clone the progress of its source, and note which version it is of."""
    note = _note(session, by_path)
    assert note is not None
    source, version = str(note["table"]), int(note["version"])
    source_id, numbers = log.state(session, source, version)
    carried = progress.of_clone(session, source, version, log.table_id(session, by_path))
    # What it shows is of the candidate of the table that it is a clone of, until it is published.
    head = {app: one for app, one in numbers.items() if app.startswith(marks.PUBLISHED)}
    began = {f"{marks.BRANCH}{source_id}": version}
    log.commit_transactions(session, by_path, {**carried, **head, **began})


def _note(session: SparkSession, table: str) -> Mapping[str, Any] | None:
    """What the first commit of a table says of the branch that made it."""
    try:
        lines = log.commit_of(session, log.delta_log(session, table), 0)
    except Py4JError:
        return None
    note = log.noted(log.commit_info(lines.head()), marks.REF_NOTE) if lines.nonEmpty() else None
    return note if note is not None and note.get("kind") == "branch" else None


def _made(session: SparkSession, branch: Branch, table: str) -> Any:
    """The newest snapshot of a table that a branch made; None of any other.

    Of an old one the log has the first commit no more, and its `txn` tells.
    """
    try:
        snapshot = log.snapshot_of(session, table)
        if _base(snapshot) is None:
            note = _note(session, table)
            if note is None or note["name"] != branch.name:
                return None
    except (PySparkException, Py4JError):  # a view, or a table of another format
        return None
    return snapshot


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


def tables_of(session: SparkSession, branch: Branch, schema: str) -> tuple[list[Table], list[str]]:
    """The tables of a schema that the branch made, and the names of what else is there."""
    catalog = _catalog(session)
    made, others, known = list[Table](), list[str](), set[str]()
    for one in jvm.items(catalog.listTables(schema)):
        if one.database().isEmpty():  # a temporary view
            continue
        name = f"{quoted(schema)}.{quoted(one.table())}"
        snapshot = _made(session, branch, name)
        if snapshot is None:
            others.append(f"{schema}.{one.table()}")
            continue
        made.append(_table(name, snapshot, is_registered=True))
        known.add(made[-1].location)
    place = unregistered.default_location(session, schema, "")
    for folder in Files(session).names(place):
        by_path = f"delta.{quoted(place + folder)}"
        snapshot = _made(session, branch, by_path)
        if (
            snapshot is not None
            and (table := _table(by_path, snapshot, False)).location not in known
        ):
            made.append(table)
    return made, others


def _table(name: str, snapshot: Any, is_registered: bool) -> Table:
    published = any(
        one.appId().startswith(marks.PUBLISHED) for one in jvm.items(snapshot.setTransactions())
    )
    return Table(name, log.qualified(snapshot.deltaLog()), is_registered, published)


@dataclass(frozen=True)
class Discarded:
    """What a discard took away, or would.

    Attributes:
        tables, schemas: names.
        kept: what the branch did not make, with its schema.
    """

    tables: tuple[str, ...]
    schemas: tuple[str, ...]
    kept: tuple[str, ...]


def discard(
    session: SparkSession, branch: Branch, others: Iterable[str], *, dry_run: bool
) -> Discarded:
    """Drop the tables that a branch made, and its schemas where nothing else is in them.

    A kill leaves some of them; the next call drops those.

    Args:
        others: as `schemas_of` has them.

    Raises:
        ValueError: there is no such branch.
    """
    schemas = schemas_of(session, branch, others)
    if not schemas:
        raise ValueError(_no_such(session, branch))
    dropped, kept, gone = list[str](), list[str](), list[str]()
    for schema in schemas:
        tables, more = tables_of(session, branch, schema)
        # What shows another one's files goes first.
        for table in sorted(tables, key=lambda one: not one.is_published):
            if not dry_run:
                if table.is_registered:
                    session.sql(f"drop table if exists {table.name}")
                Files(session).delete(table.location)
            dropped.append(table.name)
        kept += more
        if not more:
            gone.append(schema)
            if not dry_run:
                session.sql(f"drop schema if exists {quoted(schema)} restrict")
    return Discarded(tuple(dropped), tuple(gone), tuple(kept))


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
