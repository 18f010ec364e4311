"""Tags and clones: another table that shows a version, for as long as it lives. No file is copied.

Both are shallow clones, as Delta's. A tag lies in a hidden folder of its table. It has no name in
the catalog, is found from files alone, and goes with the table.
"""

from __future__ import annotations

import re
from functools import partial

from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.delta.refs import clones, dependents, refs, unregistered
from alluvium.delta.refs.clones import Began, Made, Making
from alluvium.delta.refs.refs import Ref
from alluvium.engine.files import Files
from alluvium.names import did_you_mean, quoted
from alluvium.plan.planned import Planned
from alluvium.versions.points import Point, find_tag

# One part of a path, and no name that another ref has.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_NOT_A_NAME = {"head"}
NAME = "letters, digits, `_`, `-` and `.`, at most 100, a letter or a digit first, and not HEAD"
_TABLE = re.compile(r"(?:(?P<schema>[A-Za-z0-9_]+)\.)?(?P<name>[A-Za-z0-9_]+)")


def name_mistake(name: str) -> str | None:
    """What is wrong with the name of a tag or a branch; None for nothing."""
    if _NAME.fullmatch(name) and name.lower() not in _NOT_A_NAME:
        return None
    return f"name is {name!r}; accepted: {NAME}"


def tag(
    session: SparkSession,
    point: Point,
    name: str,
    message: str | None = None,
) -> Planned[Made]:
    """Give a version of a table a name, by which it is there until it is untagged.

    Args:
        point: of the table that is tagged.

    Raises:
        ValueError: there is such a tag, the name is none, or files of that version are gone.
            Nothing was left behind.
    """
    if mistake := name_mistake(name):
        raise ValueError(mistake)
    made = _making(session, point, "tag", name, message)
    location = refs.tag_folder(made.folder, name)
    there = refs.ref_in(session, location)
    if there is not None:
        raise ValueError(
            f"{point.table} has a tag {name} already, of version {there.version:,};"
            " accepted: another name, or to untag that one first"
        )

    def clone() -> int:
        # Delta takes a folder inside a table's for one of its partitions, unless it has a log.
        Files(session).make_folder(f"{location}/{dependents.LOG}")
        return made.clone(location)

    return made.planned(location, clone, lambda: Files(session).delete(location))


def untag(session: SparkSession, table: str, name: str) -> Planned[Ref]:
    """Take a tag of a table away; the files that it alone needed are VACUUM's then.

    Raises:
        ValueError: there is no such tag; which there are.
    """
    folder = log.folder(session, table)
    found = find_tag(session, folder, name, table)
    return Planned(found, partial(clones.drop, session, found, folder))


def clone(
    session: SparkSession,
    point: Point,
    to: str,
    message: str | None = None,
    *,
    schema: str,
) -> Planned[Made]:
    """Make a table that shows a version of another one, and from then on goes its own way.

    An exact copy: of a candidate, rows that are marked `_deleted` too. What a kill left behind the
    commit, the same call enters into the catalog.

    Args:
        to: the new table, `name` or `schema.name`.
        schema: of a `to` without one.

    Raises:
        ValueError: there is such a table, the name is none, or files of that version are gone.
            Nothing was left behind.
    """
    parts = _TABLE.fullmatch(to)
    if parts is None:
        raise ValueError(f"to is {to!r}; accepted: name or schema.name, of letters, digits and `_`")
    in_schema, table_name = parts["schema"] or schema, parts["name"]
    if not session.catalog.databaseExists(in_schema):
        found = sorted(one.name for one in session.catalog.listDatabases())
        raise ValueError(
            f"there is no schema {in_schema}; accepted: {', '.join(found)}, or one that"
            f" `on-run-start: create schema {in_schema}` makes{did_you_mean(in_schema, found)}"
        )
    return clone_into(session, point, (in_schema, table_name), message)


def clone_into(
    session: SparkSession,
    point: Point,
    to: tuple[str, str],
    message: str | None = None,
    began: Began | None = None,
) -> Planned[Made]:
    """`clone` into a schema that is there, under any name.

    Args:
        to: schema and name of the new table.
    """
    in_schema, table_name = to
    table = f"{quoted(in_schema)}.{quoted(table_name)}"
    location = unregistered.default_folder(session, in_schema, table_name)
    there = refs.ref_in(session, location)
    is_known = session.catalog.tableExists(table)
    if is_known and (there is None or unregistered.is_managed(session, table)):
        is_of = "" if there is None else f", {_said(there)}"
        raise ValueError(f"{table} is there already{is_of}; accepted: a name that nothing has")
    name = f"{in_schema}.{table_name}"
    made = _making(session, point, "clone", name, message, began)
    is_left = there is not None and made.is_in(there)
    if not is_left and (is_known or not unregistered.is_free(session, location)):
        raise ValueError(_in_the_way(table, location, there, made.version, is_known=is_known))

    def undo() -> None:
        if made.is_registered:
            session.sql(f"drop table if exists {table}")
        elif session.catalog.tableExists(table):
            # The same command beside this one took it for what a kill left, and completed it.
            return
        Files(session).delete(location)

    does = made.register if is_left else made.clone
    return made.planned(location, lambda: does(location, table), undo)


def clone_for(
    session: SparkSession,
    branch: str,
    point: Point,
    location: str,
    began: Began,
    there: Ref | None = None,
) -> Planned[Made]:
    """Make a table of a branch, in a folder that the catalog gets to know when it is complete.

    Made by Delta's command, it has not begun with the numbers of `began`.

    there: what a kill left in that folder, and nobody has written to. It stays where it is just
        this table; else it goes.

    Raises:
        ValueError: files of that version are gone. Nothing was left behind.
    """
    made = _making(session, point, "branch", branch, None, began)
    is_left = there is not None and made.is_in(there)

    def clone() -> int:
        if is_left:
            return 0
        if there is not None:
            clones.drop(session, there)
        return made.clone(location)

    return made.planned(location, clone, lambda: Files(session).delete(location))


def _making(
    session: SparkSession,
    point: Point,
    kind: str,
    name: str,
    message: str | None,
    began: Began | None = None,
) -> Making:
    table, version, table_id = point.table, point.version, point.table_id
    return Making(session, table, version, kind, name, message, began, table_id)


def _said(there: Ref) -> str:
    """What a message says of a tag, clone or branch."""
    return f"a {there.kind} of version {there.version:,} of {there.table}"


def _in_the_way(
    table: str, location: str, there: Ref | None, version: int, *, is_known: bool
) -> str:
    """The message of a clone whose folder is not empty, or is another table's.

    version: that was to be cloned.
    """
    if there is None or there.kind != "clone":
        return (
            f"{location}, where {table} would lie, is not empty; accepted: to move that folder, or"
            " another name"
        )
    helps = ["another name"]
    if there.version != version:
        helps.insert(0, f"version: {there.version}, which completes it")
    if not is_known:
        helps.append("alluvium.recover with dry_run: false, which enters it as it is")
    return (
        f"{location}, where {table} would lie, holds {_said(there)}, as a kill leaves it"
        f"{'' if is_known else ': the catalog does not know it'}; accepted: {'; '.join(helps)}"
    )
