"""A JVM that outlives its command, and the next command of the home attaches to.

Whoever looks here has the lock of the home, so one command at a time does. The JVM holds a lock of
its own as long as it lives: the lock of a file that it got open. What it is, and where it listens,
is in a file beside it. Both are the home's, so a copy of the home knows of no JVM.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import socket
import stat
import sys
import threading
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import IO, Any

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from alluvium.engine import EngineError, java, jvm
from alluvium.engine.attaching import (
    Address,
    Here,
    JvmState,
    Verdict,
    Way,
    decide,
    of_environment,
    salted,
)

STATE, LOCK, ENDED, NO_MEMORY = "engine.json", "engine.lock", "engine.ended", "engine.oom"
_JAVA = "alluvium.WarmEngine"

# Seconds: to connect, and for an answer; for what an earlier command began to end, as the JVM has
# it, and some; for a JVM to be gone; for others to look at its lock; between two looks.
_TO_ANSWER = 10.0
_TO_GO = 45.0
_TO_END = 60.0
_TO_LOOK = 1.0
_LOOK = 0.05
# Seconds after which a wait as the process goes out is told of.
_PATIENCE = 3.0


class Line:
    """The connection that a JVM lives by, or one that asks it something."""

    def __init__(self, address: Address) -> None:
        self._secret = address.secret
        self._socket = socket.create_connection(("127.0.0.1", address.port), _TO_ANSWER)

    def ask(self, *words: object, seconds: float = _TO_ANSWER) -> str:
        """The answer to a first line; empty where the JVM is gone."""
        return self._sent(" ".join([self._secret, *map(str, words)]), seconds)

    def goodbye(self) -> None:
        """Let go of the JVM, once what this process began there is over.

        What does not end in time, or breaks the connection, ends the JVM: it sees to that.
        """
        slow = threading.Timer(_PATIENCE, _say_that_it_waits)
        slow.daemon = True
        slow.start()
        try:
            with contextlib.suppress(OSError, KeyboardInterrupt):
                self._sent("bye", _TO_GO)
        finally:
            slow.cancel()

    def _sent(self, line: str, seconds: float) -> str:
        self._socket.settimeout(seconds)
        self._socket.sendall(f"{line}\n".encode())
        found = b""
        while not found.endswith(b"\n"):
            more = self._socket.recv(1024)
            if not more:
                return ""
            found += more
        return found.decode().strip()

    def close(self) -> None:
        self._socket.close()


def _say_that_it_waits() -> None:
    line = "something still runs in the engine; it has 30 seconds to end"
    print(line, file=sys.stderr, flush=True)


def parts(home: Path, conf: Mapping[str, str]) -> dict[str, str]:
    """What decides what a JVM is that this process would start with these settings of Spark."""
    program = java.place(os.environ)
    found = {
        "umask": _mode_of_new(home),
        "working directory": str(Path.cwd()),
        "version of Alluvium": metadata.version("dbt-alluvium"),
        "Python": f"{sys.version} {sys.executable}",
        "Java": "" if program is None else _file(program),
    }
    found |= {f"`{key}`": value for key, value in conf.items() if key != "spark.jars"}
    jars = conf["spark.jars"].split(",")
    found["jars"] = ",".join(map(_file, jars))
    environment = of_environment(os.environ)
    return found | {f"`{name}`": value for name, value in environment.items()}


def _mode_of_new(home: Path) -> str:
    # To ask for the mask is to set it, for the other threads of this process too.
    path = home / f"engine.mask.{os.getpid()}"
    path.unlink(missing_ok=True)
    path.touch(0o777)
    mode = path.stat().st_mode
    path.unlink()
    return f"{mode:o}"


def _file(name: str | Path) -> str:
    path = Path(name).resolve()
    found = path.stat()
    return f"{path} {found.st_size} {found.st_mtime_ns}"


def meet(home: Path, wanted: Mapping[str, str] | None, keep: float) -> tuple[JvmState, Line] | str:
    """Attach to the JVM of the home; where that may not be, wait until it is gone.

    Args:
        wanted: `parts`; None for a command that keeps no JVM.
        keep: seconds that it stays when this command is out.

    Returns:
        The JVM and the connection that it lives by; or what is to be told of one that is gone,
        empty for nothing.

    Raises:
        EngineError: it is somebody else's, or does not end.
    """
    state = read(home)
    verdict = decide(state, here(home), wanted, is_held=is_held(home), word=word(home))
    if verdict.way is Way.REFUSE:
        raise EngineError(
            f"The home {home} has a warm engine: {verdict.why}. Accepted: `alluvium engine stop` by"
            " them, there; or another `home` in the profile."
        )
    if state is not None and verdict.way is Way.ATTACH:
        line = _attached(state, keep)
        if line is not None:
            return state, line
        verdict = Verdict(Way.WAIT)
    other = address(home) if state is None and verdict.way is Way.WAIT else None
    if other is not None:
        verdict = Verdict(Way.END, "it is of another release of Alluvium")
    asked = state or other
    if asked is not None and verdict.way is Way.END:
        with contextlib.suppress(OSError):
            ask(asked, "stop")
    if verdict.way is not Way.START:
        wait_until_gone(home, state)
    why = word(home) or verdict.why
    for name in (STATE, ENDED, NO_MEMORY):
        (home / name).unlink(missing_ok=True)
    if verdict.way is Way.WAIT and state is not None and not why:
        why = "it was about to end"
    return f"The warm engine of {home} is gone, as {why}: this command starts Spark" if why else ""


def _attached(state: JvmState, keep: float) -> Line | None:
    try:
        line = Line(state)
    except OSError:
        return None
    try:
        # What an earlier command left is put away first.
        if line.ask("attach", int(keep), seconds=_TO_GO) == "yes":
            return line
    except OSError:
        pass
    line.close()
    return None


def ask(address: Address, word: str) -> str:
    """What the JVM answers to a word; empty where it is gone."""
    line = Line(address)
    try:
        return line.ask(word)
    finally:
        line.close()


def here(home: Path) -> Here:
    found = home.stat()
    return Here(socket.gethostname(), os.getuid(), str(home), f"{found.st_dev}:{found.st_ino}")


def read(home: Path) -> JvmState | None:
    """What the file of the home says of its JVM; None where there is none, or of another release.

    Raises:
        EngineError: it is another user's.
    """
    return JvmState.read(_noted(home))


def address(home: Path) -> Address | None:
    """Where the JVM of the home is asked, also one of another release; None where nothing says it.

    Raises:
        EngineError: it is another user's.
    """
    return Address.of(_noted(home))


def _noted(home: Path) -> str:
    path = home / STATE
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""
    except PermissionError as error:
        raise EngineError(
            f"The home {home} has a warm engine of user {path.stat().st_uid}: {error}. Accepted:"
            " `alluvium engine stop` by them; or another `home` in the profile."
        ) from error


def write(home: Path, state: JvmState) -> None:
    """Say what the JVM is: at once, and to this user alone."""
    draft = home / f"{STATE}.new"
    draft.unlink(missing_ok=True)
    mode = stat.S_IRUSR | stat.S_IWUSR
    with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "w") as file:
        file.write(state.text())
    draft.replace(home / STATE)


def opened(home: Path) -> IO[str]:
    """The lock of a JVM that is about to start; whoever has it open holds it.

    Raises:
        EngineError: an earlier JVM of the home does not end.
    """
    handle = (home / LOCK).open("a+")
    try:
        hold(home, handle)
    except EngineError:
        handle.close()
        raise
    return handle


def hold(home: Path, handle: IO[str]) -> None:
    """Lock what was opened before, for all that have it open.

    Raises:
        EngineError: another JVM of the home does not end.
    """
    until = time.monotonic() + _TO_LOOK
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            # Whoever asks `is_held` has it for a moment.
            if time.monotonic() > until:
                raise EngineError(f"The home {home} has an engine that runs") from error
        time.sleep(_LOOK)


def free(handle: IO[str]) -> None:
    """Let others start a JVM, while that of this process has nothing of the home open."""
    fcntl.flock(handle, fcntl.LOCK_UN)


def is_held(home: Path) -> bool:
    """Whether the JVM of the home lives, or one that an earlier command was starting."""
    try:
        with (home / LOCK).open("r+") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def wait_until_gone(home: Path, state: JvmState | None) -> None:
    """Wait until the JVM of the home has ended.

    Raises:
        EngineError: it has not, within a minute.
    """
    until = time.monotonic() + _TO_END
    while is_held(home):
        if time.monotonic() > until:
            known = "" if state is None else f" Its process is {state.pid} on {state.host}."
            raise EngineError(
                f"An engine of an earlier command still runs in {home}, and does not end.{known}"
                " Accepted: end it, and run the command once more."
            )
        time.sleep(_LOOK)


def word(home: Path) -> str | None:
    """What is known of the end of the home's JVM; None for nothing."""
    try:
        return (home / ENDED).read_text().strip() or None
    except FileNotFoundError:
        # Spark itself ends a JVM whose task ran out of memory.
        return "it had run out of memory" if (home / NO_MEMORY).exists() else None


def keep(
    session: SparkSession,
    home: Path,
    made_of: Mapping[str, str],
    seconds: float,
    *,
    is_service: bool = False,
) -> Line:
    """Let the JVM that this process has started outlive it.

    Args:
        made_of: `parts`.
        seconds: that it stays when this process is out.
        is_service: it stays until it is stopped, and ends with this process.

    Returns:
        The connection that it lives by.

    Raises:
        OSError: the home cannot be written, or the JVM cannot be reached.
    """
    gateway: Any = session.sparkContext._gateway
    server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    port = jvm.call_own(session, _JAVA, "open", server, str(home), str(is_service).lower())
    me, salt = here(home), secrets.token_hex(16)
    state = JvmState(
        host=me.host,
        user=me.user,
        pid=gateway.proc.pid,
        since=time.time(),
        gateway=gateway.gateway_parameters.port,
        port=int(port),
        secret=gateway.gateway_parameters.auth_token,
        home=me.home,
        inode=me.inode,
        salt=salt,
        made_of=salted(made_of, salt),
    )
    write(home, state)
    line = _attached(state, seconds)
    if line is None:
        raise ConnectionError("it does not answer")
    if not is_service:
        gateway.proc.stdin.close()
    return line
