"""What makes the JVMs of tests start and run in less time: nothing of the product's own settings.

Spark's launcher puts `SPARK_SUBMIT_OPTS` in front of the options of each JVM that it starts, those
of dbt as a process of its own too. `TEST_JVM=plain` leaves JVMs as users have them, as
`make test-full` does.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark

from alluvium.engine import java

REPO = Path(__file__).parents[2]
OPTIONS = "SPARK_SUBMIT_OPTS"
# What Java takes last, after the options of a profile.
LATER_OPTIONS = "_JAVA_OPTIONS"
# Hundreds of commands in one JVM: half as many collections, and room for an event of 20 MB.
HEAP = "-Xms2g -Xmx3g -Xmn1g"
QUICK = (
    # A test runs each piece of code a few times: compiling it well costs more than it saves.
    "-XX:TieredStopAtLevel=1",
    # One tier alone gets 48 MB, which a worker fills; clearing takes longer than compiling did.
    "-XX:ReservedCodeCacheSize=240m",
    # Delta keeps the plans of 10,000 tables: all that hundreds of tests make, in one heap.
    "-Ddelta.log.cacheSize=200",
    # Each task would write, format and look up Java for its projections of a few rows. Stages are
    # compiled as ever.
    "-Dspark.sql.codegen.factoryMode=NO_CODEGEN",
    # Each query would write its plan down twice, in full, for a page that nobody opens.
    "-Dspark.sql.ui.explainMode=simple",
    # A query of a few rows would be planned again behind each of its stages: a fifth of all time.
    # Tests of pruned reads turn it on, for what is read depends on the plan.
    "-Dspark.sql.adaptive.enabled=false",
)


def of_daemons() -> str:
    """Options of JVMs that Spark's launcher does not start for a driver."""
    if _is_plain():
        return ""
    return f"{QUICK[0]} -XX:+UseSerialGC -XX:SharedArchiveFile={_archive()}"


def use() -> None:
    """Let each JVM from here on start so; make the archive beside the tests if there is none.

    A start with a merge loads 25,000 classes, most of them from an archive that is made once for
    these jars and this Java.
    """
    if _is_plain():
        return
    archive = _archive()
    os.environ[LATER_OPTIONS] = HEAP
    os.environ[OPTIONS] = " ".join([*QUICK, f"-XX:SharedArchiveFile={archive}"])
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        subprocess.Popen(
            [sys.executable, __file__, str(archive)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": str(REPO / "tests")},
        )


def _is_plain() -> bool:
    return os.environ.get("TEST_JVM") == "plain"


def _archive() -> Path:
    """Its name tells what it was made from; Java itself looks once more, and goes without."""
    made_from = [java.check(), pyspark.__file__, pyspark.__version__]
    digest = hashlib.sha256(repr(made_from).encode()).hexdigest()[:12]
    return REPO / f".alluvium/test-classes/{digest}.jsa"


def _make(archive: Path) -> None:
    """Start Spark, merge, and let Java write down at its end what it loaded."""
    from pyspark import SparkContext

    from alluvium.engine import session as engine

    with archive.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return  # another worker makes it
        made = archive.with_suffix(".new")
        os.environ[OPTIONS] = f"-XX:ArchiveClassesAtExit={made}"
        with tempfile.TemporaryDirectory() as folder:
            jars = os.environ.get("ALLUVIUM_TEST_JARS", REPO / ".alluvium/jars")
            (Path(folder) / "jars").symlink_to(jars)
            session = engine.new_session(engine.Settings(home=Path(folder)))
            session.sql("create table made (id bigint, v string) using delta")
            merge = (
                "merge into made using (select id, 'v' as v from range(9)) n on made.id = n.id"
                " when matched then update set * when not matched then insert *"
            )
            for _ in range(2):
                session.sql(merge)
            session.sql("select * from made").toPandas()
            process = SparkContext._gateway.proc
            engine.stop()
            process.wait()
        made.rename(archive)


if __name__ == "__main__":
    _make(Path(sys.argv[1]))
