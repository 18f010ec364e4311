"""dbt's own test fixtures on the embedded home that all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.fixtures.project import *  # noqa: F403 - dbt's own test fixtures

SUITE = Path(__file__).parent / "suite"

# What stays in the default run: for each kind of node or flag a class that is cheap. The rest is
# `slow`. Beside this file, Python models have one of their own, and `test_nodes.py` has snapshots,
# incremental models and contracts, `test_reuse.py` singular tests.
QUICK = {
    "empty.TestEmptyInlineSourceRef",
    "functions.TestUDFsBasic",
    "hooks.TestHookRefs",
    "relations.TestChangeRelationTypeValidator",  # tables, views, and one made of the other
    "simple_seed.TestEmptySeed",
    "unit_testing.TestUnitTestCaseInsensivity",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SUITE in item.path.parents and isinstance(item, pytest.Function):
            item.add_marker(pytest.mark.spark)
            name = f"{item.path.stem.removeprefix('test_suite_')}.{item.cls.__name__}"
            if name not in QUICK:
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
