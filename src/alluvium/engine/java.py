"""The Java that Spark will start: found the way Spark finds it, and of a version it runs on."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from alluvium.engine import EngineError

ACCEPTED = (17, 21)


class JavaError(EngineError):
    """No Java was found, or not one of the accepted versions."""


@dataclass(frozen=True)
class Java:
    """A Java runtime: its executable, feature version (17) and full version ("17.0.15")."""

    path: Path
    feature: int
    version: str


def parse_version(text: str) -> tuple[int, str]:
    """Read the output of ``java -version``.

    Args:
        text: standard error of ``java -version``; lines before the version are skipped.

    Returns:
        The feature version and the full one: ``(17, "17.0.15")``, ``(8, "1.8.0_402")``.

    Raises:
        ValueError: the text names no version.
    """
    found = re.search(r'\bversion "((?:1\.)?(\d+)[^"]*)"', text)
    if not found:
        raise ValueError(f"no version in {text.strip()[:200]!r}")
    return int(found.group(2)), found.group(1)


def place(env: Mapping[str, str]) -> Path | None:
    """The `java` that Spark will start, whatever it is: ``JAVA_HOME``'s, else ``PATH``'s first."""
    if home := env.get("JAVA_HOME"):
        path = Path(home) / "bin" / "java"
        return path if os.access(path, os.X_OK) else None
    found = shutil.which("java", path=env.get("PATH", ""))
    return None if found is None else Path(found)


@lru_cache(maxsize=1)
def _version(path: Path, changed: int, env: tuple[tuple[str, str], ...]) -> tuple[int, str]:
    """What a Java says of itself. dbt's parser asks, and then who starts it: a JVM each time."""
    command = [str(path), "-version"]
    ran = subprocess.run(command, env=dict(env), capture_output=True, text=True, timeout=60)
    return parse_version(ran.stderr + ran.stdout)


def check(env: Mapping[str, str] | None = None) -> Java:
    """Find the Java that Spark will start: ``JAVA_HOME`` if it is set, else the first on ``PATH``.

    Spark looks nowhere else, so a wrong ``JAVA_HOME`` is an error even where ``PATH`` has a right
    Java.

    Args:
        env: the environment to look in; the process's own by default.

    Raises:
        JavaError: there is none, it does not run, or its version is not accepted.
    """
    env = os.environ if env is None else env
    needed = "install Java 17 or 21 (a JRE is enough) and set JAVA_HOME or PATH to it"
    path, home = place(env), env.get("JAVA_HOME")
    if path is None:
        if home:
            raise JavaError(f"JAVA_HOME is {home}, which has no bin/java: {needed}.")
        raise JavaError(f"Java was not found (JAVA_HOME is not set, PATH has none): {needed}.")
    origin = f"JAVA_HOME ({home})" if home else f"PATH ({path})"
    try:
        feature, version = _version(path, path.stat().st_mtime_ns, tuple(env.items()))
    except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
        raise JavaError(f"The Java of {origin} does not run ({problem}): {needed}.") from problem
    if feature not in ACCEPTED:
        raise JavaError(f"The Java of {origin} is {version}: {needed}.")
    return Java(path, feature, version)
