"""Sort columns that change under a layout: their spelling, their type, and what has their name."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest
from functional.compaction import tables
from functional.compaction.catalogued import QUIET, live_files
from pyspark.sql import SparkSession

from alluvium.compact.run import compact
from alluvium.marks import LAYOUT_TAG
from alluvium.plan.layout.settings import Layout

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def settle(session: SparkSession, table: str, *sort_by: str) -> int:
    """Bring the table into its final form; gives the merges that it took."""
    layout = Layout(sort_by, target_rows=100, fan_in=4, quiet_after=3600.0)
    return compact(session, table, layout, "changed", clock=lambda: QUIET).merges


def sort_keys(session: SparkSession, table: str) -> set[str]:
    """Of the live files' tags."""
    return {
        json.loads(add["tags"][LAYOUT_TAG])["row_key"]
        for add in live_files(session, table).values()
    }


def test_another_spelling_is_the_same_column(spark: SparkSession, tmp_path: Path) -> None:
    table = tables.make(spark, tmp_path / "table", 8)
    assert settle(spark, table, "service", "id") > 0
    assert settle(spark, table, "Service", "ID") == 0


def test_keys_of_a_widened_column_are_not_compared_with_older_ones(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "table"
    table = f"delta.`{path}`"
    spark.sql(
        f"create table {table} (price decimal(10, 2)) using delta"
        " tblproperties ('delta.enableTypeWidening' = 'true')"
    )
    for first in (0, 200):
        prices = (
            f"select cast(id * 7 % 400 as decimal(10, 2)) from range({first}, {first + 200}, 1, 4)"
        )
        spark.sql(f"insert into {table} {prices}")
        if not first:
            assert settle(spark, table, "price") > 0
            spark.sql(f"alter table {table} alter column price type decimal(12, 4)")
    assert settle(spark, table, "price") > 0
    assert settle(spark, table, "price") == 0
    assert len(sort_keys(spark, table)) == 1
    found = spark.sql(
        f"select min(price) as lo, max(price) as hi from {table}"
        " group by _metadata.file_name order by lo"
    ).collect()
    assert len(found) == 4
    assert all(one["hi"] <= two["lo"] for one, two in pairwise(found))
    assert found[-1]["hi"] == Decimal("399.0000")


def test_a_column_that_gets_the_name_of_a_dropped_one_is_another(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "table"
    table = tables.make(spark, path, 8, **{"columnMapping.mode": "name"})
    assert settle(spark, table, "service", "id") > 0
    [before] = sort_keys(spark, table)
    spark.sql(f"alter table {table} drop column service")
    spark.sql(f"alter table {table} add column (service string)")
    assert settle(spark, table, "service", "id") > 0
    [after] = sort_keys(spark, table)
    assert before != after
    assert settle(spark, table, "service", "id") == 0
    ids = spark.sql(f"select id from {table} where service is null").toArrow()["id"]
    assert sorted(ids.to_pylist()) == list(range(400))
