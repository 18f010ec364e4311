"""Delta's log through py4j."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructField, StructType

from alluvium.delta.handles import DeltaLog, DeltaSnapshot
from alluvium.delta.internals import DELTA_LOG, FILE_NAMES, MANUAL_UPDATE
from alluvium.delta.log import checksums, committing
from alluvium.engine import jvm
from alluvium.engine.handles import HadoopPath, JavaColumn, JavaOption
from alluvium.plan.fragment import Fragments
from alluvium.plan.ranges.locate import Kept
from alluvium.plan.versions.commit import Commit, is_whole
from alluvium.plan.versions.properties import IDENTITY, PHYSICAL

# Delta's name for the SQL of a generated column, in the column's metadata.
GENERATION = "delta.generationExpression"
# The same for the declared type of a text with a bound, which is a string to Spark.
BOUNDED_TEXT = "__CHAR_VARCHAR_TYPE_STRING"
# What else of a column's metadata says that Delta fills it: a default, an identity.
_MAKES = {GENERATION, "CURRENT_DEFAULT", IDENTITY}
# Whether a write may bring an identity: not where it is GENERATED ALWAYS.
_MAY_BRING = "delta.identity.allowExplicitInsert"


@dataclass(frozen=True)
class Metadata:
    """What a version of a table says of its columns; `id` is as `table_id` gives it."""

    id: str
    schema: StructType
    partitions: list[str]

    @property
    def made(self) -> dict[str, bool]:
        """By name, the columns that Delta fills where a write leaves them out; whether it must."""
        return {
            field.name: field.metadata.get(_MAY_BRING) is False
            for field in self.schema
            if _MAKES & field.metadata.keys()
        }

    def noted(self, key: str) -> dict[str, str]:
        """By name, what the metadata of columns has under a key, such as `GENERATION`."""
        return {
            field.name: field.metadata[key]
            for field in self.schema
            if field.metadata.get(key) is not None
        }


def delta_log(session: SparkSession, table: str) -> DeltaLog:
    """Delta's `DeltaLog` of a table, with this session as the thread's."""
    jvm.activate(session)
    name = session._jsparkSession.sessionState().sqlParser().parseTableIdentifier(table)
    found: DeltaLog = jvm.internal(session, DELTA_LOG).forTable(session._jsparkSession, name)
    return found


def snapshot_of(session: SparkSession, table: str, version: int | None = None) -> DeltaSnapshot:
    """Delta's `Snapshot` of a version; None for the newest."""
    newest = newest_of(session, delta_log(session, table))
    if version is None or version == newest.version():
        return newest
    return snapshot_at(session, newest.deltaLog(), version)


def snapshot_there(session: SparkSession, table: str, version: int | None) -> DeltaSnapshot:
    """`snapshot_of` a version that a person names; ValueError says which ones there are."""
    snapshot = snapshot_of(session, table)
    if int(snapshot.version()) < 0:
        raise ValueError(f"{table} is not a Delta table; accepted: a Delta table")
    return earlier(session, snapshot, version, table)


def earlier(
    session: SparkSession, snapshot: DeltaSnapshot, version: int | None, table: str
) -> DeltaSnapshot:
    """The snapshot of a version up to that of `snapshot`; ValueError says which ones there are.

    table: its name, for the message.
    """
    newest = int(snapshot.version())
    if version is None or version == newest:
        return snapshot
    if not 0 <= version <= newest:
        raise ValueError(f"{table} has no version {version}; accepted: 0 to {newest}")
    try:
        return snapshot_at(session, snapshot.deltaLog(), version)
    except (Py4JJavaError, PySparkException) as error:
        raise ValueError(
            f"{table}: the log no longer has version {version}; accepted: a later one, up to"
            f" {newest}"
        ) from error


def newest_of(session: SparkSession, table_log: DeltaLog) -> DeltaSnapshot:
    """Delta's `Snapshot` of the newest version of a log."""
    none = jvm.of(session).scala.Option.empty()
    return table_log.update(False, none, none)


def snapshot_at(session: SparkSession, table_log: DeltaLog, version: int) -> DeltaSnapshot:
    """Delta's `Snapshot` of a version of a log."""
    none = jvm.of(session).scala.Option.empty()
    return table_log.getSnapshotAt(version, none, none, False)


def qualified(table_log: DeltaLog) -> str:
    """The folder of a table, with its file system."""
    path = table_log.dataPath()
    return str(path.getFileSystem(table_log.newDeltaHadoopConf()).makeQualified(path).toString())


def folder(session: SparkSession, table: str) -> str:
    """The folder of a table, by its name, with its file system."""
    return qualified(delta_log(session, table))


def table_id(session: SparkSession, table: str) -> str:
    """The id of the table's metadata: every CREATE OR REPLACE and every clone gets a new one."""
    return str(snapshot_of(session, table).metadata().id())


def version(session: SparkSession, table: str) -> int:
    return int(snapshot_of(session, table).version())


@dataclass(frozen=True)
class TableVersion:
    """A version of the table with this id: one that is dropped and made again counts from 0."""

    table_id: str
    version: int

    def __str__(self) -> str:
        return f"{self.table_id}/{self.version}"


def table_version(session: SparkSession, table: str) -> TableVersion:
    """The newest version of a table."""
    snapshot = snapshot_of(session, table)
    return TableVersion(str(snapshot.metadata().id()), int(snapshot.version()))


def metadata(session: SparkSession, table: str) -> Metadata:
    """What the newest version of a table says of it."""
    return metadata_of(snapshot_of(session, table))


def metadata_of(snapshot: DeltaSnapshot) -> Metadata:
    found = snapshot.metadata()
    partitions = list(found.partitionSchema().fieldNames())
    return Metadata(str(found.id()), schema_of(snapshot), partitions)


def metadata_action(snapshot: DeltaSnapshot) -> dict[str, Any]:
    """The `metaData` action of a version, as its line of the log has it."""
    found: dict[str, Any] = json.loads(snapshot.metadata().json())["metaData"]
    return found


def schema_of(snapshot: DeltaSnapshot) -> StructType:
    """The columns of a version."""
    return StructType.fromJson(json.loads(snapshot.metadata().schema().json()))


def physical_name(snapshot: DeltaSnapshot, column: str) -> str:
    """The name under which the files and the log have a column: its first one, or an id."""
    return metadata_of(snapshot).noted(PHYSICAL).get(column, column)


def bounded_columns(session: SparkSession, table: str) -> list[str]:
    """Names of the columns of whose values the log keeps bounds, by which files are skipped."""
    snapshot = snapshot_of(session, table)
    kept = json.loads(snapshot.statsSchema().json())["fields"]
    bounds = [one["type"]["fields"] for one in kept if one["name"] == "minValues"]
    stored = {field["name"] for fields in bounds for field in fields}
    return [
        one.name for one in schema_of(snapshot) if one.metadata.get(PHYSICAL, one.name) in stored
    ]


def state(
    session: SparkSession, table: str, version: int | None = None
) -> tuple[str, dict[str, int]]:
    """`numbers` of a version of a table; of the newest if none is given."""
    return numbers(snapshot_of(session, table, version))


def numbers(snapshot: DeltaSnapshot) -> tuple[str, dict[str, int]]:
    """Table id, and the newest version of each application's `txn` action."""
    found = checksums.all_transactions(snapshot)
    return str(snapshot.metadata().id()), {a.appId(): int(a.version()) for a in found}


def commit(session: SparkSession, table: str, version: int) -> Commit:
    """A commit of a table."""
    return commit_of(session, delta_log(session, table), version)


def last_commit(session: SparkSession, table: str) -> Commit:
    """The newest commit; raises Py4JJavaError or PySparkException if it is no Delta table."""
    snapshot = snapshot_of(session, table)
    return commit_of(session, snapshot.deltaLog(), int(snapshot.version()))


def commit_of(session: SparkSession, table_log: DeltaLog, version: int) -> Commit:
    """A commit, by its file; one that is not whole is gone."""
    path = commit_path(session, table_log, version)
    try:
        lines = table_log.store().read(path, table_log.newDeltaHadoopConf())
    except Py4JJavaError as error:
        if "FileNotFound" not in str(error.java_exception):
            raise
        return Commit(version)
    found = jvm.lines(lines)
    return Commit(version, found if is_whole(next(reversed(found), "")) else ())


def commit_path(session: SparkSession, table_log: DeltaLog, version: int) -> HadoopPath:
    """The Hadoop path of a commit's file."""
    names = jvm.internal(session, FILE_NAMES)
    path: HadoopPath = names.unsafeDeltaFile(table_log.logPath(), version)
    return path


def newest_first(session: SparkSession, table: str, after: int = -1) -> Iterator[Commit]:
    """`commits_of` the newest version."""
    yield from commits_of(session, snapshot_of(session, table), after)


def commits_of(
    session: SparkSession, snapshot: DeltaSnapshot, after: int = -1, oldest_first: bool = False
) -> Iterator[Commit]:
    """The commits behind a version and up to a snapshot's, newest first.

    Reads a file of the log for each; ends with the first one that the log has no more.
    """
    table_log, versions = snapshot.deltaLog(), range(after + 1, int(snapshot.version()) + 1)
    for version in versions if oldest_first else reversed(versions):
        yield (found := commit_of(session, table_log, version))
        if found.is_gone:
            return


def commit_transactions(
    session: SparkSession,
    table: str,
    versions: Mapping[str, int],
    until: float | None = None,
    before: Mapping[str, int] | None = None,
    seen: DeltaSnapshot | None = None,
) -> bool:
    """Commit `txn` actions alone, without data; whether that was done.

    until: by which delta.setTransactionRetentionDuration goes, in seconds since 1970; or else now.
    before: what some are now, -1 for none; where they are not, nothing is committed.
    seen: the rows that they say something of; Delta's concurrency exceptions tell of others.
    """
    now = int((time.time() if until is None else until) * 1000)
    transaction = committing.transaction(session, seen or snapshot_of(session, table))
    if seen is not None:
        transaction.readWholeTable()
    if any(transaction.txnVersion(app) != number for app, number in (before or {}).items()):
        return False
    made = (committing.set_transaction(session, *one, now) for one in versions.items())
    transaction.commit(jvm.scala_seq(session, made), jvm.internal(session, MANUAL_UPDATE))
    return True


def skipping(session: SparkSession, table: str, predicate: str | None) -> Kept:
    """What Delta's own skipping keeps of `table` for `predicate` (SQL; None keeps all)."""
    frame = session.table(table)
    if predicate:
        frame = frame.where(predicate)
    # Not the frame's own optimized plan: that reads a cached table from the cache.
    optimizer = session._jsparkSession.sessionState().optimizer()
    leaves = optimizer.execute(frame._jdf.queryExecution().analyzed().clone()).collectLeaves()
    if leaves.isEmpty() or "LogicalRelation" not in leaves.head().getClass().getName():
        # The optimizer saw that no row can match and dropped the scan.
        snapshot = snapshot_of(session, table)
        return Kept(0, int(snapshot.numOfFiles()), 0, int(snapshot.sizeInBytes()))
    scan = leaves.head().relation().location().preparedScan()
    return Kept(
        files=_number(scan.scanned().files()),
        files_total=_number(scan.total().files()),
        bytes=_number(scan.scanned().bytesCompressed()),
        bytes_total=_number(scan.total().bytesCompressed()),
    )


def fragments(session: SparkSession, table: str, columns: Sequence[str]) -> dict[str, Fragments]:
    """By column, the data files of `table`, newest snapshot, with what the log says of them.

    Parses every file's statistics once a snapshot: Delta keeps them for its own skipping.

    Args:
        columns: names of top-level columns, also partition columns; upper and lower case are one.

    Raises:
        ValueError: the table has no such column.
    """
    snapshot = snapshot_of(session, table)
    schema = schema_of(snapshot)
    partitions = set(snapshot.metadata().partitionSchema().fieldNames())
    rows = row_counts(session, snapshot)
    read = []
    for column in columns:
        found = [field for field in schema.fields if field.name.lower() == column.lower()]
        if not found:
            raise ValueError(f"{table} has no column {column!r}: accepted are {schema.names}")
        known = from_partition if found[0].name in partitions else statistics
        read.append(known(session, snapshot, found[0], rows))
    size = jvm.functions(session).col("size")
    selected = [size, rows.alias("n")]
    for place, bounds in enumerate(read):
        selected += [one.alias(f"{name}{place}") for name, one in bounds.items()]
    files = DataFrame(
        snapshot.withStats().select(jvm.scala_seq(session, selected)), session
    ).toArrow()
    common = {"size": files["size"], "rows": files["n"]}
    by_column = {
        column: pa.table(common | {name: files[f"{name}{place}"] for name in bounds})
        for place, (column, bounds) in enumerate(zip(columns, read, strict=True))
    }
    version = int(snapshot.version())
    return {column: Fragments.read(files, version) for column, files in by_column.items()}


def row_counts(session: SparkSession, snapshot: DeltaSnapshot) -> JavaColumn:
    """Column of `snapshot.withStats()`: rows of each file, with those that are deleted."""
    nothing = jvm.scala_seq(session, [])
    return snapshot.getStatsColumnOrNullLiteral("numRecords", nothing).cast("bigint")


def statistics(
    session: SparkSession, snapshot: DeltaSnapshot, field: StructField, rows: JavaColumn
) -> dict[str, Any]:
    """Columns of `snapshot.withStats()`: bounds `lo` and `hi` of a field's values, and `nulls`.

    rows: `row_counts`."""
    functions = jvm.functions(session)
    path = jvm.scala_seq(session, [field.name])

    def stats(kind: str) -> JavaColumn:
        return snapshot.getStatsColumnOrNullLiteral(kind, path)

    nulls = stats("nullCount").cast("bigint")
    kind = field.dataType.simpleString()
    # Delta trusts bounds only where both counts are known.
    trusted = getattr(rows.isNotNull(), "and")(nulls.isNotNull())
    return {
        "lo": functions.when(trusted, stats("minValues")).cast(kind),
        "hi": functions.when(trusted, stats("maxValues")).cast(kind),
        "nulls": nulls,
    }


def partition_text(session: SparkSession, field: StructField) -> JavaColumn:
    """Column of a snapshot's files: the value of a partition column, as the log keeps it."""
    functions = jvm.functions(session)
    name = field.metadata.get(PHYSICAL, field.name)
    # An empty text is NULL to Delta, whatever the type.
    return functions.nullif(functions.col("partitionValues").getItem(name), functions.lit(""))


def parsed(text: JavaColumn, kind: DataType) -> JavaColumn:
    """A column of texts as values; NULL for a text that is none."""
    name = kind.simpleString()
    # What "timestamp" alone means is a setting.
    return text.try_cast("timestamp_ltz" if name == "timestamp" else name)


def from_partition(
    session: SparkSession, snapshot: DeltaSnapshot, field: StructField, rows: JavaColumn
) -> dict[str, Any]:
    """Every row of a file has its partition's value, which the log keeps as text."""
    functions = jvm.functions(session)
    text = partition_text(session, field)
    value = parsed(text, field.dataType)
    nulls = functions.when(text.isNull(), rows).when(value.isNotNull(), 0)
    return {"lo": value, "hi": value, "nulls": nulls.cast("bigint")}


def _number(option: JavaOption) -> int:
    return int(option.get()) if option.isDefined() else 0
