"""Tags, clones and branches as their own logs tell them: which version of which table each is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.log import log
from alluvium.delta.log.log import TableVersion
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.refs import dependents
from alluvium.engine.files import Files
from alluvium.plan.versions.commit import Commit

_TAGS = f"{dependents.HIDDEN}/tags"


@dataclass(frozen=True)
class Ref:
    """A table without files of its own, that was made of a version of another one.

    Attributes:
        kind: `tag`, `clone` or `branch`.
        location: its folder.
        table: the other one's name then; its id, where the first commit is gone.
        version: of the other one.
        at: when it was made, in UTC.
        commit: the id of that version's commit. A backup gives its number to another one.
    """

    kind: str
    name: str
    location: str
    table: str
    version: int
    message: str | None
    author: str | None
    at: datetime | None
    commit: str | None = None


def tag_folder(folder: str, name: str) -> str:
    """Where a tag of the table in a folder lies: it goes with that table."""
    return f"{folder}/{_TAGS}/{name}"


def tags(session: SparkSession, folder: str) -> list[Ref]:
    """The tags of the table in a folder, by name."""
    found = (ref_in(session, tag_folder(folder, name)) for name in tag_names(session, folder))
    return [one for one in found if one is not None]


def tag_names(session: SparkSession, folder: str) -> list[str]:
    """The names of the tags of the table in a folder, whether they can be read or not."""
    files = Files(session)
    return [
        name
        for name in sorted(files.names(f"{folder}/{_TAGS}"))
        if files.is_there(dependents.first_commit(tag_folder(folder, name)))
    ]


def branches(session: SparkSession, folder: str) -> Iterator[Ref]:
    """The branches that show files of the table in a folder.

    Raises:
        ValueError: an entry of the register cannot be read.
    """
    for one in dependents.noted(session, folder):
        found = branch_in(session, one.location, one.name) if one.kind == "branch" else None
        if found is not None:
            yield found


def ref_in(session: SparkSession, location: str) -> Ref | None:
    """What the first commit of the table in a folder notes; None where it is none, or not ours."""
    first = Files(session).first_line(dependents.first_commit(location))
    made = Commit(0, [first] if first else ())
    note = made.note(marks.REF_NOTE)
    if note is None:
        return None
    return Ref(
        str(note.get("kind")),
        str(note.get("name")),
        location,
        str(note.get("table")),
        int(note.get("version", -1)),
        note.get("message"),
        note.get("author"),
        made.at,
        note.get("commit"),
    )


def branch_in(session: SparkSession, location: str, name: str) -> Ref | None:
    """The table of a branch of this name in a folder; None where that is none, or another one's.

    Where the first commit is gone, its table's `txn` actions tell that it is one of a branch.
    """
    found = ref_in(session, location)
    if found is not None:
        return found if (found.kind, found.name) == ("branch", name) else None
    files = Files(session)
    if files.is_there(dependents.first_commit(location)) or not files.names(
        f"{location}/{dependents.LOG}"
    ):
        return None
    try:
        base = base_of(session, dependents.relation(location))
    except (PySparkException, Py4JError):  # what is left of a log that was deleted
        return None
    if base is None:
        return None
    return Ref("branch", name, location, base.table_id, base.version, None, None, None)


def base_of(session: SparkSession, table: str) -> TableVersion | None:
    """The version of another table that a table of a branch began as; None where it is none."""
    for app, number in log.state(session, table)[1].items():
        if app.startswith(marks.BRANCH):
            return TableVersion(app[len(marks.BRANCH) :], number)
    return None


def has_version(now: TableSnapshot, table: str, version: TableVersion, commit: str | None) -> bool:
    """Whether a table's log has a version that this commit made, and no other of its number.

    now: the table's newest snapshot.
    """
    try:
        if commit != now.commit(version.version).id:
            return False
        return log.state(now.session, table, version.version)[0] == version.table_id
    except (PySparkException, Py4JError):  # the log has that version no more
        return False
