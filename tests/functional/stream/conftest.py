"""A landing folder and a streaming table for each test."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from functional.runner import new_session
from functional.stream.bronze import Bronze

_names = itertools.count(1)


@pytest.fixture
def make_bronze(home: Path, tmp_path: Path) -> Callable[..., Bronze]:
    def make(**options: Any) -> Bronze:
        session = new_session(home)
        session.sql("create schema if not exists bronze")
        return Bronze(tmp_path, session, f"bronze.t{next(_names)}", **options)

    return make
