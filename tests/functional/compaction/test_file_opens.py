"""How often a compaction opens files."""

from __future__ import annotations

from pathlib import Path

import pytest
from functional.compaction import tables
from pyspark.sql import SparkSession
from support.opens import counting
from support.settings import settings

from alluvium.compact import history
from alluvium.compact.run import compact
from alluvium.plan.layout.settings import Layout

pytestmark = pytest.mark.spark


# Files of a megabyte would be split, among as many tasks as there are cores.
SPLITTING = {
    "spark.sql.files.minPartitionNum": "64",
    "spark.sql.files.openCostInBytes": "1024",
    "spark.sql.files.maxPartitionBytes": "65536",
}


def test_large_ones_too_however_many_cores_there_are(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "table"
    table = tables.make(spark, path, 2, rows=30_000)
    inputs = {file.name for file in tables.files_of(path)}
    layout = Layout(tables.SORT_BY, fan_in=2)
    with settings(spark, SPLITTING):
        assert spark.table(table).rdd.getNumPartitions() >= 16
        with counting(spark) as opens:
            done = compact(spark, table, layout, "logs")
            counts = opens()
    assert (done.inputs, done.outputs) == (2, 1)
    # For its footer, because the merge is large, and for its rows.
    assert {counts[name] for name in inputs} == {2}


@pytest.mark.parametrize("files", [8, pytest.param(64, marks=pytest.mark.slow)])
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
    # An output is opened for its footer, for its first and last sort key, and for its values.
    [output] = {file.name for file in tables.files_of(path)} - inputs
    assert counts[output] == 3
    [figures] = history.compactions(spark, table).to_pylist()
    assert (figures["files_opened"], figures["files_written"]) == (files + 3, 1)
