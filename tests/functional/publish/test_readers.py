"""Who reads a table while it is published finds one published version, whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from functional.publish.reader import by_session, found_by
from functional.runner import REPO, add_jars
from pyspark.sql import SparkSession

from alluvium.publish.publish import publish

pytestmark = pytest.mark.spark
READER = Path(__file__).with_name("reader.py")
FILES = 3


def rows(version: int) -> int:
    """Rows that readers see of a version of the candidate; each has its number as `v`."""
    return FILES * (100 + version % 7)


def write(path: Path, version: int) -> None:
    """The next version of the candidate: other files, and in each of them a tombstone."""
    each = rows(version) // FILES
    part = [file for file in range(FILES) for _ in range(each + 1)]
    deleted = [row == each for _ in range(FILES) for row in range(each + 1)]
    table = pa.table({"part": part, "v": [version] * len(part), "_deleted": deleted})
    vectors = {"delta.enableDeletionVectors": "true"}
    write_deltalake(path, table, mode="overwrite", partition_by=["part"], configuration=vectors)


class Reader:
    """A process that reads the table, and waits with it until it is told to go."""

    def __init__(self, folder: Path, engine: str, table: str, reads: int, pause: float) -> None:
        self._found, self._reads = folder / f"{engine}.json", reads
        task = {"engine": engine, "table": table, "found": str(self._found), "reads": reads}
        task["pause"] = pause
        if engine == "spark":
            task["home"] = str(add_jars(folder / "home"))
        with (folder / engine).open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(READER), json.dumps(task)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=os.environ | {"PYTHONPATH": str(REPO / "tests")},
            )

    def wait_until_ready(self) -> None:
        assert self.process.stdout.readline() == "ready\n"

    def go(self) -> None:
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def done(self) -> bool:
        return self.process.poll() is not None

    def result(self) -> list[Any]:
        return json.loads(self._found.read_text())


@pytest.mark.parametrize(
    ("by_rs", "by_spark", "seconds", "own_jvm"),
    [(40, 6, 6, False), pytest.param(10_000, 300, 100, True, marks=pytest.mark.slow)],
)
def test_readers_beside_publishes(
    spark: SparkSession, tmp_path: Path, by_rs: int, by_spark: int, seconds: int, own_jvm: bool
) -> None:
    """delta-rs reads in a process of its own; Spark in one too, or in another session of this one.

    seconds: how long a reader pauses in all: a read takes less time than a publish.
    """
    path, schema = tmp_path / "candidate", f"readers{by_spark}"
    spark.sql(f"create schema {schema}")
    write(path, 0)
    spark.sql(f"create table {schema}.candidate using delta location '{path}'")
    names = (f"{schema}.candidate", f"{schema}.shown")
    publish(spark, *names, None, {}, {})
    place = spark.sql(f"describe detail {schema}.shown").first()["location"]
    table = place.removeprefix("file:")
    processes = [Reader(tmp_path, "delta-rs", table, by_rs, seconds / by_rs)]
    if own_jvm:
        processes.append(Reader(tmp_path, "spark", table, by_spark, seconds / by_spark))
    readers: list[Reader | Future[Any]] = [*processes]
    try:
        for reader in processes:
            reader.wait_until_ready()
        for reader in processes:
            reader.go()
        with ThreadPoolExecutor(1) as pool:
            if not own_jvm:
                read = by_session(spark.newSession(), table)
                readers.append(pool.submit(found_by, read, by_spark, seconds / by_spark))
            version = 0
            while not all(reader.done() for reader in readers):
                version += 1
                write(path, version)
                publish(spark, *names, None, {}, {})
                time.sleep(1)
        told = [reader.result() for reader in readers]
    finally:
        for reader in processes:
            reader.process.kill()
            reader.process.wait()
    whole = {(rows(one), one, one) for one in range(version + 1)}
    for reads, result in zip((by_rs, by_spark), told, strict=True):
        found = list(result.items()) if isinstance(result, Counter) else result
        print(f"{reads} reads beside {version} publishes found {len(found)} versions")
        assert sum(times for _, times in found) == reads
        assert [one for one, _ in found if isinstance(one, str) or tuple(one) not in whole] == []
        assert len(found) > 1
