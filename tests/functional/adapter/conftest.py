"""One Spark context and one embedded home serve every test here, in one process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.fixtures.project import *  # noqa: F403 - dbt's own test fixtures

from alluvium.engine import session as engine

SUITE = Path(__file__).parent / "suite"

# What stays in the default run: one file or class for each kind of node. The rest is `slow`.
QUICK = {
    "test_suite_basic.py",
    "test_suite_python_model.py",
    "test_suite_incremental.py::TestIncrementalUniqueKey",
    "test_suite_incremental.py::TestMergeExcludeColumns",
    "test_suite_simple_seed.py::TestSimpleSeedColumnOverride",
    "test_suite_simple_snapshot.py::TestSnapshotCheck",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SUITE in item.path.parents:
            item.add_marker(pytest.mark.spark)
            names = (item.path.name, f"{item.path.name}::{item.nodeid.split('::')[1]}")
            if not QUICK.intersection(names):
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The embedded home of this test run; its jars are the checkout's own, resolved once."""
    path = tmp_path_factory.mktemp("home")
    jars = Path(os.environ.get("ALLUVIUM_TEST_JARS", Path(__file__).parents[3] / ".alluvium/jars"))
    jars.mkdir(parents=True, exist_ok=True)
    (path / "jars").symlink_to(jars)
    yield path
    engine.stop()


@pytest.fixture(scope="session")
def alluvium_target(home: Path) -> dict[str, Any]:
    """One target for all: another `spark_conf` would start Spark anew."""
    # Thousands of small statements: without the second compiler they take half the CPU time.
    options = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    conf = {"spark.driver.extraJavaOptions": options}
    return {"type": "alluvium", "threads": 2, "home": str(home), "spark_conf": conf}


@pytest.fixture(scope="class")
def dbt_profile_target(alluvium_target: dict[str, Any]) -> dict[str, Any]:
    return dict(alluvium_target)


@pytest.fixture(scope="class")
def logs_dir(tmp_path_factory: pytest.TempPathFactory, prefix: str) -> Iterator[str]:
    """dbt's own fixture puts its logs into the checkout."""
    path = str(tmp_path_factory.mktemp("logs") / prefix)
    os.environ["DBT_LOG_PATH"] = path
    yield path
    del os.environ["DBT_LOG_PATH"]
