"""Commits that put other files with the same rows in the place of files, or give them tags."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from alluvium import marks
from alluvium.delta.handles import (
    DeltaFile,
    DeltaOperation,
    DeltaSnapshot,
    DeltaTransaction,
)
from alluvium.delta.internals import COMPUTE_STATS
from alluvium.delta.log import committing
from alluvium.delta.log.committing import fields
from alluvium.delta.rewrite import automata
from alluvium.delta.rewrite.table_files import TableFiles
from alluvium.engine.internals import PYTHON_UTILS, SQL_METRICS
from alluvium.names import literal

# Commits behind a version by which it is so old that the newest one is worth a look.
_LONG_AGO = 32


@dataclass(frozen=True)
class WrittenFile:
    """A new file, not yet part of the table.

    Attributes:
        bytes, rows: of the file.
        keys: its smallest and its largest sort key, a column for each of its columns and two rows.
        tags: that it has beside those of its merge.
    """

    action: Any
    bytes: int
    rows: int
    keys: pa.Table
    tags: Mapping[str, str] = field(default_factory=dict)


class LayoutCommits:
    """Commits to a table of which one version was read.

    table: the files of that version.
    """

    def __init__(self, table: TableFiles) -> None:
        self._table, self._copy, self._log = table, table.copy, table.log
        # AddFile actions of the snapshot, by path, that were asked for and are not yet replaced.
        self._known: dict[str, Any] = {}
        # Versions to begin commits at. One is the version that was read, or a later one with only
        # our commits between. The other is newer, for those files that are in it as they were.
        self._base = self._later = self._table.snapshot
        self._same: set[str] = set()

    def indexer(self, columns: Sequence[str]) -> automata.Indexer | None:
        """What makes the indexes of files of the table; None where no column can have one."""
        # Where readers find columns by ids, a name in a file may be another column's.
        mode = str(self._table.snapshot.metadata().columnMappingMode().name())
        fields = [] if mode == "id" else self._table.fields.values()
        found = automata.columns(columns, fields, self._table.partition_by)
        conf = self._log.newDeltaHadoopConf()
        return automata.Indexer(self._copy.session, conf, found) if found else None

    def without_index(self, indexer: automata.Indexer) -> list[str]:
        """Paths of the files of which one of the columns was not looked at yet."""
        seen = f"json_object_keys(tags[{literal(marks.AUTOMATA_TAG)}])"
        each = " and ".join(f"array_contains({seen}, {literal(name)})" for name in indexer.names)
        due = self._copy.functions.expr(f"not coalesce({each}, false)")
        found = self._table.snapshot.allFiles().filter(due).select("path", self._copy.seq([]))
        paths: list[str] = DataFrame(found, self._copy.session).toArrow()["path"].to_pylist()
        return paths

    def index(self, indexer: automata.Indexer, paths: Iterable[str]) -> dict[str, str]:
        """What the tags of these files are to say of their values, by path."""
        files = self.actions(paths)
        tags = indexer.tags([(self.uri(file), fields(file)) for file in files])
        return {str(file.path()): tag for file, tag in zip(files, tags, strict=True)}

    def uri(self, file: DeltaFile) -> str:
        """Where the data file of an action is."""
        return str(file.absolutePath(self._log).toUri())

    def commit(
        self,
        inputs: Iterable[str],
        outputs: Iterable[tuple[WrittenFile, Mapping[str, str]]],
        metadata: str,
    ) -> int:
        """Put the outputs, with these tags, in the place of the inputs; the new version.

        Raises Delta's concurrency exceptions (delta.exceptions) if one of the inputs was changed or
        removed since the version that was read. The table is then as it was.
        """
        removed = self.actions(inputs)
        now = int(time.time() * 1000)
        added = [self._tagged(one.action, {**one.tags, **tags}) for one, tags in outputs]
        actions = [*(file.removeWithTimestamp(now, False) for file in removed), *added]
        figures = {
            "numRemovedFiles": len(removed),
            "numRemovedBytes": sum(int(file.size()) for file in removed),
            "numAddedFiles": len(added),
            "numAddedBytes": sum(int(file.size()) for file in added),
        }
        operation = committing.optimize(self._copy.session)
        return self._commit(removed, actions, operation, metadata, figures)

    def relabel(self, tags: Mapping[str, Mapping[str, str]], metadata: str) -> int:
        """Give files other tags, by path; the new version. Raises as `commit` does."""
        files = self.actions(tags)
        # A commit of only the same files again. In this operation alone Delta counts them once; a
        # checksum that counts them twice would stop every later checkpoint.
        actions = [self._tagged(file, tags[file.path()]) for file in files]
        operation = self._copy.internal(COMPUTE_STATS)(self._copy.seq([]))
        return self._commit(files, actions, operation, metadata, {})

    def _commit(
        self,
        read: Sequence[Any],
        actions: Sequence[Any],
        operation: DeltaOperation,
        metadata: str,
        figures: Mapping[str, int],
    ) -> int:
        self._copy.set(committing.COMMIT_METADATA, metadata)
        with self._copy.active():
            begins = self._begin_at({file.path() for file in read})
            transaction = committing.transaction(self._copy.session, begins)
            transaction.trackFilesRead(self._copy.seq(read))
            if figures:
                self._register(transaction, figures)
            version = int(transaction.commit(self._copy.seq(actions), operation))
            self._base, self._later = (
                self._after(start, version) for start in (self._base, self._later)
            )
            for file in read:
                self._known.pop(file.path(), None)
            return version

    def _begin_at(self, paths: set[str]) -> DeltaSnapshot:
        """A version for a commit to begin at: Delta looks at all commits since then, one by one."""
        newest = self._log.unsafeVolatileSnapshot()
        start = self._later if paths <= self._same else self._base
        if newest.version() - start.version() < _LONG_AGO:
            return start
        if not newest.metadata().equals(start.metadata()):
            return start
        if not newest.protocol().equals(start.protocol()):
            return start
        now = {file.path(): _state(file) for file in self._found(newest, self._known)}
        known = self._known.items()
        self._same = {path for path, file in known if now.get(path) == _state(file)}
        self._later = newest
        return newest if paths <= self._same else self._base

    def _after(self, start: DeltaSnapshot, version: int) -> DeltaSnapshot:
        """The version that our commit has made, where nobody else's is between; else `start`."""
        newest = self._log.unsafeVolatileSnapshot()
        return newest if newest.version() == version == start.version() + 1 else start

    def _register(self, transaction: DeltaTransaction, figures: Mapping[str, int]) -> None:
        context = self._copy.session.sparkContext._jsc.sc()
        create = self._copy.internal(SQL_METRICS).createMetric
        metrics = {name: create(context, name) for name in figures}
        for name, metric in metrics.items():
            metric.set(figures[name])
        made = self._copy.internal(PYTHON_UTILS).toScalaMap(metrics)
        transaction.registerSQLMetrics(self._copy.spark, made)

    def actions(self, paths: Iterable[str]) -> list[Any]:
        """AddFile actions of the version that was read.

        Raises KeyError for a path that it does not have."""
        wanted = list(paths)
        unknown = [path for path in wanted if path not in self._known]
        if unknown:
            files = self._found(self._table.snapshot, unknown)
            self._known |= {file.path(): file for file in files}
        return [self._known[path] for path in wanted]

    def _found(self, snapshot: DeltaSnapshot, paths: Iterable[str]) -> Sequence[Any]:
        """Those of the files that a version has."""
        chosen = self._copy.functions.col("path").isin(self._copy.seq(paths))
        found: Sequence[Any] = snapshot.allFiles().filter(chosen).collect()
        return found

    def _tagged(self, file: DeltaFile, tags: Mapping[str, str]) -> DeltaFile:
        old = fields(file).get("tags") or {}
        return committing.edited(self._copy.session, file, dataChange=False, tags={**old, **tags})


def _state(file: DeltaFile) -> tuple[Any, ...]:
    """What other writers may change of a file."""
    action = fields(file)
    return action.get("deletionVector"), action.get("tags")
