"""One embedded home for the streaming tables, and a table for each test."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from functional.stream.bronze import REPO, Bronze

from alluvium.engine import session as engine

_names = itertools.count(1)


@pytest.fixture(scope="session")
def stream_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The embedded home of these tests; its jars are the checkout's own, resolved once."""
    path = tmp_path_factory.mktemp("home")
    jars = Path(os.environ.get("ALLUVIUM_TEST_JARS", REPO / ".alluvium/jars"))
    jars.mkdir(parents=True, exist_ok=True)
    (path / "jars").symlink_to(jars)
    yield path
    engine.stop()


@pytest.fixture
def make_bronze(stream_home: Path, tmp_path: Path) -> Callable[..., Bronze]:
    def make(**options: Any) -> Bronze:
        session = engine.new_session(engine.Settings(home=stream_home))
        session.sql("create schema if not exists bronze")
        return Bronze(tmp_path, session, f"bronze.t{next(_names)}", **options)

    return make
