"""The one Spark context of this process, and a session of its own for whoever asks.

Everything embedded lives under `home`: jars, metastore (Derby), warehouse, scratch and logs.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from pyspark import SparkContext
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession

from alluvium.engine import (
    EngineError,
    executors,
    home_lock,
    homes,
    jars,
    java,
    own_jar,
    process,
    properties,
    s3,
    versions,
    warm,
)
from alluvium.engine.context import WAREHOUSE, conf_of
from alluvium.engine.context import Settings as Settings


@dataclass(frozen=True)
class _Running:
    """The context of this process.

    lock: of its home, if it has one to itself.
    engine_lock: that the JVM holds as long as it lives, where this process started it.
    line: that a JVM lives by which outlives this process.
    is_attached: whether another process started it.
    """

    settings: Settings
    session: SparkSession
    lock: IO[str] | None
    engine_lock: IO[str] | None = None
    line: warm.Line | None = None
    is_attached: bool = False


# The name of threads that `start_in_background` starts.
BESIDE = "alluvium-start"

_guard = threading.Lock()
_running: _Running | None = None
_notices: list[str] = []


def new_session(settings: Settings, say: Callable[[str], None] = _notices.append) -> SparkSession:
    """A fresh session (own temp views, conf and current schema) over the process's context.

    The context is started at the first call. Another `settings` in the same process replaces it.

    Args:
        say: takes a line about a start that takes long.

    Raises:
        EngineError: Java or the jars are missing, another process holds the home, Spark does not
            start, or its cluster gives no executor.
    """
    global _running
    with _guard:
        if _running is None or _running.settings != settings:
            stop_locked()
            _running = _start(settings, say)
        elif has_let_go():
            _running = _back(_running)
        return _running.session.newSession()


def has_let_go() -> bool:
    """Whether the context runs, and left its home to others meanwhile (`rounds.let_go`)."""
    return _running is not None and _running.lock is not None and _running.lock.closed


def _back(running: _Running) -> _Running:
    """The context with its home, which others had meanwhile."""
    settings = running.settings
    lock = home_lock.take(settings.home, settings.wait)
    try:
        # Another command may have left a JVM that waits for the next one.
        said = warm.meet(settings.home, None, 0)
        _notices.extend([said] if isinstance(said, str) and said else [])
        if running.engine_lock is not None:
            warm.hold(settings.home, running.engine_lock)
    except BaseException:
        lock.close()
        raise
    return replace(running, lock=lock)


def hold(settings: Settings, say: Callable[[str], None]) -> None:
    """Wait in the caller's thread until no other process has the home open, and keep it open.

    Raises:
        EngineError: another process has it, and did not let go in time.
    """
    # A thread of this process may be about to start the context, which takes the home.
    if settings.embedded_metastore and _guard.acquire(blocking=False):
        try:
            if _running is None or _running.settings.home != settings.home or has_let_go():
                home_lock.hold(settings.home, settings.wait, say)
        finally:
            _guard.release()


def start_in_background(settings: Settings, say: Callable[[str], None], *, writes: bool) -> None:
    """Start the context while the caller does something else, and load what comes next.

    The first use of the metastore and of Delta costs seconds of class loading each. Here both are
    paid at once, beside the caller's own work. `new_session` waits for the context and reports what
    went wrong with it.

    say: takes a line about a start that takes long.
    writes: the caller is going to write tables.
    """

    if _running is not None and _running.settings == settings:
        return

    def work(first: Callable[[SparkSession], Any], *others: Callable[[SparkSession], Any]) -> None:
        with contextlib.suppress(Exception):  # a start that failed is not tried once more for each
            session = new_session(settings, say)
            if _running is not None and _running.is_attached:
                return  # all of that is there
            for other in others:
                threading.Thread(target=work, args=(other,), name=BESIDE, daemon=True).start()
            first(session)

    def write(session: SparkSession) -> None:
        path = settings.home / "scratch" / "warm"
        session.range(1).write.format("delta").mode("overwrite").save(str(path))

    tasks = [lambda session: session.sql("show databases").collect()]
    if writes and settings.is_local:  # executors elsewhere would write to disks of their own
        tasks.append(write)
    threading.Thread(target=work, args=tasks, name=BESIDE, daemon=True).start()


def stop() -> None:
    """Stop the context, if one runs, and let go of its home."""
    with _guard:
        stop_locked()


def _at_exit() -> None:
    # A context that is still starting ends with this process: its standard input closes.
    if _guard.acquire(blocking=False):
        try:
            stop_locked(is_exit=True)
        finally:
            _guard.release()


def stop_locked(*, is_exit: bool = False) -> None:
    global _running
    if _running is not None:
        was, _running = _running, None
        if was.line is not None:
            try:
                was.line.goodbye()
                process.leave(is_exit=is_exit)
            finally:
                was.line.close()
        else:
            with contextlib.suppress(Exception):
                was.session.stop()
            process.end()
        for lock in (was.engine_lock, was.lock):
            if lock is not None:
                lock.close()


atexit.register(_at_exit)


def _start(settings: Settings, say: Callable[[str], None], *, is_service: bool = False) -> _Running:
    versions.check()
    for folder in ("warehouse", "metastore", "scratch", "logs"):
        (settings.home / folder).mkdir(parents=True, exist_ok=True)
    if settings.is_local:
        # Spark's own choice is the first python3 of PATH, which may not have what this one has.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    lock = home_lock.take(settings.home, settings.wait) if settings.embedded_metastore else None
    try:
        has_s3 = properties.names_s3(settings.conf)
        paths = jars.resolve(settings.home, packages=list(settings.packages), s3a=has_s3)
        paths.append(own_jar.jar(settings.home, paths))
        conf = conf_of(settings, paths)
        running = None if lock is None else _attach(settings, conf, lock)
        if running is None:
            running = _launch(settings, conf, lock, say, is_service=is_service)
        if has_s3 and settings.single_writer:
            _notices.append(
                "`single_writer: true` in the profile: commits to s3a:// are not kept apart. Where"
                " another process writes to these tables, commits get lost."
            )
    except BaseException:
        if lock is not None:
            lock.close()
        raise
    # PySpark prints every failed statement with its JVM stack, and asks Spark for the text: for
    # Delta's own errors that fails and hides them. Whoever ran the statement reports the failure.
    CapturedException._log_exception = lambda self: None  # type: ignore[method-assign]
    return running


def _attach(settings: Settings, conf: dict[str, str], lock: IO[str]) -> _Running | None:
    """The JVM that an earlier command left, or None: it may not be this one's, and is gone."""
    wanted = warm.parts(settings.home, conf) if settings.keep_warm else None
    found = warm.meet(settings.home, wanted, settings.keep_warm)
    if isinstance(found, str):
        _notices.extend([found] if found else [])
        return None
    state, line = found
    try:
        session = process.attach(state.gateway, state.secret)
        _tell_of_move(settings.home)
        return _Running(settings, session, lock, line=line, is_attached=True)
    except BaseException:
        line.close()
        raise


def serve(settings: Settings, say: Callable[[str], None]) -> int:
    """Start a JVM that other commands attach to, and wait until it ends.

    SIGTERM and Ctrl-C end it, once the command that has it is out.

    Args:
        say: takes a line.

    Returns:
        0 where it was asked to end, 1 where it ended by itself.

    Raises:
        EngineError: it cannot start, or the home has one.
    """
    global _running
    home = settings.home
    home.mkdir(parents=True, exist_ok=True)
    if warm.is_held(home):
        raise EngineError(
            f"The home {home} has an engine. Accepted: `alluvium engine stop` before this"
        )
    with _guard:
        running = _running = _start(settings, say, is_service=True)
    if running.line is None:
        raise EngineError("; ".join(notices()))
    gateway: Any = SparkContext._gateway
    running.session.sql("show databases").collect()
    with _guard:
        stop_locked()
    state = warm.read(home)
    was_asked = False

    def stop(*_: object) -> None:
        nonlocal was_asked
        was_asked = True
        if state is not None:
            with contextlib.suppress(OSError):
                warm.ask(state, "stop")

    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, stop)
    say(f"The engine of {home} is ready: process {gateway.proc.pid}")
    gateway.proc.wait()
    word = warm.word(home)
    say(f"The engine of {home} has ended" + (f": {word}" if word else ""))
    return 0 if was_asked or word is None else 1


def _launch(
    settings: Settings,
    conf: dict[str, str],
    lock: IO[str] | None,
    say: Callable[[str], None],
    *,
    is_service: bool,
) -> _Running:
    java.check()
    home, log = settings.home, settings.home / "logs" / "spark.log"
    on_s3 = s3.warehouse(settings.conf)
    is_warm = lock is not None and settings.keep_warm > 0
    builder = SparkSession.builder
    for key, value in conf.items():
        builder = builder.config(key, value)
    with contextlib.ExitStack() as opened:
        engine_lock = None
        if lock is not None:
            homes.remove_half_made(home)
            engine_lock = opened.enter_context(warm.opened(home))
        try:
            builder = builder.enableHiveSupport()
            process.start(builder._options, log, engine_lock, is_warm=is_warm)
            if on_s3 is not None:
                on_s3.is_read(SparkContext._jvm)
            session = builder.getOrCreate()
        except BaseException as error:
            process.end()  # its lock would keep the next try of this process waiting
            if isinstance(error, EngineError) or not isinstance(error, Exception):
                raise
            raise EngineError(f"Spark did not start: {error}\nIts log is {log}.") from error
        with _ended_by_errors(session):
            if lock is not None:
                _settle(settings, session)
            if not settings.is_local:
                executors.wait(session, settings.executors_within, say)
        if not is_warm:
            opened.pop_all()
            return _Running(settings, session, lock, engine_lock)
    # The lock is closed here: the JVM alone has it open, also once this process is out.
    line = None
    try:
        made_of = warm.parts(home, conf)
        line = warm.keep(session, home, made_of, settings.keep_warm, is_service=is_service)
    except Exception as error:
        _notices.append(f"The engine of {home} ends with this command: {error}")
    return _Running(settings, session, lock, line=line)


@contextlib.contextmanager
def _ended_by_errors(session: SparkSession) -> Iterator[None]:
    """End the context, and its JVM, where what follows its start fails."""
    try:
        yield
    except BaseException:
        session.stop()
        process.end()
        raise


def _settle(settings: Settings, session: SparkSession) -> None:
    """Keep a home that was copied from the tables of the original."""
    home = settings.home
    own_warehouse = WAREHOUSE not in settings.conf
    said = homes.settle(session, home, own_warehouse=own_warehouse)
    if said is not None:
        _notices.append(said)
    _tell_of_move(home)


def _tell_of_move(home: Path) -> None:
    old = homes.moved_from(home)
    if old is not None:
        _notices.append(
            f"Clones and published tables of {home} may still show files of {old}, from where it"
            " was moved or copied. `dbt run-operation alluvium.recover` says which. With"
            " `dry_run: false` they show those of this home."
        )


def notices() -> list[str]:
    """What whoever started Spark should be told, once."""
    said = list(_notices)
    _notices.clear()
    return said
