"""How often a compaction opens files, counted at Hadoop's file system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from functional.compaction import tables
from pyspark.sql import SparkSession

from alluvium.compaction.layout import Layout
from alluvium.compaction.run import compact
from alluvium.delta import jvm

pytestmark = pytest.mark.spark
SOURCE = Path(__file__).with_name("CountingFileSystem.java")


@contextmanager
def counting(session: SparkSession) -> Iterator[Callable[[], Counter[str]]]:
    """Counts how often each file of the local disk is opened, by its name."""
    java: Any = jvm.of(session)
    compiler = java.org.codehaus.janino.SimpleCompiler()
    compiler.setTargetVersion(8)
    compiler.cook(SOURCE.read_text())
    counted = compiler.getClassLoader().loadClass("CountingFileSystem").newInstance()
    conf = session._jsc.hadoopConfiguration()
    root = java.java.net.URI("file:///")
    counted.initialize(root, conf)
    put = {
        method.getName(): method
        for method in java.java.lang.Class.forName(
            "org.apache.hadoop.fs.FileSystem"
        ).getDeclaredMethods()
        if method.getName().endswith("FileSystemForTesting")
    }

    def call(name: str, file_system: Any) -> None:
        method = put[f"{name}FileSystemForTesting"]
        method.setAccessible(True)
        arguments = session.sparkContext._gateway.new_array(java.java.lang.Object, 3)
        arguments[0], arguments[1], arguments[2] = root, conf, file_system
        method.invoke(None, arguments)

    before = java.org.apache.hadoop.fs.FileSystem.get(root, conf)
    call("add", counted)
    try:
        yield lambda: Counter(counted.getClass().getField("opened").get(counted))
    finally:
        call("add", before)


@pytest.mark.parametrize("files", [8, 64])
def test_each_input_is_opened_once(spark: SparkSession, tmp_path: Path, files: int) -> None:
    path = tmp_path / "table"
    table = tables.make(spark, path, files)
    inputs = {file.name for file in tables.files_of(path)}
    layout = Layout(tables.SORT_BY, target_rows=1000 * files, fan_in=files)
    with counting(spark) as opens:
        done = compact(spark, table, layout, "logs")
        counts = opens()
    assert (done.inputs, done.outputs) == (files, 1)
    assert {counts[name] for name in inputs} == {1}
    # An output is opened for its footer, and for its first and last row key.
    [output] = {file.name for file in tables.files_of(path)} - inputs
    assert counts[output] == 2
