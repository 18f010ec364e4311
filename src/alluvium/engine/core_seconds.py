"""How long Spark's tasks held a core."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from alluvium.engine import jvm

# Milliseconds to wait for what Spark tells its listeners, which is behind by a few.
_PATIENCE = 5000


@dataclass
class Spent:
    """What jobs took.

    seconds, cpu_seconds: run time of their tasks, and CPU time in it. Those that failed or ran
        twice count too. None until the jobs are over, and where Spark no longer knows it.
    """

    seconds: float | None = None
    cpu_seconds: float | None = None


@contextmanager
def measured(session: SparkSession) -> Iterator[Spent]:
    """Measure the jobs that this thread starts meanwhile, whatever runs beside them."""
    context: Any = session.sparkContext
    tag = f"alluvium-{uuid.uuid4()}"
    spent = Spent()
    context.addJobTag(tag)
    try:
        yield spent
    finally:
        context.removeJobTag(tag)
    with suppress(Py4JJavaError):  # still behind, or forgotten
        attempts = _attempts(context, tag)
        spent.seconds = sum(one.executorRunTime() for one in attempts) / 1e3
        spent.cpu_seconds = sum(one.executorCpuTime() for one in attempts) / 1e9


def _attempts(context: Any, tag: str) -> list[Any]:
    """Every attempt at a stage of the jobs."""
    spark = context._jsc.sc()
    store = spark.statusStore()
    nothing = context._jvm.java.util.ArrayList()
    no_quantiles = context._gateway.new_array(context._jvm.double, 0)
    spark.listenerBus().waitUntilEmpty(_PATIENCE)
    found: list[Any] = []
    for job in spark.statusTracker().getJobIdsForTag(tag):
        for stage in jvm.items(store.job(job).stageIds()):
            found += jvm.items(store.stageData(stage, False, nothing, False, no_quantiles))
    return found
