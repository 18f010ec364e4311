"""The versions that go together: pyspark, Spark's jars, Scala, delta-spark and Delta's jars."""

import os
import re
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

from alluvium.engine import EngineError


class VersionError(EngineError):
    """What is installed does not go together."""


@dataclass(frozen=True)
class VersionSet:
    """One line of the table: versions that were tested with each other."""

    pyspark: str
    delta: str
    hadoop: str
    scala: str
    java: tuple[int, ...]


SUPPORTED = (
    VersionSet(pyspark="4.2.0", delta="4.4.0", hadoop="3.5.0", scala="2.13", java=(17, 21)),
)


def table() -> str:
    """The versions that go together, as text."""
    rows = [("pyspark and Spark's jars", "delta-spark and its jars", "Scala", "Java")]
    rows += [
        (s.pyspark, s.delta, s.scala, ", ".join(str(java) for java in s.java)) for s in SUPPORTED
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return "\n".join(
        "  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def spark_home() -> Path:
    """The folder whose jars Spark starts from: ``SPARK_HOME``, else the pyspark package.

    Raises:
        VersionError: pyspark is not installed.
    """
    home = os.environ.get("SPARK_HOME")
    if home:
        return Path(home)
    spec = util.find_spec("pyspark")  # found, not imported: importing costs a third of a second
    if spec is None or not spec.submodule_search_locations:
        raise VersionError(_mismatch("pyspark is not installed"))
    return Path(spec.submodule_search_locations[0])


def check() -> VersionSet:
    """Check pyspark, the jars that it starts from, Scala and delta-spark against each other.

    Returns:
        The line of the table that is installed.

    Raises:
        VersionError: they do not go together; the message names what is installed and the table.
    """
    pyspark, delta = _installed("pyspark"), _installed("delta-spark")
    for supported in SUPPORTED:
        if (supported.pyspark, supported.delta) == (pyspark, delta):
            break
    else:
        raise VersionError(_mismatch(f"pyspark {pyspark} and delta-spark {delta} are installed"))

    jars = spark_home() / "jars"
    wanted = jars / f"spark-core_{supported.scala}-{supported.pyspark}.jar"
    if not wanted.exists():
        there = ", ".join(sorted(jar.name for jar in jars.glob("spark-core_*.jar"))) or "none"
        hint = " (unset SPARK_HOME to use pyspark's own)" if os.environ.get("SPARK_HOME") else ""
        raise VersionError(
            _mismatch(f"pyspark {pyspark} needs {wanted.name} in {jars}, found {there}{hint}")
        )
    return supported


def check_package(coordinate: str, installed: VersionSet) -> tuple[str, str, str]:
    """Check a user's package against the installed versions.

    Args:
        coordinate: ``group:artifact:version`` of a Maven artifact.
        installed: what it will run with.

    Returns:
        Group, artifact and version.

    Raises:
        VersionError: the coordinate is not of that form, its version is not a fixed one, or it was
            built for another Scala, Spark, Delta or Hadoop.
    """
    parts = coordinate.split(":")
    if len(parts) != 3 or not all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*", p) for p in parts):
        raise VersionError(
            f"packages: {coordinate!r}; accepted: group:artifact:version with a fixed version, "
            "for example org.postgresql:postgresql:42.7.7"
        )
    group, artifact, version = parts
    if version.lower().startswith("latest."):
        raise VersionError(f"packages: {coordinate!r}; accepted: a fixed version, not {version}")
    scala = re.search(r"_(2\.1\d|3)$", artifact)
    if scala and scala.group(1) != installed.scala:
        raise VersionError(
            f"packages: {coordinate} was built for Scala {scala.group(1)}, pyspark "
            f"{installed.pyspark} runs Scala {installed.scala}; accepted: "
            f"{artifact[: scala.start()]}_{installed.scala}"
        )
    for owner, name, has in (
        ("org.apache.spark", "Spark", installed.pyspark),
        ("io.delta", "Delta", installed.delta),
        ("org.apache.hadoop", "Hadoop", installed.hadoop),
    ):
        if group == owner and version != has:
            raise VersionError(
                f"packages: {coordinate} belongs to {name} {version}, installed is {has}; "
                f"accepted: {group}:{artifact}:{has}"
            )
    return group, artifact, version


def _installed(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        raise VersionError(_mismatch(f"{distribution} is not installed")) from None


def _mismatch(what: str) -> str:
    return f"{what}. Versions that go together:\n{table()}"
