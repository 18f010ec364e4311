"""How long Spark's tasks held a core."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

# Milliseconds to wait for what Spark tells its listeners, which is behind by a few.
_PATIENCE = 5000


@dataclass
class Spent:
    """What jobs took.

    seconds: run time of their tasks, of those that failed or ran twice too; None until the jobs
        are over, and where Spark no longer knows it.
    """

    seconds: float | None = None


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
    spent.seconds = _of_jobs(context, tag)


def _of_jobs(context: Any, tag: str) -> float | None:
    spark = context._jsc.sc()
    store = spark.statusStore()
    nothing = context._jvm.java.util.ArrayList()
    no_quantiles = context._gateway.new_array(context._jvm.double, 0)
    total = 0
    try:
        spark.listenerBus().waitUntilEmpty(_PATIENCE)
        for job in spark.statusTracker().getJobIdsForTag(tag):
            stages = store.job(job).stageIds()
            for place in range(stages.size()):
                attempts = store.stageData(stages.apply(place), False, nothing, False, no_quantiles)
                total += sum(
                    attempts.apply(number).executorRunTime() for number in range(attempts.size())
                )
    except Py4JJavaError:
        return None  # still behind, or forgotten
    return total / 1000
