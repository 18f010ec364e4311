"""The source that a feed describes, as it is now."""

from __future__ import annotations

from pyspark.sql import SparkSession

from alluvium.ingest.events import register_view
from alluvium.ingest.file_source import FileSource
from alluvium.ingest.kafka_source import KafkaSource
from alluvium.ingest.spec import Feed


def open_source(feed: Feed) -> FileSource | KafkaSource:
    """The source that a feed describes."""
    return KafkaSource(feed) if feed.spec.format == "kafka" else FileSource(feed)


def register_batch_view(session: SparkSession, feed: Feed, view: str) -> None:
    """Register every event the source holds now as a temp view of the session, by name unquoted.

    Tests and `dbt show` read the source so.
    """
    register_view(session, open_source(feed).batch(session), view)


def register_newest_view(session: SparkSession, feed: Feed, view: str) -> None:
    """Register what tells how fresh the source is: of Kafka the last records of each partition."""
    source = open_source(feed)
    newest = source.newest if isinstance(source, KafkaSource) else source.batch
    register_view(session, newest(session), view)
