"""Tables whose logs have forms that few do, as Spark, Arrow and delta-rs read them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from functional.both_readings import agree
from pyspark.sql import SparkSession

from alluvium.delta.log import log

pytestmark = [pytest.mark.spark, pytest.mark.slow]
KINDS = {
    "d": "date'2024-02-29'",
    "t": "timestamp'2024-02-29 10:11:12.123456'",
    "n": "timestamp_ntz'2024-02-29 10:11:12.123456'",
    "c": "cast('12345678901234567.89' as decimal(20, 2))",
    "f": "cast(1.5 as double)",
    "b": "cast(3 as tinyint)",
    "s": "'ä \"numRecords\":5'",
    "y": "true",
    "x": "X'00ff'",
}


@pytest.mark.parametrize("column", KINDS)
def test_bounds_of_each_type(spark: SparkSession, column: str) -> None:
    spark.sql("create schema if not exists read_by_both")
    table = f"read_by_both.of_{column}"
    spark.sql(f"create table {table} using delta as select {KINDS[column]} as v, 1 as id")
    spark.sql(f"insert into {table} values (null, 2)")
    found = agree(spark, table, {"sort_by": "v"})
    assert found.files.num_rows == 2


@pytest.mark.parametrize("window", ["hour", "day", "week", "month"])
def test_buckets(spark: SparkSession, window: str) -> None:
    spark.sql("create schema if not exists read_by_both")
    kind = "timestamp" if window == "hour" else "date"
    table = f"read_by_both.by_{window}"
    spark.sql(
        f"create table {table} (id int, `a day` {kind}) using delta partitioned by (`a day`)"
        " tblproperties ('delta.columnMapping.mode' = 'name')"
    )
    values = "(1, '2024-12-31'), (2, '2025-01-01'), (3, null)"
    spark.sql(f"insert into {table} values {values}")
    layout = {"sort_by": "id", "bucket_by": {"column": "a day", "window": window}}
    agree(spark, table, layout)
    spark.sql(f"alter table {table} rename column id to number")
    spark.sql(f"insert into {table} values {values}")
    agree(spark, table, layout | {"sort_by": "number"})


def test_checkpoints(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("create schema if not exists read_by_both")
    table = "read_by_both.checkpointed"
    spark.sql(
        f"create table {table} (id int, v string) using delta"
        " tblproperties ('delta.enableDeletionVectors' = 'true')"
    )
    for number in range(4):
        spark.sql(f"insert into {table} select id, 'v' from range({number * 9}, {number * 9 + 9})")
    spark.sql(f"delete from {table} where id % 5 = 0")
    layout = {"sort_by": "id"}
    agree(spark, table, layout)
    with_parts = "spark.databricks.delta.checkpoint.partSize"
    spark.conf.set(with_parts, "2")
    try:
        log.delta_log(spark, table).checkpoint()
    finally:
        spark.conf.unset(with_parts)
    spark.sql(f"delete from {table} where id % 7 = 0")
    agree(spark, table, layout)
    spark.sql(f"alter table {table} set tblproperties ('delta.checkpointPolicy' = 'v2')")
    log.delta_log(spark, table).checkpoint()
    spark.sql(f"optimize {table}")
    agree(spark, table, layout)
    clone = f"delta.`{tmp_path / 'a %20 clone'}`"
    spark.sql(f"create table {clone} shallow clone {table}")
    agree(spark, clone, layout, by_delta_rs=False)  # it takes the name for an escaped one
    shutil.rmtree(tmp_path / "a %20 clone")
