"""What ends a JVM that outlives its command, and what the next command says of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from functional.warm.warm_project import WARM, WarmProject, is_alive, warm_project

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PYTHON = """
def model(dbt, session):
    {}
    return session.createDataFrame([(1,)], "id long")
"""
MODELS = {
    "idle": "select 1 as id",
    "jar": PYTHON.format("import os; session.sql('add jar ' + os.environ['A_JAR'])"),
    "hadoop": PYTHON.format("session.sparkContext._jsc.hadoopConfiguration().set('a.b', 'c')"),
    "property": PYTHON.format("session._jvm.java.lang.System.setProperty('http.proxyHost', 'p')"),
    "context": PYTHON.format("session.sparkContext._jsc.sc().stop()"),
    "memory": "{{ config(materialized='table') }} select repeat(cast(id as string), 2000000000)"
    " as v from range(1)",
}
START = "import sys; from alluvium.command.main import main; sys.exit(main(['engine', 'start']))"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmProject]:
    with warm_project(tmp_path_factory.mktemp("ends") / "my project") as made:
        made.write(**MODELS)
        yield made


def run(project: WarmProject, **env: str) -> str:
    return project.dbt("run", "--select", "idle", **env)


def warm(project: WarmProject) -> int:
    """The process of the project's JVM, which is started if there is none."""
    if project.state is None:
        run(project)
    return project.pid


def gone(pid: int, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while is_alive(pid):
        assert time.monotonic() < until, "it does not end"
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("jar", "changed for all: [the jars"),
        ("hadoop", "changed for all: [Hadoop's setting a.b]"),
        ("property", "changed for all: [Java's property http.proxyHost]"),
        ("memory", "it had run out of memory"),
        ("context", "its Spark context was stopped"),
    ],
)
def test_what_cannot_be_taken_back_ends_it(project: WarmProject, model: str, told: str) -> None:
    pid = warm(project)
    jar = next((project.home / "jars").resolve().glob("alluvium-*.jar"))
    process = project.start("run", "--select", model, A_JAR=str(jar))
    process.communicate(timeout=600)
    said = run(project)
    assert told in said
    assert project.pid != pid
    assert not is_alive(pid)


def test_another_environment_ends_it(project: WarmProject) -> None:
    pid = warm(project)
    assert "started with other `AWS_PROFILE`" in run(project, AWS_PROFILE="other")
    assert not is_alive(pid)
    assert "started with other `AWS_PROFILE`" in run(project)


def test_a_command_that_keeps_none_ends_it(project: WarmProject) -> None:
    pid = warm(project)
    project.profile("")
    assert "this command has no `keep_warm` in its profile" in run(project)
    assert not is_alive(pid)
    assert project.state is None
    project.profile(WARM)


def test_a_crash_is_told(project: WarmProject) -> None:
    pid = warm(project)
    os.kill(pid, signal.SIGKILL)
    gone(pid)
    assert "it crashed or was killed" in run(project)


def test_a_stop_and_a_signal_are_not_told(project: WarmProject) -> None:
    pid = warm(project)
    assert f"process {pid} since" in project.engine("status").stdout
    assert project.engine("stop").returncode == 0
    gone(pid)
    assert project.engine("status").returncode == 1
    assert "gone" not in run(project)
    pid = project.pid
    os.kill(pid, signal.SIGTERM)
    gone(pid)
    assert "gone" not in run(project)


def test_a_copied_home_leaves_it_alone(project: WarmProject) -> None:
    pid = warm(project)
    copy = project.folder.parent / "copy"
    shutil.copytree(project.folder, copy, symlinks=True)
    other = WarmProject.__new__(WarmProject)
    other.folder, other.home = copy, copy / ".alluvium"
    try:
        assert "gone" not in run(other)
        assert other.pid != pid
        assert is_alive(pid)
    finally:
        other.end()
    run(project)
    assert project.pid == pid


def test_its_time_is_over(project: WarmProject) -> None:
    project.profile(", engine: {keep_warm: 1 minute}")
    run(project)
    pid = project.pid
    time.sleep(40)
    assert is_alive(pid)
    gone(pid, 60)
    assert project.state is None
    assert "gone" not in run(project)
    # With its home it ends at once.
    pid = project.pid
    shutil.rmtree(project.home)
    gone(pid, 30)


def test_a_service_is_attached_to_and_stopped(tmp_path: Path) -> None:
    with warm_project(tmp_path / "p") as project:
        project.write(**MODELS)
        service = subprocess.Popen(
            [sys.executable, "-c", START],
            cwd=project.folder,
            env={**os.environ, "DBT_PROFILES_DIR": str(project.folder)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert service.stdout is not None
        assert "is ready: process" in service.stdout.readline()
        pid = project.pid
        run(project)
        assert project.pid == pid
        assert "a service" in project.engine("status").stdout
        service.send_signal(signal.SIGTERM)
        assert service.wait(60) == 0
        assert not is_alive(pid)
