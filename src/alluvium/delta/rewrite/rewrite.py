"""Files written again: merges that change how rows lie in files, and no row."""

from __future__ import annotations

import functools
import heapq
import itertools
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from alluvium import marks
from alluvium.delta.files import footers
from alluvium.delta.handles import DeltaFile
from alluvium.delta.internals import AUTO_COMPACT, MANUAL_UPDATE
from alluvium.delta.log import committing
from alluvium.delta.log.committing import edited, fields
from alluvium.delta.rewrite import key_ranges, zcurve
from alluvium.delta.rewrite.layout_commits import LayoutCommits, WrittenFile
from alluvium.delta.rewrite.order import sorted_in_tasks
from alluvium.delta.rewrite.table_files import TableFiles
from alluvium.engine import jvm
from alluvium.engine.handles import JavaFrame
from alluvium.engine.whole_files import WHOLE_FILES
from alluvium.names import among, quoted
from alluvium.paths import name_of
from alluvium.plan.compaction import row_groups
from alluvium.plan.layout import zorder
from alluvium.plan.layout.settings import Layout

# A task's place among those of its job, as Spark writes it into the names of its files.
_TASK = re.compile(r"part-(\d+)-")
# Column of the place on the Z-curve, while rows are sorted.
_PLACE = "_alluvium_place"
# Whether Spark leaves out files that cannot be read.
_UNREADABLE = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")
# Files that cuts are made from.
_CUT_FROM = 64
# Parquet's settings for the size of a row group, and how often its size is looked at.
_OFTEN = {"parquet.page.size.row.check.min": 1, "parquet.page.size.row.check.max": 10}
_ROW_GROUP = ("parquet.block.row.count.limit", "parquet.block.size", *_OFTEN)
# Footers that are read of the inputs of a merge: those of its largest files.
_FOOTERS = 8
# Compressed bytes of a merge under which its inputs are not looked at, over `max_memory`. As a rule
# pages shrink to a 64th at most; where they do not the output tells.
_COMPRESSED = 1 / 64
# Times that files are written until no column chunk is too large.
_TRIES = 4

_logger = logging.getLogger(__name__)


@dataclass
class Rewritten:
    """A group of files, and what it became.

    Attributes:
        paths: of the group, as the log has them.
        files: the new ones.
        opened, written: how often data files were opened, and how many were written, those that
            were written again for their column chunks included. Deletion vectors, what tasks that
            failed did and the sample that first cuts are made from are not in it.
    """

    paths: Sequence[str]
    files: list[WrittenFile] = field(default_factory=list)
    opened: int = 0
    written: int = 0


class Rewriter:
    """Rewrites files of one version of a table.

    Attributes:
        commits: what brings the new files into the table.

    Args:
        table: the files of that version, which may be rewritten. Its session gets the settings of
            a rewrite.
    """

    def __init__(self, table: TableFiles) -> None:
        self._table, self._copy, self._log = table, table.copy, table.log
        self.commits = LayoutCommits(table)
        # Each is opened by one task, once.
        for name, value in WHOLE_FILES.items():
            self._copy.set(name, value)
        # Frames of a partition each would else share one task, and their rows its files.
        self._copy.set("spark.sql.unionOutputPartitioning", "false")
        self._copy.set("spark.databricks.delta.optimizeWrite.enabled", "false")
        # Else what is sorted is sorted by the partition once more, and where that goes to disk rows
        # lose their order: Spark knows none of a union, nor of texts that Delta reads as NULL. A
        # task has one partition; with as many open files as are allowed it would sort the rest.
        self._copy.set("spark.sql.maxConcurrentOutputFileWriters", "2")
        # Other engines know nothing of the calendar that Spark once had.
        self._copy.set("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")
        self._copy.set("spark.sql.parquet.int96RebaseModeInWrite", "CORRECTED")
        # A session's own may cut times to milliseconds.
        self._copy.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        # Their row counts are what no row is lost by.
        self._copy.set("spark.databricks.delta.stats.collect", "true")
        for name in _UNREADABLE:
            self._copy.set(name, "false")

    def is_compacted_by_writers(self) -> bool:
        """Whether Delta's auto compaction follows the commits of this session to the table."""
        settings = self._copy.session._jsparkSession.sessionState().conf()
        auto = self._copy.internal(AUTO_COMPACT)
        return bool(auto.getAutoCompactType(settings, self._table.snapshot.metadata()).isDefined())

    def make_cuts(self, columns: Sequence[str], paths: Sequence[str]) -> int:
        """Make cuts for a Z-order of the columns, from some of these files; the new version.

        They are a commit of their own that disturbs no writer. Raises Delta's
        ConcurrentTransactionException if somebody else made cuts since the version that was read.
        """
        kinds = self._table.kinds(columns)
        some = [paths[place * len(paths) // _CUT_FROM] for place in range(_CUT_FROM)]
        with self._copy.active():
            cuts = zorder.Cuts(tuple(self._sample(some, kinds)))
            transaction = committing.transaction(self._copy.session, self._table.snapshot)
            # Having read the number, two that make cuts at a time cannot both commit.
            number = transaction.txnVersion(marks.ZORDER_CUTS) + 1
            manual = self._copy.internal(MANUAL_UPDATE)
            made = [
                committing.set_transaction(self._copy.session, app, number)
                for app in (marks.ZORDER_CUTS, f"{marks.ZORDER_CUTS}:{cuts.text()}")
            ]
            return int(transaction.commit(self._copy.seq(made), manual))

    def _sample(
        self, paths: Iterable[str], kinds: Sequence[tuple[str, str]]
    ) -> Sequence[zorder.Axis]:
        """The axes by those of the files that can be read: the others fail in their merges."""
        files = self.commits.actions(dict.fromkeys(paths))
        try:
            for name in _UNREADABLE:
                self._copy.set(name, "true")
            axes = zcurve.sample(self._frame(files), kinds)
        finally:
            for name in _UNREADABLE:
                self._copy.set(name, "false")
        if any(axis.quantiles for axis in axes):
            return axes
        # Of no value: there is none, or what stops all files is to be told.
        return zcurve.sample(self._frame(files), kinds)

    def write(
        self,
        groups: Iterable[Sequence[str]],
        layout: Layout,
        rows_per_file: int,
        tasks: int = 1,
    ) -> list[Rewritten]:
        """Merge the files of each group into sorted ones, in one Spark job.

        groups: paths of the files, as the log has them, all of one partition.
        layout: what to sort by, with the cuts of a Z-order, whose place on the curve then begins
            the sort key. And the memory of a column chunk, and the columns of which the new files'
            tags say the values.
        rows_per_file: most rows of a new file.
        tasks: that write a group's files, each those of a range of sort keys. What several share
            goes through a shuffle.

        What is written belongs to the table only after `commit`.
        """
        self._copy.set("spark.sql.files.maxRecordsPerFile", rows_per_file)
        place = None if layout.cuts is None else zcurve.place(self._copy.session, layout.cuts)
        with self._copy.active():
            merged = [Rewritten(paths) for paths in groups]
            # One look at the log for all.
            self.commits.actions(itertools.chain.from_iterable(one.paths for one in merged))
            frames = [self._sorted(one, layout.sort_by, place, tasks) for one in merged]
            made = self._written(frames, merged, rows_per_file, layout.max_memory, tasks)
            keys = self._keys(list(itertools.chain(*made)), layout.sort_by, place)
        for actions, one in zip(made, merged, strict=True):
            one.opened += len(actions)  # for their keys
            partitions = [_partition(file) for file in self.commits.actions(one.paths)]
            for action in actions:
                size, rows = int(action.size()), int(action.numPhysicalRecords().get())
                # Delta makes it from a folder's name, which two hours may share.
                if _partition(action) not in partitions:
                    action = edited(self._copy.session, action, partitionValues=partitions[0])
                one.files.append(WrittenFile(action, size, rows, keys[_name(action)]))
            self._check_rows(one)
        self._index(merged, layout.indexed)
        return merged

    def _index(self, merged: Sequence[Rewritten], columns: Sequence[str]) -> None:
        """Say in the new files' tags which values the columns have."""
        indexer = self.commits.indexer(columns)
        if indexer is None:
            return
        files = [file.action for one in merged for file in one.files]
        tags = iter(indexer.tags([(self.commits.uri(file), fields(file)) for file in files]))
        for one in merged:
            one.opened += len(one.files)
            one.files = [replace(file, tags={marks.AUTOMATA_TAG: next(tags)}) for file in one.files]

    def _written(
        self,
        frames: Sequence[Any],
        merged: Sequence[Rewritten],
        rows_per_file: int,
        max_memory: int,
        tasks: int,
    ) -> list[list[Any]]:
        """The files of each frame, written again while one of their column chunks is too large."""
        made: list[list[Any]] = [[] for _ in frames]
        due = self._rows_per_row_group(merged, rows_per_file, max_memory)
        for number_of_try in range(_TRIES):
            again: dict[int, int | None] = {}
            for limit, together in row_groups.alike(due):
                some = [frames[number] for number in together]
                written = self._write_once(
                    some, tasks, limit, max_memory if number_of_try else None
                )
                footers = self._footers(itertools.chain(*written))
                for number, actions in zip(together, written, strict=True):
                    made[number] = actions
                    one = merged[number]
                    one.written += len(actions)
                    one.opened += len(one.paths) + len(actions)  # footers
                    its = itertools.islice(footers, len(actions))
                    rows = row_groups.rows_to_try(its, max_memory)
                    if rows is None:
                        continue
                    if number_of_try == _TRIES - 1:
                        _logger.warning("a column chunk is larger than max_memory (%d)", max_memory)
                        continue
                    _logger.info("a column chunk is larger than max_memory: written again")
                    self._delete(actions)
                    # First by bytes, which are looked at often: rows that are heavy may be few.
                    again[number] = rows if number_of_try else due[number]
            due = again
        return made

    def _write_once(
        self, frames: Sequence[Any], tasks: int, rows: int | None, max_memory: int | None
    ) -> list[list[Any]]:
        """The files of each frame, of so many tasks, by one Spark job.

        rows, max_memory: most rows and bytes of a row group; None for as many as else.
        """
        limits: dict[str, Any] = {
            name: self._copy.session.conf.get(name, None) for name in _ROW_GROUP
        }
        if rows is not None:
            limits["parquet.block.row.count.limit"] = min(rows, 2**31 - 1)
        if max_memory is not None:
            limits |= {"parquet.block.size": max(1, max_memory // 2), **_OFTEN}
        for name, value in limits.items():
            if value is None:
                self._copy.spark.conf().unset(name)
            else:
                self._copy.set(name, value)
        together = functools.reduce(lambda one, two: one.union(two), frames)
        made: list[list[Any]] = [[] for _ in frames]
        transaction = committing.transaction(self._copy.session, self._table.snapshot)
        for action in jvm.items(
            transaction.writeFiles(together, self._copy.none, True, self._copy.seq([]))
        ):
            made[_task(action) // tasks].append(action)
        return made

    def _rows_per_row_group(
        self, merged: Sequence[Rewritten], rows_per_file: int, max_memory: int
    ) -> dict[int, int | None]:
        """Rows that a row group of each may have by the footers of its inputs; None for any."""
        looked_at: list[list[Any]] = []
        for one in merged:
            sizes = [(int(file.size()), file) for file in self.commits.actions(one.paths)]
            large = sum(size for size, _ in sizes) > _COMPRESSED * max_memory
            some = heapq.nlargest(_FOOTERS if large else 0, sizes, key=itemgetter(0))
            looked_at.append([file for _, file in some])
            one.opened += len(some)
        footers = self._footers(itertools.chain(*looked_at))
        found: dict[int, int | None] = {}
        for number, files in enumerate(looked_at):
            rows = row_groups.rows_at_most(itertools.islice(footers, len(files)), max_memory)
            found[number] = rows if rows is not None and rows < rows_per_file else None
        return found

    def _delete(self, actions: Iterable[Any]) -> None:
        """Delete new files that no version will have; VACUUM does where that is forbidden."""
        for action in actions:
            path = action.absolutePath(self._log)
            with suppress(Py4JJavaError, PySparkException):
                path.getFileSystem(self._log.newDeltaHadoopConf()).delete(path, False)

    def _footers(self, files: Iterable[Any]) -> Iterator[pq.FileMetaData]:
        paths = ((file.absolutePath(self._log), int(file.size())) for file in files)
        return footers.read(self._copy.jvm, self._log.newDeltaHadoopConf(), paths)

    def _check_rows(self, merged: Rewritten) -> None:
        """Nothing may be committed that has other rows than its inputs, as far as the log knows."""
        counts = [file.numLogicalRecords() for file in self.commits.actions(merged.paths)]
        if all(count.isDefined() for count in counts):
            live = sum(int(count.get()) for count in counts)
            written = sum(file.rows for file in merged.files)
            if live != written:
                raise RuntimeError(f"a merge of {live} rows wrote {written}; nothing was committed")

    def _frame(self, files: Sequence[Any]) -> DataFrame:
        frame = self._log.createDataFrame(
            self._table.snapshot, self._copy.seq(files), False, self._copy.none
        )
        return DataFrame(frame, self._copy.session)

    def _sorted(
        self, merged: Rewritten, columns: Sequence[str], place: Column | None, tasks: int
    ) -> JavaFrame:
        """The rows of a group's files, those of each task in order."""
        files = self.commits.actions(merged.paths)
        frame = self._frame(files).coalesce(tasks)
        if tasks > 1:
            sizes = [int(file.size()) for file in files]
            some = [files[number] for number in key_ranges.to_sample(sizes)]
            merged.opened += len(some)
            counts = [file.numPhysicalRecords() for file in files]
            rows = sum(int(count.get()) for count in counts if count.isDefined())
            key = _key(columns, place)
            ends = key_ranges.bounds(self._frame(some), key, tasks, sizes, rows)
            frame = key_ranges.shared(frame, key, tasks, ends)
        if place is None:
            ordered = sorted_in_tasks(frame, self._table.partition_by, columns)
            return _java(ordered)
        # A column while it sorts: found once a row, not at every comparison.
        name = _PLACE
        while among(name, frame.columns):
            name += "_"
        frame = frame.withColumn(name, place)
        return _java(sorted_in_tasks(frame, self._table.partition_by, [name, *columns]).drop(name))

    def _keys(
        self, files: Sequence[Any], columns: Sequence[str], place: Column | None
    ) -> dict[str, pa.Table]:
        """The first and the last sort key of each file, by the file's name."""
        frame, key = self._frame(files), _key(columns, place)
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


def _java(frame: DataFrame) -> JavaFrame:
    found: JavaFrame = frame._jdf
    return found


def _key(columns: Sequence[str], place: Column | None) -> Column:
    """The sort key, a struct."""
    parts = [F.col(quoted(name)) for name in columns]
    if place is not None:
        parts.insert(0, place)
    return F.struct([part.alias(str(number)) for number, part in enumerate(parts)])


def _partition(action: DeltaFile) -> Any:
    """Its values as the log has them: writers spell a time in several ways."""
    return fields(action)["partitionValues"]


def _name(action: DeltaFile) -> str:
    """Of a new file. Folders before it have the names of partitions, which may be anything."""
    return name_of(str(action.path()))


def _task(action: DeltaFile) -> int:
    """Place of the task that wrote a new file."""
    match = _TASK.match(_name(action))
    if match is None:
        raise RuntimeError(f"a file without its task's number: {action.path()}")
    return int(match[1])
