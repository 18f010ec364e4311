"""A branch: a schema of clones of tables, on which builds go on as they would on the tables."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.log import committing, log
from alluvium.delta.refs import clones, dependents, pinned, unregistered
from alluvium.delta.refs.dependents import Dependent, relation
from alluvium.delta.refs.refs import Ref, base_of, branch_in
from alluvium.engine import metastore
from alluvium.engine.files import Files
from alluvium.merge import progress
from alluvium.names import did_you_mean, in_catalog, literal, quoted
from alluvium.plan.planned import Planned
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

    def beside(self, schema: str) -> str:
        """The schema of the target, to which one of the branch belongs; others are both's."""
        is_own = in_catalog(schema).startswith(in_catalog(self.schema))
        return self.of + schema[len(self.schema) :] if is_own else schema


@dataclass(frozen=True)
class BranchTable:
    """A table of a branch, or a view.

    Attributes:
        name: quoted, with its schema; the folder's where the catalog does not have it, as a kill
            leaves it.
        location: the folder of a table.
        ref: what its log tells of it; None of what a build made, and the branch did not.
        is_view: whether it is a view.
        is_registered: whether the catalog has it.
    """

    name: str
    location: str
    ref: Ref | None
    is_view: bool = False
    is_registered: bool = True


# Making one --------------------------------------------------------------------------------------


def has_schema(session: SparkSession, branch: Branch, schema: str) -> bool:
    """Whether a branch has a schema.

    Raises:
        ValueError: it is there, and something else made it.
    """
    if not session.catalog.databaseExists(quoted(schema)):
        return False
    if not is_schema_of(session, branch, schema):
        raise ValueError(
            f"the schema {schema} is there, and the branch {branch.name} did not make it;"
            " accepted: another name for the branch"
        )
    return True


def make_schema(session: SparkSession, branch: Branch, schema: str) -> None:
    """Make a schema of a branch, where there is none; raises as `has_schema`."""
    if has_schema(session, branch, schema):
        return
    session.sql(
        f"create schema if not exists {quoted(schema)} with dbproperties"
        f" ({literal(_NAME)} = {literal(branch.name)}, {literal(_OF)} = {literal(branch.of)})"
    )


def is_schema_of(session: SparkSession, branch: Branch, schema: str) -> bool:
    """Whether a schema is there, and the branch made it."""
    return branch_of(session, schema) == branch


def branch_of(session: SparkSession, schema: str) -> Branch | None:
    """The branch that made a schema; None where none did, or the schema is not there."""
    if not session.catalog.databaseExists(quoted(schema)):
        return None
    properties = metastore.schema_properties(session, schema)
    name, of = (properties.get(key) for key in (_NAME, _OF))
    return Branch(name, of) if name is not None and of is not None else None


def make_table(
    session: SparkSession, branch: Branch, source: Point, name: tuple[str, str]
) -> Planned[bool]:
    """Clone a table into a branch, with its progress; False where the branch has it already.

    The catalog gets it last: whoever finds the table finds its progress too, and what a kill left
    the next call completes, or makes again where it is of another version by now. The schema is
    there by then, and need not be for a look.

    Args:
        source: its version is given.
        name: schema and name of the new table.

    Raises:
        ValueError: something else is there under that name, or in that folder, or what a killed
            discard left; or files of that version are gone.
    """
    schema, alias = name
    table = f"{quoted(schema)}.{quoted(alias)}"
    place = unregistered.default_folder(session, schema, alias)
    made = branch_in(session, place, branch.name)
    is_known = session.catalog.tableExists(table)
    if is_known and made is None:
        raise ValueError(
            f"{table} is there, and the branch {branch.name} did not make it;"
            " accepted: another name for the branch"
        )
    if not is_known:
        if made is None and not unregistered.is_free(session, place):
            raise ValueError(
                f"{place} is not empty, and the branch {branch.name} did not make what is there;"
                " accepted: to move that folder away, or another name for the branch"
            )
        if made is not None and _is_written(session, place):
            raise ValueError(
                f"{place} holds a table of the branch {branch.name} that was written to, and the"
                " catalog does not know it, as a killed discard leaves it; accepted: to discard"
                f" {branch.name}, and to branch again; alluvium.recover with dry_run: false, which"
                " enters it as it is"
            )
        assert source.version is not None
        began = partial(_began, source.version)
        cloning = refs.clone_for(session, branch.name, source, place, began, made)

    def make() -> bool:
        has_begun, ref = False, made
        if not is_known:
            done = cloning.apply()
            ref, has_begun = done.ref, done.has_begun
        assert ref is not None
        by_path = relation(place)
        # The first commit of a clone that Delta's command made is without progress.
        if not has_begun and base_of(session, by_path) is None:
            of = log.state(session, ref.table, ref.version)
            numbers = _began(ref.version, *of, log.table_id(session, by_path))
            log.commit_transactions(session, by_path, numbers, committing.FOREVER)
        unregistered.enter(session, table, place)
        return not is_known

    return Planned(not is_known, make)


def _is_written(session: SparkSession, place: str) -> bool:
    """Whether anybody has written to the table of a branch in a folder since it was made."""
    table = relation(place)
    newest = log.version(session, table)
    # By Delta's command it is made in two commits: the first has no progress.
    return newest > 1 or (newest == 1 and bool(log.state(session, table, 0)[1]))


def _began(version: int, source_id: str, numbers: dict[str, int], table_id: str) -> dict[str, int]:
    """As `Began`: progress, and the version that the clone is of."""
    carried = progress.of_clone(source_id, numbers, table_id)
    return {**carried, f"{marks.BRANCH}{source_id}": version}


# What one holds ----------------------------------------------------------------------------------


def schemas_of(session: SparkSession, branch: Branch, others: Iterable[str]) -> list[str]:
    """The schemas that a branch made: its own, those that begin like it, and of the others.

    others: schemas in which a custom name of the project may have put a table.
    """
    likely = {one for one in _schemas(session) if one.startswith(in_catalog(branch.schema))}
    likely |= {in_catalog(one) for one in others}
    return [one for one in sorted(likely) if is_schema_of(session, branch, one)]


def strangers_of(session: SparkSession, branch: Branch) -> list[str]:
    """Schemas whose names begin like those of a branch, and that no branch made.

    Whose they are nobody knows: a build on the branch by another adapter makes such ones.
    """
    below = in_catalog(f"{branch.schema}_")
    return [
        one for one in _schemas(session) if one.startswith(below) and not branch_of(session, one)
    ]


def tables_of(
    session: SparkSession, branch: Branch, schema: str, built: Container[str]
) -> tuple[list[BranchTable], list[str]]:
    """The tables of a schema that go with the branch, and what else is there.

    That is named, a folder that the catalog does not have by its path.

    built: what the project's models have there, as `schema.name`.
    """
    going, others = list[BranchTable](), list[str]()
    folder = unregistered.default_folder(session, schema, "")
    due = set(Files(session).names(folder))
    for entry in metastore.tables(session, schema):
        name = entry.name
        due.discard(name)
        place = unregistered.default_folder(session, schema, name)
        ref = branch_in(session, place, branch.name)
        if ref is None and f"{schema}.{name}" not in built:
            others.append(f"{schema}.{name}")
            continue
        going.append(BranchTable(f"{quoted(schema)}.{quoted(name)}", place, ref, entry.is_view))
    for name in sorted(due):
        place = f"{folder}/{name}"
        ref = branch_in(session, place, branch.name)
        if ref is not None or f"{schema}.{name}" in built:
            table = f"{quoted(schema)}.{quoted(name)}"
            going.append(BranchTable(table, place, ref, is_registered=False))
        elif not unregistered.is_free(session, place):
            others.append(place)
    return going, others


@dataclass(frozen=True)
class Discarded:
    """What a discard took away, or would.

    Attributes:
        tables, schemas: names; views are among tables.
        kept: what neither the branch nor a build made, with its schema.
        strangers: schemas, as `strangers_of` has them.
    """

    tables: tuple[str, ...]
    schemas: tuple[str, ...]
    kept: tuple[str, ...]
    strangers: tuple[str, ...]


def discard(
    session: SparkSession,
    branch: Branch,
    built: Container[str],
    others: Iterable[str] = (),
    metastore: Iterable[Dependent] = (),
) -> Planned[Discarded]:
    """Drop the tables of a branch, and its schemas where nothing else is in them.

    A kill leaves some of them; the next call drops those.

    Args:
        built: what the project's models have there, as `schema.name`. It goes too.
        others: as `schemas_of` has them.
        metastore: tables, of which some may be clones that Delta alone has made.

    Raises:
        ValueError: there is no such branch, or other tables need files of its tables. Nothing was
            dropped.
    """
    schemas = schemas_of(session, branch, others)
    if not schemas:
        raise ValueError(_no_such(session, branch))
    found = {schema: tables_of(session, branch, schema, built) for schema in schemas}
    going = [table for tables, _ in found.values() for table in tables]
    folders = [unregistered.default_folder(session, schema, "") for schema in schemas]
    _check_droppable(session, branch, going, folders, metastore)
    would = Discarded(
        tuple(table.name for table in going),
        tuple(schema for schema, (_, kept) in found.items() if not kept),
        tuple(name for _, names in found.values() for name in names),
        tuple(strangers_of(session, branch)),
    )

    def drop() -> Discarded:
        for number, table in enumerate(going):
            _drop(session, branch, table, going, going[:number])
        for schema in would.schemas:
            session.sql(f"drop schema if exists {quoted(schema)} restrict")
        return would

    return Planned(would, drop)


def _check_droppable(
    session: SparkSession,
    branch: Branch,
    going: Sequence[BranchTable],
    folders: Sequence[str],
    metastore: Iterable[Dependent],
) -> None:
    """Stop where a table elsewhere needs files of those that go.

    folders: of the branch's schemas.
    """
    places = {table.location for table in going}
    others = [one for one in metastore if one.location not in places]
    clones = {
        one.location: one
        for folder in folders
        for one in pinned.clones(session, folder, others)
        if len(dependents.needed(session, one, folder))
    }
    for table in going:
        _check_not_needed(session, branch, table, going, clones.values())


def _check_not_needed(
    session: SparkSession,
    branch: Branch,
    table: BranchTable,
    going: Iterable[BranchTable],
    others: Iterable[Dependent] = (),
    dropped: Sequence[BranchTable] = (),
) -> None:
    """Raises ValueError where a table elsewhere needs files of one that goes.

    Args:
        going: all that go.
        others: that may need some, beside those that registers name.
        dropped: what is gone already.
    """
    if table.is_view:
        return
    places = {one.location for one in going}
    needing = dependents.needing(session, table.location, places, others)
    if needing:
        gone = ", ".join(one.name for one in dropped) or "Nothing"
        raise ValueError(
            f"files of {table.name} are needed by {dependents.named(needing)}. {gone} of"
            f" {branch.name} was dropped. Accepted: to drop those tables first, and to untag tags"
        )


def _drop(
    session: SparkSession,
    branch: Branch,
    table: BranchTable,
    going: Sequence[BranchTable],
    dropped: Sequence[BranchTable],
) -> None:
    # Once more: somebody may have cloned it since.
    _check_not_needed(session, branch, table, going, dropped=dropped)
    if table.ref is None and not table.is_registered:
        Files(session).delete(table.location)
        return
    if table.ref is None:
        session.sql(f"drop {'view' if table.is_view else 'table'} if exists {table.name}")
        return
    clones.drop(session, table.ref, table=table.name if table.is_registered else None)


def _no_such(session: SparkSession, branch: Branch) -> str:
    all_of_them = (branch_of(session, one) for one in _schemas(session))
    found = sorted({one.name for one in all_of_them if one is not None and one.of == branch.of})
    accepted = ", ".join(found) or "the name of a branch; there is none"
    return (
        f"there is no branch {branch.name} of {branch.of}; accepted:"
        f" {accepted}{did_you_mean(branch.name, found)}"
    )


def _schemas(session: SparkSession) -> list[str]:
    return sorted(row.namespace for row in session.sql("show schemas").collect())
