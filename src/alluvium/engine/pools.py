"""Pools of Spark's fair scheduler, made where they are needed instead of in a file beforehand."""

from __future__ import annotations

import threading
from typing import Any

from pyspark.sql import SparkSession

from alluvium.engine import jvm
from alluvium.engine.internals import POOL, SCHEDULING_MODE

_PROPERTY = "spark.scheduler.pool"
_guard = threading.Lock()


def use(session: SparkSession, name: str, weight: int = 1, min_share: int = 0) -> None:
    """Let the jobs of this thread run in the pool `name`, which is made if there is none.

    weight: its share of the cores against other pools that have work; min_share: cores it gets
    before weights count. Without effect unless spark.scheduler.mode is FAIR.
    """
    context: Any = session.sparkContext
    root = context._jsc.sc().taskScheduler().rootPool()
    with _guard:
        if root.getSchedulableByName(name) is None:
            fair = jvm.internal(session, SCHEDULING_MODE).FAIR()
            root.addSchedulable(jvm.internal(session, POOL)(name, fair, min_share, weight))
    context.setLocalProperty(_PROPERTY, name)


def leave(session: SparkSession) -> None:
    """Let the jobs of this thread run in the default pool."""
    session.sparkContext.setLocalProperty(_PROPERTY, None)  # type: ignore[arg-type]
