"""Who reads a table while it is compacted: queries that have begun, and streams."""

from __future__ import annotations

from pathlib import Path

import pytest
from functional.compaction import tables
from pyspark.sql import SparkSession
from support.opens import counting
from support.settings import settings

from alluvium.compact.run import compact
from alluvium.plan.layout.settings import Layout

pytestmark = pytest.mark.spark
FILE_BY_FILE = {
    "spark.sql.files.maxPartitionBytes": "1048576",
    "spark.sql.files.openCostInBytes": "1048576",
}
LAYOUT = Layout(tables.SORT_BY, target_rows=1000, fan_in=8)


def test_a_query_that_has_begun_reads_its_version_to_the_end(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "table"
    table = tables.make(spark, path, 8)
    old = {one.name for one in tables.files_of(path)}
    with settings(spark, FILE_BY_FILE), counting(spark) as opened:
        # A partition at a time is read, as its rows are asked for.
        rows = spark.table(table).toLocalIterator()
        planned = spark.sql(f"select count(*), sum(id) from {table}")
        found = [next(rows)["id"]]
        assert sum(opened()[name] > 0 for name in old) <= 2
        assert compact(spark, table, LAYOUT, "logs").merges == 1
        assert old.isdisjoint(one.name for one in tables.files_of(path))
        before = opened()
        found += [row["id"] for row in rows]
        read_later = [name for name in old if opened()[name] > before[name]]
        assert len(read_later) >= 6
        assert sorted(found) == list(range(400))
        assert tuple(planned.first() or ()) == (400, sum(range(400)))


def test_a_stream_gets_each_row_once(spark: SparkSession, tmp_path: Path) -> None:
    path, sink = tmp_path / "table", tmp_path / "sink"
    table = tables.make(spark, path, 8)

    def drain() -> list[str]:
        rows = spark.readStream.format("delta").load(str(path))
        writer = rows.writeStream.format("delta").trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start(str(sink))
        query.awaitTermination()
        return tables.read(sink)

    assert drain() == tables.read(path)
    assert compact(spark, table, LAYOUT, "logs").merges == 1
    tables.land(path, 1, first=400)
    assert drain() == tables.read(path)
