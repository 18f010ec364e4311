"""Commits that change how rows lie in files, and no row: merges of files, and new tags."""

from __future__ import annotations

import heapq
import itertools
import json
import logging
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.compaction import row_groups, zorder
from alluvium.compaction.layout import Layout
from alluvium.delta import footers, jvm, zcurve
from alluvium.delta.order import in_order
from alluvium.delta.table_files import TableFiles
from alluvium.engine.whole_files import WHOLE_FILES
from alluvium.names import among, quoted

_DELTA = "org.apache.spark.sql.delta."
# A task's place among those of its job, as Spark writes it into the names of its files.
_TASK = re.compile(r"part-(\d+)-")
# Column of the place on the Z-curve, while rows are sorted.
_PLACE = "_alluvium_place"
# Files that cuts are made from.
_CUT_FROM = 64
# Year 9999, in ms since 1970: delta.setTransactionRetentionDuration forgets what is older.
_NEVER = 253_402_300_799_000
_ROWS_PER_ROW_GROUP = "parquet.block.row.count.limit"
# Footers that are read of the inputs of a merge: those of its largest files.
_FOOTERS = 8
# Compressed bytes of a merge under which its inputs are not looked at, over `max_memory`: pages
# shrink to a 64th at most, as a rule; where they do not the output tells.
_COMPRESSED = 1 / 64
# Times that files are written until no column chunk is too large.
_TRIES = 4

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Written:
    """A new file, not yet part of the table.

    Attributes:
        bytes, rows: of the file.
        keys: its smallest and its largest row key, a column for each of its columns and two rows.
    """

    action: Any
    bytes: int
    rows: int
    keys: pa.Table


@dataclass
class Merged:
    """What a group of files became.

    Attributes:
        files: the new ones.
        opened, written: how often data files were opened, and how many were written, those that
            were written again for their column chunks included. Deletion vectors and what tasks
            that failed did are not in it.
    """

    files: list[Written] = field(default_factory=list)
    opened: int = 0
    written: int = 0


class Rewriter(TableFiles):
    """Rewrites files of one version of a table.

    Raises:
        ValueError: the table is not one whose files may be rewritten.
    """

    def __init__(self, session: SparkSession, table: str) -> None:
        super().__init__(session, table)
        # Each is opened by one task, once.
        for name, value in WHOLE_FILES.items():
            self.set(name, value)
        # Frames of a partition each would else share one task, and their rows its files.
        self.set("spark.sql.unionOutputPartitioning", "false")
        self.set("spark.databricks.delta.optimizeWrite.enabled", "false")
        self.set("spark.databricks.delta.autoCompact.enabled", "false")
        # Their row counts are what no row is lost by.
        self.set("spark.databricks.delta.stats.collect", "true")
        self.set("spark.sql.files.ignoreCorruptFiles", "false")
        self.set("spark.sql.files.ignoreMissingFiles", "false")
        # AddFile actions of the snapshot, by path, as far as they were asked for.
        self._known: dict[str, Any] = {}
        protocol, metadata = self._snapshot.protocol(), self._snapshot.metadata()
        if self._object(_DELTA + "RowTracking$").isEnabled(protocol, metadata):
            raise ValueError(
                "the table tracks rows (delta.enableRowTracking), and merging files would give them"
                " new ids; accepted: tables without row tracking"
            )
        clustered = self._object(_DELTA + "skipping.clustering.ClusteredTableUtils$")
        if clustered.isSupported(protocol):
            raise ValueError(
                "the table has liquid clustering, which lays out the same files by other columns;"
                " accepted: tables without CLUSTER BY"
            )

    def make_cuts(self, columns: Sequence[str], paths: Sequence[str]) -> int:
        """Make cuts for a Z-order of the columns, from some of these files; the new version.

        They are a commit of their own that disturbs no writer. Raises Delta's
        ConcurrentTransactionException if somebody else made cuts since the version that was read.
        """
        kinds = self._kinds(columns)
        some = [paths[place * len(paths) // _CUT_FROM] for place in range(_CUT_FROM)]
        option = self._jvm.scala.Option
        with self.active():
            axes = zcurve.sample(self._frame(self._files(dict.fromkeys(some))), kinds)
            cuts = zorder.Cuts(tuple(axes))
            transaction = self._transaction()
            # Having read the number, two that make cuts at a time cannot both commit.
            number = transaction.txnVersion(zorder.APP) + 1
            manual = self._object(_DELTA + "DeltaOperations$ManualUpdate$")
            set_transaction = self._jvm.org.apache.spark.sql.delta.actions.SetTransaction
            made = [
                set_transaction(app, number, option.apply(_NEVER))
                for app in (zorder.APP, f"{zorder.APP}:{cuts.text()}")
            ]
            return int(transaction.commit(self._seq(made), manual))

    def write(
        self,
        groups: Sequence[Sequence[str]],
        columns: Sequence[str],
        rows_per_file: int,
        max_memory: int = Layout.max_memory,
        cuts: zorder.Cuts | None = None,
    ) -> list[Merged]:
        """Merge the files of each group into sorted ones, in one Spark job, a task a group.

        groups: paths of the files, as the log has them, all of one partition.
        columns: the row key's, to sort by.
        rows_per_file: most rows of a new file.
        max_memory: most bytes of a column chunk, uncompressed.
        cuts: of the Z-order to sort by, whose place on the curve then begins the row key.

        What is written is no part of the table before `commit`.
        """
        self.set("spark.sql.files.maxRecordsPerFile", rows_per_file)
        place = None if cuts is None else zcurve.place(self.session, cuts)
        with self.active():
            self._files(itertools.chain.from_iterable(groups))  # one look at the log for all
            frames = [self._sorted(self._files(paths), columns, place) for paths in groups]
            together = frames[0]
            for frame in frames[1:]:
                together = together.union(frame)
            merged = [Merged() for _ in groups]
            actions = self._written(together, groups, merged, max_memory)
            keys = self._keys(actions, columns, place)
        for action in actions:
            one = merged[_task(action)]
            one.opened += 1  # for its keys
            size, rows = int(action.size()), int(action.numPhysicalRecords().get())
            one.files.append(Written(action, size, rows, keys[_name(action)]))
        for paths, one in zip(groups, merged, strict=True):
            self._check_rows(paths, sum(file.rows for file in one.files))
        return merged

    def _written(
        self,
        frame: Any,
        groups: Sequence[Sequence[str]],
        merged: Sequence[Merged],
        max_memory: int,
    ) -> list[Any]:
        """The frame's files, written again while one of their column chunks is too large."""
        rows = self._rows_per_row_group(groups, merged, max_memory)
        for left in reversed(range(_TRIES)):
            if rows is None:
                self.spark.conf().unset(_ROWS_PER_ROW_GROUP)
            else:
                self.set(_ROWS_PER_ROW_GROUP, min(rows, 2**31 - 1))
            transaction = self._transaction()
            actions = jvm.items(transaction.writeFiles(frame, self._none, True, self._seq([])))
            for paths, one in zip(groups, merged, strict=True):
                one.opened += len(paths)
            for action in actions:
                merged[_task(action)].written += 1
                merged[_task(action)].opened += 1  # for its footer
            rows = row_groups.rows_to_try(self._footers(actions), max_memory)
            if rows is None:
                break
            if not left:
                _logger.warning("a column chunk is larger than max_memory (%d)", max_memory)
                break
            _logger.info("a column chunk is larger than max_memory: written again")
            for action in actions:
                path = action.absolutePath(self._log)
                path.getFileSystem(self._log.newDeltaHadoopConf()).delete(path, False)
        return actions

    def _rows_per_row_group(
        self, groups: Sequence[Sequence[str]], merged: Sequence[Merged], max_memory: int
    ) -> int | None:
        """Rows that a row group may have by the footers of the inputs; None for any number."""
        sampled = []
        for paths, one in zip(groups, merged, strict=True):
            sizes = [(int(file.size()), file) for file in self._files(paths)]
            if sum(size for size, _ in sizes) > _COMPRESSED * max_memory:
                largest = heapq.nlargest(_FOOTERS, sizes, key=itemgetter(0))
                sampled += [file for _, file in largest]
                one.opened += len(largest)
        return row_groups.rows_at_most(self._footers(sampled), max_memory)

    def _footers(self, files: Sequence[Any]) -> list[pq.FileMetaData]:
        paths = [(file.absolutePath(self._log), int(file.size())) for file in files]
        return footers.read(self._jvm, self._log.newDeltaHadoopConf(), paths)

    def _check_rows(self, paths: Sequence[str], written: int) -> None:
        """Nothing may be committed that has other rows than its inputs, as far as the log knows."""
        counts = [file.numLogicalRecords() for file in self._files(paths)]
        if all(count.isDefined() for count in counts):
            live = sum(int(count.get()) for count in counts)
            if live != written:
                raise RuntimeError(f"a merge of {live} rows wrote {written}; nothing was committed")

    def commit(
        self,
        inputs: Iterable[str],
        outputs: Iterable[tuple[Written, Mapping[str, str]]],
        metadata: str,
    ) -> int:
        """Put the outputs, with these tags, in the place of the inputs; the new version.

        Raises Delta's concurrency exceptions (delta.exceptions) if one of the inputs was changed
        or removed since the version that was read; the table is then as it was.
        """
        removed = self._files(inputs)
        now = int(time.time() * 1000)
        added = [self._edited(one.action, tags) for one, tags in outputs]
        actions = [*(file.removeWithTimestamp(now, False) for file in removed), *added]
        figures = {
            "numRemovedFiles": len(removed),
            "numRemovedBytes": sum(int(file.size()) for file in removed),
            "numAddedFiles": len(added),
            "numAddedBytes": sum(int(file.size()) for file in added),
        }
        operation = self._jvm.org.apache.spark.sql.delta.DeltaOperations
        optimize = operation.Optimize(self._seq([]), self._seq([]), False, self._none, False)
        return self._commit(removed, actions, optimize, metadata, figures)

    def relabel(self, tags: Mapping[str, Mapping[str, str]], metadata: str) -> int:
        """Give files other tags, by path; the new version. Raises as `commit` does."""
        files = self._files(tags)
        # A commit of nothing but the same files again: Delta counts them once in this operation
        # alone, and a checksum that counts them twice would stop every later checkpoint.
        actions = [self._edited(file, tags[file.path()]) for file in files]
        operation = self._jvm.org.apache.spark.sql.delta.DeltaOperations
        return self._commit(files, actions, operation.ComputeStats(self._seq([])), metadata, {})

    def _transaction(self) -> Any:
        option = self._jvm.scala.Option
        return self._log.startTransaction(self._none, option.apply(self._snapshot))

    def _commit(
        self,
        read: Sequence[Any],
        actions: Sequence[Any],
        operation: Any,
        metadata: str,
        figures: Mapping[str, int],
    ) -> int:
        self.set("spark.databricks.delta.commitInfo.userMetadata", metadata)
        with self.active():
            transaction = self._transaction()
            transaction.trackFilesRead(self._seq(read))
            if figures:
                self._register(transaction, figures)
            return int(transaction.commit(self._seq(actions), operation))

    def _register(self, transaction: Any, figures: Mapping[str, int]) -> None:
        context = self.session.sparkContext._jsc.sc()
        metrics = self._jvm.org.apache.spark.sql.execution.metric.SQLMetrics
        made = self._jvm.java.util.HashMap()
        for name, value in figures.items():
            metric = metrics.createMetric(context, name)
            metric.set(value)
            made.put(name, metric)
        scala = self._jvm.scala
        converters = scala.jdk.javaapi.CollectionConverters
        immutable = self._object("scala.collection.immutable.Map$")
        transaction.registerSQLMetrics(
            self.spark, getattr(immutable, "from")(converters.asScala(made))
        )

    def _files(self, paths: Iterable[str]) -> list[Any]:
        """AddFile actions of the version that was read.

        Raises KeyError for a path that it does not have."""
        wanted = list(paths)
        unknown = [path for path in wanted if path not in self._known]
        if unknown:
            chosen = self._jvm.org.apache.spark.sql.functions.col("path").isin(self._seq(unknown))
            files = self._snapshot.allFiles().filter(chosen).collect()
            self._known |= {file.path(): file for file in files}
        return [self._known[path] for path in wanted]

    def _frame(self, files: Sequence[Any]) -> DataFrame:
        frame = self._log.createDataFrame(self._snapshot, self._seq(files), False, self._none)
        return DataFrame(frame, self.session)

    def _sorted(self, files: Sequence[Any], columns: Sequence[str], place: Column | None) -> Any:
        frame = self._frame(files).coalesce(1)
        if place is None:
            return in_order(frame, self._partition, columns)._jdf
        # A column while it sorts: found once a row, not at every comparison.
        name = _PLACE
        while among(name, frame.columns):
            name += "_"
        frame = frame.withColumn(name, place)
        return in_order(frame, self._partition, [name, *columns]).drop(name)._jdf

    def _keys(
        self, files: Sequence[Any], columns: Sequence[str], place: Column | None
    ) -> dict[str, pa.Table]:
        """The first and the last row key of each file, by the file's name."""
        frame = self._frame(files)
        parts = [F.col(quoted(name)) for name in columns]
        if place is not None:
            parts.insert(0, place)
        key = F.struct([part.alias(str(number)) for number, part in enumerate(parts)])
        found = (
            # The table may have a column of that name.
            frame.groupBy(frame.metadataColumn("_metadata").getField("file_name").alias("name"))
            .agg(F.min(key).alias("lo"), F.max(key).alias("hi"))
            .toArrow()
        )
        keys = {}
        for row, name in enumerate(found["name"].to_pylist()):
            ends = pa.chunked_array(
                [found[end].combine_chunks()[row : row + 1] for end in ("lo", "hi")]
            )
            keys[name] = pa.Table.from_struct_array(ends)
        return keys

    def _edited(self, file: Any, tags: Mapping[str, str]) -> Any:
        action = json.loads(file.json())
        every = {**(action["add"].get("tags") or {}), **tags}
        action["add"] |= {"dataChange": False, "tags": every}
        return self._object(_DELTA + "actions.Action$").fromJson(json.dumps(action))


def _name(action: Any) -> str:
    """Of a new file. Folders before it have the names of partitions, which may be anything."""
    return str(action.path()).rsplit("/", 1)[-1]


def _task(action: Any) -> int:
    """Place of the task that wrote a new file."""
    match = _TASK.match(_name(action))
    if match is None:
        raise RuntimeError(f"a file without its task's number: {action.path()}")
    return int(match[1])
