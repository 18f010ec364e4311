"""Append-only bronze tables from files or Kafka, exactly once (``streaming_table``)."""

from alluvium.ingest.append import Target, append, create_empty, highest_batch
from alluvium.ingest.figures import Figures
from alluvium.ingest.sources import check_schema
from alluvium.ingest.spec import Feed, SpecError, StreamError, StreamSpec, parse_spec
from alluvium.ingest.views import register_batch_view

__all__ = [
    "Feed",
    "Figures",
    "SpecError",
    "StreamError",
    "StreamSpec",
    "Target",
    "append",
    "check_schema",
    "create_empty",
    "highest_batch",
    "parse_spec",
    "register_batch_view",
]
