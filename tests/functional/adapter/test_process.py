"""dbt as its own process: what it prints, what it leaves behind, what a second one is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from functional.runner import DBT

# The list of databases that dbt shows leaves out packages that are installed editable.
CHOICE = "from dbt.task.init import InitTask as T; T.ask_for_adapter_choice = lambda _: 'alluvium'"
INIT = [sys.executable, "-c", f"{CHOICE}; from dbt.cli.main import cli; cli()"]
PROJECT = "name: p\nprofile: p\nflags: {send_anonymous_usage_stats: false}\n"
PROFILE = "p: {target: dev, outputs: {dev: {type: alluvium, schema: s}}}\n"

SLOW_MODEL = """
def model(dbt, session):
    from pyspark.sql import functions as F

    wait = F.udf(lambda value: __import__("time").sleep(600) or value, "long")
    return session.range(1).select(wait("id").alias("id"))
"""


@pytest.fixture
def folder(tmp_path: Path, home: Path) -> Path:
    """A project with nothing but its models; its home has the jars."""
    path = tmp_path / "my project"
    (path / "models").mkdir(parents=True)
    (path / "models" / "one.sql").write_text("{{ config(materialized='table') }} select 1 as id")
    (path / "dbt_project.yml").write_text(PROJECT)
    (path / "profiles.yml").write_text(PROFILE)
    (path / ".alluvium").mkdir()
    (path / ".alluvium" / "jars").symlink_to((home / "jars").resolve())
    return path


def start(folder: Path, *args: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*DBT, *args],
        cwd=folder,
        env={**os.environ, "DBT_PROFILES_DIR": str(folder), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # A shell's background job ignores the interrupt, and so would all that it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def dbt(folder: Path, *args: str, **env: str) -> str:
    process = start(folder, *args, **env)
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 0, out
    return out


def wait_for(path: Path, text: str, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if path.exists() and text in path.read_text():
            return
        time.sleep(0.2)
    raise AssertionError(f"{text!r} not in {path}")


@pytest.mark.spark
@pytest.mark.slow
class TestProcess:
    def test_one_home_from_its_first_process_on(self, folder):
        """What is under it, what `debug` shows, and what an interrupt ends: a process each."""
        # As a process leaves it that was killed while it made the metastore: it is made anew.
        (folder / ".alluvium" / "metastore" / "db" / "seg0").mkdir(parents=True)
        out = dbt(folder, "run", "--no-use-colors", TZ="Asia/Tokyo")
        assert "1 of 1 OK created sql table model s.one" in out
        assert "PASS=1" in out
        assert "WARN" not in out.replace("WARN=0", "")  # the JVM's chatter is in its log
        found = {path.name for path in folder.iterdir()}
        assert found - {"target", "logs", ".user.yml"} == {
            *(".alluvium", "models", "dbt_project.yml", "profiles.yml")
        }
        assert (folder / ".alluvium" / "warehouse" / "s.db" / "one" / "_delta_log").is_dir()

        out = dbt(folder, "debug", "--no-use-colors")
        assert "spark: 4.2.0" in out
        assert "delta: 4.4.0" in out
        assert "java: " in out
        assert "warehouse: .alluvium/warehouse" in out
        assert "All checks passed!" in out

        # The new metastore serves later processes, too.
        (folder / "models" / "slow.py").write_text(SLOW_MODEL)
        select = ["--select", "one", "slow", "--threads", "1"]
        process = start(folder, "run", "--no-use-colors", *select)
        try:
            wait_for(folder / "logs" / "dbt.log", "slow: running for 1")
            os.kill(process.pid, signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        finally:
            with_children_gone(process)
        assert "OK created sql table model s.one" in out
        assert "CANCEL query model.p.slow" in out
        assert process.returncode != 0

    def test_second_process_is_told_or_waits_and_a_crash_leaves_no_lock(self, folder):
        (folder / "models" / "slow.py").write_text(SLOW_MODEL)
        first = start(folder, "run", "--select", "slow")
        try:
            wait_for(folder / "logs" / "dbt.log", "START python table model")
            # Of all commands `clone` alone may end well where it cannot connect.
            folders = ("--state", "target", "--target-path", "target2", "--log-path", "logs2")
            second = start(folder, "clone", "--select", "one", *folders)
            out, _ = second.communicate(timeout=300)
            assert second.returncode == 2
            assert f"is in use by process {first.pid}" in out
            assert "One process at a time can open it" in out
            assert "Traceback" not in out
            # Where the profile says so, it waits; it ends by an interrupt, or with the first one.
            (folder / "profiles.yml").write_text(PROFILE.replace("s}", "s, wait: 10 minutes}"))
            waits = [
                start(folder, *command, "--no-use-colors", "--select", "one", "--log-path", logs)
                for *command, logs in (("compile", "--no-introspect", "logs3"), ("run", "logs4"))
            ]
            for process, logs in zip(waits, ("logs3", "logs4"), strict=True):
                wait_for(folder / logs / "dbt.log", "waiting up to 10 minutes for it to end")
                if logs == "logs3":
                    os.kill(process.pid, signal.SIGINT)
                    out, _ = process.communicate(timeout=60)
                    assert "interrupted while it waited; nothing was run" in out
                    assert "Traceback" not in out
                    assert process.returncode != 0
        finally:
            os.killpg(first.pid, signal.SIGKILL)
            first.wait()
        out, _ = waits[1].communicate(timeout=300)
        assert "is free after" in out
        assert "PASS=1" in out


def with_children_gone(process: subprocess.Popen[str]) -> None:
    """End what a failed test would leave: the group is this test's own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


@pytest.mark.spark
@pytest.mark.slow
def test_init_writes_a_profile_that_works(tmp_path: Path, home: Path) -> None:
    profiles = tmp_path / "profiles"
    profiles.mkdir()
    process = subprocess.run(
        [*INIT, "init", "fresh", "--profiles-dir", str(profiles)],
        cwd=tmp_path,
        env={**os.environ, "DBT_PROFILES_DIR": str(profiles)},
        input="my_schema\n3\n",
        capture_output=True,
        text=True,
        timeout=300,
    )
    text = (profiles / "profiles.yml").read_text()
    assert process.returncode == 0, process.stdout + process.stderr
    assert "type: alluvium" in text
    assert "schema: my_schema" in text
    assert "threads: 3" in text
    jars = tmp_path / "fresh" / ".alluvium" / "jars"
    jars.parent.mkdir()
    jars.symlink_to((home / "jars").resolve())
    out = dbt(tmp_path / "fresh", "debug", "--no-use-colors", DBT_PROFILES_DIR=str(profiles))
    assert "All checks passed!" in out


@pytest.mark.slow
def test_another_home_in_one_process(tmp_path: Path, home: Path) -> None:
    """Every thread sees the tables of the home that was asked for last."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "jars").symlink_to((home / "jars").resolve())
    code = """
import sys, threading
from pathlib import Path
from alluvium.engine.session import Settings, new_session

def schemas(name):
    session = new_session(Settings(home=Path(sys.argv[1], name)))
    session.sql(f"create schema if not exists {name}")
    found.append([row[0] for row in session.sql("show schemas").collect()])

found = []
schemas("one")
thread = threading.Thread(target=schemas, args=("two",))
thread.start()
thread.join()
schemas("two")
print(found)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    one, two = ["default", "one"], ["default", "two"]
    assert done.stdout.strip() == str([one, two, two])
