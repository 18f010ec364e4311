"""One embedded home, and so one Spark context, for all tests that run dbt in this process."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from dbt_common.tests import enable_test_caching
from functional import quick_json
from functional.runner import add_jars, new_session
from functional.warm_up import warm_up
from pyspark.sql import SparkSession
from support import cpu, quick_java

from alluvium.engine import session as engine

# dbt would parse the same macros for each project folder, half a second each.
enable_test_caching()
quick_json.use()
# A run of dbt makes some 100,000 objects that stay to its end. Python would look at them again and
# again for what nobody needs: that takes half of the time of a small run.
gc.set_threshold(50_000, 20, 100)


@pytest.fixture(scope="session", autouse=True)
def _quick_java() -> None:
    quick_java.use()


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = add_jars(tmp_path_factory.mktemp("home"))
    # Who runs a test by itself does not want to wait for what it may not need.
    if "PYTEST_XDIST_WORKER" in os.environ:
        with cpu.notes.as_start():
            warm_up(tmp_path_factory.mktemp("warm_up"), made)
    yield made
    engine.stop()


@pytest.fixture(scope="module")
def spark(home: Path) -> SparkSession:
    return new_session(home)
