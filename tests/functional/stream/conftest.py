"""A landing folder and a streaming table for each test."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from functional.stream.bronze import Bronze
from pyspark.sql import SparkSession

_names = itertools.count(1)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """One for all tables of a file: the first query of each takes a fifth of a second."""
    spark.sql("create schema if not exists bronze")
    return spark


@pytest.fixture
def make_bronze(session: SparkSession, tmp_path: Path) -> Callable[..., Bronze]:
    def make(**options: Any) -> Bronze:
        return Bronze(tmp_path, session, f"bronze.t{next(_names)}", **options)

    return make
