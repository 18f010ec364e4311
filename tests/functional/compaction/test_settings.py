"""Settings and properties that somebody else chose, which must not change what is written."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from functional.compaction import tables
from functional.sorted_files import files_of, is_sorted, rows_in
from pyspark.sql import SparkSession
from support.settings import settings

from alluvium.compact.run import compact, preview
from alluvium.engine import jvm
from alluvium.plan.layout.settings import Layout

pytestmark = [pytest.mark.spark, pytest.mark.slow]
LAYOUT = Layout(tables.SORT_BY, target_rows=400, fan_in=8)
QUIET = 1e11


@contextmanager
def spilling(session: SparkSession, rows: int) -> Iterator[None]:
    """Sorts go to disk after so many rows."""
    java: Any = jvm.of(session)
    conf = java.org.apache.spark.SparkEnv.get().conf()
    name = "spark.shuffle.spill.numElementsForceSpillThreshold"
    conf.set(name, str(rows))
    try:
        yield
    finally:
        conf.remove(name)


@pytest.mark.parametrize("kinds", [1, 3])
def test_sorts_that_go_to_disk(spark: SparkSession, tmp_path: Path, kinds: int) -> None:
    """Of a partition by text, which Delta makes NULL where it is empty, and of several."""
    table = f"delta.`{tmp_path / 'table'}`"
    spark.sql(
        f"create table {table} (id bigint not null, service string, message string, kind string)"
        " using delta partitioned by (kind)"
    )
    for first in range(8):
        spark.sql(
            f"insert into {table} select /*+ coalesce(1) */ id * 8 + {first},"
            f" concat('s', id % 7), sha1(string(id)), concat('k', id % {kinds})"
            f" from range({kinds * 150})"
        )
    before = tables.rows_of(spark, table)
    layout = Layout(tables.SORT_BY, target_rows=400, bucket_column="kind", window="day")
    with spilling(spark, 100):
        done = compact(spark, table, layout, "logs", clock=lambda: QUIET)
    assert (done.merges, done.outputs) == (kinds, 3 * kinds)
    assert tables.rows_of(spark, table) == before
    folders: dict[str, list[list[tuple[object, ...]]]] = {}
    for path in files_of(spark, table):
        assert is_sorted(path, tables.SORT_BY)
        folders.setdefault(path.parent.name, []).append(rows_in(path, tables.SORT_BY))
    assert len(folders) == kinds
    for files in folders.values():
        assert all(one[-1] <= two[0] for one, two in itertools.pairwise(sorted(files)))
    assert not preview(spark, table, layout, "logs", now=QUIET)[0]


def test_timestamps_without_zone_by_default(spark: SparkSession, tmp_path: Path) -> None:
    table = f"delta.`{tmp_path / 'table'}`"
    spark.sql(f"create table {table} (id bigint, day timestamp) using delta partitioned by (day)")
    for first in range(4):
        spark.sql(
            f"insert into {table} select id * 4 + {first}, timestamp'2024-03-01' from range(10)"
        )
    layout = Layout(("id",), fan_in=4, bucket_column="day", window="day")
    setting = settings(spark, {"spark.sql.timestampType": "TIMESTAMP_NTZ"})
    with setting, jvm.active(spark, spark._jsparkSession):
        assert compact(spark, table, layout, "logs", clock=lambda: QUIET).outputs == 1


def test_hours_that_have_one_name(spark: SparkSession, tmp_path: Path) -> None:
    """In Berlin's autumn two hours are called two o'clock."""
    table = f"delta.`{tmp_path / 'table'}`"
    spark.sql(f"create table {table} (id bigint, hour timestamp) using delta partitioned by (hour)")
    for first in range(4):
        spark.sql(
            f"insert into {table} select id * 4 + {first},"
            " timestamp'2024-10-27 00:00:00' + make_interval(0, 0, 0, 0, int(id % 2))"
            " from range(10)"
        )
    before = tables.rows_of(spark, table)
    layout = Layout(("id",), fan_in=2, bucket_column="hour", window="hour")
    with settings(spark, {"spark.sql.session.timeZone": "Europe/Berlin"}):
        done = compact(spark, table, layout, "logs", clock=lambda: QUIET)
        fragments = preview(spark, table, layout, "logs", now=QUIET)[1]
    assert (done.merges, done.outputs) == (2, 2)
    assert tables.rows_of(spark, table) == before
    assert sorted(fragments["bucket"].to_pylist()) == [
        '{"hour":"2024-10-27 00:00:00"}',
        '{"hour":"2024-10-27 01:00:00"}',
    ]


def test_a_calendar_of_the_past(spark: SparkSession, tmp_path: Path) -> None:
    days = [datetime.date(1500, 1, 1) + datetime.timedelta(day) for day in range(80)]
    path = tmp_path / "table"
    for first in range(8):
        rows = {"id": list(range(first, 80, 8)), "day": days[first::8]}
        write_deltalake(path, pa.table(rows), mode="append")
    with settings(spark, {"spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY"}):
        done = compact(spark, f"delta.`{path}`", Layout(("id",), fan_in=8), "logs")
    assert (done.inputs, done.outputs) == (8, 1)
    read = pa.table(DeltaTable(path).to_pyarrow_table()).sort_by("id")
    assert read["day"].to_pylist() == days


def test_auto_compaction_is_named(spark: SparkSession, tmp_path: Path) -> None:
    said: list[str] = []
    table = tables.make(spark, tmp_path / "one", 12)
    spark.sql(f"alter table {table} set tblproperties ('delta.autoOptimize.autoCompact' = 'true')")
    compact(spark, table, LAYOUT, "logs", say=said.append)
    assert "auto compaction is on" in said[0]
    compact(spark, table, LAYOUT, "logs", say=said.append)
    assert len(said) == 2  # nothing was done
    said.clear()
    table = tables.make(spark, tmp_path / "two", 12)
    compact(spark, table, LAYOUT, "logs", say=said.append)
    assert not any("auto compaction" in line for line in said)


def test_a_table_that_is_no_longer_clustered(spark: SparkSession, tmp_path: Path) -> None:
    table = tables.make(spark, tmp_path / "table", 8)
    spark.sql(f"alter table {table} cluster by (service)")
    with pytest.raises(ValueError, match="liquid clustering"):
        compact(spark, table, LAYOUT, "logs")
    spark.sql(f"alter table {table} cluster by none")
    assert compact(spark, table, LAYOUT, "logs").merges == 1
