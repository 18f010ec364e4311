"""Whether a command may attach to a JVM that an earlier one left running; if not, what then.

Pure: files, sockets and locks are looked at by `alluvium.engine.warm`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import Enum, auto
from typing import Any

# Variables of the environment that change what the JVM, Spark or Python's workers do, or whom they
# are to others. A name that ends with `_` stands for all that begin so.
_VARIABLES = (
    *("JAVA_", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_", "PYSPARK_", "HADOOP_", "HIVE_"),
    *("PYTHONPATH", "PYTHONHOME", "PYTHONHASHSEED", "VIRTUAL_ENV", "CONDA_PREFIX"),
    *("LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_"),
    *("AWS_", "AZURE_", "GOOGLE_", "KRB5_", "KRB5CCNAME", "ALLUVIUM_", "OMP_", "OPENBLAS_", "MKL_"),
    *("HOME", "USER", "LOGNAME", "TMPDIR", "PATH", "TZ", "LANG", "LC_", "LANGUAGE"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
)
_PREFIXES = tuple(name for name in _VARIABLES if name.endswith("_"))
# Spark sets these for its own JVM, and PySpark in the process that has a context.
_SPARKS = {"SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE", "SPARK_ENV_LOADED"}
# Told at most: how many of the things that differ.
_SHOWN = 3


def of_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that decide what a JVM is that is started with them."""
    return {
        name: value
        for name, value in environment.items()
        if (name in _VARIABLES or name.startswith(_PREFIXES)) and name not in _SPARKS
    }


def salted(parts: Mapping[str, str], salt: str) -> dict[str, str]:
    """Each part as a hash that tells nothing of it to who reads the file; equal only if it is."""
    return {
        name: hashlib.sha256(f"{salt}\0{name}\0{value}".encode()).hexdigest()
        for name, value in parts.items()
    }


@dataclass(frozen=True)
class Address:
    """Where such a JVM is asked; the file of each release says it by these names.

    Attributes:
        port: where it listens for its client, of 127.0.0.1.
        secret: the first word of a line.
    """

    port: int
    secret: str

    @staticmethod
    def of(text: str) -> Address | None:
        """The address that `text` gives; None where it gives none."""
        try:
            found = json.loads(text)
            port, secret = found["port"], found["secret"]
        except (ValueError, KeyError, TypeError):
            return None
        return Address(port, secret) if type(port) is int and isinstance(secret, str) else None


@dataclass(frozen=True)
class JvmState(Address):
    """What a JVM that may outlive its command is, as its file in the home says.

    Attributes:
        host, user: whose it is; the name of the machine, and the number of the user.
        pid, since: of its process, and when that began, in seconds since 1970.
        gateway: where it listens for py4j, with the same secret.
        home, inode: the folder, absolute, and its device and inode.
        made_of: what decides what it is, by name, `salted` with `salt`.
    """

    host: str
    user: int
    pid: int
    since: float
    gateway: int
    home: str
    inode: str
    salt: str
    made_of: dict[str, str]

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> JvmState | None:
        """The state that `text` gave; None where that is none, or one of another release."""
        try:
            found: dict[str, Any] = json.loads(text)
            kinds = {one.name: type(found[one.name]).__name__ for one in fields(cls)}
        except (ValueError, KeyError, TypeError):
            return None
        wanted = {one.name: str(one.type).partition("[")[0] for one in fields(cls)}
        if set(found) != set(wanted) or kinds != wanted:
            return None
        return cls(**found)


@dataclass(frozen=True)
class Here:
    """Who asks, and from where: as `JvmState` has it."""

    host: str
    user: int
    home: str
    inode: str


class Way(Enum):
    """What a command does with the JVM of its home."""

    ATTACH = auto()
    START = auto()  # there is none any more
    END = auto()  # ask it to end, wait until it is gone, then start
    WAIT = auto()  # it ends already
    REFUSE = auto()  # it is somebody else's


@dataclass(frozen=True)
class Verdict:
    """What to do, and what to tell of it; None for nothing."""

    way: Way
    why: str | None = None


def decide(
    state: JvmState | None,
    here: Here,
    parts: Mapping[str, str] | None,
    *,
    is_held: bool,
    word: str | None,
) -> Verdict:
    """What a command that has the home to itself does with the JVM of an earlier one.

    Args:
        state: of that JVM; None where its file is not there, or says nothing.
        parts: what decides what a JVM for this command is; None for a command that keeps none.
        is_held: whether that JVM is there: its lock is held.
        word: what it left word of when it ended.
    """
    is_here = state is None or (state.home, state.inode) == (here.home, here.inode)
    if not is_held:
        if word is None and state is not None and is_here:
            word = "it crashed or was killed"
        return Verdict(Way.START, word)
    if state is None:
        return Verdict(Way.WAIT, word)
    if (state.host, state.user) != (here.host, here.user):
        who = f"process {state.pid} of user {state.user} on {state.host}"
        return Verdict(Way.REFUSE, who)
    if parts is None:
        return Verdict(Way.END, "this command has no `keep_warm` in its profile")
    if not is_here:
        return Verdict(Way.END, f"it was started for {state.home}")
    differ = _differ(state, parts)
    if differ:
        more = f" and {len(differ) - _SHOWN} more" if len(differ) > _SHOWN else ""
        return Verdict(Way.END, f"it was started with other {', '.join(differ[:_SHOWN])}{more}")
    return Verdict(Way.ATTACH)


def _differ(state: JvmState, parts: Mapping[str, str]) -> list[str]:
    """The names of what is not as it was, or only on one side."""
    now = salted(parts, state.salt)
    names = sorted(now.keys() | state.made_of.keys())
    return [name for name in names if now.get(name) != state.made_of.get(name)]
