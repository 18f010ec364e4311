"""How often a compaction opens files."""

from __future__ import annotations

from pathlib import Path

import pytest
from functional.compaction import tables
from functional.opens import counting
from pyspark.sql import SparkSession

from alluvium.compaction.layout import Layout
from alluvium.compaction.run import compact

pytestmark = pytest.mark.spark


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
