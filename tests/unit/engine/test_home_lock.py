"""The lock of a home: who has it, who waits for it, and for how long."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from alluvium.engine import EngineError, home_lock

HOLDS = """
import fcntl, sys, time
lock = open(sys.argv[1], "a+")
fcntl.flock(lock, fcntl.LOCK_EX)
lock.truncate(0)
lock.write("process 99 (dbt build --selector daily)")
lock.flush()
print("has it", flush=True)
time.sleep(float(sys.argv[2]))
"""


@contextmanager
def held(home: Path, seconds: float) -> Iterator[None]:
    """Another process has the home for so long."""
    home.mkdir(exist_ok=True)
    command = [sys.executable, "-c", HOLDS, str(home / "lock"), str(seconds)]
    other = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert other.stdout is not None
    other.stdout.readline()
    try:
        yield
    finally:
        other.kill()
        other.communicate()


def test_who_waits_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["dbt", "run", "--vars", "{key: secret}", "-s", "a", "--args={key: secret}"]
    monkeypatch.setattr(sys, "argv", command)
    said: list[str] = []
    home = tmp_path / "home"
    with held(home, 0.4):
        home_lock.hold(home, 600, said.append)
    assert said[0] == (
        f"The home {home} is in use by process 99 (dbt build --selector daily): waiting up to"
        " 10 minutes for it to end"
    )
    assert said[1] == f"The home {home} is free after 0 seconds"
    # It is this process's from then on: the context takes what was held.
    held_by = (home / "lock").read_text()
    assert held_by == f"process {os.getpid()} (dbt run --vars … -s a --args …)"
    home_lock.hold(home, 0, said.append)
    home_lock.take(home, 0).close()
    home_lock.take(home, 0).close()
    assert len(said) == 2


@pytest.mark.parametrize(
    ("wait", "later", "accepted"),
    [
        (0, "", "`wait` in the profile, for example `wait: 10 minutes`;"),
        (0.3, ", also after 0 seconds", "a longer `wait` in the profile;"),
    ],
)
def test_who_does_not_get_it_is_told(
    tmp_path: Path, wait: float, later: str, accepted: str
) -> None:
    with held(tmp_path, 60):
        began = time.monotonic()
        with pytest.raises(EngineError) as error:
            home_lock.hold(tmp_path, wait, lambda _: None)
        assert wait <= time.monotonic() - began < 30
    message = str(error.value)
    assert f"in use by process 99 (dbt build --selector daily){later}. One process" in message
    assert f"accepted: {accepted}" in message
    home_lock.take(tmp_path, 0).close()
