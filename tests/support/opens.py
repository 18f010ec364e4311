"""How often files are opened, counted at Hadoop's file system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from alluvium.engine import jvm

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
