"""What a Java exception says, without its stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession


def causes(error: Any) -> list[str]:
    """One line of a Java exception (through py4j) and of each of its causes, none twice.

    Spark wraps: the first line says that a task failed, the last one why.
    """
    lines: dict[str, None] = {}
    for one in chain(error):
        message = str(one.getMessage() or "").strip().splitlines()
        message = message or [str(one.getClass().getSimpleName())]
        # A Python traceback ends with its reason.
        lines[message[-1] if message[0].startswith("Traceback") else message[0]] = None
    return list(lines)


def reason(error: Exception) -> str:
    """What an exception says, in one line."""
    java = _java(error)
    if java is not None:
        return ": ".join(causes(java))
    return ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])


def is_cancelled(session: SparkSession, error: Exception) -> bool:
    """Whether somebody cancelled the job that failed, or stopped Spark."""
    context = session.sparkContext._jsc  # None after SparkSession.stop
    if context is None or context.sc().isStopped():
        return True
    return any("SPARK_JOB_CANCELLED" in str(one.getMessage()) for one in chain(_java(error)))


def _java(error: Exception) -> Any:
    """The Java exception behind an exception; pyspark keeps that of those that it knows."""
    return getattr(error, "java_exception", None) or getattr(error, "_origin", None)


def chain(error: Any) -> Iterator[Any]:
    """A Java exception and each of its causes."""
    while error is not None:
        yield error
        error = error.getCause()
