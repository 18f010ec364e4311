"""What a process that runs in rounds asks of this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from alluvium.engine import home_lock, rounds

# Linux lets a process give itself a name of any bytes.
HOLDS = """
import ctypes, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(15, b"\\xff) R", 0, 0, 0)
held = b"x" * 150_000_000
print(len(held), flush=True)
sys.stdin.read()
"""
# A process between: memory of children's children counts.
BETWEEN = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLDS!r}])"


@pytest.mark.parametrize("by_ps", [False, True])
def test_memory_of_all_processes(by_ps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if by_ps:
        monkeypatch.setattr(Path, "exists", lambda self: False)
    before = rounds.resident()
    assert before is not None
    process = subprocess.Popen(
        [sys.executable, "-c", BETWEEN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"150000000\n"
        with_child = rounds.resident()
    finally:
        process.communicate()
    assert with_child is not None
    assert 150_000_000 < with_child - before < 400_000_000


def test_a_home_that_was_only_held_is_free_again(tmp_path: Path) -> None:
    home_lock.hold(tmp_path, 0, print)
    lock = str(tmp_path / "lock")
    asks = f"import fcntl; fcntl.flock(open({lock!r}), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    assert subprocess.run([sys.executable, "-c", asks], stderr=subprocess.DEVNULL).returncode == 1
    assert rounds.let_go()
    assert subprocess.run([sys.executable, "-c", asks]).returncode == 0
    home_lock.hold(tmp_path, 0, print)
    home_lock.let_go()
