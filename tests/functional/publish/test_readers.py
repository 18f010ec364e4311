"""Who reads a table while it is published finds one published version, whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
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


@pytest.mark.parametrize(
    ("by_rs", "by_spark", "seconds"),
    [(300, 30, 5), pytest.param(10_000, 300, 100, marks=pytest.mark.slow)],
)
def test_readers_beside_publishes(
    spark: SparkSession, tmp_path: Path, by_rs: int, by_spark: int, seconds: int
) -> None:
    """seconds: how long a reader pauses in all: a read takes less time than a publish."""
    path, schema = tmp_path / "candidate", f"readers{by_spark}"
    spark.sql(f"create schema {schema}")
    write(path, 0)
    spark.sql(f"create table {schema}.candidate using delta location '{path}'")
    names = (f"{schema}.candidate", f"{schema}.shown")
    publish(spark, *names, None, {}, {})
    place = spark.sql(f"describe detail {schema}.shown").first()["location"]
    readers = []
    for engine, reads in (("delta-rs", by_rs), ("spark", by_spark)):
        table, found = place.removeprefix("file:"), str(tmp_path / f"{engine}.json")
        task = {"engine": engine, "table": table, "found": found, "reads": reads}
        task["pause"] = seconds / reads
        if engine == "spark":
            task["home"] = str(add_jars(tmp_path / "home"))
        with (tmp_path / engine).open("w") as log:
            readers.append(
                subprocess.Popen(
                    [sys.executable, str(READER), json.dumps(task)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    env=os.environ | {"PYTHONPATH": str(REPO / "tests")},
                )
            )
    try:
        for reader in readers:
            assert reader.stdout.readline() == "ready\n"
        for reader in readers:
            reader.stdin.write("go\n")
            reader.stdin.flush()
        version = 0
        while any(reader.poll() is None for reader in readers):
            version += 1
            write(path, version)
            publish(spark, *names, None, {}, {})
            time.sleep(1)
        told = [json.loads((tmp_path / f"{one}.json").read_text()) for one in ("delta-rs", "spark")]
    finally:
        for reader in readers:
            reader.kill()
            reader.wait()
    whole = {(rows(one), one, one) for one in range(version + 1)}
    for reads, found in zip((by_rs, by_spark), told, strict=True):
        print(f"{reads} reads beside {version} publishes found {len(found)} versions")
        assert sum(times for _, times in found) == reads
        assert [one for one, _ in found if isinstance(one, str) or tuple(one) not in whole] == []
        assert len(found) > 1
