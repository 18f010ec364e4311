"""Append-only bronze tables from files or Kafka, exactly once (``streaming_table``)."""

from alluvium.ingest.append import append, create_empty
from alluvium.ingest.parsing import check_schema
from alluvium.ingest.sources import register_batch_view, register_newest_view
from alluvium.ingest.spec import Feed, SpecError, StreamError, StreamSpec, parse_spec
from alluvium.ingest.stream_figures import StreamFigures
from alluvium.ingest.target import Target, highest_batch

__all__ = [
    "Feed",
    "SpecError",
    "StreamError",
    "StreamFigures",
    "StreamSpec",
    "Target",
    "append",
    "check_schema",
    "create_empty",
    "highest_batch",
    "parse_spec",
    "register_batch_view",
    "register_newest_view",
]
