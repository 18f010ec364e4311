"""Three rounds of `make chaos-merge` and of `make chaos-compaction`, one of them with a kill."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from functional.runner import REPO, add_jars

pytestmark = pytest.mark.spark


def three_rounds(script: str, tmp_path: Path) -> list[dict[str, Any]]:
    results = tmp_path / "rounds.json"
    jars = add_jars(tmp_path / "home") / "jars"
    chaos = [sys.executable, str(REPO / "benchmarks" / script), "--rounds", "3"]
    chaos += ["--seed", "0", "--jars", str(jars), "--results", str(results)]
    ran = subprocess.run(chaos, capture_output=True, text=True, timeout=580)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-3000:]
    rounds = json.loads(results.read_text())["rounds"]
    assert [one["seed"] for one in rounds] == [0, 1, 2]
    assert rounds[0]["kills"] == 1
    assert sum(one["others"] for one in rounds) > 0
    return rounds


def test_merges(tmp_path: Path) -> None:
    rounds = three_rounds("chaos_merge.py", tmp_path)
    assert [one["kind"] for one in rounds] == ["kill", "merge", "optimize"]


def test_compactions(tmp_path: Path) -> None:
    rounds = three_rounds("chaos_compaction.py", tmp_path)
    assert [one["kind"] for one in rounds] == ["kill", "delete", "optimize"]
    assert all(one["merges"] for one in rounds)
