"""The batch side of a stream: tests, freshness and `dbt show` read the source as it is now."""

from __future__ import annotations

from pyspark.sql import SparkSession

from alluvium.ingest.events import register_view
from alluvium.ingest.sources import open_source
from alluvium.ingest.spec import Feed


def register_batch_view(session: SparkSession, feed: Feed, view: str) -> None:
    """Register every event the source holds now as a temp view of the session.

    Args:
        session: The session that gets the view.
        feed: The source.
        view: Name of the view, unquoted.
    """
    register_view(session, open_source(feed).batch(session), view)
