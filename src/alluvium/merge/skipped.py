"""Events that are left out of a model for good: what a table of the session says of them."""

from __future__ import annotations

from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.plan.versions import left_out as told
from alluvium.plan.versions.left_out import Events, app_id, batches, files

__all__ = ["Events", "app_id", "batches", "files", "left_out"]


def left_out(session: SparkSession, table: str, model: str) -> set[Events]:
    """The events that `model` leaves out.

    table: rendered name of its Delta table; model: dbt's unique id.
    """
    return told.left_out(log.state(session, table)[1], model)
