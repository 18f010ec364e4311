"""A Spark session for the tests of this folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from alluvium.engine import session as engine


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on an embedded home of its own; its jars are the checkout's, resolved once."""
    home = tmp_path_factory.mktemp("home")
    jars = Path(os.environ.get("ALLUVIUM_TEST_JARS", Path(__file__).parents[3] / ".alluvium/jars"))
    jars.mkdir(parents=True, exist_ok=True)
    (home / "jars").symlink_to(jars)
    yield engine.new_session(engine.Settings(home=home))
    engine.stop()
