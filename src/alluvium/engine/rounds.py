"""What a process that runs dbt in rounds does between two of them."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from alluvium.engine import home_lock, homes, warm
from alluvium.engine import session as engine

# Seconds that what loads beside dbt's parse may still need.
_BESIDE = 60.0
_DRIVER = "org.apache.derby.jdbc.EmbeddedDriver"

_is_on = False


def begin() -> None:
    """This process runs dbt in rounds from now on, and keeps its JVM itself."""
    global _is_on
    _is_on = True


def are_on() -> bool:
    return _is_on


def let_go() -> bool:
    """Free the home of this process until its next session; the JVM stays. Whether it is free.

    Nothing of this process may use Spark meanwhile. Where the metastore does not close, the home
    stays this process's.
    """
    for thread in threading.enumerate():
        if thread.name == engine.BESIDE:
            thread.join(_BESIDE)
    with engine._guard:
        home_lock.let_go()
        if engine._running is None:
            return True
        running = engine._running
        if running.lock is None or running.lock.closed:
            return True
        if not _close(running.session, homes.database(running.settings.home)):
            return False
        if running.engine_lock is not None:
            warm.free(running.engine_lock)
        running.lock.close()
        return True


def _close(session: SparkSession, database: Path) -> bool:
    """Let the JVM close the embedded metastore, which it opens again by itself; whether it did."""
    sign = database / "dbex.lck"  # is there while it is open
    if sign.exists():
        with suppress(Py4JError):  # how Derby says yes, and no
            jvm: Any = session._jvm
            client = session._jsparkSession.sharedState().externalCatalog().unwrapped().client()
            # That of Hive's client: it may know another Derby than py4j does.
            loader = client.clientLoader().classLoader()
            driver = jvm.java.lang.Class.forName(_DRIVER, True, loader).newInstance()
            url = f"jdbc:derby:;databaseName={database};shutdown=true"
            driver.connect(url, jvm.java.util.Properties())
    return not sign.exists()


def end_if_lost() -> bool:
    """Forget a JVM or a context that has ended by itself; whether one had.

    The next session starts another. A JVM ends itself where its memory does not suffice.
    """
    running = engine._running
    if running is None:
        return False
    process = getattr(SparkContext._gateway, "proc", None)
    is_there = process is None or process.poll() is None
    if is_there and not _is_stopped(running.session):
        return False
    engine.stop()
    return True


def _is_stopped(session: SparkSession) -> bool:
    try:
        context: Any = session.sparkContext
        return bool(context._jsc.sc().isStopped())
    except (Py4JError, AttributeError):  # PySpark has noticed
        return True


def heap() -> int | None:
    """Bytes of the JVM's heap in use; None without one."""
    running = engine._running
    if running is None:
        return None
    jvm: Any = running.session._jvm
    runtime = jvm.java.lang.Runtime.getRuntime()
    return int(runtime.totalMemory()) - int(runtime.freeMemory())


def resident() -> int | None:
    """Bytes of memory that this process and those that it started hold; None where nobody says."""
    try:
        sizes = dict(_sizes())
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    own = _family(os.getpid(), ((one, parent) for one, (parent, _) in sizes.items()))
    return sum(size for one, (_, size) in sizes.items() if one in own)


def _sizes() -> Iterator[tuple[int, tuple[int, int]]]:
    """Of each process its parent, and the bytes that it holds."""
    page = os.sysconf("SC_PAGE_SIZE")
    folder = Path("/proc")
    if (folder / "self/stat").exists():
        for one in folder.iterdir():
            if one.name.isdecimal():
                try:
                    # The name of a program may hold blanks, brackets and bytes of no text.
                    fields = (one / "stat").read_bytes().rpartition(b")")[2].split()
                except OSError:  # it has ended
                    continue
                yield int(one.name), (int(fields[1]), int(fields[21]) * page)
        return
    listed = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,rss="], capture_output=True, text=True, check=True
    )
    for line in listed.stdout.splitlines():
        number, parent, size = map(int, line.split())
        yield number, (parent, size * 1024)


def _family(first: int, parents: Iterable[tuple[int, int]]) -> set[int]:
    """A process and all below it; parents: each process with its parent."""
    known, pairs = {first}, list(parents)
    while more := {one for one, parent in pairs if parent in known} - known:
        known |= more
    return known
