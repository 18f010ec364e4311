"""A project whose engine outlives its commands, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from functional import delta_rs
from functional.runner import DBT, REPO, add_jars
from functional.warm_up import MODELS

PROJECT = """
name: p
profile: p
flags: {send_anonymous_usage_stats: false, use_colors: false}
"""
WARM = ", engine: {keep_warm: 5 minutes}"
PROFILE = (
    "p: {{target: dev, outputs: {{dev: {{type: alluvium, threads: 2,"
    " schema: \"{{{{ env_var('WARM_SCHEMA', 's') }}}}\"{more}}}}}}}\n"
)


class WarmProject:
    """A folder, its home, and what is known of the JVM there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = add_jars(folder / ".alluvium")
        (folder / "models").mkdir(parents=True)
        (folder / "dbt_project.yml").write_text(PROJECT)
        self.profile(WARM)

    def profile(self, more: str) -> None:
        (self.folder / "profiles.yml").write_text(PROFILE.format(more=more))

    def write(self, **models: str) -> None:
        """Models by name: SQL, or Python where they define `model`."""
        for name, text in models.items():
            kind = "py" if "def model(" in text else "sql"
            (self.folder / "models" / f"{name}.{kind}").write_text(text)

    def add_merged(self) -> None:
        """A merged candidate, its test, and what readers see of it."""
        for name, text in {"packages.yml": f"packages: [{{local: {REPO}}}]\n", **MODELS}.items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text(text)
        self.dbt("deps")

    def start(self, *words: str, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*DBT, *words],
            cwd=self.folder,
            env={**os.environ, "DBT_PROFILES_DIR": str(self.folder), **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            # A shell's background job ignores the interrupt, and so would all that it starts.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def dbt(self, *words: str, fails: bool = False, **env: str) -> str:
        process = self.start(*words, **env)
        said, _ = process.communicate(timeout=600)
        assert (process.returncode != 0) is fails, said
        return said

    def engine(self, word: str) -> subprocess.CompletedProcess[str]:
        command = "import sys; from alluvium.command.main import main; sys.exit(main())"
        return subprocess.run(
            [sys.executable, "-c", command, "engine", word],
            cwd=self.folder,
            env={**os.environ, "DBT_PROFILES_DIR": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=120,
        )

    @property
    def state(self) -> dict[str, Any] | None:
        path = self.home / "engine.json"
        return json.loads(path.read_text()) if path.exists() else None

    @property
    def pid(self) -> int:
        assert self.state is not None
        pid: int = self.state["pid"]
        return pid

    def rows(self, query: str) -> pd.DataFrame:
        """By delta-rs and DuckDB; `{s}` is the schema."""
        return delta_rs.read(self.home, query.replace("{s}", "s"))

    def wait_for(self, text: str, log: str = "logs", seconds: float = 120) -> None:
        """Until dbt's log says this."""
        path = self.folder / log / "dbt.log"
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if path.exists() and text in path.read_text():
                return
            time.sleep(0.05)
        raise AssertionError(f"{text!r} is not in {path}")

    def end(self) -> None:
        """End what a test leaves."""
        if self.state is not None:
            with_pid(self.pid)


def with_pid(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def warm_project(folder: Path) -> Iterator[WarmProject]:
    project = WarmProject(folder)
    try:
        yield project
    finally:
        project.end()
