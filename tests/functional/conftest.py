"""One embedded home, and so one Spark context, for the tests of a folder that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from functional.runner import add_jars

from alluvium.engine import session as engine


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield add_jars(tmp_path_factory.mktemp("home"))
    engine.stop()
