"""Compaction of wide tables, heavy messages, maps, and files with different columns."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from functional.compaction import tables
from pyspark.sql import SparkSession
from support.settings import settings

from alluvium.compact.outcome import Compacted
from alluvium.compact.run import compact
from alluvium.plan.layout.settings import Layout

pytestmark = [pytest.mark.spark, pytest.mark.slow]
FILES = 4
STATISTICS = "spark.databricks.delta.stats.collect"
PASS_OVER = "spark.sql.files.ignoreCorruptFiles"


def compacted(session: SparkSession, path: Path, *sort_by: str) -> Compacted:
    """All files become one. The rows that delta-rs reads stay the same ones."""
    before = read(path, sort_by[-1])
    done = compact(session, f"delta.`{path}`", Layout(sort_by, fan_in=FILES), "strange")
    assert (done.inputs, done.outputs) == (FILES, 1)
    assert read(path, sort_by[-1]).equals(before)
    return done


def read(path: Path, key: str) -> pa.Table:
    rows = DeltaTable(path).to_pyarrow_table()
    return rows.sort_by(key).combine_chunks()


@pytest.mark.parametrize("columns", [300, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_wide_table(spark: SparkSession, tmp_path: Path, columns: int) -> None:
    for file in range(FILES):
        values = pa.array(range(file, 4 * 25, FILES), pa.int64())
        wide = pa.table({f"c{place}": values for place in range(columns)})
        write_deltalake(tmp_path, wide, mode="append")
    done = compacted(spark, tmp_path, "c7")
    assert done.rows == 100


def test_heavy_messages_and_maps(spark: SparkSession, tmp_path: Path) -> None:
    draw = random.Random(5)
    kind = pa.map_(pa.string(), pa.string())
    for file in range(FILES):
        ids = list(range(file, 40, FILES))
        attributes = [
            None if one % 5 == 0 else [(f"k{key}", None if key == 3 else "ä" * key)]
            for one, key in zip(ids, (draw.randrange(8) for _ in ids), strict=True)
        ]
        heavy = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "message": [draw.randbytes(75 * 512).hex() for _ in ids],
                "attributes": pa.array(attributes, kind),
            }
        )
        assert {len(text) for text in heavy["message"].to_pylist()} == {75 * 1024}
        write_deltalake(tmp_path, heavy, mode="append")
    assert compacted(spark, tmp_path, "id").rows == 40


def test_files_with_different_columns(spark: SparkSession, tmp_path: Path) -> None:
    """A column that a file lacks is NULL in its rows, the sort key too."""
    texts = pa.array([f"t{one}" for one in range(10)])
    for file in range(FILES):
        ids = pa.array(range(10 * file, 10 * file + 10), pa.int64())
        some = {"id": ids, f"only{file}": texts} | ({} if file < 2 else {"late": ids})
        write_deltalake(tmp_path, pa.table(some), mode="append", schema_mode="merge")
    assert read(tmp_path, "id")["late"].null_count == 20
    assert compacted(spark, tmp_path, "late", "id").rows == 40
    [file] = tables.files_of(tmp_path)
    in_file = pq.read_table(file)["late"].to_pylist()
    assert in_file == [None] * 20 + list(range(20, 40))


def test_a_column_that_is_called_metadata(spark: SparkSession, tmp_path: Path) -> None:
    for file in range(FILES):
        ids = pa.array(range(file, 40, FILES), pa.int64())
        names = pa.array([{"file_name": f"{one}.json"} for one in ids.to_pylist()])
        write_deltalake(tmp_path, pa.table({"id": ids, "_metadata": names}), mode="append")
    compacted(spark, tmp_path, "id")


def test_strings_that_are_no_utf8(spark: SparkSession, tmp_path: Path) -> None:
    table = f"delta.`{tmp_path / 'table'}`"
    for file in range(FILES):
        values = f"select cast(x'{file}fff' as string) as name, {file} as id"
        spark.sql(values).write.format("delta").mode("append").save(str(tmp_path / "table"))
    done = compact(spark, table, Layout(("name", "id"), fan_in=FILES), "strange")
    assert (done.inputs, done.outputs) == (FILES, 1)
    found = spark.sql(f"select hex(name) as name, id from {table} order by id").collect()
    assert [tuple(row) for row in found] == [(f"{file}FFF", file) for file in range(FILES)]


def test_a_session_that_cuts_times(spark: SparkSession, tmp_path: Path) -> None:
    """Its setting is for what it writes itself."""
    moments = pa.array([1_700_000_000_123_456], pa.timestamp("us", "UTC"))
    for file in range(FILES):
        write_deltalake(tmp_path, pa.table({"id": [file], "at": moments}), mode="append")
    with settings(spark, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"}):
        compacted(spark, tmp_path, "id")


def test_without_statistics(spark: SparkSession, tmp_path: Path) -> None:
    with settings(spark, {STATISTICS: "false"}):
        table = tables.make_with_spark(spark, tmp_path / "table", FILES)
        before = tables.rows_of(spark, table)
        done = compact(spark, table, Layout(tables.SORT_BY, fan_in=FILES), "strange")
    assert (done.inputs, done.outputs, done.rows) == (FILES, 1, 200)
    assert tables.rows_of(spark, table) == before


def test_a_broken_file_stops_it_whatever_spark_passes_over(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "table"
    with settings(spark, {STATISTICS: "false", PASS_OVER: "true"}):
        table = tables.make_with_spark(spark, path, FILES)
        version, broken = DeltaTable(path).version(), tables.files_of(path)[0]
        # Its footer stays, a page in it does not.
        content = bytearray(broken.read_bytes())
        content[20:200] = bytes(180)
        broken.write_bytes(content)
        (broken.parent / f".{broken.name}.crc").unlink(missing_ok=True)
        with pytest.raises(Exception, match=r"(?i)parquet|corrupt|failed"):
            compact(spark, table, Layout(tables.SORT_BY, fan_in=FILES), "strange")
    assert DeltaTable(path).version() == version
