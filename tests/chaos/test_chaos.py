"""Rounds of `make chaos-merge` and of `make chaos-compaction`, one of them with a kill."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from functional.runner import REPO, add_jars

pytestmark = pytest.mark.spark


def rounds_of(script: str, seeds: list[int], tmp_path: Path) -> list[dict[str, Any]]:
    results = tmp_path / "rounds.json"
    jars = add_jars(tmp_path / "home") / "jars"
    chaos = [sys.executable, str(REPO / "benchmarks" / script), "--seed", *map(str, seeds)]
    chaos += ["--jars", str(jars), "--results", str(results)]
    ran = subprocess.run(chaos, capture_output=True, text=True, timeout=580)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-3000:]
    rounds = json.loads(results.read_text())["rounds"]
    assert [one["seed"] for one in rounds] == seeds
    assert rounds[0]["kills"] == 1
    assert sum(one["others"] for one in rounds) > 0
    return rounds


# As many as have a kill and another writer; the third disturbs in another way.
@pytest.mark.parametrize("number", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_merges(tmp_path: Path, number: int) -> None:
    rounds = rounds_of("chaos_merge.py", [0, 1, 2][:number], tmp_path)
    assert [one["kind"] for one in rounds] == ["kill", "merge", "optimize"][:number]


@pytest.mark.parametrize("number", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_compactions(tmp_path: Path, number: int) -> None:
    rounds = rounds_of("chaos_compaction.py", [196, 199, 200][:number], tmp_path)
    assert [one["kind"] for one in rounds] == ["kill", "append", "merge"][:number]
    assert all(one["shared_merges"] for one in rounds)
    assert [bool(one["budget"]) for one in rounds] == [True, False, False][:number]
    assert [one["together"] for one in rounds] == [False, True, False][:number]
    assert [one["engine_merges"] for one in rounds] == [1, 1, 0][:number]
