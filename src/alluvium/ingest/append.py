"""Append what is new at a source to a Delta table, exactly once, one commit a trigger.

Each micro-batch is one Delta commit that records the checkpoint's id and the epoch as a ``txn``
action. Of a landing folder the ledger says which files were read (``intake``). For Kafka Structured
Streaming plans the micro-batches (``availableNow``); one that is replayed after a kill is the same
offsets and the same epoch, so Delta skips it where it had committed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructType

from alluvium.delta import arrivals, bucket_column, log
from alluvium.delta.order import in_order
from alluvium.engine.causes import reason
from alluvium.ingest import checkpoint as checkpoints
from alluvium.ingest import ledger
from alluvium.ingest.checkpoint import Checkpoint
from alluvium.ingest.figures import Figures
from alluvium.ingest.files import Files
from alluvium.ingest.intake import Intake
from alluvium.ingest.sources import (
    PLACE,
    KafkaSource,
    Trigger,
    no_events,
    open_source,
    register_view,
)
from alluvium.ingest.spec import Feed, StreamError
from alluvium.names import among, quoted
from alluvium.plan.layout.generated import GeneratedColumn

BATCH_ID = "_batch_id"
# One output file per this many bytes of a trigger's events before compression.
BYTES_PER_FILE = 512 * 1024 * 1024
_LAST_COMMIT = "spark.databricks.delta.lastCommitVersionInSession"


@dataclass(frozen=True)
class Target:
    """The Delta table that events are appended to.

    Attributes:
        name: Quoted name for SQL, such as ```bronze`.`flights_events` ``.
        checkpoint: Folder of its checkpoint, beside the table.
        file_format: Only ``delta`` is accepted.
        partition_by: Partition columns, among the query's columns.
        location: Path of an external table; None for a managed one.
        tblproperties: Table properties.
        bucket: Partition column that Delta computes from the query's, one of ``partition_by``.
        sort_by: Columns that each file is sorted by.
    """

    name: str
    checkpoint: str
    file_format: str = "delta"
    partition_by: tuple[str, ...] = ()
    location: str | None = None
    tblproperties: Mapping[str, str] = field(default_factory=dict)
    bucket: GeneratedColumn | None = None
    sort_by: tuple[str, ...] = ()


def create_empty(session: SparkSession, feed: Feed, sql: str, view: str, target: Target) -> None:
    """Create the table with the query's columns and no rows, or leave the one that is there.

    Raises:
        StreamError: The query or the target is not what a streaming table accepts.
    """
    columns = _columns(session, feed, sql, view, target)
    target = _spelt(target, columns)
    if not session.catalog.tableExists(target.name):
        _create(session, target, columns)


def _create(session: SparkSession, target: Target, columns: StructType) -> None:
    builder = DeltaTable.createIfNotExists(session).tableName(target.name).addColumns(columns)
    if target.bucket is not None:
        made = target.bucket
        builder = builder.addColumn(made.name, made.type, generatedAlwaysAs=made.expression)
    if target.partition_by:
        builder = builder.partitionedBy(*target.partition_by)
    if target.location is not None:
        builder = builder.location(target.location)
    for key, value in target.tblproperties.items():
        builder = builder.property(key, value)
    builder.execute()


def append(
    session: SparkSession,
    feed: Feed,
    sql: str,
    view: str,
    target: Target,
    *,
    full_refresh: bool = False,
    now: Callable[[], float] = time.time,
) -> Figures:
    """Append every new event of the feed, as the query selects it, to the target.

    Args:
        session: Session whose catalog, settings and temp views the query sees. It keeps
            streaming's own settings.
        feed: The source.
        sql: The query; it reads the events under the name ``view``.
        view: Name of the temp view, unquoted.
        target: The table; created where absent.
        full_refresh: Start again from the source. The first commit replaces the content, so
            readers see the old table until then; ``_batch_id`` goes on rising.
        now: Seconds since 1970, for ``max_wait`` and where batches are numbered anew.

    Returns:
        The run's figures.

    Raises:
        StreamError: The query is not one that can run on a stream, the table's columns do not fit
            it, or the target is not a Delta table.
    """
    started = time.monotonic()
    files = Files(session)
    source = open_source(feed)
    existed = session.catalog.tableExists(target.name)
    columns = _columns(session, feed, sql, view, target)
    target = _spelt(target, columns)
    if not existed:
        _create(session, target, columns)
    elif not full_refresh:
        _check_schema(session, target, columns)
    place = _place(session, files, target, existed, full_refresh, now)

    run = _Run(feed, sql, view, target, place)
    waiting = None
    absent: str | None = None
    warnings: list[str] = []
    if isinstance(source, KafkaSource):
        if _is_kafka_idle(files, place):
            waiting = _held_back(feed, partial(source.waiting, session, place.location), place, now)
        if waiting is None:
            _stream(session, source, run)
    else:
        intake = Intake(session, files, source, place, target.name)
        waiting = _held_back(feed, intake.events, place, now)
        if waiting is None:
            _take(session, intake, run)
        absent, warnings = intake.absent, intake.warnings()
        run.place = replace(run.place, version=intake.version)
    if run.place.replaces and _last_epoch(files, place) < 0:
        # Nothing at the source: the refreshed table is empty.
        run.replace_by_nothing(session)
    if (settled := run.place.settled()) != place:
        checkpoints.save(files, settled)
    return replace(
        run.figures(),
        seconds=time.monotonic() - started,
        waiting=waiting or 0,
        min_rows=feed.spec.min_rows,
        absent=absent,
        newest=arrivals.newest(session, target.name),
        warnings=tuple(warnings),
    )


def _columns(session: SparkSession, feed: Feed, sql: str, view: str, target: Target) -> StructType:
    """The table's columns, after checking the query and the target."""
    if target.file_format != "delta":
        raise StreamError(
            f"{target.name}: file_format is {target.file_format!r}; a streaming table is delta"
        )
    probe = session.newSession()
    probe.catalog.setCurrentDatabase(session.catalog.currentDatabase())
    # Analysed as a stream, so that Spark's own rules for streams judge the query.
    rate = probe.readStream.format("rate").load()
    schema = no_events(probe, feed).schema
    rate.select(
        *(F.lit(None).cast(f.dataType).alias(f.name) for f in schema)
    ).createOrReplaceTempView(quoted(view))
    result = probe.sql(sql)
    if not result.isStreaming:
        raise StreamError(f"{target.name}: the query does not read its stream {view}")
    jvm: Any = session._jvm
    sql_pkg = jvm.org.apache.spark.sql
    try:
        sql_pkg.catalyst.analysis.UnsupportedOperationChecker.checkForStreaming(
            result._jdf.queryExecution().analyzed(),
            sql_pkg.streaming.OutputMode.Append(),
        )
    except PySparkException as error:
        raise StreamError(
            f"{target.name}: the query cannot run on a stream, where each event is seen once and "
            f"alone (filters, expressions and joins with tables can): {_first_line(error)}"
        ) from error
    if BATCH_ID in result.columns:
        raise StreamError(f"{target.name}: the query returns {BATCH_ID}, which is added to it")
    made = None if target.bucket is None else target.bucket.name
    missing = [c for c in target.partition_by if not among(c, result.columns) and c != made]
    if missing:
        raise StreamError(
            f"{target.name}: partition_by names {', '.join(missing)}; "
            f"the query returns {', '.join(result.columns)}"
        )
    missing = [c for c in target.sort_by if not among(c, (*result.columns, BATCH_ID))]
    if missing:
        raise StreamError(
            f"{target.name}: sort_by names {', '.join(missing)}; "
            f"the query returns {', '.join(result.columns)}"
        )
    if target.bucket is not None:
        try:
            target.bucket.check({f.name: f.dataType.simpleString() for f in result.schema})
        except ValueError as error:
            raise StreamError(f"{target.name}: {error}") from error
    return StructType([*result.schema.fields]).add(BATCH_ID, LongType())


def _spelt(target: Target, columns: StructType) -> Target:
    """The target with its partition's columns in the case of the query's."""
    names = {name.lower(): name for name in columns.names}
    return replace(target, partition_by=tuple(names.get(c.lower(), c) for c in target.partition_by))


def _check_schema(session: SparkSession, target: Target, columns: StructType) -> None:
    """New columns are added and absent ones are NULL, but a column keeps its type."""
    wanted = {f.name.lower(): f for f in columns}
    changed = [
        f"{f.name} is {f.dataType.simpleString()}, "
        f"the query returns {wanted[f.name.lower()].dataType.simpleString()}"
        for f in session.table(target.name).schema
        if f.name.lower() in wanted and wanted[f.name.lower()].dataType != f.dataType
    ]
    if changed:
        raise StreamError(
            f"{target.name}: a column's type cannot change: {'; '.join(changed)}. "
            "Cast it in the query, or run with --full-refresh"
        )
    if target.bucket is not None:
        try:
            bucket_column.check_table(session, target.name, target.bucket)
        except ValueError as error:
            raise StreamError(str(error)) from error


def _table_id(session: SparkSession, target: Target) -> str:
    snapshot = log.snapshot_of(session, target.name)
    if snapshot.version() < 0:
        raise StreamError(f"{target.name} exists and is not a Delta table")
    return str(snapshot.metadata().id())


def highest_batch(session: SparkSession, table: str) -> int:
    """The highest ``_batch_id`` that a streaming table ever had; 0 if nothing tells.

    Its rows may have been deleted since. Later batches lie above it.

    table: rendered name of a Delta table.
    """
    found = 0
    if BATCH_ID in session.table(table).columns:
        found = session.table(table).agg(F.max(BATCH_ID)).collect()[0][0] or 0
    for actions in log.newest_first(session, table):
        if (
            note := arrivals.stream_note(log.commit_info(actions[0]) if actions else None)
        ) is not None:
            return max(int(found), int(note["batch_id"]))
    return int(found)


def _place(
    session: SparkSession,
    files: Files,
    target: Target,
    existed: bool,
    full_refresh: bool,
    now: Callable[[], float],
) -> Checkpoint:
    """Where to go on: the table's checkpoint, or a new one where it is absent or not its own."""
    root = target.checkpoint
    table_id = _table_id(session, target)
    place = checkpoints.load(files, root)
    ours = place is not None and place.table_id == table_id
    epoch = -1 if place is None else _last_epoch(files, place)
    # Of Kafka: where the topics begin for it, though no event came yet.
    started = place is not None and (
        ledger.exists(files, place.location) or files.exists(f"{place.location}/sources")
    )
    if place is not None and place.replaces:
        # Its first commit was made and not noted: the table may be any one since, by RESTORE.
        ours = ours and place.app_id not in log.state(session, target.name)[1]
    if place is not None and ours and started and not full_refresh:
        return place
    is_new = not existed and log.version(session, target.name) == 0
    highest = 0 if is_new else highest_batch(session, target.name)
    replaces = full_refresh and existed
    known = existed and not full_refresh and highest > 0
    if place is not None and ours and not full_refresh:
        # Never started, or Spark's folder is lost: under the same id its epochs would be skipped.
        replaces, known = place.replaces, highest > 0 and not place.replaces
    # A dropped table's batches are below those of the one that takes its name.
    if place is not None and epoch >= 0:
        base = max(highest, place.batch_id(epoch))
    else:
        # No epoch says how far an earlier table came. It rose by less than one a millisecond.
        base = max(highest, 0 if place is None else place.base, int(now() * 1000))
    new = checkpoints.begin(root, base, table_id, replaces=replaces, skips_known=known)
    absent = set(PLACE) - set(session.table(target.name).columns)
    if new.skips_known and absent:
        raise StreamError(
            f"{target.name}: its checkpoint {root} is lost, and without its columns "
            f"{', '.join(sorted(absent))} it cannot tell what it holds; run with --full-refresh"
        )
    checkpoints.save(files, new)
    return new


def _is_kafka_idle(files: Files, place: Checkpoint) -> bool:
    """Whether no planned micro-batch must be finished first."""
    return checkpoints.last_epoch(files, place) < 0 or checkpoints.is_idle(files, place)


def _last_epoch(files: Files, place: Checkpoint) -> int:
    """The highest epoch that was planned, whoever planned it; -1 for none."""
    return max(checkpoints.last_epoch(files, place), ledger.last_epoch(files, place.location))


def _held_back(
    feed: Feed,
    events: Callable[[], DataFrame | None],
    place: Checkpoint,
    now: Callable[[], float],
) -> int | None:
    """How many of the new events wait for more to come; None where they shall be read.

    events: the new ones; None where nobody can tell.
    """
    spec = feed.spec
    if spec.min_rows <= 1 or place.replaces or place.skips_known:
        return None
    waiting = events()
    if waiting is None:
        return None
    rows, oldest = (
        waiting.limit(spec.min_rows)
        .agg(F.count(F.lit(1)), F.unix_micros(F.min("_source_timestamp")))
        .collect()[0]
    )
    if rows >= spec.min_rows:
        return None
    if rows and now() - oldest / 1e6 > (spec.max_wait or 0):
        return None
    return int(rows)


class _Run:
    """One run's micro-batches."""

    def __init__(self, feed: Feed, sql: str, view: str, target: Target, place: Checkpoint):
        self._feed = feed
        self.sql = sql
        self.view = view
        self.target = target
        self.place = place
        self._done: list[Figures] = []

    def figures(self) -> Figures:
        """The run's sums."""
        return Figures(
            rows=sum(f.rows for f in self._done),
            files=sum(f.files for f in self._done),
            bytes=sum(f.bytes for f in self._done),
            output_files=sum(f.output_files for f in self._done),
            batch_id=self._done[-1].batch_id if self._done else None,
        )

    def replace_by_nothing(self, session: SparkSession) -> None:
        """The first commit of a full refresh whose source is empty."""
        no_events(session, self._feed).createOrReplaceTempView(quoted(self.view))
        empty = session.sql(self.sql).withColumn(BATCH_ID, F.lit(None).cast("bigint"))
        self._replace(session, self._with_bucket(empty), {})

    def write(self, session: SparkSession, trigger: Trigger, epoch: int) -> int | None:
        """Commit the events of a micro-batch; the version, or None where it had committed."""
        now = checkpoints.load(Files(session), self.place.root)
        if now is None or now.id != self.place.id:
            raise _not_alone(self)
        batch_id = self.place.batch_id(epoch)
        replaces = self.place.replaces
        register_view(session, trigger.events, self.view)
        rows = session.sql(self.sql).withColumn(BATCH_ID, F.lit(batch_id).cast("bigint"))
        rows = self._few_files(self._with_bucket(rows), trigger)
        # To the sort of a compaction each file is a run then; nothing relies on it.
        rows = in_order(rows, self.target.partition_by, self.target.sort_by)
        note = arrivals.noted(batch_id=batch_id, files=trigger.files, bytes=trigger.bytes)
        options = {
            "txnAppId": self.place.app_id,
            "txnVersion": str(epoch),
            "userMetadata": note,
        }
        session.conf.unset(_LAST_COMMIT)
        if replaces:
            self._replace(session, rows, options)
        else:
            writer = rows.write.format("delta").mode("append").option("mergeSchema", "true")
            writer.options(**options).saveAsTable(self.target.name)
        commit = session.conf.get(_LAST_COMMIT, None)
        if commit is None:
            return None  # This epoch had committed before the run that planned it was killed.
        written, output_files = self._metrics(session, int(commit))
        self._done.append(Figures(written, trigger.files, trigger.bytes, output_files, batch_id))
        return int(commit)

    def _with_bucket(self, rows: DataFrame) -> DataFrame:
        bucket = self.target.bucket
        return rows if bucket is None else bucket_column.with_column(rows, bucket)

    def _few_files(self, rows: DataFrame, trigger: Trigger) -> DataFrame:
        parts = max(1, -(-trigger.raw_bytes // BYTES_PER_FILE))
        if parts > 1 and self.target.partition_by:
            return rows.repartition(parts, *self._partition_columns())
        return rows.coalesce(parts)

    def _partition_columns(self) -> list[Column]:
        return [F.col(quoted(name)) for name in self.target.partition_by]

    def _replace(self, session: SparkSession, rows: DataFrame, options: Mapping[str, str]) -> None:
        writer = rows.writeTo(self.target.name).using("delta").options(**options)
        for key, value in self.target.tblproperties.items():
            writer = writer.tableProperty(key, value)
        if self.target.location is not None:
            writer = writer.tableProperty("location", self.target.location)
        if self.target.partition_by:
            writer = writer.partitionedBy(*self._partition_columns())
        writer.createOrReplace()
        # At once: if a later commit fails, the next run goes on behind this one.
        table_id = _table_id(session, self.target)
        self.place = replace(self.place, replaces=False, table_id=table_id)
        checkpoints.save(Files(session), self.place)

    def _metrics(self, session: SparkSession, version: int) -> tuple[int, int]:
        table_log = log.delta_log(session, self.target.name)
        commit = log.commit_info(log.commit_of(session, table_log, version).head())
        metrics = commit.get("operationMetrics") or {}
        return int(metrics.get("numOutputRows", 0)), int(metrics.get("numFiles", 0))


def _take(session: SparkSession, intake: Intake, run: _Run) -> None:
    """Read the files of a landing folder that the table lacks."""
    # A copy of the session, for the caller's view of the source has all of its events.
    own = SparkSession(session.sparkContext, session._jsparkSession.cloneSession())

    def write(trigger: Trigger, epoch: int) -> int:
        version = run.write(own, trigger, epoch)
        if version is None:
            raise _not_alone(run)
        return version

    try:
        intake.take(own, run.sql, run.view, write)
    except Py4JJavaError as error:
        raise _failed(run, error) from error


def _stream(session: SparkSession, source: KafkaSource, run: _Run) -> None:
    """Run Kafka's micro-batches until all that was there at the start is in."""
    errors: list[Exception] = []
    planned = checkpoints.last_epoch(Files(session), run.place)

    def micro_batch(batch: DataFrame, epoch: int) -> None:
        own = batch.sparkSession
        try:
            known = own.table(run.target.name) if run.place.skips_known else None
            version = run.write(own, source.trigger(batch, known), epoch)
            if version is None and epoch > planned:
                raise _behind(run)
        except Exception as error:
            errors.append(_failed(run, error) if isinstance(error, Py4JJavaError) else error)
            raise

    # Without new events there is nothing to do: no state, no watermark.
    session.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    writer = source.stream(session, again=run.place.skips_known).writeStream.foreachBatch(
        micro_batch
    )
    writer = writer.option("checkpointLocation", run.place.location)
    with _unlogged_callback():
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except PySparkException as error:
            failed = errors[0] if errors else error
            raise failed from failed.__cause__ or error
        finally:
            query.stop()


def _not_alone(run: _Run) -> StreamError:
    return StreamError(
        f"{run.target.name}: another process filled it at the same time; run a streaming table in "
        "one process at a time. This run wrote nothing more: run it again"
    )


def _behind(run: _Run) -> StreamError:
    return StreamError(
        f"{run.target.name}: its checkpoint {run.place.root} is older than the table. Delete that "
        "folder: the next run then reads what the table lacks"
    )


def _failed(run: _Run, error: Py4JJavaError) -> StreamError:
    """What a micro-batch failed with; Java's long trace as one line of cause."""
    failed = StreamError(f"{run.target.name}: {reason(error)}")
    failed.__cause__ = error
    return failed


@contextmanager
def _unlogged_callback() -> Iterator[None]:
    """Keep py4j from logging an error of the micro-batch: the caller gets it."""

    def other(record: logging.LogRecord) -> bool:
        return "executing the Python Proxy" not in record.getMessage()

    logger = logging.getLogger("py4j.clientserver")
    logger.addFilter(other)
    try:
        yield
    finally:
        logger.removeFilter(other)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
