"""The source that a feed describes."""

from __future__ import annotations

from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from alluvium.ingest.file_source import FileSource
from alluvium.ingest.kafka_source import KafkaSource
from alluvium.ingest.spec import Feed


class Source(Protocol):
    """What the batch views ask of a source."""

    feed: Feed

    def batch(self, session: SparkSession) -> DataFrame:
        """Every event the source holds now, as a static frame."""


def open_source(feed: Feed) -> FileSource | KafkaSource:
    """The source that a feed describes."""
    if feed.spec.format == "kafka":
        return KafkaSource(feed)
    return FileSource(feed)
