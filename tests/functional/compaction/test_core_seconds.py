"""Core-seconds are those of the jobs that were measured: against tasks that sleep."""

from __future__ import annotations

import threading
import time

import pytest
from pyspark.sql import SparkSession

from alluvium.engine.core_seconds import measured

pytestmark = pytest.mark.spark


def sleep(session: SparkSession, tasks: int, seconds: float) -> None:
    context = session.sparkContext
    context.parallelize(range(tasks), tasks).foreach(lambda _: time.sleep(seconds))


def test_the_time_of_all_tasks_of_all_jobs_is_counted(spark: SparkSession) -> None:
    sleep(spark, 2, 0)  # starts Python's workers
    before = time.monotonic()
    with measured(spark) as spent:
        assert spent.seconds is None
        sleep(spark, 2, 0.5)
        sleep(spark, 1, 0.25)
    elapsed = time.monotonic() - before
    assert spent.seconds is not None
    assert 1.25 <= spent.seconds <= 2 * elapsed + 0.1  # two tasks at a time, at most


def test_jobs_of_others_and_of_later_are_not(spark: SparkSession) -> None:
    other = threading.Thread(target=sleep, args=(spark, 1, 1.0))
    with measured(spark) as spent:
        other.start()
        sleep(spark, 1, 0.25)
        other.join()
    sleep(spark, 1, 0.5)
    assert spent.seconds is not None
    assert 0.25 <= spent.seconds < 0.9
    with measured(spark) as nothing:
        pass
    assert nothing.seconds == 0
