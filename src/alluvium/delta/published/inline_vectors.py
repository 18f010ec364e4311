"""Deletion vectors that stand in a table's log, and their way into files.

Delta reads both kinds, but its VACUUM fails on a table that has one in its log, of a file that is
there or of one that was deleted within retention. Other engines may write small vectors there, and
so did publishes of earlier versions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

from alluvium import marks
from alluvium.delta.files.vector_writer import VectorWriter
from alluvium.delta.handles import DeltaSnapshot, DeltaVector
from alluvium.delta.internals import VECTOR_TOMBSTONES
from alluvium.delta.log import committing, log
from alluvium.delta.log.committing import edited, fields
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.log.states import id_of
from alluvium.delta.refs.dependents import relation
from alluvium.delta.refs.needed_files import forget
from alluvium.engine import jvm
from alluvium.engine.handles import JavaFrame

# What a publish notes of a table that has no vector in its log.
IN_FILES = "files"


class InlineVectors:
    """The vectors that stand in the log of the newest version of a table."""

    def __init__(self, newest: TableSnapshot) -> None:
        self._copy = jvm.SessionCopy(newest.session)
        self._snapshot = newest.delta
        # Another writer may bring back a file that is said to be gone: then nothing is committed.
        self._copy.set("spark.databricks.delta.maxCommitAttempts", 0)
        # Of a file that is gone there may be several vectors, which Delta's protocol tells apart.
        self._copy.set("spark.databricks.delta.duplicateActionCheck.enabled", False)

    @property
    def count(self) -> int:
        """Of data files that are there, and of those that were deleted within retention."""
        return len(self._files) + len(self._gone)

    @cached_property
    def _files(self) -> list[Any]:
        return self._inline(self._snapshot.allFiles())

    @cached_property
    def _gone(self) -> list[Any]:
        return self._inline(self._snapshot.tombstones())

    def _inline(self, actions: JavaFrame) -> list[Any]:
        with self._copy.active():
            chosen = self._copy.functions.expr("deletionVector.storageType = 'i'")
            return list(actions.filter(chosen).collectAsList())

    def mend(self, metadata: Callable[[int], str]) -> DeltaSnapshot:
        """Put them into files, in a commit or two that change no row; Delta's newest snapshot.

        metadata: gives a commit's `userMetadata` from the version that it follows.

        Raises Delta's exceptions where somebody else wrote to the table meanwhile.
        """
        for actions, operation in self._commits():
            self._copy.set(committing.COMMIT_METADATA, metadata(int(self._snapshot.version())))
            with self._copy.active():
                transaction = committing.transaction(self._copy.session, self._snapshot)
                transaction.readWholeTable()
                transaction.commit(self._copy.seq(actions), operation)
            self._read_again()
        return self._snapshot

    def _read_again(self) -> None:
        """The newest version as the files of the log tell it, with the newest checkpoint."""
        place = log.qualified(self._snapshot.deltaLog())
        forget(self._copy.session, place)
        with self._copy.active():
            self._snapshot = log.snapshot_of(self._copy.session, relation(place))

    def _commits(self) -> Iterator[tuple[list[Any], Any]]:
        """The actions and the operation of each commit."""
        if self._files:
            added = in_files(self._copy, self._snapshot, self._files)
            # As if deleted long ago: VACUUM does not look at it, and the data file is there.
            gone = [file.removeWithTimestamp(0, False) for file in self._files]
            added = [edited(self._copy.session, file, dataChange=False) for file in added]
            yield [*gone, *added], committing.optimize(self._copy.session)
        if self._gone:
            # In a log that tells a file's way from its beginning, Delta keeps each of its removals.
            with self._copy.active():
                self._snapshot.deltaLog().checkpoint()
            self._read_again()
            actions = []
            for file, vector in _moved(self._copy, self._snapshot, self._gone):
                old = json.loads(file.json())["remove"] | {"dataChange": False}
                kept = old | {"deletionVector": _written(vector)}
                actions += [old | {"deletionTimestamp": 0}, kept]
            removed = [committing.action(self._copy.session, "remove", one) for one in actions]
            # Under this operation Delta does not count them among the files that go.
            yield removed, self._copy.internal(VECTOR_TOMBSTONES)


def in_files(copy: jvm.SessionCopy, snapshot: DeltaSnapshot, files: Sequence[Any]) -> list[Any]:
    """AddFile actions of a table, those of vectors in the log with the same ones in files.

    snapshot: of the table; the files of vectors come into its folder.
    """
    moved = {}
    for file, vector in _moved(copy, snapshot, files):
        wide = fields(file) | {"deletionVector": _written(vector)}
        tags = wide.get("tags") or {}
        if marks.PUBLISHED_TAG in tags:
            tag = json.loads(tags[marks.PUBLISHED_TAG]) | {"own": id_of(vector)}
            wide["tags"] = {**tags, marks.PUBLISHED_TAG: json.dumps(tag)}
        moved[file.path()] = committing.add_file(copy.session, wide)
    return [moved.get(file.path(), file) for file in files] if moved else list(files)


def _moved(
    copy: jvm.SessionCopy, snapshot: DeltaSnapshot, actions: Sequence[Any]
) -> Iterator[tuple[Any, Any]]:
    """Those actions whose vectors stand in the log, and descriptors of the same in files."""
    writer = VectorWriter(copy.session, snapshot)
    try:
        for file in actions:
            vector = file.deletionVector()
            if vector is not None and vector.isInline():
                data, rows = vector.inlineData(), vector.cardinality()
                yield file, writer.write(file.path(), None, data, rows)
    finally:
        writer.close()


def _written(vector: DeltaVector) -> dict[str, Any]:
    """Delta's descriptor of a vector in a file as the log has it."""
    return {
        "storageType": vector.storageType(),
        "pathOrInlineDv": vector.pathOrInlineDv(),
        "offset": vector.offset().get(),
        "sizeInBytes": vector.sizeInBytes(),
        "cardinality": vector.cardinality(),
    }
