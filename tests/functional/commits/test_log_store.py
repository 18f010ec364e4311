"""The log store for local disks: one writer a name, whole commits, and readers of other kinds."""

from __future__ import annotations

import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from functional.commits.racer import log_store
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from alluvium.engine import EngineError, own_jar
from alluvium.engine.log_store import CLASS

pytestmark = pytest.mark.spark
NAME = "00000000000000000000.json"
WITHOUT_LINKS = f"""
public class Unlinked extends {CLASS} {{
    public Unlinked(org.apache.hadoop.conf.Configuration conf) {{ super(conf); }}
    protected void link(java.nio.file.Path from, java.nio.file.Path to)
            throws java.io.IOException {{
        throw new java.nio.file.FileSystemException(to.toString(), null, "Operation not permitted");
    }}
}}
"""


class Store:
    """A log store over one folder."""

    def __init__(self, session: SparkSession, store: Any, folder: Path):
        self._jvm: Any = session._jvm
        self._conf = session.sparkContext._jsc.hadoopConfiguration()
        self._store = store
        self.folder = folder

    def write(self, *lines: object, name: str = NAME, overwrite: bool = False) -> None:
        path = self._jvm.org.apache.hadoop.fs.Path(f"file://{self.folder}/{name}")
        rows = self._jvm.java.util.ArrayList()
        for line in lines:
            rows.add(line)
        self._store.write(path, rows.iterator(), overwrite, self._conf)


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> Store:
    return Store(spark, log_store(spark, CLASS), tmp_path)


@pytest.fixture
def unlinked(spark: SparkSession, tmp_path: Path) -> Store:
    """The store on a file system that has no hard links."""
    jvm: Any = spark._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(log_store(spark, CLASS).getClass().getClassLoader())
    compiler.cook(WITHOUT_LINKS)
    made = compiler.getClassLoader().loadClass("Unlinked").getConstructors()[0]
    arguments = spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 1)
    arguments[0] = spark.sparkContext._jsc.hadoopConfiguration()
    return Store(spark, made.newInstance(arguments), tmp_path)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_local_tables_have_it(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(1).write.format("delta").save(f"{tmp_path}/t")
    delta_log = spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(
        spark._jsparkSession, f"{tmp_path}/t"
    )
    delegate = delta_log.store().getDelegate(delta_log.logPath())
    assert delegate.logStoreImpl().getClass().getName() == CLASS


def test_a_name_is_given_once(store: Store) -> None:
    store.write("one", "ünd two")
    assert (store.folder / NAME).read_text("utf-8") == "one\nünd two\n"
    with pytest.raises(Py4JJavaError, match=r"java\.nio\.file\.FileAlreadyExistsException"):
        store.write("other")
    assert (store.folder / NAME).read_text("utf-8") == "one\nünd two\n"
    assert files(store.folder) == [NAME]
    assert stat.S_IMODE((store.folder / NAME).stat().st_mode) == 0o644


def test_overwriting_is_deltas_own(store: Store) -> None:
    store.write("one", name="_last_checkpoint", overwrite=True)
    store.write("two", name="_last_checkpoint", overwrite=True)
    assert (store.folder / "_last_checkpoint").read_text() == "two\n"


def test_half_a_commit_is_none(store: Store) -> None:
    with pytest.raises(Py4JJavaError, match="ClassCastException"):
        store.write("one", 2)
    assert files(store.folder) == []


def test_a_dropped_table_stays_dropped(store: Store) -> None:
    store.folder.rmdir()
    with pytest.raises(Py4JJavaError, match=r"FileNotFoundException|NoSuchFileException"):
        store.write("one")
    assert not store.folder.exists()


@pytest.mark.slow
def test_a_file_system_without_hard_links(unlinked: Store) -> None:
    unlinked.write("one")
    with pytest.raises(Py4JJavaError, match=r"java\.nio\.file\.FileAlreadyExistsException"):
        unlinked.write("other")
    assert (unlinked.folder / NAME).read_text() == "one\n"
    assert files(unlinked.folder) == [".commit.lock", NAME]

    def mine(number: int) -> bool:
        try:
            unlinked.write(str(number), name="00000000000000000001.json")
        except Py4JJavaError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        winners = [number for number, won in enumerate(pool.map(mine, range(8))) if won]
    assert [f"{winner}\n" for winner in winners] == [
        (unlinked.folder / "00000000000000000001.json").read_text()
    ]


@pytest.mark.slow
def test_delta_rs_and_spark_write_one_table(spark: SparkSession, tmp_path: Path) -> None:
    table = f"{tmp_path}/t"
    spark.range(0).write.format("delta").option("delta.checkpointInterval", "4").save(table)

    def by_rust() -> None:
        for number in range(100, 112):
            rows = pa.table({"id": pa.array([number], pa.int64())})
            deltalake.write_deltalake(table, rows, mode="append")

    def by_spark() -> None:
        for number in range(8):
            spark.range(number, number + 1, 1, 1).write.format("delta").mode("append").save(table)

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(by_rust), pool.submit(by_spark)]:
            future.result()
    wanted = [*range(8), *range(100, 112)]
    assert sorted(row["id"] for row in spark.read.format("delta").load(table).collect()) == wanted
    read = deltalake.DeltaTable(table)
    assert sorted(read.to_pyarrow_table()["id"].to_pylist()) == wanted
    assert read.version() == len(wanted)
    assert list((tmp_path / "t" / "_delta_log").glob("*.checkpoint.parquet"))


def test_it_is_compiled_once(spark: SparkSession, home: Path, tmp_path: Path,
                             monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    jars = sorted((home / "jars").glob("delta-*/*.jar"))
    (tmp_path / "jars").mkdir()
    made = own_jar.jar(tmp_path, jars)
    assert files(tmp_path / "jars") == [made.name]
    before = made.stat()
    monkeypatch.setattr(subprocess, "run", None)  # not again
    assert own_jar.jar(tmp_path, jars) == made
    assert made.stat() == before


@pytest.mark.slow
def test_what_cannot_be_compiled_is_said(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    with pytest.raises(EngineError, match="cannot be compiled with Spark's Janino"):
        own_jar.jar(tmp_path, [])
    assert files(tmp_path / "jars") == []
