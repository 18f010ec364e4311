"""Tables that show files of another table's folder, and the register of them that it holds.

A published table, a tag, a clone or a branch names files that lie elsewhere. VACUUM of the table
there knows nothing of that. So each of them is noted in every folder that its files lie in, before
its first commit: `<folder>/_alluvium/dependents/<hash of its location>.json`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta.files import paths
from alluvium.delta.log.log_folder import is_draft
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.refs import named_files
from alluvium.engine import causes
from alluvium.engine.files import Files
from alluvium.engine.handles import JavaFrame
from alluvium.names import quoted
from alluvium.paths import Place

# What begins with a line below is hidden from readers of folders, and VACUUM leaves it alone.
HIDDEN = "_alluvium"
_REGISTER = f"{HIDDEN}/dependents"
_VACUUMS = f"{HIDDEN}/vacuums"
LOG = "_delta_log"
# What is noted, and is not there after so long, will not come: who noted it was killed.
_DEAD_AFTER = timedelta(days=1)
# Dependents that a message names.
_SHOWN = 5


@dataclass(frozen=True)
class Dependent:
    """A table that shows files of another's folder.

    Attributes:
        kind: `published`, `tag`, `clone` or `branch`.
        name: as a person names it.
        location: its folder, as `log.qualified` writes one.
        noted_at: when it was noted, in UTC; None before.
    """

    kind: str
    name: str
    location: str
    noted_at: datetime | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def table(self) -> str:
        """As SQL names it, whatever its name is."""
        return relation(self.location)

    @property
    def _file(self) -> str:
        return f"{hashlib.sha256(self.location.encode()).hexdigest()[:32]}.json"


def relation(location: str) -> str:
    """The Delta table in a folder, as SQL names it."""
    return f"delta.{quoted(location)}"


def first_commit(location: str) -> str:
    """The path of the first commit of the table in a folder."""
    return f"{location}/{LOG}/{0:020}.json"


# The register ------------------------------------------------------------------------------------


def note(session: SparkSession, dependent: Dependent, folders: Iterable[str]) -> None:
    """Note a dependent in the register of each folder, before the commit that names files there."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    text = json.dumps({**asdict(dependent), "noted_at": now}, indent=1)
    for folder in folders:
        Files(session).replace(f"{folder}/{_REGISTER}/{dependent._file}", text)


def is_noted(session: SparkSession, dependent: Dependent, folder: str) -> bool:
    return Files(session).is_there(f"{folder}/{_REGISTER}/{dependent._file}")


def forget(session: SparkSession, dependent: Dependent, folders: Iterable[str]) -> None:
    """Take a dependent out of the registers of these folders."""
    for folder in folders:
        Files(session).delete(f"{folder}/{_REGISTER}/{dependent._file}")


def noted(session: SparkSession, folder: str) -> list[Dependent]:
    """What the register of a folder names, in the order of kinds and names.

    Raises:
        ValueError: an entry cannot be read.
    """
    files, found = Files(session), []
    for name in files.names(f"{folder}/{_REGISTER}"):
        path = f"{folder}/{_REGISTER}/{name}"
        text = files.read(path) if name.endswith(".json") else None
        if text is None:  # a draft, or gone meanwhile
            continue
        try:
            entry = json.loads(text)
            at = datetime.fromisoformat(entry["noted_at"])
            found.append(Dependent(entry["kind"], entry["name"], entry["location"], at))
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"{path} cannot be read, so it is not known what needs the files of {folder};"
                " accepted: to delete that file, if nothing does"
            ) from error
    return sorted(found, key=lambda one: (one.kind, one.name, one.location))


def living(session: SparkSession, folder: str) -> list[Dependent]:
    """Those that the register of a folder names, and that have a log.

    Takes away entries of dependents that are gone for good.

    Raises:
        ValueError: an entry cannot be read.
    """
    files, found = Files(session), []
    for one in noted(session, folder):
        if not is_draft(files, f"{one.location}/{LOG}"):
            found.append(one)
        elif one.noted_at is None or datetime.now(UTC) - one.noted_at > _DEAD_AFTER:
            forget(session, one, [folder])
    return found


# Vacuums -----------------------------------------------------------------------------------------


@contextmanager
def vacuuming(session: SparkSession, folder: str) -> Iterator[None]:
    """Tell those who pin an old version of a table that its files are being deleted."""
    path = f"{folder}/{_VACUUMS}/{uuid4().hex}.json"
    began = {"began_at": datetime.now(UTC).isoformat(timespec="seconds")}
    Files(session).replace(path, json.dumps(began))
    try:
        yield
    finally:
        Files(session).delete(path)


def vacuums(session: SparkSession, folders: Iterable[str]) -> list[str]:
    """Notes of vacuums of these folders that go on; older than a day, they are of killed ones."""
    files, found = Files(session), []
    for folder in folders:
        for name in files.names(f"{folder}/{_VACUUMS}"):
            path = f"{folder}/{_VACUUMS}/{name}"
            text = files.read(path) if name.endswith(".json") else None
            if text is None:
                continue
            began = datetime.fromisoformat(json.loads(text)["began_at"])
            if datetime.now(UTC) - began < _DEAD_AFTER:
                found.append(path)
            else:
                files.delete(path)
    return found


# What dependents need ----------------------------------------------------------------------------


def roots(snapshot: TableSnapshot, *, has_removed: bool = False) -> list[str]:
    """The folders of tables that files and vectors of a version lie in: its own, then others.

    has_removed: whether files count too that the version's log still tells to be removed.
    """
    session, own = snapshot.session, snapshot.folder
    files = _named(session, snapshot.delta.allFiles())
    if has_removed:
        files = files.union(_named(session, snapshot.delta.tombstones()))
    return [own, *roots_of(session, files.toArrow()["folder"].unique().to_pylist(), own)]


def roots_of(session: SparkSession, folders: Iterable[str], own: str) -> list[str]:
    """The folders of tables, but for `own`, that these folders are in or are.

    Where no folder above has a log there is no table, and nobody deletes anything there.
    """
    files, found = Files(session), [Place.of(own)]
    for folder in sorted(set(map(Place.of, folders))):
        # A folder with a log inside another table's is one of ours, which holds no data file.
        is_inside = any(folder.inside(root) is not None for root in found)
        if not is_inside and (root := root_of(files, str(folder))) is not None:
            found.append(Place.of(root))
    return list(map(str, found[1:]))


def root_of(files: Files, folder: str) -> str | None:
    """The folder of the table that a folder is in or is, as `log.qualified`; None for no table."""
    root = Place.of(folder, system="")
    while not files.is_there(str(root / LOG)):
        if root == root.parent:
            return None
        root = root.parent
    return str(root)


def needed(session: SparkSession, dependent: Dependent, folder: str) -> pa.ChunkedArray:
    """What a dependent needs of a folder: files and vectors, as `Place` writes them.

    Those that its newest version names, and the versions within its own retention. Of a branch also
    what a later merge reads, however old that is.

    Raises:
        ValueError: its log cannot be read.
    """
    try:
        newest = TableSnapshot.of(session, dependent.table)
        return named_files.inside(named_files.needed(newest), folder)
    except (PySparkException, Py4JError) as error:
        raise ValueError(
            f"{dependent} in {dependent.location} cannot be read, so it is not known what it needs:"
            f" {causes.explain(error).text}"
        ) from error


def needing(
    session: SparkSession,
    folder: str,
    going: Container[str] = (),
    others: Iterable[Dependent] = (),
) -> list[Dependent]:
    """Those that need files of a folder, and those inside it: what a drop of it would break.

    Args:
        going: the folders of what is dropped too.
        others: more that may need some, beside those that the register names.

    Raises:
        ValueError: it is not known of one.
    """
    known = {one.location: one for one in [*others, *living(session, folder)]}
    return [
        one
        for one in known.values()
        if one.location not in going
        and (one.kind == "tag" or len(needed(session, one, folder)) > 0)
    ]


def named(found: Sequence[Dependent]) -> str:
    """The first ones, for a message."""
    return ", ".join(map(str, found[:_SHOWN])) + (", …" if found[_SHOWN:] else "")


def _named(session: SparkSession, actions: JavaFrame) -> DataFrame:
    """Of each file and deletion vector that has an absolute path, its `folder`."""
    files = DataFrame(actions.toDF(), session)
    vectors = files.where("deletionVector.storageType = 'p'")
    found = files.select("path").union(vectors.select("deletionVector.pathOrInlineDv"))
    path = F.col("path")
    return found.where(paths.is_absolute(path)).select(paths.folder(path).alias("folder"))
