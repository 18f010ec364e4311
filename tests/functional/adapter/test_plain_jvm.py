"""A build in a process and a JVM as users have them: all others start quicker (`quick_java.py`)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from functional import quick_java
from functional.runner import DBT, add_jars
from functional.warm_up import small_project

pytestmark = pytest.mark.spark


def test_a_build(tmp_path: Path) -> None:
    project = small_project(tmp_path / "project", add_jars(tmp_path / "home"), "plain")
    env = {name: value for name, value in os.environ.items() if name != quick_java.OPTIONS}
    folders = ["--project-dir", str(project.root), "--profiles-dir", str(project.root)]
    ran = subprocess.run(
        [*DBT, "build", "--no-use-colors", *folders], env=env, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout
    assert "items: 1 test passed → version" in ran.stdout
    for table in ("items_wap", "items"):
        ids = project.read(f"select id from {{s}}.{table} order by id")["id"]
        assert ids.tolist() == list(range(9))
    # A compiler of one tier is the mark of the quick ones.
    assert "TieredStopAtLevel" in os.environ[quick_java.OPTIONS]
