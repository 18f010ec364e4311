"""Whether a cluster gives a context an executor: Spark itself would wait without an end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from uuid import uuid4

from pyspark.sql import SparkSession

from alluvium.engine import EngineError, jvm
from alluvium.engine.causes import explain

# Seconds after which somebody who looks is told what is waited for.
_PATIENCE = 30.0
# What decides whether a cluster can give one.
_ASKED = (
    "spark.master",
    "spark.executor.instances",
    "spark.executor.cores",
    "spark.executor.memory",
    "spark.executor.memoryOverhead",
    "spark.cores.max",
    "spark.dynamicAllocation.maxExecutors",
)


def wait(session: SparkSession, seconds: float, say: Callable[[str], None]) -> None:
    """Run one task on a cluster, and so wait for its first executor.

    A task, for where executors are allocated as they are needed nothing else asks for one.

    Args:
        seconds: The longest wait.
        say: Takes a line, once it takes long.

    Raises:
        EngineError: None came in time, or the task failed.
    """
    context = session.sparkContext
    group = f"alluvium {uuid4()}"

    def work() -> None:
        context.setJobGroup(group, "the first executor", interruptOnCancel=True)
        session.range(1).count()

    beside = ThreadPoolExecutor(1, "alluvium-executor")
    task = jvm.beside(beside, session, work)
    beside.shutdown(wait=False)
    done, _ = wait_for([task], min(_PATIENCE, seconds))
    if not done and seconds > _PATIENCE:
        say(f"no executor after {_PATIENCE:.0f} s, waiting: {_asked(session)}")
        done, _ = wait_for([task], seconds - _PATIENCE)
    if not done:
        context.cancelJobGroup(group)
        raise EngineError(
            f"No executor came within {seconds:.0f} s. {_asked(session)}. Look for workers of that"
            " size that nobody else has. Accepted: a smaller executor, another master, or a longer"
            " `engine: {executors_within: …}` in the profile"
        )
    error = task.exception()
    if error is not None:
        raise EngineError(f"The first task on the cluster failed: {explain(error).text}") from error


def _asked(session: SparkSession) -> str:
    conf = session.sparkContext.getConf()
    given = [f"{key}={conf.get(key)}" for key in _ASKED if conf.contains(key)]
    return f"Asked for: {', '.join(given)}"
