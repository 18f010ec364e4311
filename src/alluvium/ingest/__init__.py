"""Append-only bronze tables from files or Kafka, exactly once (``streaming_table``)."""

from alluvium.ingest.append import append as append
from alluvium.ingest.append import create_empty as create_empty
from alluvium.ingest.parsing import check_schema as check_schema
from alluvium.ingest.sources import register_batch_view as register_batch_view
from alluvium.ingest.sources import register_newest_view as register_newest_view
from alluvium.ingest.spec import Feed as Feed
from alluvium.ingest.spec import SpecError as SpecError
from alluvium.ingest.spec import StreamError as StreamError
from alluvium.ingest.spec import StreamSpec as StreamSpec
from alluvium.ingest.spec import parse_spec as parse_spec
from alluvium.ingest.stream_figures import StreamFigures as StreamFigures
from alluvium.ingest.target import Target as Target
from alluvium.ingest.target import highest_batch as highest_batch
