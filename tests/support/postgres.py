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


@contextmanager
def server() -> Iterator[str]:
    """Run a server with an empty database `postgres`; gives its JDBC URL, without the user.

    Raises:
        MissingError: PostgreSQL is not there, or this is root and there is no user to run it as.
    """
    binaries = programs()
    account = None
    if os.getuid() == 0:  # which PostgreSQL refuses to run as
        try:
            account = pwd.getpwnam("postgres")
        except KeyError:
            raise MissingError(
                "PostgreSQL does not run as root, and has no user `postgres`"
            ) from None
    # Not pytest's folder: nobody but its owner may enter that.
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    if account:
        os.chown(folder, account.pw_uid, account.pw_gid)

    def start(*command: str) -> subprocess.Popen[bytes]:
        with (folder / "log").open("ab") as log:
            return subprocess.Popen(
                [str(binaries / command[0]), *command[1:]],
                stdout=log,
                stderr=log,
                cwd=folder,
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
            )

    def said() -> str:
        return (folder / "log").read_text()[-2000:]

    try:
        made = start("initdb", "-D", f"{folder}/data", "-U", USER, "-A", "trust", "-E", "UTF8")
        assert made.wait(120) == 0, said()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        options = ["-h", "127.0.0.1", "-p", port, "-k", str(folder), "-c", "fsync=off"]
        running = start("postgres", "-D", f"{folder}/data", *options)
        try:
            end = time.monotonic() + 60
            asking = ("pg_isready", "-h", "127.0.0.1", "-p", port, "-U", USER)
            while start(*asking).wait(30) != 0:
                assert running.poll() is None, said()
                assert time.monotonic() < end, said()
                time.sleep(0.2)
            yield f"jdbc:postgresql://127.0.0.1:{port}/postgres"
        finally:
            running.send_signal(signal.SIGINT)  # "fast": ends what is still connected
            running.wait(60)
    finally:
        shutil.rmtree(folder)


def ask(url: str, statements: str) -> None:
    """Run statements in the database of a JDBC URL."""
    uri = url.removeprefix("jdbc:").replace("://", f"://{USER}@")
    asking = [str(programs() / "psql"), "-q", "-v", "ON_ERROR_STOP=1", "-c", statements, uri]
    subprocess.run(asking, check=True, capture_output=True, timeout=60)
