"""Tags and clones: another table that shows a version, for as long as it lives. No file is copied.

Both are shallow clones, as Delta's. A tag lies in a hidden folder of its table. It has no name in
the catalog, is found from files alone, and goes with the table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta import cloning, committing, dependents, log, pinned, refs, unregistered
from alluvium.delta.commit_files import commit_id
from alluvium.delta.dependents import Dependent
from alluvium.delta.refs import Ref
from alluvium.delta.states import State
from alluvium.engine import jvm
from alluvium.engine.files import Files
from alluvium.names import did_you_mean, literal, quoted
from alluvium.versions.points import Point, find_tag

# A version is older than the table's retention, and its files are there all the same.
_ANY_AGE = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"
# Where its first version is gone, a branch cannot be merged: nobody knows what changed on it.
_LOG_LIVES, _FOREVER = "delta.logRetentionDuration", "interval 36500 days"
# One part of a path, and no name that another ref has.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_NOT_A_NAME = {"head"}
NAME = "letters, digits, `_`, `-` and `.`, at most 100, a letter or a digit first, and not HEAD"
_TABLE = re.compile(r"(?:(?P<schema>[A-Za-z0-9_]+)\.)?(?P<name>[A-Za-z0-9_]+)")


@dataclass(frozen=True)
class Made:
    """What was made, or would be.

    Attributes:
        files: that it shows.
    """

    ref: Ref
    files: int


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
    *,
    dry_run: bool = False,
) -> Made:
    """Give a version of a table a name, by which it is there until it is untagged.

    Args:
        point: of the table that is tagged.

    Raises:
        ValueError: there is such a tag, the name is none, or files of that version are gone.
            Nothing was left behind.
    """
    if mistake := name_mistake(name):
        raise ValueError(mistake)
    made = _Making(session, point, "tag", name, message)
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

    return made.make(location, clone, lambda: Files(session).delete(location), dry_run)


def untag(session: SparkSession, table: str, name: str, *, dry_run: bool = False) -> Ref:
    """Take a tag of a table away; the files that it alone needed are VACUUM's then.

    Raises:
        ValueError: there is no such tag; which there are.
    """
    folder = log.folder(session, table)
    found = find_tag(session, folder, name, table)
    if not dry_run:
        drop(session, found, folder)
    return found


def clone(
    session: SparkSession,
    point: Point,
    to: str,
    message: str | None = None,
    *,
    schema: str,
    dry_run: bool = False,
) -> Made:
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
    table = f"{quoted(in_schema)}.{quoted(table_name)}"
    if not session.catalog.databaseExists(in_schema):
        found = sorted(one.name for one in session.catalog.listDatabases())
        raise ValueError(
            f"there is no schema {in_schema}; accepted: {', '.join(found)}, or one that"
            f" `on-run-start: create schema {in_schema}` makes{did_you_mean(in_schema, found)}"
        )
    location = unregistered.default_folder(session, in_schema, table_name)
    there = refs.ref_in(session, location)
    is_known = session.catalog.tableExists(table)
    if is_known and (there is None or unregistered.is_managed(session, table)):
        is_of = "" if there is None else f", {_said(there)}"
        raise ValueError(f"{table} is there already{is_of}; accepted: a name that nothing has")
    made = _Making(session, point, "clone", f"{in_schema}.{table_name}", message)
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
    return made.make(location, lambda: does(location, table), undo, dry_run)


def clone_for(
    session: SparkSession,
    branch: str,
    point: Point,
    location: str,
    began: Callable[[str], Mapping[str, int]],
) -> tuple[Ref, bool]:
    """Make a table of a branch, in a folder that the catalog gets to know when it is complete.

    began: by the new table's id, the numbers of its `txn` actions.

    Returns what was made, and whether it has them: a clone by Delta's command has not.

    Raises:
        ValueError: files of that version are gone. Nothing was left behind.
    """
    made = _Making(session, point, "branch", branch, None, began)
    done = made.make(
        location,
        lambda: made.clone(location),
        lambda: Files(session).delete(location),
        False,
    )
    return done.ref, made.has_begun


def drop(session: SparkSession, one: Ref, *of: str, table: str | None = None) -> None:
    """Delete the folder of a tag, or of a table of a branch, and its entries in registers.

    The first commit says whose the folder is. It goes last, so that what a kill leaves is known.

    Args:
        of: folders in whose registers it stands, beside those of its files.
        table: its name in the catalog, quoted; None where that does not have it.
    """
    snapshot = log.snapshot_of(session, dependents.relation(one.location))
    # A table that was compacted or rewritten names files of its source as removed ones alone.
    folders = dependents.roots(session, snapshot, has_removed=True)
    if table is not None:
        # Out of the catalog first: nobody is to find a table without files.
        unregistered.unregister(session, table)
    files, first = Files(session), dependents.first_commit(one.location)
    of_log = f"{one.location}/{dependents.LOG}"
    for folder, kept in ((one.location, of_log), (of_log, first)):
        # Of a log the newest first: what is left of it can be read.
        for path in (f"{folder}/{name}" for name in sorted(files.names(folder), reverse=True)):
            if path != kept:
                files.delete(path)
    files.delete(one.location)
    dependents.forget(session, Dependent(one.kind, one.name, one.location), [*of, *folders])


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


class _Making(jvm.SessionCopy):
    """Makes a shallow clone of a version, which no vacuum breaks.

    Attributes:
        folder: of the table that it is of.
        version: of that table.
        is_committed, is_registered: whether its log and its entry in the catalog are there.
        has_begun: whether its log has the `txn` actions that it begins with.
    """

    def __init__(
        self,
        session: SparkSession,
        point: Point,
        kind: str,
        name: str,
        message: str | None,
        began: Callable[[str], Mapping[str, int]] | None = None,
    ) -> None:
        super().__init__(session)
        self._snapshot = log.snapshot_of(session, point.table, point.version)
        self.folder = log.qualified(self._snapshot.deltaLog())
        author = str(session.sparkContext.sparkUser())
        self.version = version = int(self._snapshot.version())
        self._point, self._began = replace(point, version=version), began
        self._properties = {_LOG_LIVES: _FOREVER} if kind == "branch" else {}
        commit = commit_id(session, self._snapshot.deltaLog(), version)
        self._ref = Ref(kind, name, "", point.table, version, message, author, None, commit)
        self.is_committed = self.is_registered = self.has_begun = False

    def is_in(self, there: Ref) -> bool:
        """Whether a table is just this one, and nobody has written to it.

        Its files tell that too: a table that was dropped and made again has the old numbers.
        """
        mine = replace(self._ref, location=there.location, author=there.author, at=there.at)
        if mine != there:
            return False
        try:
            made = State(self.session, dependents.relation(there.location), hides=False)
            of = State(self.session, self._point.table, self.version, hides=False)
        except ValueError:  # of what a kill left of a log there is no version
            return False
        is_same = made.version == 0 and made.schema == of.schema
        return is_same and not made.entries(of) and not of.entries(made)

    def register(self, location: str, table: str) -> int:
        """Enter what a kill left into the catalog; the number of its files."""
        if self.session.catalog.tableExists(table):
            unregistered.manage(self.session, table)
        else:
            unregistered.register(self.session, table, location, managed=True)
        self.is_registered = True
        return int(self._snapshot.numOfFiles())

    def clone(self, location: str, table: str | None = None) -> int:
        """Make it, with a note of what it is; the number of its files.

        table: its name in the catalog, quoted; None for a tag, which has none.
        """
        said = ("kind", "name", "message", "author", "table", "version", "commit")
        note = {name: getattr(self._ref, name) for name in said}
        self.set(committing.COMMIT_METADATA, json.dumps({marks.REF_NOTE: note}))
        if cloning.is_plain(self._snapshot):
            table_id = str(uuid4())
            numbers = {} if self._began is None else self._began(table_id)
            files = cloning.clone(
                self,
                self._snapshot,
                self._point.table,
                location,
                table_id,
                numbers,
                self._properties,
            )
            self.is_committed = self.has_begun = True
            if table is not None:
                unregistered.register(self.session, table, location, managed=True)
                self.is_registered = True
            return files
        self.set(_ANY_AGE, "false")
        # Without a location Delta would take `%20` of a schema's for part of a folder's name.
        where = "" if table is None else f" location {literal(location)}"
        for one in self._properties.items():
            where = f" tblproperties ({' = '.join(map(literal, one))}){where}"
        target = dependents.relation(location) if table is None else table
        with self.active():
            self.spark.sql(f"create table {target} shallow clone {self._point.sql()}{where}")
        self.is_committed = True
        if table is not None:
            self.is_registered = True
            unregistered.manage(self.session, table)
        return int(self._snapshot.numOfFiles())

    def make(
        self, location: str, clone: Callable[[], int], undo: Callable[[], None], dry_run: bool
    ) -> Made:
        """Note the dependent, clone, and see that every file is there; else undo it all.

        Args:
            location: the folder that it is going to have.
        """
        old = pinned.old_files(self.session, self._snapshot)
        self._check_there(old, "")
        ref = replace(self._ref, location=location)
        if dry_run:
            return Made(ref, int(self._snapshot.numOfFiles()))
        dependent = Dependent(self._ref.kind, self._ref.name, location)
        folders = dependents.roots(self.session, self._snapshot)
        dependents.note(self.session, dependent, folders)
        try:
            files = clone()
        except (PySparkException, Py4JError, ValueError):
            # Else what is there somebody else has made meanwhile.
            first = dependents.first_commit(location)
            if self.is_committed or not Files(self.session).is_there(first):
                undo()
                dependents.forget(self.session, dependent, folders)
            raise
        try:
            if old:
                going_on = dependents.vacuums(self.session, folders)
                if going_on:
                    raise ValueError(
                        f"a vacuum goes on that may delete files of version {self._ref.version:,}"
                        f" of {self._ref.table} ({going_on[0]}). Nothing was left behind. Accepted:"
                        " again when it has ended; to delete that file if it was killed"
                    )
                self._check_there(old, " Nothing was left behind.")
        except ValueError:
            undo()
            dependents.forget(self.session, dependent, folders)
            raise
        return Made(ref, files)

    def _check_there(self, old: list[str], then: str) -> None:
        gone = pinned.lost(self.session, self._snapshot, old)
        if gone:
            raise ValueError(
                f"version {self._ref.version:,} of {self._ref.table} {pinned.needs(gone)}.{then}"
                " Accepted: a newer version"
            )
