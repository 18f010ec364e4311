"""Rounds of `make chaos-merge`, `chaos-compaction`, `chaos-feeds` and `chaos-cluster`, with kills.

Such a round has a JVM for the worker that is killed, one for whoever writes and reads meanwhile,
and for a merge the next worker's: it must begin without what the killed one knew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from functional.runner import REPO, add_jars
from support import postgres, s3

pytestmark = pytest.mark.spark


def rounds_of(script: str, seeds: list[int], tmp_path: Path) -> list[dict[str, Any]]:
    results = tmp_path / "rounds.json"
    jars = add_jars(tmp_path / "home") / "jars"
    chaos = [sys.executable, str(REPO / "benchmarks" / script), "--seed", *map(str, seeds)]
    chaos += ["--jars", str(jars), "--results", str(results)]
    path = {"PYTHONPATH": str(REPO / "tests")}
    ran = subprocess.run(
        chaos, capture_output=True, text=True, timeout=900, env={**os.environ, **path}
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr[-3000:]
    rounds: list[dict[str, Any]] = json.loads(results.read_text())["rounds"]
    assert [one["seed"] for one in rounds] == seeds
    return rounds


def assert_disturbed(rounds: list[dict[str, Any]], others: int) -> None:
    """The first by a kill, and all but so many by other writers."""
    assert rounds[0]["kills"] == 1
    assert all(one["others"] > 0 for one in rounds[others:])


@pytest.mark.parametrize("number", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_merges(tmp_path: Path, number: int) -> None:
    rounds = rounds_of("chaos_merge.py", [0, 1, 2][:number], tmp_path)
    assert [one["kind"] for one in rounds] == ["kill", "merge", "optimize"][:number]
    assert_disturbed(rounds, others=1)  # a round of merges with a kill has no other writers


@pytest.mark.slow
def test_compactions(tmp_path: Path) -> None:
    """Quick, and in one process: `test_killed_between_its_jobs_it_has_done_nothing`."""
    rounds = rounds_of("chaos_compaction.py", [196, 199, 200], tmp_path)
    assert [one["kind"] for one in rounds] == ["kill", "append", "merge"]
    assert_disturbed(rounds, others=0)
    assert all(one["shared_merges"] for one in rounds)
    assert [bool(one["budget"]) for one in rounds] == [True, False, False]
    assert [one["together"] for one in rounds] == [False, True, False]
    assert [one["engine_merges"] for one in rounds] == [1, 1, 0]


@pytest.mark.slow
def test_feeds(tmp_path: Path) -> None:
    """In a warm engine: a row breaks a test, and dbt is killed, while events come again."""
    rounds = rounds_of("chaos_feeds.py", [1, 3], tmp_path)
    found = [(one["kind"], one["change"]) for one in rounds]
    assert found == [("poison", "deleted"), ("kill_command", "again")]
    assert all(one["mode"] == "warm" and one["met"] and one["builds"] == 1 for one in rounds)


@pytest.mark.slow
@pytest.mark.network
def test_a_cluster(tmp_path: Path) -> None:
    """A worker dies in a merge, and S3 fails behind its commit."""
    try:
        postgres.programs()
        s3.check()
    except (postgres.MissingError, s3.MissingError) as missing:
        pytest.skip(str(missing))
    rounds = rounds_of("chaos_cluster.py", [6, 14], tmp_path)
    assert [(one["kind"], one["step"]) for one in rounds] == [("worker", "merge"), ("s3", "hooks")]
    assert all(one["met"] for one in rounds)
