"""Makes and drops shallow clones: tags, clones and tables of branches, which no vacuum breaks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.log import committing
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.log.states import VersionState
from alluvium.delta.refs import cloning, dependents, pinned, unregistered
from alluvium.delta.refs.dependents import Dependent
from alluvium.delta.refs.refs import Ref, ref_in
from alluvium.engine import jvm
from alluvium.engine.files import Files
from alluvium.names import literal
from alluvium.plan.planned import Planned
from alluvium.wording import needs

# A version is older than the table's retention, and its files are there all the same.
_ANY_AGE = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"
# Where its first version is gone, a branch cannot be merged: nobody knows what changed on it.
_LOG_LIVES, _FOREVER = "delta.logRetentionDuration", "interval 36500 days"


# By the id of a table, its `txn` actions and the id of its clone: those of the clone.
Began = Callable[[str, dict[str, int], str], Mapping[str, int]]


@dataclass(frozen=True)
class Made:
    """What was made, or would be.

    Attributes:
        files: that it shows.
        has_begun: whether its log has the `txn` actions that it begins with.
    """

    ref: Ref
    files: int
    has_begun: bool = False


class Making:
    """Makes a shallow clone of a version, which no vacuum breaks.

    Args:
        table: of which it is.
        version: None for the newest.
        kind, name, message: as `Ref` has them.
        began: as `Began`.
        table_id: of the table's newest version, where it is known.

    Attributes:
        folder: of the table that it is of.
        version: of that table.
        is_committed, is_registered: whether its log and its entry in the catalog are there.

    Raises:
        ValueError: the table has another id by now. A version of the same number has other rows.
    """

    def __init__(
        self,
        session: SparkSession,
        table: str,
        version: int | None,
        kind: str,
        name: str,
        message: str | None,
        began: Began | None = None,
        table_id: str | None = None,
    ) -> None:
        self._copy = jvm.SessionCopy(session)
        self._snapshot = snapshot = TableSnapshot.of(session, table, version)
        of = snapshot.delta.deltaLog()
        if table_id not in (None, str(of.unsafeVolatileSnapshot().metadata().id())):
            raise ValueError(f"{table} was made again meanwhile, so nothing was done")
        self.folder, self.version = snapshot.folder, snapshot.version
        author = str(session.sparkContext.sparkUser())
        self._table, self._began = table, began
        self._properties = {_LOG_LIVES: _FOREVER} if kind == "branch" else {}
        commit = snapshot.commit(self.version).id
        self._ref = Ref(kind, name, "", table, self.version, message, author, None, commit)
        self.is_committed = self.is_registered = self._has_begun = False

    def is_in(self, there: Ref) -> bool:
        """Whether a table is just this one, and nobody has written to it.

        Its files tell that too: a table that was dropped and made again has the old numbers.
        """
        mine = replace(self._ref, location=there.location, author=there.author, at=there.at)
        if mine != there:
            return False
        try:
            made = VersionState(
                self._copy.session, dependents.relation(there.location), hides=False
            )
            of = VersionState(self._copy.session, self._table, self.version, hides=False)
        except ValueError:  # of what a kill left of a log there is no version
            return False
        is_same = made.version == 0 and made.schema == of.schema
        return is_same and not made.entries(of) and not of.entries(made)

    def register(self, location: str, table: str) -> int:
        """Enter what a kill left into the catalog; the number of its files."""
        unregistered.enter(self._copy.session, table, location)
        self.is_registered = True
        return self._snapshot.files

    def clone(self, location: str, table: str | None = None) -> int:
        """Make it, with a note of what it is; the number of its files.

        table: its name in the catalog, quoted; None for a tag, which has none.
        """
        said = ("kind", "name", "message", "author", "table", "version", "commit")
        note = {name: getattr(self._ref, name) for name in said}
        self._copy.set(committing.COMMIT_METADATA, json.dumps({marks.REF_NOTE: note}))
        if cloning.is_plain(self._snapshot.delta):
            table_id = str(uuid4())
            began = self._began
            numbers = {} if began is None else began(*self._snapshot.numbers, table_id)
            files = cloning.clone(
                self._copy,
                self._snapshot.delta,
                self._table,
                location,
                table_id,
                numbers,
                self._properties,
            )
            self.is_committed = self._has_begun = True
            if table is not None:
                unregistered.register(self._copy.session, table, location, managed=True)
                self.is_registered = True
            return files
        self._copy.set(_ANY_AGE, "false")
        # Without a location Delta would take `%20` of a schema's for part of a folder's name.
        where = "" if table is None else f" location {literal(location)}"
        for one in self._properties.items():
            where = f" tblproperties ({' = '.join(map(literal, one))}){where}"
        target = dependents.relation(location) if table is None else table
        with self._copy.active():
            self._copy.spark.sql(
                f"create table {target} shallow clone {self._table} version as of {self.version}"
                f"{where}"
            )
        self.is_committed = True
        if table is not None:
            self.is_registered = True
            unregistered.manage(self._copy.session, table)
        return self._snapshot.files

    def planned(
        self, location: str, clone: Callable[[], int], undo: Callable[[], None]
    ) -> Planned[Made]:
        """See that every file is there.

        location: the folder that it is going to have.
        """
        old = pinned.old_files(self._snapshot)
        self._check_there(old, "")
        would = Made(replace(self._ref, location=location), self._snapshot.files)
        return Planned(would, partial(self.make, would.ref, old, clone, undo))

    def make(
        self, ref: Ref, old: list[str], clone: Callable[[], int], undo: Callable[[], None]
    ) -> Made:
        """Note the dependent, clone, and see that every file is still there; else undo it all."""
        location = ref.location
        dependent = Dependent(ref.kind, ref.name, location)
        folders = dependents.roots(self._snapshot)
        dependents.note(self._copy.session, dependent, folders)
        is_ours = False
        try:
            files = clone()
            is_ours = True
            if old and (going_on := dependents.vacuums(self._copy.session, folders)):
                raise ValueError(
                    f"a vacuum goes on that may delete files of version {ref.version:,} of"
                    f" {ref.table} ({going_on[0]}). Nothing was left behind. Accepted: again when"
                    " it has ended; to delete that file if it was killed"
                )
            self._check_there(old, " Nothing was left behind.")
        except (PySparkException, Py4JError, ValueError):
            # Else what is there somebody else has made meanwhile.
            first = dependents.first_commit(location)
            if is_ours or self.is_committed or not Files(self._copy.session).is_there(first):
                undo()
                dependents.forget(self._copy.session, dependent, folders)
            raise
        return Made(ref, files, self._has_begun)

    def _check_there(self, old: list[str], then: str) -> None:
        gone = pinned.lost(self._snapshot, old)
        if gone:
            raise ValueError(
                f"version {self._ref.version:,} of {self._ref.table} {needs(gone)}.{then}"
                " Accepted: a newer version"
            )


def drop(session: SparkSession, one: Ref, *of: str, table: str | None = None) -> Ref:
    """Delete the folder of a tag, or of a table of a branch, and its entries in registers.

    The first commit says whose the folder is. It goes last, so that what a kill leaves is known.
    Of a branch the other commits go before its own files: what is left can be read, whole.

    Args:
        of: folders in whose registers it stands, beside those of its files.
        table: its name in the catalog, quoted; None where that does not have it.

    Raises:
        ValueError: another one of its name is there by now. Nothing was deleted.
    """
    if ref_in(session, one.location) not in (one, None):
        raise ValueError(f"{one.kind} {one.name} was made again meanwhile, so nothing was done")
    newest = TableSnapshot.of(session, dependents.relation(one.location))
    # A table that was compacted or rewritten names files of its source as removed ones alone.
    folders = dependents.roots(newest, has_removed=True)
    if table is not None:
        # Out of the catalog first: nobody is to find a table without files.
        unregistered.unregister(session, table)
    files, first = Files(session), dependents.first_commit(one.location)
    of_log = f"{one.location}/{dependents.LOG}"
    parts = [(of_log, first), (one.location, of_log)]
    # Without a first commit the log alone tells whose the files are.
    for folder, kept in parts if files.is_there(first) else reversed(parts):
        # Of a log the newest first: what is left of it can be read.
        for path in (f"{folder}/{name}" for name in sorted(files.names(folder), reverse=True)):
            if path != kept:
                files.delete(path)
    files.delete(one.location)
    dependents.forget(session, Dependent(one.kind, one.name, one.location), [*of, *folders])
    return one
