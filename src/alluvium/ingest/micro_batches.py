"""The micro-batches of one run, each one commit to the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta.log import own_commit
from alluvium.delta.rewrite import bucket_column
from alluvium.delta.rewrite.order import sorted_in_tasks
from alluvium.engine.files import Files
from alluvium.engine.frames import number
from alluvium.ingest import checkpoint as checkpoints
from alluvium.ingest.checkpoint import Checkpoint
from alluvium.ingest.events import Trigger, register_view
from alluvium.ingest.parsing import no_events
from alluvium.ingest.spec import Feed, StreamError
from alluvium.ingest.stream_figures import StreamFigures
from alluvium.ingest.target import BATCH_ID, Target, id_of
from alluvium.names import quoted
from alluvium.plan.versions import arrivals

# One output file per this many bytes of a trigger's events before compression.
BYTES_PER_FILE = 512 * 1024 * 1024
# The same where only events are counted: a task for so many, and no file with more than a few of
# these, however uneven the topic's partitions are.
EVENTS_PER_TASK = 250_000
EVENTS_PER_FILE = 4 * EVENTS_PER_TASK


class MicroBatches:
    """One run's micro-batches."""

    def __init__(self, feed: Feed, sql: str, view: str, target: Target, place: Checkpoint):
        self._feed = feed
        self.sql = sql
        self.view = view
        self.target = target
        self.place = place
        self._done: list[StreamFigures] = []

    def figures(self) -> StreamFigures:
        """The run's sums."""
        return StreamFigures(
            rows=sum(f.rows for f in self._done),
            files=sum(f.files for f in self._done),
            bytes=sum(f.bytes for f in self._done),
            output_files=sum(f.output_files for f in self._done),
            # What only looks up a topic's end, or skips marks of transactions, brings nothing.
            batch_id=next((f.batch_id for f in self._done[::-1] if f.rows or f.files), None),
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
            raise not_alone(self.target.name)
        batch_id = self.place.batch_id(epoch)
        replaces = self.place.replaces
        register_view(session, trigger.events, self.view)
        rows = session.sql(self.sql).withColumn(BATCH_ID, number(batch_id))
        rows = self._few_files(self._with_bucket(rows), trigger)
        # To the sort of a compaction each file is a run then; nothing relies on it.
        rows = sorted_in_tasks(rows, self.target.partition_by, self.target.sort_by)
        note = arrivals.noted(batch_id=batch_id, files=trigger.files, bytes=trigger.bytes)
        options = {
            "txnAppId": self.place.app_id,
            "txnVersion": str(epoch),
            "userMetadata": note,
        }
        if trigger.most:
            options["maxRecordsPerFile"] = str(EVENTS_PER_FILE)
        begun = own_commit.begin(session)
        if replaces:
            self._replace(session, rows, options)
        else:
            writer = rows.write.format("delta").mode("append").option("mergeSchema", "true")
            writer.options(**options).saveAsTable(self.target.name)
        commit = own_commit.version(session)
        if commit is None:
            return None  # This epoch had committed before the run that planned it was killed.
        metrics = own_commit.metrics(session, self.target.name) or {}
        written, output_files = (int(metrics.get(n, 0)) for n in ("numOutputRows", "numFiles"))
        if not output_files:
            left = int(metrics.get(own_commit.LEFT, 0))
            own_commit.tidy(session, self.target.name, begun, left)
        self._done.append(
            StreamFigures(written, trigger.files, trigger.bytes, output_files, batch_id)
        )
        return commit

    def _with_bucket(self, rows: DataFrame) -> DataFrame:
        bucket = self.target.bucket
        return rows if bucket is None else bucket_column.with_column(rows, bucket)

    def _few_files(self, rows: DataFrame, trigger: Trigger) -> DataFrame:
        parts = max(1, -(-trigger.raw_bytes // BYTES_PER_FILE), -(-trigger.most // EVENTS_PER_TASK))
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
        table_id = id_of(session, self.target)
        self.place = replace(self.place, replaces=False, table_id=table_id)
        checkpoints.save(Files(session), self.place)


def not_alone(table: str) -> StreamError:
    return StreamError(
        f"{table}: another process filled it at the same time; run a streaming table in "
        "one process at a time. This run wrote nothing more: run it again"
    )
