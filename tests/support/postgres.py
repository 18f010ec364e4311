"""A private PostgreSQL server for a metastore, on a free port of this machine."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

USER = "metastore"


class MissingError(Exception):
    """There is no PostgreSQL to start; the message says why."""


def programs() -> Path:
    """The folder of PostgreSQL's programs; Debian keeps them off the PATH."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not folders:
        raise MissingError("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    return folders[-1].parent


class Server:
    """A server with an empty database `postgres`, not yet running.

    Attributes:
        url: JDBC URL of the database, without the user.

    Raises:
        MissingError: PostgreSQL is not there, or this is root and there is no user to run it as.
    """

    def __init__(self) -> None:
        self._binaries = programs()
        self._user: dict[str, Any] = {}
        account = None
        if os.getuid() == 0:  # which PostgreSQL refuses to run as
            try:
                account = pwd.getpwnam("postgres")
            except KeyError:
                raise MissingError(
                    "PostgreSQL does not run as root, and has no user `postgres`"
                ) from None
            self._user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        # Not pytest's folder: nobody but its owner may enter that.
        self._folder = Path(tempfile.mkdtemp(prefix="postgres-"))
        if account:
            os.chown(self._folder, account.pw_uid, account.pw_gid)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = str(free.getsockname()[1])
        self.url = f"jdbc:postgresql://127.0.0.1:{self._port}/postgres"
        self._running: subprocess.Popen[bytes] | None = None

    def initialise(self) -> None:
        """Make its files, once."""
        made = self._start(
            "initdb", "-D", f"{self._folder}/data", "-U", USER, "-A", "trust", "-E", "UTF8"
        )
        assert made.wait(120) == 0, self._said()

    def start(self) -> None:
        options = ["-h", "127.0.0.1", "-p", self._port, "-k", str(self._folder), "-c", "fsync=off"]
        self._running = self._start("postgres", "-D", f"{self._folder}/data", *options)
        end = time.monotonic() + 60
        asking = ("pg_isready", "-h", "127.0.0.1", "-p", self._port, "-U", USER)
        while self._start(*asking).wait(30) != 0:
            assert self._running.poll() is None, self._said()
            assert time.monotonic() < end, self._said()
            time.sleep(0.2)

    def stop(self) -> None:
        """Also what is connected; one that does not run may be stopped too."""
        if self._running is not None:
            self._running.send_signal(signal.SIGINT)  # PostgreSQL's "fast"
            self._running.wait(60)

    def remove(self) -> None:
        """Its files, once it is stopped."""
        shutil.rmtree(self._folder)

    def _start(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [str(self._binaries / program), *words],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                **self._user,
            )

    def _said(self) -> str:
        return (self._folder / "log").read_text()[-2000:]


@contextmanager
def server() -> Iterator[Server]:
    """Run a server, as `Server` says it."""
    made = Server()
    try:
        made.initialise()
        made.start()
        yield made
    finally:
        made.stop()
        made.remove()


def ask(url: str, statements: str) -> None:
    """Run statements in the database of a JDBC URL."""
    uri = url.removeprefix("jdbc:").replace("://", f"://{USER}@")
    asking = [str(programs() / "psql"), "-q", "-v", "ON_ERROR_STOP=1", "-c", statements, uri]
    subprocess.run(asking, check=True, capture_output=True, timeout=60)
