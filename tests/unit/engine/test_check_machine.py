"""`scripts/check-machine`, which `make` asks before there is any Python of ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).parents[3]


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run it with these folders and what the shell itself needs on PATH, beside an environment."""
    tools, venv = tmp_path / "tools", tmp_path / ".venv/bin"
    for folder in (tools, venv):
        folder.mkdir(parents=True)
    (venv / "python").symlink_to(sys.executable)
    for name in ("sh", "cat", "sed", "head"):
        (tools / name).symlink_to(str(shutil.which(name)))

    def run(*path: Path, **env: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": ":".join(map(str, [*path, tools])), "PYTHON": sys.executable, **env}
        script = REPO / "scripts/check-machine"
        return subprocess.run([script], cwd=tmp_path, env=env, capture_output=True, text=True)

    return run


@pytest.mark.parametrize("version", ["17", "17.0.15", "21-ea", "21.0.2"])
def test_accepted(check: Callable[..., Any], fake_java: Callable[..., Path], version: str) -> None:
    ran = check(fake_java(f'openjdk version "{version}" 2025-04-15') / "bin")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"{sys.executable}\n", "")


def refused(ran: subprocess.CompletedProcess[str]) -> str:
    """The one sentence on standard error."""
    assert (ran.returncode, ran.stdout) == (1, "")
    [line] = ran.stderr.splitlines()
    assert line.endswith(".")
    return line


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2", "20.0.1", "25"])
def test_another_java(
    check: Callable[..., Any], fake_java: Callable[..., Path], version: str
) -> None:
    home = fake_java(f'openjdk version "{version}"')
    line = refused(check(home / "bin"))
    assert f"Spark needs Java 17 or 21 and the java on PATH is {version}: install" in line
    # Spark would start this one too, whatever PATH says.
    line = refused(check(fake_java('openjdk version "17.0.1"') / "bin", JAVA_HOME=str(home)))
    assert f"the Java of JAVA_HOME ({home}) is {version}: install one of them" in line


def test_no_java(check: Callable[..., Any], fake_java: Callable[..., Path], tmp_path: Path) -> None:
    for ran in (
        check(),
        check(JAVA_HOME=str(tmp_path)),
        check(fake_java("Error occurred during initialization of VM", 1) / "bin"),
    ):
        line = refused(ran)
        assert line.startswith("No Java was found (")
        assert line.endswith(" install Java 17 or 21 and set JAVA_HOME or PATH to it.")


def test_no_python(check: Callable[..., Any]) -> None:
    line = refused(check(PYTHON="python-of-nobody"))
    assert line.startswith("Python 3.11 or later was not found (python-of-nobody on PATH): install")


@pytest.mark.parametrize("target", ["run", "test", "setup"])
def test_make_looks_at_the_machine_before_anything_else(target: str) -> None:
    env = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    env.pop("MFLAGS", None)
    said = subprocess.run(
        ["make", "-n", target], cwd=REPO, env=env, capture_output=True, text=True, check=True
    )
    assert said.stdout.splitlines()[0] == "scripts/check-machine >/dev/null"
