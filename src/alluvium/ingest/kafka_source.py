"""Kafka topics as a source."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.engine.files import Files
from alluvium.ingest.broker import looking
from alluvium.ingest.events import HEADERS, PLACE, Trigger, event_columns, lacking
from alluvium.ingest.options import ISOLATION
from alluvium.ingest.spec import Feed
from alluvium.plan.topics import label

# Spark's own defaults: it tells of lost records, and asks a broker that is away for three minutes.
_DEFAULTS = {
    "startingOffsets": "earliest",
    # A commit of a backlog is bounded; a wide bound, for each commit has its price.
    "maxOffsetsPerTrigger": "2000000",
    "fetchOffset.numRetries": "2",
    ISOLATION: "read_committed",
}
# To Spark these come before `startingOffsets`.
_BY_TIME = ("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy")


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

    def trigger(
        self, batch: DataFrame, known: DataFrame | None, made: Mapping[str, int], most: int
    ) -> Trigger:
        """Events of a micro-batch that ``known`` (a bronze table) does not have.

        made: how often a topic was made, if more than once.
        most: no more events than these are in it.
        """
        events = self._events(batch, made)
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
        return Trigger(events, 0, 0, 0, most)

    def batch(self, session: SparkSession) -> DataFrame:
        return self._read(session)

    def newest(self, session: SparkSession) -> DataFrame:
        """The last records of each partition, at least one of each that has any."""
        with looking(session, self.feed) as look:
            topics = look()
        if not topics:
            return self.batch(session)
        of = {
            (topic, n): one for topic, seen in topics.items() for n, one in seen.partitions.items()
        }
        # Behind the last record may lie marks of transactions, which are no records.
        behind = dict.fromkeys(of, 16)
        while True:
            begins = {
                place: max(one.first, one.stable - behind[place]) for place, one in of.items()
            }
            ends = {place: one.stable for place, one in of.items()}
            events = self._read(
                session, startingOffsets=_as_json(begins), endingOffsets=_as_json(ends)
            )
            found = {row[0] for row in events.select(PLACE[0]).distinct().collect()}
            more = [
                (topic, n)
                for (topic, n), one in of.items()
                if begins[topic, n] > one.first and f"{topic}-{n}" not in found
            ]
            if not more:
                return events
            behind |= {place: behind[place] * 16 for place in more}

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

    def _read(self, session: SparkSession, **start: str) -> DataFrame:
        options = {**self._options(earliest=True), **start}
        for name in ("maxOffsetsPerTrigger", *(_BY_TIME if start else ())):
            options.pop(name, None)
        return self._events(session.read.format("kafka").options(**options).load())

    def _options(self, *, earliest: bool = False) -> dict[str, str]:
        """Of the reader.

        earliest: where it would begin at the end, it begins at the start. A batch cannot begin at
            the end, and a second start there would leave out what came since the first one.
        """
        # A topic that is named is an error where it is absent; one that matches may come later.
        # Spark looks for the pattern anywhere in a name.
        topics = "|".join(re.escape(topic) for topic in self.feed.spec.topics)
        ours = {"subscribePattern": f"^(?:{topics})$", "includeHeaders": "true"}
        options = {**_DEFAULTS, **self.feed.options, **ours}
        if earliest:
            options["startingOffsets"] = _not_at_the_end(options["startingOffsets"])
        return options

    def _events(self, rows: DataFrame, made: Mapping[str, int] | None = None) -> DataFrame:
        topic = F.col("topic")
        for name in made or {}:
            topic = F.when(F.col("topic") == name, label(name, made or {})).otherwise(topic)
        partition = F.concat_ws("-", topic, F.col("partition").cast("string"))
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


def _as_json(offsets: Mapping[tuple[str, str], int]) -> str:
    nested: dict[str, dict[str, int]] = {}
    for (topic, number), offset in offsets.items():
        nested.setdefault(topic, {})[number] = offset
    return json.dumps(nested)


def _not_at_the_end(starting: str) -> str:
    """Kafka's `startingOffsets`, at the start where they are at the end."""
    if starting.lower() == "latest":
        return "earliest"
    return re.sub(r":\s*-1\b", ": -2", starting)
