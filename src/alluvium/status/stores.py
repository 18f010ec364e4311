"""Folders of tables, on this machine's disks and on S3. There Arrow reads, without Hadoop."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from pyarrow import NativeFile, fs

from alluvium.paths import LOCAL, Place, name_of
from alluvium.wording import listed

_S3 = "s3a://"
_PREFIX = "spark.hadoop.fs.s3a."
# What says how S3A works, and not which objects it sees.
_OF_NO_MATTER = re.compile(
    r"(acl|aws\.region|attempts|block|bucket\.probe|buffer|change|commit|committer|connection\."
    r"(establish|timeout|ttl|idle|maximum|acquisition|request|keepalive|expect)|create|directory"
    r"|downgrade|etag|executor|experimental|fast|impl|input|list|max|metadatastore|multi|multipart"
    r"|optimized|paging|performance|prefetch|readahead|retry|s3guard|socket|threads|vectored)\b.*"
)
_PROVIDERS = {
    "SimpleAWSCredentialsProvider",
    "TemporaryAWSCredentialsProvider",
    "EnvironmentVariableCredentialsProvider",
    "IAMInstanceCredentialsProvider",
    "DefaultCredentialsProvider",
}
_ENDPOINT = re.compile(r"(?:(https?)://)?(.*?)/*", re.DOTALL)
_ANONYMOUS = "AnonymousAWSCredentialsProvider"
# Seconds: a store that is silent stops a look at each of its tables.
_CONNECT, _REQUEST = 5.0, 30.0


class StoreError(ValueError):
    """A store that cannot be read; the message says why, and names no key's value."""


@dataclass(frozen=True)
class Stored:
    """A file or folder of a store, with those methods of `Path` by which logs are read.

    Attributes:
        files: what reads it.
        path: bucket and key.
    """

    files: fs.FileSystem
    path: str

    def __str__(self) -> str:
        return f"{_S3}{self.path}"

    def __truediv__(self, name: str) -> Stored:
        return Stored(self.files, f"{self.path}/{name}")

    @property
    def name(self) -> str:
        return name_of(self.path)

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix

    def iterdir(self) -> Iterator[Stored]:
        for one in self.files.get_file_info(fs.FileSelector(self.path)):
            yield Stored(self.files, one.path)

    def is_dir(self) -> bool:
        return bool(self.files.get_file_info(self.path).type == fs.FileType.Directory)

    def read_bytes(self) -> bytes:
        with self.files.open_input_stream(self.path) as file:
            return bytes(file.readall())

    def open(self) -> NativeFile:
        return self.files.open_input_file(self.path)


Folder = Path | Stored


class Stores:
    """What reads places of each file system.

    conf: gives Spark's properties of the target; asked for where a place needs them. It raises
        ValueError if it cannot.
    """

    def __init__(self, conf: Callable[[], Mapping[str, str]]) -> None:
        self._conf = conf
        self._lock = Lock()
        self._buckets: dict[str, fs.FileSystem | StoreError] = {}

    def folder(self, place: Place) -> Folder:
        """A folder by its place.

        Raises:
            StoreError: no files of that store are read, and why.
        """
        if place.system == LOCAL:
            return Path(place.path)
        if not place.system.startswith(_S3):
            raise StoreError("only local paths, mounted disks and s3a:// are read")
        bucket = place.system.removeprefix(_S3)
        with self._lock:
            if bucket not in self._buckets:
                self._buckets[bucket] = self._opened(bucket)
        found = self._buckets[bucket]
        if isinstance(found, StoreError):
            raise found
        return Stored(found, f"{bucket}{place.path}")

    def _opened(self, bucket: str) -> fs.FileSystem | StoreError:
        try:
            options = options_of(self._conf(), bucket)
            if not options.keys() & {"region", "endpoint_override"}:
                options["region"] = fs.resolve_s3_region(bucket)
            return fs.S3FileSystem(**options)
        except (ValueError, OSError) as error:
            return StoreError(str(error))


def options_of(conf: Mapping[str, str], bucket: str) -> dict[str, Any]:
    """Arrow's options for a bucket, by Spark's properties of S3A.

    Keys that the properties do not give come from where the AWS SDK looks, as they do for S3A.

    Raises:
        ValueError: they say something that Arrow would do in another way.
    """
    of_all = {key.removeprefix(_PREFIX): one for key, one in conf.items() if _is_of_s3a(key, one)}
    own = f"bucket.{bucket}."
    given = {key: one for key, one in of_all.items() if not key.startswith("bucket.")}
    given |= {key.removeprefix(own): one for key, one in of_all.items() if key.startswith(own)}
    options: dict[str, Any] = {"connect_timeout": _CONNECT, "request_timeout": _REQUEST}
    secure = given.pop("connection.ssl.enabled", "true").lower() != "false"
    by_path = given.pop("path.style.access", "false").lower() == "true"
    if endpoint := given.pop("endpoint", ""):
        parts = _ENDPOINT.fullmatch(endpoint)
        assert parts is not None  # of anything, an empty one
        options["endpoint_override"] = parts[2]
        options["scheme"] = parts[1] or ("https" if secure else "http")
        options["force_virtual_addressing"] = not by_path
    for key, option in (
        ("endpoint.region", "region"),
        ("access.key", "access_key"),
        ("secret.key", "secret_key"),
        ("session.token", "session_token"),
    ):
        if value := given.pop(key, ""):
            options[option] = value
    providers = given.pop("aws.credentials.provider", "")
    named = {one.strip().rpartition(".")[2] for one in providers.split(",") if one.strip()}
    if named == {_ANONYMOUS}:
        options["anonymous"] = True
    elif named - _PROVIDERS:
        given["aws.credentials.provider"] = providers
    unknown = sorted(f"fs.s3a.{key}" for key in given if not _OF_NO_MATTER.fullmatch(key))
    if unknown:
        raise ValueError(
            f"the target sets {listed(unknown, 3)}, which are not known here; known are endpoint,"
            " region, keys, session token, path style and TLS, also by bucket"
        )
    return options


def _is_of_s3a(key: str, value: str) -> bool:
    return key.startswith(_PREFIX) and value.strip() != ""
