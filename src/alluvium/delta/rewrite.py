"""Commits that change how rows lie in files, and no row: merges of files, and new tags."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructType

from alluvium.compaction import row_key
from alluvium.compaction.plan import FRAGMENTS
from alluvium.compaction.tags import TAG
from alluvium.delta import jvm, log
from alluvium.names import quoted

_DELTA = "org.apache.spark.sql.delta."
# A task's place among those of its job, as Spark writes it into the names of its files.
_TASK = re.compile(r"part-(\d+)-")
# Bytes: no file is split, so that each is opened by one task.
_WHOLE_FILES = 2**62


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


class TableFiles(jvm.SessionCopy):
    """The files of one version of a table, the newest."""

    def __init__(self, session: SparkSession, table: str) -> None:
        super().__init__(session)
        with self.active():
            self._log = log.delta_log(session, table)
            self._snapshot = self._log.update(False, self._none, self._none)
        metadata = self._snapshot.metadata()
        schema = StructType.fromJson(json.loads(metadata.schema().json()))
        self._fields = {field.name.lower(): field for field in schema.fields}
        self._partition = list(metadata.partitionSchema().fieldNames())

    @property
    def version(self) -> int:
        return int(self._snapshot.version())

    def fragments(
        self, first: str | None, bucket_column: str | None, window: str | None
    ) -> pa.Table:
        """The data files, a row each, columns as `alluvium.compaction.plan.FRAGMENTS`.

        first: column by whose statistics untagged files are placed, the row key's first one; None
            where the log does not tell their place.
        bucket_column: partition column whose values stand for a time of one `window`.

        Raises:
            ValueError: there is no such partition column.
        """
        expr = self._jvm.org.apache.spark.sql.functions.expr
        columns = {
            "path": "path",
            "bucket": "to_json(partitionValues)" if self._partition else "''",
            "bytes": "size",
            "deleted": "coalesce(deletionVector.cardinality, 0)",
            "written": "modificationTime / 1000d",
            "tag": f"tags['{TAG}']",
        }
        selected = [expr(sql).alias(name) for name, sql in columns.items()]
        selected.append(self._ends(bucket_column, window).alias("ends"))
        selected.append(log.row_counts(self.session, self._snapshot).alias("rows"))
        if first is not None:
            field = self._fields[first.lower()]
            known = log.statistics(self.session, self._snapshot, field)
            selected += [value.alias(f"first_{name}") for name, value in known.items()]
        with self.active():
            files = self._snapshot.withStats().select(self._seq(selected))
            found = DataFrame(files, self.session).toArrow()
        lo: list[str | None] = [None] * found.num_rows
        hi = lo
        if first is not None:
            lo, hi = row_key.bounds_by_first(
                found["first_lo"].combine_chunks(),
                found["first_hi"].combine_chunks(),
                found["first_nulls"].combine_chunks(),
                found["rows"].combine_chunks(),
            )
        found = found.append_column("lo", pa.array(lo, pa.string()))
        found = found.append_column("hi", pa.array(hi, pa.string()))
        return found.select(FRAGMENTS.names).cast(FRAGMENTS)

    def _ends(self, column: str | None, window: str | None) -> Any:
        functions = self._jvm.org.apache.spark.sql.functions
        if column is None:
            return functions.lit(None).cast("double")
        if column.lower() not in (name.lower() for name in self._partition):
            known = ", ".join(self._partition) or "none"
            raise ValueError(
                f"bucket_by.column: {column!r} is no partition column; accepted: {known}"
            )
        text = log.partition_text(self.session, self._fields[column.lower()])
        begins = text.try_cast("timestamp")
        return begins.plus(functions.expr(f"interval 1 {window}")).cast("double")

    def check_row_key(self, columns: Sequence[str]) -> None:
        """Raises ValueError unless the table's rows can be sorted by these columns."""
        mistakes = []
        for name in columns:
            if name.lower() not in self._fields:
                known = ", ".join(field.name for field in self._fields.values())
                mistakes.append(f"{name}: no such column; accepted: {known}")
            elif name in self._partition:
                mistakes.append(f"{name}: all rows of a bucket share it; accepted: other columns")
            else:
                field = self._fields[name.lower()].dataType
                if not row_key.is_sortable(field.simpleString()):
                    kind = field.simpleString()
                    mistakes.append(f"{name}: {kind} has no order; accepted: {row_key.SUPPORTED}")
        if mistakes:
            raise ValueError("sort_by: " + "; ".join(mistakes))

    def key_types(self, columns: Sequence[str]) -> list[pa.DataType]:
        """Types of a row key's columns, for `row_key.decode`."""
        kinds = (self._fields[name.lower()].dataType for name in columns)
        return [to_arrow_type(kind, timezone="UTC") for kind in kinds]


class Rewriter(TableFiles):
    """Rewrites files of one version of a table.

    Raises:
        ValueError: the table is not one whose files may be rewritten.
    """

    def __init__(self, session: SparkSession, table: str) -> None:
        super().__init__(session, table)
        self.set("spark.sql.files.maxPartitionBytes", _WHOLE_FILES)
        # Frames of a partition each would else share one task, and their rows its files.
        self.set("spark.sql.unionOutputPartitioning", "false")
        self.set("spark.databricks.delta.optimizeWrite.enabled", "false")
        self.set("spark.databricks.delta.autoCompact.enabled", "false")
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

    def write(
        self, groups: Sequence[Sequence[str]], columns: Sequence[str], rows_per_file: int
    ) -> list[list[Written]]:
        """Merge the files of each group into sorted ones, in one Spark job, a task a group.

        groups: paths of the files, as the log has them, all of one partition.
        columns: the row key's, to sort by.
        rows_per_file: most rows of a new file.

        What is written is no part of the table before `commit`.
        """
        self.set("spark.sql.files.maxRecordsPerFile", rows_per_file)
        with self.active():
            self._files(itertools.chain.from_iterable(groups))  # one look at the log for all
            frames = [self._sorted(self._files(paths), columns) for paths in groups]
            together = frames[0]
            for frame in frames[1:]:
                together = together.union(frame)
            transaction = self._transaction()
            actions = jvm.items(transaction.writeFiles(together, self._none, True, self._seq([])))
            keys = self._keys(actions, columns)
        made: list[list[Written]] = [[] for _ in groups]
        for action in actions:
            path = action.path()
            match = _TASK.search(path)
            if match is None:
                raise RuntimeError(f"a file without its task's number: {path}")
            made[int(match[1])].append(
                Written(
                    action,
                    int(action.size()),
                    int(action.numPhysicalRecords().get()),
                    keys[path.rsplit("/", 1)[-1]],
                )
            )
        for paths, files in zip(groups, made, strict=True):
            self._check_rows(paths, sum(one.rows for one in files))
        return made

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

    def _sorted(self, files: Sequence[Any], columns: Sequence[str]) -> Any:
        frame = self._log.createDataFrame(self._snapshot, self._seq(files), False, self._none)
        # The partition's columns first, which all rows share: Delta's writer asks for that order
        # and would otherwise sort once more.
        names = [*self._partition, *columns]
        keys = [F.col(quoted(name))._jc for name in names]
        return frame.coalesce(1).sortWithinPartitions(self._seq(keys))

    def _keys(self, files: Sequence[Any], columns: Sequence[str]) -> dict[str, pa.Table]:
        """The first and the last row key of each file, by the file's name."""
        frame = DataFrame(
            self._log.createDataFrame(self._snapshot, self._seq(files), False, self._none),
            self.session,
        )
        key = F.struct(
            [F.col(quoted(name)).alias(str(place)) for place, name in enumerate(columns)]
        )
        found = (
            frame.groupBy(F.col("_metadata.file_name").alias("name"))
            .agg(F.min(key).alias("lo"), F.max(key).alias("hi"))
            .toArrow()
        )
        keys = {}
        for place, name in enumerate(found["name"].to_pylist()):
            ends = pa.chunked_array(
                [found[end].combine_chunks()[place : place + 1] for end in ("lo", "hi")]
            )
            keys[name] = pa.Table.from_struct_array(ends)
        return keys

    def _edited(self, file: Any, tags: Mapping[str, str]) -> Any:
        action = json.loads(file.json())
        every = {**(action["add"].get("tags") or {}), **tags}
        action["add"] |= {"dataChange": False, "tags": every}
        return self._object(_DELTA + "actions.Action$").fromJson(json.dumps(action))
