"""Kafka topics as a source."""

from __future__ import annotations

import re
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.engine.causes import first_line
from alluvium.engine.files import Files
from alluvium.ingest.events import HEADERS, PLACE, Trigger, event_columns, lacking
from alluvium.ingest.spec import Feed, StreamError

# What a broker that knows no ids gives.
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"


class KafkaSource:
    """Kafka topics; the partition is ``<topic>-<number>``, from the earliest event by default."""

    def __init__(self, feed: Feed):
        self.feed = feed

    def stream(self, session: SparkSession, *, again: bool = False) -> DataFrame:
        """The streaming frame whose micro-batches `trigger` turns into events.

        again: from the start once more, of what a table may have read already.
        """
        options = self._options(earliest=again)
        return session.readStream.format("kafka").options(**options).load()

    def trigger(self, batch: DataFrame, known: DataFrame | None) -> Trigger:
        """Events of a micro-batch that ``known`` (a bronze table) does not have."""
        events = self._events(batch)
        if known is not None:
            if self._options() != self._options(earliest=True):
                # The first run began somewhere; what it left out comes before all that is held.
                first = known.groupBy(PLACE[0]).agg(F.min(PLACE[1]).alias("first"))
                events = (
                    events.join(first, PLACE[0], "left")
                    .where(f"first is null or {PLACE[1]} >= first")
                    .select(*events.columns)
                )
            # The offsets of a micro-batch are few of the table's, and prune its files.
            ends = events.agg(F.min(PLACE[1]), F.max(PLACE[1])).collect()[0]
            events = lacking(events, known.where(F.col(PLACE[1]).between(*ends)))
        return Trigger(events, 0, 0, 0)

    def batch(self, session: SparkSession) -> DataFrame:
        return self._read(session)

    def waiting(self, session: SparkSession, checkpoint: str) -> DataFrame | None:
        """Events that no epoch of the checkpoint (Spark's folder) has taken; None if unknown."""
        files = Files(session)
        planned = [int(n) for n in files.names(f"{checkpoint}/offsets") if n.isdigit()]
        start = {}
        if planned:
            text = files.read(f"{checkpoint}/offsets/{max(planned)}") or ""
            start["startingOffsets"] = text.strip().splitlines()[-1]
        elif self._options() != self._options(earliest=True):
            return None
        events = self._read(session, **start)
        try:
            events.isEmpty()
        except (PySparkException, Py4JJavaError) as error:
            # A topic or a partition is new, and a batch must say where to begin in each.
            if "Partitions specified for Kafka start offsets" in str(error):
                return None
            raise
        return events

    def topic_ids(self, session: SparkSession) -> dict[str, str]:
        """Kafka's own ids of the topics: one that is made again under its name has another.

        Topics without one are left out: those that are not there or that may not be described, and
        all of an old broker. So are all where the profile lacks Kafka's package: Spark tells that.

        Raises:
            StreamError: No broker answers.
        """
        jvm: Any = session._jvm
        properties = jvm.java.util.Properties()
        for key, value in self.feed.options.items():
            if key.startswith("kafka."):
                properties.put(key.removeprefix("kafka."), value)
        try:
            admin = jvm.org.apache.kafka.clients.admin.Admin.create(properties)
        except TypeError:
            return {}
        try:
            there = set(admin.listTopics().names().get()) & set(self.feed.spec.topics)
            described = admin.describeTopics(sorted(there)).allTopicNames().get()
            found = {name: str(described[name].topicId().toString()) for name in there}
        except Py4JJavaError as error:
            if "TimeoutException" not in str(error.java_exception):
                return {}
            raise StreamError(
                f"source {self.feed.spec.source}: no broker of options.kafka.bootstrap.servers "
                f"answers: {first_line(error)}"
            ) from error
        finally:
            admin.close()
        return {name: its for name, its in found.items() if its != _NO_ID}

    def _read(self, session: SparkSession, **start: str) -> DataFrame:
        options = {**self._options(earliest=True), **start}
        options.pop("maxOffsetsPerTrigger", None)
        return self._events(session.read.format("kafka").options(**options).load())

    def _options(self, *, earliest: bool = False) -> dict[str, str]:
        """Of the reader.

        earliest: where it would begin at the end, it begins at the start. A batch cannot begin at
            the end, and a second start there would leave out what came since the first one.
        """
        # A topic that is named is an error where it is absent; one that matches may come later.
        # Spark looks for the pattern anywhere in a name.
        topics = "|".join(re.escape(topic) for topic in self.feed.spec.topics)
        defaults = {"startingOffsets": "earliest"}
        ours = {"subscribePattern": f"^(?:{topics})$", "includeHeaders": "true"}
        options = {**defaults, **self.feed.options, **ours}
        if earliest:
            options["startingOffsets"] = _not_at_the_end(options["startingOffsets"])
        return options

    def _events(self, rows: DataFrame) -> DataFrame:
        partition = F.concat_ws("-", F.col("topic"), F.col("partition").cast("string"))
        return rows.select(
            *event_columns(
                F.col("key"),
                F.col("value"),
                F.col("headers").cast(HEADERS),
                partition,
                F.col("offset"),
                F.col("timestamp"),
            )
        )


def _not_at_the_end(starting: str) -> str:
    """Kafka's `startingOffsets`, at the start where they are at the end."""
    if starting.lower() == "latest":
        return "earliest"
    return re.sub(r":\s*-1\b", ": -2", starting)
