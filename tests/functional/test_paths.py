"""Paths as Hadoop, Delta and columns of Spark have them, and `Place`."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from alluvium.delta import internals
from alluvium.delta.files import paths
from alluvium.engine import jvm
from alluvium.paths import Place
from alluvium.recovery.fsck import Fsck, Report
from alluvium.recovery.tables import Table

TEXTS = [
    "/a b%20#?+ü\u0308/&=:;,@!$'()*~._-",
    's3a://bucket/[x]{y}|^`"<>\\/day=2026-01-01 00%3A00',
    "file:///a//b/../c/",
    "hdfs://name:8020/\u00a0\u2028\u0085\U0001f300\n",
    "abfss://container@account.dfs.core.windows.net/t",
]
URIS = [
    "file:///a%20b/c%2520d",
    "file:/a+b%2Bc",
    "/a%25/%C3%BCü",
    "s3a://other/a:b",
    "hdfs:///a",
    "hdfs://name:8020/%5Bx%5D",
]
RELATIVE = ["part-0.parquet", "../t%202/p", "day=2026-01-01%2000%253A00/p.parquet", "_x/%C3%BC+"]


def test_as_hadoop_and_delta_write_them(spark: SparkSession) -> None:
    java = jvm.of(spark)
    path, uri = java.org.apache.hadoop.fs.Path, java.java.net.URI
    for text in TEXTS:
        place = Place.of(text, system="")
        assert (str(place), place.uri) == (path(text).toString(), path(text).toUri().toString())
    for text in URIS:
        theirs = path(uri(text)).toString()
        assert str(Place.of_uri(text)) == (f"file:{theirs}" if theirs.startswith("/") else theirs)
    delta = jvm.internal(spark, internals.FILE_OPERATIONS)
    for root in ("s3a://bucket/lake/t x", "file:/lake/ü%20"):
        for text in RELATIVE:
            theirs = delta.absolutePath(root, text)
            place = Place.of_uri(text, Place.of(root))
            assert (str(place), place.uri) == (theirs.toString(), theirs.toUri().toString())


def test_as_columns_have_them(spark: SparkSession) -> None:
    uris = [*URIS, *(Place.of(text).uri for text in TEXTS), *RELATIVE]
    places = [Place.of_uri(one) for one in uris[: -len(RELATIVE)]]
    rows = spark.createDataFrame(pa.table({"uri": uris})).select(
        paths.is_absolute(F.col("uri")).alias("is_absolute"),
        paths.plain(F.col("uri")).alias("plain"),
        paths.path(F.col("uri")).alias("path"),
        paths.folder(F.col("uri")).alias("folder"),
    )
    found = rows.collect()
    assert [one.is_absolute for one in found] == [True] * len(places) + [False] * len(RELATIVE)
    absolute = found[: len(places)]
    expected = [(str(one), one.path, one.parent.below) for one in places]
    assert [(one.plain, one.path, one.folder) for one in absolute] == expected


def test_a_log_that_names_a_file_beside_its_table(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "a b%20ü"
    place, beside = root / "t 1", root / "its file+#%"
    # delta-rs takes `%20` in a path for a blank.
    write_deltalake(tmp_path / "made", pa.table({"id": [1, 2, 3]}))
    beside.mkdir(parents=True)
    (tmp_path / "made").rename(place)
    (file,) = place.glob("*.parquet")
    moved = file.rename(beside / file.name)
    commit = place / "_delta_log/00000000000000000000.json"
    written = f"../its%20file+%23%25/{file.name}"
    commit.write_text(commit.read_text().replace(f'"path":"{file.name}"', f'"path":"{written}"'))

    def fsck() -> Report:
        table = Table("t", f"delta.`{place}`", str(place), "t", True)
        return Fsck(spark, [table], [str(root)], full=True).run()

    report = fsck()
    assert (report.lines(), report.files, report.sampled) == ([], 1, 1)
    (add,) = (
        action["add"]
        for action in map(json.loads, commit.read_text().splitlines())
        if "add" in action
    )
    narrow = json.dumps(json.dumps(json.loads(add["stats"]) | {"maxValues": {"id": 2}}))
    whole = commit.read_text()
    commit.write_text(whole.replace(json.dumps(add["stats"]), narrow))
    (line,) = fsck().lines()
    assert "statistics of id in the log leave values out (1 file of 1 read)" in line
    assert file.name in line
    commit.write_text(whole)
    moved.unlink()
    (line,) = fsck().lines()
    assert f"1 data file that the log needs is missing ({file.name})" in line
