"""The lock of an embedded home: Derby admits one process, so the next one waits, or is told."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from alluvium.engine import EngineError
from alluvium.wording import span

_GIVEN = ("--vars", "--args")
# Seconds between two looks at a lock that another process has.
_LOOK = 0.2
# Of homes whose context is yet to start.
_held: dict[Path, IO[str]] = {}


def hold(home: Path, wait: float, say: Callable[[str], None]) -> None:
    """Take the lock of a home for the context that this process is going to start.

    Whoever calls it from the main thread can be interrupted while it waits. A thread of dbt's
    cannot.

    Args:
        wait: seconds to wait for another process; 0 for none.
        say: takes a line where it waits, and where it goes on.

    Raises:
        EngineError: another process has it, and did not let go in time.
    """
    if home not in _held:
        _held[home] = _taken(home, wait, say)


def take(home: Path, wait: float) -> IO[str]:
    """The lock that `hold` took, or the same done now; whoever closes it lets go of the home."""
    return _held.pop(home, None) or _taken(home, wait, _to_stderr)


def let_go() -> None:
    """Free what `hold` took for a context that was not asked for."""
    while _held:
        _held.popitem()[1].close()


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _taken(home: Path, wait: float, say: Callable[[str], None]) -> IO[str]:
    home.mkdir(parents=True, exist_ok=True)
    handle = (home / "lock").open("a+")
    try:
        _wait_for(handle, home, wait, say)
    except BaseException:
        handle.close()
        raise
    handle.truncate(0)
    handle.write(f"process {os.getpid()} ({_command(sys.argv)[:200]})")
    handle.flush()
    return handle


def _command(words: Sequence[str]) -> str:
    """A command as another user may see it: values that are given to it may be secrets."""
    shown = []
    rest = iter(words)
    for word in rest:
        option, given, _ = word.partition("=")
        if option in _GIVEN:
            word = f"{option} …"
            if not given:
                next(rest, None)
        shown.append(word)
    return " ".join(shown)


def _wait_for(handle: IO[str], home: Path, wait: float, say: Callable[[str], None]) -> None:
    began, told = time.monotonic(), ""
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass
        else:
            if told:
                say(f"The home {home} is free after {span(time.monotonic() - began)}")
            return
        handle.seek(0)
        holder = handle.read().strip() or "another process"
        if time.monotonic() - began >= wait:
            later = f", also after {span(wait)}" if wait else ""
            more = "a longer `wait` in the profile"
            if not wait:
                more = "`wait` in the profile, for example `wait: 10 minutes`"
            raise EngineError(
                f"The embedded home {home} is in use by {holder}{later}. One process at a time can"
                f" open it; accepted: {more}; another `home` there; or a shared metastore in"
                " `spark_conf`"
                " (spark.hadoop.javax.jdo.option.ConnectionURL)."
            )
        if holder != told:
            say(f"The home {home} is in use by {holder}: waiting up to {span(wait)} for it to end")
            told = holder
        time.sleep(_LOOK)
