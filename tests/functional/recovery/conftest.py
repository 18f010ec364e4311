"""A small table whose rows Python keeps, and a copy of its folder for each test to break."""

from __future__ import annotations

from pathlib import Path

import pytest
from functional.recovery.damage import Copy, Kept
from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def kept(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return Kept(spark, tmp_path_factory.mktemp("kept"))


@pytest.fixture
def copy(kept: Kept, tmp_path: Path) -> Copy:
    return Copy(kept.spark, kept.place, tmp_path)
