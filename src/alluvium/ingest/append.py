"""Append what is new at a source to a Delta table, exactly once, one commit a trigger.

Each micro-batch is one Delta commit that records the checkpoint's id and the epoch as a ``txn``
action. Of a landing folder the ledger says which files were read (``intake``). For Kafka Structured
Streaming plans the micro-batches (``availableNow``). One that is replayed after a kill has the same
offsets and the same epoch, so Delta skips it where it had committed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from alluvium.delta.log import arrivals, log
from alluvium.engine import jvm
from alluvium.engine.causes import reason
from alluvium.engine.files import Files
from alluvium.ingest import checkpoint as checkpoints
from alluvium.ingest.broker import looking
from alluvium.ingest.events import PLACE, Trigger
from alluvium.ingest.file_source import FileSource
from alluvium.ingest.intake import Intake
from alluvium.ingest.kafka_source import KafkaSource
from alluvium.ingest.micro_batches import MicroBatches, not_alone
from alluvium.ingest.sources import open_source
from alluvium.ingest.spec import Feed, StreamError
from alluvium.ingest.start import held_back, is_kafka_idle, last_epoch, starting_place
from alluvium.ingest.stream_figures import StreamFigures
from alluvium.ingest.target import (
    Target,
    check_columns,
    create,
    query_columns,
    spelt_as_stored,
)
from alluvium.ingest.topics import Topics
from alluvium.wording import counted

# A file that was written again has the places of the one before.
_SAME_EVENT = (*PLACE, "_source_timestamp")


def create_empty(session: SparkSession, feed: Feed, sql: str, view: str, target: Target) -> None:
    """Create the table with the query's columns and no rows, or leave the one that is there.

    Raises:
        StreamError: The query or the target is not what a streaming table accepts.
    """
    columns = query_columns(session, feed, sql, view, target)
    target = spelt_as_stored(target, columns)
    if not session.catalog.tableExists(target.name):
        create(session, target, columns)


def append(
    session: SparkSession,
    feed: Feed,
    sql: str,
    view: str,
    target: Target,
    *,
    full_refresh: bool = False,
    accepts_loss: bool = False,
    now: Callable[[], float] = time.time,
) -> StreamFigures:
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
        accepts_loss: Go on behind records of Kafka that are gone; the figures count them.
        now: Seconds since 1970, for ``max_wait`` and where batches are numbered again.

    Returns:
        The run's figures.

    Raises:
        StreamError: The query cannot run on a stream, the table's columns do not fit it, or the
            target is not a Delta table.
    """
    started = time.monotonic()
    files = Files(session)
    source = open_source(feed)
    existed = session.catalog.tableExists(target.name)
    columns = query_columns(session, feed, sql, view, target)
    target = spelt_as_stored(target, columns)
    if not existed:
        create(session, target, columns)
    elif not full_refresh:
        check_columns(session, target, columns)
    place = starting_place(session, files, target, existed, full_refresh, now)
    replaced = _size(session, target) if place.replaces else None

    run = MicroBatches(feed, sql, view, target, place)
    if isinstance(source, KafkaSource):
        taken = _from_topics(session, feed, files, source, run, accepts_loss, now)
    else:
        taken = _from_files(session, feed, files, source, run, now)
    warnings = taken.warnings
    if run.place.replaces and last_epoch(files, place) < 0:
        # Nothing at the source: the refreshed table is empty.
        run.replace_by_nothing(session)
    if not taken.is_blocked and (settled := run.place.settled()) != place:
        checkpoints.save(files, settled)
    if replaced is not None and (fewer := replaced[1] - _size(session, target)[1]) > 0:
        warnings.append(
            f"{target.name}: the full refresh left it with {counted(fewer, 'event')} fewer. If its "
            f"source no longer holds them, {_way_back(target.name, replaced[0], columns.names)}"
        )
    return replace(
        run.figures(),
        seconds=time.monotonic() - started,
        waiting=taken.waiting or 0,
        min_rows=feed.spec.min_rows,
        absent=taken.absent,
        empty=tuple(taken.empty),
        lag=taken.lag,
        transactions=taken.transactions,
        lost=dict(taken.lost),
        again=tuple(taken.again),
        newest=arrivals.newest(session, target.name),
        warnings=tuple(warnings),
    )


@dataclass(frozen=True)
class _Taken:
    """What came of one look at a source.

    Attributes:
        waiting: events that wait for more to come; None where all that was there was read.
        absent: the landing folder, where it is not there.
        empty: files of rows without a byte, which wait.
        is_blocked: whether nothing could be read, as an open transaction begins before its end.
        lag, transactions, lost, again: of Kafka, as `StreamFigures` has them.
    """

    waiting: int | None
    absent: str | None = None
    empty: Sequence[str] = ()
    is_blocked: bool = False
    warnings: list[str] = field(default_factory=list)
    lag: Mapping[str, int] | None = None
    transactions: Mapping[str, int] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)
    again: Sequence[str] = ()


def _from_topics(
    session: SparkSession,
    feed: Feed,
    files: Files,
    source: KafkaSource,
    run: MicroBatches,
    accepts_loss: bool,
    now: Callable[[], float],
) -> _Taken:
    place, table, waiting = run.place, run.target.name, None
    topics = Topics(files, place, feed.spec)
    with looking(session, feed) as look:
        may_read = topics.prepare(session, table, look(), accepts_loss=accepts_loss)
        if may_read and is_kafka_idle(files, place):
            waiting = held_back(feed, partial(source.waiting, session, place.location), place, now)
        if may_read and waiting is None:
            try:
                _stream(session, source, run, topics)
            except (StreamError, PySparkException):
                look()  # a broker that is away now is the cause
                raise
        taken = _Taken(waiting, is_blocked=not may_read, lost=topics.lost, again=topics.again)
        taken.warnings.extend(topics.told(session, table))
        try:
            lag, transactions = topics.standing(session, table, look())
        except StreamError as error:  # all is committed
            taken.warnings.append(str(error))
            return taken
    return replace(taken, lag=lag, transactions=transactions)


def _from_files(
    session: SparkSession,
    feed: Feed,
    files: Files,
    source: FileSource,
    run: MicroBatches,
    now: Callable[[], float],
) -> _Taken:
    intake = Intake(session, files, source, run.place, run.target.name)
    waiting = held_back(feed, intake.events, run.place, now)
    if waiting is None:
        _take(session, intake, run)
    run.place = replace(run.place, version=intake.version)
    return _Taken(waiting, intake.absent, empty=intake.empty, warnings=intake.warnings())


def _way_back(table: str, version: int, columns: Sequence[str]) -> str:
    """What adds the events of a version to those that came since: a RESTORE would lose these."""
    before = f"{table} version as of {version}"
    if not set(_SAME_EVENT) <= set(columns):
        return f"`select * from {before}` has them"
    same = " and ".join(f"was.{name} <=> here.{name}" for name in _SAME_EVENT)
    return (
        f"`insert into {table} by name select was.* from {before} as was left anti join {table} "
        f"as here on {same}` brings them back"
    )


def _size(session: SparkSession, target: Target) -> tuple[int, int]:
    """The version of a table, and how many events it holds; the log knows both."""
    return log.version(session, target.name), session.table(target.name).count()


def _take(session: SparkSession, intake: Intake, run: MicroBatches) -> None:
    """Read the files of a landing folder that the table does not have."""
    # A copy of the session, for the caller's view of the source has all of its events.
    own = jvm.copied(session)

    def write(trigger: Trigger, epoch: int) -> int:
        version = run.write(own, trigger, epoch)
        if version is None:
            raise not_alone(run.target.name)
        return version

    try:
        intake.take(own, run.sql, run.view, write)
    except Py4JJavaError as error:
        raise _failed(run, error) from error


def _stream(session: SparkSession, source: KafkaSource, run: MicroBatches, topics: Topics) -> None:
    """Run Kafka's micro-batches until all that was there at the start is in."""
    errors: list[Exception] = []
    planned = checkpoints.last_epoch(Files(session), run.place)

    def micro_batch(batch: DataFrame, epoch: int) -> None:
        own = batch.sparkSession
        try:
            known = own.table(run.target.name) if run.place.skips_known else None
            trigger = source.trigger(batch, known, topics.made, topics.most_events(epoch))
            version = run.write(own, trigger, epoch)
            if version is None and epoch > planned:
                raise not_alone(run.target.name)
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


def _failed(run: MicroBatches, error: Py4JJavaError) -> StreamError:
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
