"""Batches of events that are left out of a model for good, as its table's log says."""

from __future__ import annotations

from pyspark.sql import SparkSession

from alluvium.delta import log, marks


def app_id(model: str, batch: int) -> str:
    """Application id of the `txn` action that says whether a model leaves a batch out."""
    return f"{marks.SKIPPED}{model}/{batch}"


def batches(session: SparkSession, table: str, model: str) -> list[int]:
    """The batches that `model` leaves out, rising.

    table: rendered name of its Delta table; model: dbt's unique id.
    """
    _, versions = log.state(session, table)
    prefix = f"{marks.SKIPPED}{model}/"
    return sorted(
        int(app.removeprefix(prefix))
        for app, number in versions.items()
        if app.startswith(prefix) and number == 1
    )
