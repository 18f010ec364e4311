"""What other tables need of a table's files: what VACUUM spares, and whether all of it is there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta.files.paths import plain, vector_file
from alluvium.delta.handles import DeltaLog
from alluvium.delta.log import log
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.log.states import FEW
from alluvium.delta.refs import dependents, named_files
from alluvium.delta.refs.dependents import Dependent
from alluvium.engine import many_files
from alluvium.engine.files import Files
from alluvium.names import quoted
from alluvium.paths import Place, folder_of
from alluvium.wording import counted

# Files that are asked for at once, of a file system that may be far away.
_AT_ONCE = 16
# Path of a file, as its log has it, and its deletion vector, as JSON.
_Name = tuple[str, str | None]


def vacuum(
    session: SparkSession, table: str, others: Iterable[Dependent] = (), *, dry_run: bool = False
) -> list[str]:
    """VACUUM of a table, which leaves alone what other tables need of its files.

    Those are the ones that its register names, and `others`. Each version within a dependent's
    own retention counts, with the files and vectors that it names.

    Args:
        table: name of the table.
        others: more of them, such as clones that Delta alone has made.
        dry_run: deletes nothing.

    Returns:
        Paths of what was deleted, or would be.

    Raises:
        ValueError: it is not known what a dependent needs. Nothing was deleted.
    """
    folder = log.folder(session, table)
    with nullcontext() if dry_run else dependents.vacuuming(session, folder):
        old = _old(session, table, folder, others)
        if old.num_rows and not dry_run:  # else Delta would take its time to find that out
            _delete(session, table, old)
            # Delta goes on where a file cannot be deleted.
            left = pc.is_in(old["path"], _listed(session, folder)["path"])
            old = old.filter(pc.invert(left))
            _sweep(session, folder, old["path"].to_pylist())
    return list(map(str, old["path"].to_pylist()))


def _sweep(session: SparkSession, folder: str, deleted: Iterable[str]) -> None:
    """Delete folders of partitions that nothing is in any more; Delta looks at the listed files."""
    files, left = Files(session), set[str]()
    for path in deleted:
        while len(path := folder_of(path)) > len(folder):
            left.add(path)
    for one in sorted(left, key=len, reverse=True):
        files.delete_empty(one)


def _old(session: SparkSession, table: str, folder: str, others: Iterable[Dependent]) -> pa.Table:
    """The files in a folder that nobody needs, and that are older than retention."""
    known = {one.location: one for one in others}
    listed = _listed(session, folder)
    while True:  # the register is read after the listing, and again before files are deleted
        found = {one.location: one for one in dependents.living(session, folder)}
        needed = [dependents.needed(session, one, folder) for one in (known | found).values()]
        if found.keys() == {one.location for one in dependents.living(session, folder)}:
            break
    newest = TableSnapshot.of(session, table)
    needed.append(named_files.needed(newest))
    chunks = [chunk for one in needed for chunk in one.chunks]
    is_needed = pc.is_in(listed["path"], pa.chunked_array(chunks, pa.string()))
    is_old = pc.less(listed["modified"], int(newest.delta.minFileRetentionTimestamp()))
    return listed.filter(pc.and_(is_old, pc.invert(is_needed)))


def _delete(session: SparkSession, table: str, files: pa.Table) -> None:
    """VACUUM of these files, of which Delta deletes those that the table does not need."""
    names = {"path": "path", "bytes": "length", "modified": "modificationTime"}
    listed = files.select(list(names)).rename_columns(names)
    view = f"alluvium_{uuid4().hex}"
    session.createDataFrame(listed).createOrReplaceTempView(view)
    try:
        # Delta asks for these columns in this order, and that each may be NULL.
        columns = "path, length, if(length < 0, null, false) as isDir, modificationTime"
        inventory = f"select {columns} from {quoted(view)}"
        session.sql(f"vacuum {table} using inventory ({inventory})").collect()
    finally:
        session.catalog.dropTempView(view)


def _listed(session: SparkSession, folder: str) -> pa.Table:
    """The files in a folder that VACUUM looks at: as `many_files.listed`."""
    return pa.concat_tables(
        many_files.listed(session, one) for one in (folder, f"{folder}/_change_data")
    )


def clones(session: SparkSession, folder: str, tables: Sequence[Dependent]) -> list[Dependent]:
    """Those of these tables whose first commit names files of a folder, as a clone's does.

    Reads the first commits alone. Where a log has its first one no more, it is told as one that
    may name some.
    """
    files = Files(session)

    def first(one: Dependent) -> str | None:
        path = dependents.first_commit(one.location)
        return path if files.is_there(path) else None

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        paths = list(pool.map(first, tables))
    begun = {path: one for path, one in zip(paths, tables, strict=True) if path is not None}
    found = [
        one
        for path, one in zip(paths, tables, strict=True)
        if path is None and files.names(f"{one.location}/{dependents.LOG}")
    ]
    if begun:
        # As logs write it, whichever way they write the file system.
        inside = f"{Place('', Place.of(folder).path).uri}/"
        lines = (
            session.read.options(__globPaths__="false")
            .text(list(begun))
            .where(F.contains("value", F.lit(inside)))
            .select(F.col("_metadata.file_path").alias("path"))
            .distinct()
        )
        found += [begun[path] for (path,) in lines.select(plain(F.col("path"))).collect()]
    return found


def old_files(snapshot: TableSnapshot) -> list[str]:
    """Files and deletion vectors of a version that the newest one of its table does not name.

    Those that it names are there, and nothing deletes them. Told by the commits since, which is
    quicker than by two states: with what came and went since.
    """
    newest, version = snapshot.newest(), snapshot.version
    is_far = newest.version - version > FEW
    since = [] if is_far else list(newest.commits(version))
    if is_far or any(commit.is_gone for commit in since):
        return _exactly(snapshot)
    return _absolute(snapshot, {_name(file) for commit in since for file in commit.removed})


def lost(snapshot: TableSnapshot, old: Sequence[str]) -> list[str]:
    """Those files that a version needs, and that are gone; old: its `old_files`."""
    if not gone(snapshot.session, old):
        return []
    return gone(snapshot.session, _exactly(snapshot))


def endangered(
    session: SparkSession, folder: str, missing: Callable[[], Sequence[str]]
) -> str | None:
    """Behind a commit that names old files of a folder: why they may not stay; None where they do.

    missing: which of them are gone.
    """
    if going_on := dependents.vacuums(session, [folder]):
        return f"a vacuum goes on that may delete what it needs ({going_on[0]})"
    if gone := missing():
        return f"VACUUM deleted {counted(len(gone), 'file')}, such as {gone[0]}"
    return None


def _exactly(snapshot: TableSnapshot) -> list[str]:
    """`old_files`, without what came and went since."""
    now = set(_files(snapshot.newest()))
    return _absolute(snapshot, (one for one in _files(snapshot) if one not in now))


def _absolute(snapshot: TableSnapshot, files: Iterable[_Name]) -> list[str]:
    root, found = Place.of(snapshot.folder), list[str]()
    for path, vector in files:
        said = None if vector is None else json.loads(vector)
        found += _of_file(root, path, said and (said["storageType"], said["pathOrInlineDv"]))
    return found


def _of_file(root: Place, path: str, vector: tuple[str, str] | None) -> list[str]:
    """A file and its deletion vector's, absolute; vector: its type and place, as the log has it."""
    of_vector = None if vector is None else vector_file(*vector, root)
    return [str(one) for one in (Place.of_uri(path, root), of_vector) if one is not None]


def _name(file: Mapping[str, Any]) -> _Name:
    vector = file.get("deletionVector")
    return file["path"], None if vector is None else json.dumps(vector)


def _files(snapshot: TableSnapshot) -> list[_Name]:
    """Of each file of a version."""
    # In one batch: a join of both states in Spark takes longer than the clone itself.
    files = DataFrame(snapshot.delta.allFiles().toDF(), snapshot.session)
    found = files.select("path", F.to_json("deletionVector").alias("vector")).toArrow()
    return list(zip(found["path"].to_pylist(), found["vector"].to_pylist(), strict=True))


def paths(table_log: DeltaLog, actions: Iterable[Any]) -> list[str]:
    """Absolute paths of files of a table, and of their deletion vectors."""
    root, found = Place.of(log.qualified(table_log)), list[str]()
    for file in actions:
        vector = file.deletionVector()
        said = None if vector is None else (vector.storageType(), vector.pathOrInlineDv())
        found += _of_file(root, file.path(), said)
    return found


def gone(session: SparkSession, paths: Sequence[str]) -> list[str]:
    """Those of the files that are not there."""
    files = Files(session)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        there = list(pool.map(files.is_there, paths))
    return [path for path, is_there in zip(paths, there, strict=True) if not is_there]
