"""The jar with the package's own Java: the log stores, and what prunes reads and merges.

Janino, the compiler that Spark ships, makes it once for each home: a machine that only runs Java
has no ``javac``.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from alluvium.engine import EngineError, jars, java, versions
from alluvium.engine.internals import DELTA_EXTENSION

EXTENSIONS = f"{DELTA_EXTENSION.name},alluvium.PrunedReads"
"""`spark.sql.extensions`: Delta's, and behind it the rule by which plain queries skip files."""

# Each may use those before it.
_SOURCES = tuple(
    Path(__file__).with_name(f"{name}.java")
    for name in (
        *("ExclusiveLogStore", "ParquetFooters", "SmallFiles", "ManyFiles", "ParquetValues"),
        *("BlockFiles", "CsvRecords", "EmptyFiles", "ExactDecimal", "ExactJson", "FileSchemas"),
        *("Leaves", "Reads", "Automata", "Condition", "Columns", "PrunedReads", "PrunedMerge"),
        "WarmEngine",
    )
)
# Only where S3's jars are, whose classes it calls: elsewhere nothing of S3 is compiled or loaded.
_S3_SOURCES = tuple(
    Path(__file__).with_name(f"{name}.java") for name in ("ConditionalLogStore", "WholeFiles")
)
_COMPILER = Path(__file__).with_name("CompileToJar.java")


def jar(home: Path, needed: list[Path]) -> Path:
    """The jar, compiled (a second) if `home` has none of this version.

    Args:
        home: the engine's folder; the jar is kept in ``home/jars``.
        needed: Delta's jars, absolute, and S3's where files on S3 are read or written.

    Raises:
        EngineError: it cannot be compiled, or not be kept there.
        JavaError: it must be compiled and there is no Java.
    """
    installed = versions.check()
    has_s3 = any("hadoop-aws" in path.name for path in needed)
    sources = [*_SOURCES, *(_S3_SOURCES if has_s3 else ())]
    content = b"".join(one.read_bytes() for one in (*sources, _COMPILER))
    content += repr(installed).encode()
    name = f"alluvium-{hashlib.sha256(content).hexdigest()[:12]}.jar"
    path = home.absolute() / "jars" / name
    if not path.exists():
        try:
            _compile(path, sources, needed)
        except OSError as problem:
            raise EngineError(f"{path} cannot be written: {problem}") from problem
    return path


def _compile(path: Path, sources: list[Path], needed: list[Path]) -> None:
    shipped = versions.spark_home() / "jars"
    class_path = [str(shipped / "*"), *map(str, needed)]
    with tempfile.TemporaryDirectory(prefix=".compiling-", dir=path.parent) as work:
        fresh = Path(work) / path.name
        ran = subprocess.run(
            [
                *(str(java.check().path), "-XX:TieredStopAtLevel=1"),
                *("-cp", os.pathsep.join(class_path)),
                *("org.codehaus.janino.SimpleCompiler", str(_COMPILER), "CompileToJar"),
                *(str(fresh), *map(str, sources)),
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


def main() -> int:
    """Print the class path of Delta and of the package's own Java, for a server of one's own."""
    parser = argparse.ArgumentParser(prog="alluvium.engine.own_jar", description=main.__doc__)
    parser.add_argument("home", type=Path, help="the engine's folder, such as .alluvium")
    home = parser.parse_args().home
    try:
        paths = jars.resolve(home)
        print(os.pathsep.join(map(str, [*paths, jar(home, paths)])))
    except EngineError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
