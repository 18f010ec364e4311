"""Sessions that plan as those of users do."""

from __future__ import annotations

from pathlib import Path

import pytest
from functional.runner import new_session
from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark(home: Path) -> SparkSession:
    """With adaptive plans, which other quick tests go without (`quick_java.py`)."""
    session = new_session(home)
    session.conf.set("spark.sql.adaptive.enabled", "true")
    return session
