"""Append-only bronze tables from files or Kafka, exactly once (``streaming_table``)."""

from alluvium.stream.append import (
    Target,
    append,
    create_empty,
    highest_batch,
)
from alluvium.stream.figures import Figures
from alluvium.stream.sources import check_schema
from alluvium.stream.spec import Feed, SpecError, StreamError, StreamSpec, parse_spec
from alluvium.stream.views import register_batch_view

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
