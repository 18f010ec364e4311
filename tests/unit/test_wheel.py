"""What is installed: the wheel without the reference feeds; a clone with them and their command."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

REPO = Path(__file__).parents[2]


def test_the_wheel_has_no_feeds(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=REPO, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {"alluvium/engine/jars.py", "dbt/adapters/alluvium/verbs/merging.py"} <= set(names)
    assert [name for name in names if "demo" in name or "replay" in name] == []
    # All else that Git knows there.
    listed = subprocess.run(
        ["git", "ls-files", "src"], cwd=REPO, check=True, capture_output=True, text=True
    ).stdout.split()
    there = {path.removeprefix("src/") for path in listed if "/demo/" not in path}
    assert sorted(there - set(names)) == []


def test_a_clone_has_the_command(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("alluvium-replay")
    landing = tmp_path / "landing"
    told = subprocess.run(
        [command, "edits", "--hours", "1", "--landing", landing],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "edits" in told
    assert list((landing / "edits").rglob("*.jsonl"))
    # Of no entry point, which the wheel would have as well.
    assert "alluvium-replay" not in entry_points(group="console_scripts").names
