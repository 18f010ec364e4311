"""An S3 server of this machine, and what reads and writes there."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyarrow import fs

_REPO = Path(__file__).parents[2]
_PYTHON = Path(os.environ.get("ALLUVIUM_TEST_MOTO", _REPO / ".venv-moto")) / "bin/python"
KEY, SECRET, REGION = "test-key", "test-secret", "us-east-1"


class MissingError(Exception):
    """There is no moto to start; the message says why."""


@dataclass(frozen=True)
class S3:
    """A running server.

    Attributes:
        endpoint: its URL.
        log: the file with a line for each request.
    """

    endpoint: str
    log: Path

    @property
    def settings(self) -> dict[str, str]:
        """S3A's settings, without Spark's prefix."""
        return {
            "fs.s3a.endpoint": self.endpoint,
            "fs.s3a.endpoint.region": REGION,
            "fs.s3a.path.style.access": "true",
            "fs.s3a.access.key": KEY,
            "fs.s3a.secret.key": SECRET,
        }

    @property
    def delta_rs(self) -> dict[str, str]:
        """The `storage_options` of delta-rs."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": REGION,
        }

    def files(self) -> fs.S3FileSystem:
        """A reader that is not Hadoop's: Arrow's own."""
        where = self.endpoint.removeprefix("http://")
        return fs.S3FileSystem(
            access_key=KEY,
            secret_key=SECRET,
            region=REGION,
            scheme="http",
            endpoint_override=where,
            allow_bucket_creation=True,
            request_timeout=120,
            connect_timeout=120,
        )

    def spoil(self, *kinds: str, every: int, match: str, agent: str = "") -> None:
        """Spoil answers as `s3_server.py` says it."""
        asked = f"kinds={','.join(kinds)}&every={every}&match={match}&agent={agent}"
        self._order(f"spoil?{asked}")

    def heal(self) -> None:
        self.spoil("none", every=0, match="none")

    def ignore_conditions(self, ignore: bool) -> None:
        self._order(f"ignore?on={int(ignore)}")

    def refuse(self, refuse: bool) -> None:
        """Answer each request as S3 answers one with a key that it does not know."""
        self._order(f"refuse?on={int(refuse)}")

    def requests(self, part: str) -> list[dict[str, Any]]:
        """The requests so far with a text in path or query."""
        lines = map(json.loads, self.log.read_text().splitlines())
        return [one for one in lines if part in f"{one['path']}?{one['query']}"]

    def _order(self, order: str) -> None:
        with urllib.request.urlopen(f"{self.endpoint}/__{order}") as answer:
            answer.read()


def check() -> None:
    """Raise MissingError where the environment with moto is not there."""
    if not _PYTHON.exists():
        raise MissingError("moto is not installed; make moto does that")


@contextmanager
def server(folder: Path, *buckets: str) -> Iterator[S3]:
    """Run a server with empty buckets; raises as `check` does."""
    check()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = S3(f"http://127.0.0.1:{port}", folder / "requests.jsonl")
    script = Path(__file__).with_name("s3_server.py")
    with (folder / "server.log").open("wb") as said:
        running = subprocess.Popen(
            [str(_PYTHON), str(script), str(port), str(made.log)], stdout=said, stderr=said
        )
    try:
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                problem = (folder / "server.log").read_text()
                assert running.poll() is None, problem
                assert time.monotonic() < end, problem
                time.sleep(0.1)
        for bucket in buckets:
            made.files().create_dir(bucket)
        yield made
    finally:
        running.kill()
        running.wait()
