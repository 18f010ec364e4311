"""Two processes commit to one table at once: each commit is one process's, none is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from functional.commits.race import Result, race

from alluvium.engine import log_store

pytestmark = pytest.mark.spark
NOTHING = Result(twice=0, nobodys=0, replaced=0, lost=0, doubled=0)


def test_two_processes(tmp_path: Path) -> None:
    assert race(tmp_path, log_store.CLASS, names=150, rows=50) == NOTHING


@pytest.mark.slow
def test_two_processes_for_long(tmp_path: Path) -> None:
    assert race(tmp_path, log_store.CLASS, names=3000, rows=1000) == NOTHING
