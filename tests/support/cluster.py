"""A Spark cluster of this machine: master, two workers, a metastore in PostgreSQL, and S3.

All listen on 127.0.0.1. What a real cluster does not share is not shared here either: workers have
folders of their own and a Python without this package. Where this process may, they run as the user
`nobody`, who can write to no folder of the driver.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pyspark

from support import postgres, s3

BUCKET = "lake"
WORKERS, CORES = 2, 2
_SPARK = Path(pyspark.__file__).parent
# What Python functions of Spark need on an executor: Spark brings its own part along.
_NEEDED = ("numpy", "pandas", "pyarrow", "python-dateutil", "pytz", "six", "tzdata")
_READY = 60.0
_EXECUTOR = b"org.apache.spark.executor.CoarseGrainedExecutorBackend"


@dataclass
class Cluster:
    """Running servers.

    Attributes:
        folder: of logs, and of what workers write.
        master: its URL.
        metastore: its database.
        password: of the database; the server takes any.
        store: the S3 server, with the bucket BUCKET.
        python: of executors.
        user: of workers; None for the one of this process.
        java_options: of master, workers and executors.
    """

    folder: Path
    master: str
    metastore: postgres.Server
    password: str
    store: s3.S3
    python: Path
    user: str | None
    java_options: str
    _daemons: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _workers: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """What the target `cluster` of the reference project's profile reads."""
        return {
            "ALLUVIUM_TARGET": "cluster",
            "ALLUVIUM_LANDING": f"s3a://{BUCKET}/landing",
            "SPARK_MASTER": self.master,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_WAREHOUSE": f"s3a://{BUCKET}/warehouse",
            "PYSPARK_PYTHON": str(self.python),
            "METASTORE": self.metastore.url.partition("://")[2],
            "METASTORE_USER": postgres.USER,
            "METASTORE_IS_NEW": "true",
            "DBT_ENV_SECRET_METASTORE_PASSWORD": self.password,
            "S3_ENDPOINT": self.store.endpoint,
            "S3_PATH_STYLE": "true",
            "AWS_REGION": s3.REGION,
            "AWS_ACCESS_KEY_ID": s3.KEY,
            "AWS_SECRET_ACCESS_KEY": s3.SECRET,
        }

    @property
    def executors(self) -> dict[int, str]:
        """Processes of executors, found by their working directories, and what Spark calls them."""
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
                if _EXECUTOR in words and (process / "cwd").resolve().is_relative_to(self.folder):
                    name = words[words.index(b"--executor-id") + 1]
                    found[int(process.name)] = name.decode()
            except OSError:  # it has ended
                continue
        return found

    def start_worker(self, number: int) -> None:
        """A worker with a folder of its own."""
        folder = self.folder / f"worker-{number}"
        folder.mkdir(exist_ok=True)
        if self.user is not None:
            shutil.chown(folder, self.user)
        self._workers[number] = self._spark(
            "worker.Worker",
            f"worker-{number}",
            *("--cores", str(CORES), "--memory", "3g", "--work-dir", str(folder), self.master),
            SPARK_LOCAL_DIRS=str(folder / "local"),
        )

    def kill_worker(self, number: int) -> None:
        """Its executors end with it."""
        self._workers[number].kill()
        self._workers[number].wait()

    def start_master(self) -> None:
        host, _, port = self.master.removeprefix("spark://").partition(":")
        # Of two applications each gets half of the cores.
        options = f"-Dspark.deploy.defaultCores={WORKERS * CORES // 2}"
        made = self._spark("master.Master", "master", "--port", port, SPARK_MASTER_OPTS=options)
        end = time.monotonic() + _READY
        while True:
            try:
                socket.create_connection((host, int(port)), 1).close()
                return
            except OSError:
                said = (self.folder / "master.log").read_text()
                assert made.poll() is None, said
                assert time.monotonic() < end, said
                time.sleep(0.1)

    def _spark(
        self, name: str, log: str, *words: str, **environment: str
    ) -> subprocess.Popen[bytes]:
        """A daemon of Spark, that knows nothing of this process's environment."""
        kept = {key: os.environ[key] for key in ("PATH", "JAVA_HOME") if key in os.environ}
        with (self.folder / f"{log}.log").open("ab") as said:
            made = subprocess.Popen(
                [
                    str(_SPARK / "bin" / "spark-class"),
                    f"org.apache.spark.deploy.{name}",
                    *("--host", "127.0.0.1", "--webui-port", "0", *words),
                ],
                cwd=self.folder,
                env={
                    **kept,
                    **environment,
                    "HOME": "/nonexistent",
                    "SPARK_HOME": str(_SPARK),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                    "SPARK_DAEMON_MEMORY": "256m",
                    # Workers hand it on to executors.
                    "JAVA_TOOL_OPTIONS": self.java_options,
                },
                stdout=said,
                stderr=said,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                **_as(self.user),
            )
        self._daemons.append(made)
        return made

    def end(self) -> None:
        for one in self._daemons:
            one.terminate()  # a worker ends its executors
        for one in self._daemons:
            try:
                one.wait(20)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()


@contextmanager
def running(shares_disk: bool = False, java_options: str = "") -> Iterator[Cluster]:
    """Run the servers, with an empty bucket and an empty database.

    shares_disk: whether workers may write where the driver does; then they run as its user.
    java_options: of each JVM but the driver's.

    Raises:
        postgres.MissingError: PostgreSQL cannot run here; the message says why.
        s3.MissingError: neither can the S3 server.
    """
    with ExitStack() as stack:
        metastore = stack.enter_context(postgres.server())
        # Not pytest's folder: nobody but its owner may enter that.
        folder = Path(tempfile.mkdtemp(prefix="cluster-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)
        store = stack.enter_context(s3.server(folder, BUCKET))
        python, user = _executors_python(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            master = f"spark://127.0.0.1:{free.getsockname()[1]}"
        password = secrets.token_hex(12)
        user = None if shares_disk else user
        made = Cluster(folder, master, metastore, password, store, python, user, java_options)
        stack.callback(made.end)
        made.start_master()
        for number in range(WORKERS):
            made.start_worker(number)
        yield made


def _executors_python(folder: Path) -> tuple[Path, str | None]:
    """A Python of this version with links to what executors need, and to nothing more.

    Returns:
        The program, and `nobody` if this process may start it as that user; None if it may not.
    """
    place = folder / "python"
    own = Path(sys.executable).resolve()
    # A user's own Python may lie in a folder that nobody else may enter.
    for program in (own, Path("/usr/bin", f"python3.{sys.version_info.minor}")):
        if not program.exists():
            continue
        command = [str(program), "-m", "venv", "--clear", "--without-pip", str(place)]
        subprocess.run(command, check=True)
        [packages] = place.glob("lib/python*/site-packages")
        for name in _NEEDED:
            found = distribution(name)
            tops = {Path(one).parts[0] for one in found.files or ()} - {"..", "__pycache__"}
            for top in tops:
                (packages / top).symlink_to(Path(str(found.locate_file(top))).resolve())
        if os.getuid() == 0 and _reads(python := place / "bin" / "python", "nobody"):
            return python, "nobody"
    return place / "bin" / "python", None


def _reads(python: Path, user: str) -> bool:
    """Whether a user may start a Python, its packages and Spark."""
    look = f"import pandas, pyarrow; open({str(_SPARK / 'bin' / 'spark-class')!r})"
    try:
        command = [str(python), "-c", look]
        done = subprocess.run(command, cwd="/", capture_output=True, **_as(user))
    except (KeyError, OSError):
        return False
    return done.returncode == 0


def _as(user: str | None) -> dict[str, Any]:
    """Arguments of Popen."""
    if user is None:
        return {}
    account = pwd.getpwnam(user)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
