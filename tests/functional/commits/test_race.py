"""Two processes commit to one table at once: each commit is one process's, none is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from functional.commits.race import Result, race

from alluvium.engine import log_store

pytestmark = [pytest.mark.spark, pytest.mark.slow]
NOTHING = Result(twice=0, nobodys=0, replaced=0, lost=0, doubled=0)


def test_two_processes(tmp_path: Path) -> None:
    assert race(tmp_path, log_store.CLASS, names=150, rows=15) == NOTHING


def test_two_processes_for_long(tmp_path: Path) -> None:
    assert race(tmp_path, log_store.CLASS, names=2000, rows=200) == NOTHING


@pytest.mark.skipif(not shutil.which("strace"), reason="a slow disk is made with strace")
@pytest.mark.parametrize("store", [log_store.CLASS, "io.delta.storage.HDFSLogStore"])
def test_a_slow_disk_parts_ours_from_deltas_own(tmp_path: Path, store: str) -> None:
    result = race(tmp_path, store, names=100, rows=40, slow=20)
    print(result)
    # With Delta's own the race can be lost: else this test would show nothing.
    assert (result == NOTHING) == (store == log_store.CLASS)
