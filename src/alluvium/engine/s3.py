"""Whether the warehouse on S3 answers, before Spark asks it: S3A would try for minutes."""

import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from alluvium.engine import EngineError
from alluvium.engine.causes import explain
from alluvium.paths import Place

_WAREHOUSE = "spark.sql.warehouse.dir"
_HADOOP = "spark.hadoop."
_SECONDS = 5
# One try. S3A raises shorter timeouts to 15 s.
_QUICK = {
    "fs.s3a.attempts.maximum": "0",
    "fs.s3a.retry.limit": "0",
    "fs.s3a.connection.establish.timeout": "15s",
    "fs.s3a.connection.timeout": "15s",
}


class Warehouse:
    """A folder on S3, with the settings by which it is read.

    place: a URI of ``s3a://``.
    conf: Spark properties.
    """

    def __init__(self, place: str, conf: Mapping[str, str]) -> None:
        self._place, self._bucket = place, Place.of(place).system.removeprefix("s3a://")
        self._settings = {
            key.removeprefix(_HADOOP): conf[key] for key in conf if key.startswith(f"{_HADOOP}fs.")
        }
        of_bucket = self._settings.get(f"fs.s3a.bucket.{self._bucket}.endpoint")
        self._endpoint = of_bucket or self._settings.get("fs.s3a.endpoint", "")

    def is_answered(self) -> None:
        """Knock at the endpoint that the profile names.

        Raises:
            EngineError: nobody is there.
        """
        where = urlsplit(self._endpoint if "://" in self._endpoint else f"https://{self._endpoint}")
        if not where.hostname or "fs.s3a.proxy.host" in self._settings:
            return
        port = where.port or (80 if where.scheme == "http" else 443)
        try:
            with socket.create_connection((where.hostname, port), _SECONDS) as knock:
                if where.scheme == "http":  # a server of TLS waits for the client's hello
                    knock.settimeout(_SECONDS)
                    knock.sendall(f"HEAD / HTTP/1.0\r\nHost: {where.netloc}\r\n\r\n".encode())
                    knock.recv(1)
        except OSError as error:
            raise self._unread(str(error)) from error

    def is_read(self, jvm: Any) -> None:
        """Ask for the folder, which may be absent, by the JVM that has S3's jars.

        Raises:
            EngineError: the bucket is not there, or the keys are wrong.
        """
        hadoop = jvm.org.apache.hadoop.conf.Configuration()
        for key, value in {**self._settings, **_QUICK}.items():
            hadoop.set(key, value)
        path = jvm.org.apache.hadoop.fs.Path(self._place)
        try:
            # One of its own: those that Hadoop keeps have Spark's settings.
            files = jvm.org.apache.hadoop.fs.FileSystem.newInstance(path.toUri(), hadoop)
            try:
                files.exists(path)
            finally:
                files.close()
        except Exception as error:
            raise self._unread(explain(error).text.split(" (Service:")[0]) from error

    def _unread(self, why: str) -> EngineError:
        named = sorted(f"{_HADOOP}{key}" for key in self._settings if key.startswith("fs.s3a."))
        return EngineError(
            f"Bucket {self._bucket} ({self._place}) cannot be read at {self._endpoint or 'AWS'}:"
            f" {why}. Settings: {', '.join(named) or 'no spark.hadoop.fs.s3a.* is given'}"
        )


def warehouse(conf: Mapping[str, str]) -> Warehouse | None:
    """Where the Spark properties say that tables go; None where that is not on S3.

    Raises:
        EngineError: nobody is there.
    """
    place = conf.get(_WAREHOUSE, "")
    if not place.startswith("s3a://"):
        return None
    found = Warehouse(place, conf)
    found.is_answered()
    return found
