"""Delta's log store for local disks: commits that two processes cannot both make.

Its source is Java (``ExclusiveLogStore.java``). Janino, the compiler that Spark ships, turns it
into a jar once for each home: a machine that only runs Java has no ``javac``.
"""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from alluvium.engine import EngineError, java, versions

CLASS = "alluvium.ExclusiveLogStore"
_SOURCES = tuple(
    Path(__file__).with_name(f"{name}.java") for name in ("ExclusiveLogStore", "ParquetFooters")
)
_COMPILER = Path(__file__).with_name("CompileToJar.java")

# Delta's keys of a log store, with and without Spark's prefix. Delta refuses a class for all
# schemes beside one for a single scheme, so any of them in a profile means that ours stays away.
_THEIRS = tuple(
    f"{prefix}delta.logStore.{key}" for prefix in ("spark.", "") for key in ("class", "file.impl")
)


def conf(theirs: Mapping[str, str]) -> dict[str, str]:
    """Spark properties that give local tables this log store; none where `theirs` names another.

    The second key is that of Delta Kernel, which Spark's newer path to Delta is built on.
    """
    if any(key in theirs for key in _THEIRS):
        return {}
    return {
        "spark.delta.logStore.file.impl": CLASS,
        "spark.hadoop.io.delta.kernel.logStore.file.impl": CLASS,
    }


def jar(home: Path, jars: list[Path]) -> Path:
    """The jar with the log store and the package's other Java, compiled (a second) if `home` has
    none of this version.

    Args:
        home: the engine's folder; the jar is kept in ``home/jars``.
        jars: Delta's jars, absolute.

    Raises:
        EngineError: it cannot be compiled, or not be kept there.
        JavaError: it must be compiled and there is no Java.
    """
    installed = versions.check()
    sources = b"".join(one.read_bytes() for one in (*_SOURCES, _COMPILER))
    content = sources + repr(installed).encode()
    name = f"log-store-{hashlib.sha256(content).hexdigest()[:12]}.jar"
    path = home.absolute() / "jars" / name
    if not path.exists():
        try:
            _compile(path, jars)
        except OSError as problem:
            raise EngineError(f"{path} cannot be written: {problem}") from problem
    return path


def _compile(path: Path, jars: list[Path]) -> None:
    shipped = versions.spark_home() / "jars"
    names = (
        *("janino", "commons-compiler", "hadoop-client-", "slf4j-api", "parquet-format"),
        *("spark-sql_", "spark-sql-api", "spark-core", "spark-common-utils", "scala-library"),
    )
    class_path = [jar for name in names for jar in sorted(shipped.glob(f"{name}*.jar"))] + jars
    with tempfile.TemporaryDirectory(prefix=".compiling-", dir=path.parent) as work:
        fresh = Path(work) / path.name
        ran = subprocess.run(
            [
                *(str(java.check().path), "-XX:TieredStopAtLevel=1"),
                *("-cp", os.pathsep.join(map(str, class_path))),
                *("org.codehaus.janino.SimpleCompiler", str(_COMPILER), "CompileToJar"),
                *(str(fresh), *map(str, _SOURCES)),
            ],
            capture_output=True,
            text=True,
        )
        if ran.returncode != 0 or not fresh.exists():
            raise EngineError(
                f"The package's Java ({_SOURCES[0].parent}) cannot be compiled with Spark's Janino"
                f" in {shipped}:\n{(ran.stderr or ran.stdout).strip()[:2000]}"
            )
        with fresh.open("rb") as written:
            os.fsync(written.fileno())
        # In one step: a process that was killed leaves no half jar under this name, and of two
        # that compile at once either may win.
        fresh.replace(path)
