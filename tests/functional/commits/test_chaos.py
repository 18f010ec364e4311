"""Three rounds of `make chaos-merge`: killed, beside another merge, beside a compaction."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from functional.runner import REPO, add_jars

pytestmark = pytest.mark.spark


def test_three_rounds(tmp_path: Path) -> None:
    results = tmp_path / "rounds.json"
    jars = add_jars(tmp_path / "home") / "jars"
    chaos = [sys.executable, str(REPO / "benchmarks" / "chaos_merge.py"), "--rounds", "3"]
    chaos += ["--seed", "0", "--jars", str(jars), "--results", str(results)]
    ran = subprocess.run(chaos, capture_output=True, text=True, timeout=580)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-3000:]
    rounds = json.loads(results.read_text())["rounds"]
    assert [(one["seed"], one["kind"]) for one in rounds] == [
        (0, "kill"),
        (1, "merge"),
        (2, "optimize"),
    ]
    assert rounds[0]["kills"] == 1
    assert sum(one["others"] for one in rounds) > 0
