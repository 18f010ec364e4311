"""dbt's own test fixtures on the embedded home that all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.fixtures.project import *  # noqa: F403 - dbt's own test fixtures

SUITE = Path(__file__).parent / "suite"

# What stays in the default run: each kind of node. The rest is `slow`.
QUICK = {"test_suite_basic.py", "test_suite_python_model.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SUITE in item.path.parents:
            item.add_marker(pytest.mark.spark)
            if item.path.name not in QUICK:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="class")
def dbt_profile_target(home: Path) -> dict[str, Any]:
    return {"type": "alluvium", "threads": 2, "home": str(home)}


@pytest.fixture(scope="class")
def logs_dir(tmp_path_factory: pytest.TempPathFactory, prefix: str) -> Iterator[str]:
    """dbt's own fixture puts its logs into the checkout."""
    path = str(tmp_path_factory.mktemp("logs") / prefix)
    os.environ["DBT_LOG_PATH"] = path
    yield path
    del os.environ["DBT_LOG_PATH"]
