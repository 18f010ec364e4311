"""Events that are left out of a model for good, by batch or file, as its table's log says."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta import log

# All events of a batch, or those of one `_source_partition`.
Events = tuple[int, str | None]


def app_id(model: str, events: Events) -> str:
    """Application id of the `txn` action that says whether a model leaves events out."""
    batch, file = events
    return f"{marks.SKIPPED}{model}/{batch}" + ("" if file is None else f"/{file}")


def left_out(session: SparkSession, table: str, model: str) -> set[Events]:
    """The events that `model` leaves out.

    table: rendered name of its Delta table; model: dbt's unique id.
    """
    _, versions = log.state(session, table)
    prefix = f"{marks.SKIPPED}{model}/"
    named = [
        app.removeprefix(prefix).partition("/")
        for app, number in versions.items()
        if app.startswith(prefix) and number == 1
    ]
    return {(int(batch), file if slash else None) for batch, slash, file in named}


def batches(events: Iterable[Events]) -> list[int]:
    """The batches that are left out as a whole, rising."""
    return sorted(batch for batch, file in events if file is None)


def files(events: Iterable[Events]) -> list[tuple[int, str]]:
    """The `_source_partition`s of batches that are left out, by rising batches."""
    return sorted((batch, file) for batch, file in events if file is not None)
