"""The column that Delta generates for the buckets of a layout, against pandas."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from deltalake import write_deltalake
from functional.compaction import tables
from functional.compaction.catalogued import log_of, rows_of
from functional.sorted_files import files_of, is_sorted
from pyspark.sql import SparkSession
from support.settings import settings

from alluvium.compact.run import compact
from alluvium.delta.log import log
from alluvium.delta.rewrite import bucket_column
from alluvium.delta.rewrite.rewrite import Rewriter
from alluvium.delta.rewrite.table_files import TableFiles
from alluvium.plan.layout.generated import GeneratedColumn
from alluvium.plan.layout.settings import WINDOWS, Layout
from dbt.adapters.alluvium.handle import SessionHandle

pytestmark = pytest.mark.spark
EACH_WINDOW = [pytest.param(one, marks=() if one == "day" else pytest.mark.slow) for one in WINDOWS]

NUMBER = itertools.count()
# Every 7 hours over three months, and two events whose time is not known.
EVENTS = """
    select id, concat('s', id % 5) as service,
        timestamp'2023-12-25 00:30:00' + make_dt_interval(0, cast(id * 7 as int)) as at
    from range(300)
    union all select 1000 + id, 'none', null from range(2)
"""
# Fewer, over half of the time: each hour is a folder and a file.
FEW = EVENTS.replace("id * 7", "id * 21").replace("range(300)", "range(60)")
# When the windows begin and end, by pandas' calendar.
PERIODS = {"hour": "h", "day": "D", "week": "W-SUN", "month": "M"}


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    spark.sql("create schema if not exists bucketing")
    return spark


def create(session: SparkSession, window: str, rows: str = EVENTS, name: str = "") -> str:
    name = name or f"bucketing.t{next(NUMBER)}"
    column = GeneratedColumn("at", window)
    frame = bucket_column.with_column(session.sql(rows).coalesce(1), column)
    frame.createOrReplaceTempView("bucketing_rows")
    session.sql(
        f"create or replace table {name} using delta partitioned by ({column.name})"
        " as select * from bucketing_rows"
    )
    return name


def adds(path: Path) -> list[Any]:
    """Of all commits of a table."""
    actions = [
        json.loads(line)
        for commit in sorted((path / "_delta_log").glob("*.json"))
        for line in commit.read_text().splitlines()
    ]
    return [action["add"] for action in actions if "add" in action]


def begins(times: pd.Series, window: str) -> pd.Series:
    return times.dt.to_period(PERIODS[window]).dt.start_time


@pytest.mark.parametrize("window", EACH_WINDOW)
def test_its_values_are_when_windows_begin(session: SparkSession, window: str) -> None:
    table = create(session, window, FEW)
    column = GeneratedColumn("at", window)
    known = log.metadata(session, table)
    assert len(known.partitions) == 1
    assert known.noted(log.GENERATION) == {column.name: column.expression}
    bucket_column.check_table(session, table, column)
    # Rows and column are one commit, and so is replacing both.
    assert len(log_of(session, table)) == 1
    create(session, window, FEW, table)
    assert len(log_of(session, table)) == 2
    # Later writers need not know it, and cannot have it wrong.
    session.sql(
        f"insert into {table} (id, at) values (2000, timestamp'2024-02-29 23:59:59.999999')"
    )
    with pytest.raises(Exception, match="CHECK constraint"):
        session.sql(f"insert into {table} values (2001, 's', timestamp'2024-02-29', '2020-01-01')")
    found = session.sql(f"select id, at, {column.name} as begins from {table}").toPandas()
    assert len(found) == 63
    known = found.dropna(subset=["at"])
    assert len(known) == 61
    assert (pd.to_datetime(known["begins"]) == begins(known["at"], window)).all()
    assert found[found["at"].isna()]["begins"].isna().all()


def test_a_session_of_another_zone(session: SparkSession) -> None:
    """Its nights are two days of UTC: what it reads is all there, and it writes no bucket."""
    table = create(session, "day", "select 1 as id, timestamp'2024-01-02 01:00:00' as at")
    other = session.newSession()
    cursor = SessionHandle(other, "a node").cursor()
    cursor.execute("set time zone 'America/New_York'")
    cursor.execute(f"select id from {table} where at <= timestamp'2024-01-02 02:00:00Z'")
    assert cursor.fetchall() == [(1,)]
    rows = other.sql("select 2 as id, timestamp'2024-01-02 01:00:00Z' as at")
    told = "at_day is made from at in UTC, .* zone is America/New_York; nothing was written"
    with pytest.raises(ValueError, match=told):
        bucket_column.check_zone(other, table)
    with pytest.raises(ValueError, match=told):
        bucket_column.left_out(other, table, lambda: rows, replaces=False)
    with pytest.raises(ValueError, match=told):
        bucket_column.with_column(rows, GeneratedColumn("at", "day"))
    # A day has no zone.
    days = rows.selectExpr("id", "date'2024-01-02' as at")
    found = bucket_column.with_column(days, GeneratedColumn("at", "month"))
    assert [str(row.at_month) for row in found.collect()] == ["2024-01-01"]
    for name in ("UTC", "+00:00"):
        other.conf.set("spark.sql.session.timeZone", name)
        bucket_column.check_zone(other, table)


@pytest.mark.parametrize("window", EACH_WINDOW)
def test_filters_and_compaction_know_the_windows(session: SparkSession, window: str) -> None:
    # Without statistics only the partitions can tell.
    with settings(session, {"spark.databricks.delta.stats.collect": "false"}):
        table = create(session, window, FEW)
    times = session.sql(FEW).toPandas()["at"].dropna()
    files = begins(times, window).nunique() + 1
    for first, last in (
        ("2024-02-05 05:30:00", "2024-02-06 05:30:00"),
        ("2024-02-01 06:30:00", "2024-02-01 06:30:00"),
    ):
        kept = log.skipping(session, table, f"at between '{first}' and '{last}'")
        wanted = begins(times[times.between(first, last)], window).nunique()
        assert kept.files_total == files
        # The windows at both ends may hold nothing that is wanted, and that of NULL does not.
        assert wanted <= kept.files <= wanted + 3
    assert log.skipping(session, table, "at is null").files == 1

    files = TableFiles(session, table)
    fragments = files.fragments("service", "at", window).to_pandas()
    ends = times.dt.to_period(PERIODS[window]).dt.end_time.dt.ceil("h").drop_duplicates()
    expected = sorted((ends - pd.Timestamp(0)) / pd.Timedelta(seconds=1))
    assert sorted(fragments["ends"].dropna()) == expected
    assert fragments["ends"].isna().sum() == 1
    # By the name of the column itself it is the same.
    by_name = files.fragments("service", f"at_{window}", window).to_pandas()
    assert by_name["ends"].equals(fragments["ends"])


def test_buckets_are_compacted_apart(session: SparkSession) -> None:
    table = create(session, "month")
    for number in range(3):
        session.sql(
            f"insert into {table} (id, service, at)"
            f" select id + {number}, service, at from ({EVENTS})"
        )
    before = rows_of(session, table)
    # The time comes behind it by itself.
    layout = Layout(("service",), bucket_column="at", window="month", fan_in=4)
    done = compact(session, table, layout, "events", clock=lambda: 1e11)
    assert done.merges == 5  # four months, and NULL
    assert rows_of(session, table) == before
    files = files_of(session, table)
    assert len(files) == 5
    assert all(is_sorted(path, ("service", "at")) for path in files)


@pytest.mark.slow
def test_merges_into_several_files_share_jobs(session: SparkSession) -> None:
    table = create(session, "month")
    for number in range(3):
        session.sql(
            f"insert into {table} (id, service, at)"
            f" select id + {number}, service, at from ({EVENTS})"
        )
    before = sorted(map(tuple, session.table(table).collect()), key=str)
    layout = Layout(("service", "at"), target_rows=150, bucket_column="at", window="month")
    said: list[str] = []
    done = compact(session, table, layout, "events", clock=lambda: 1e11, say=said.append)
    assert sorted(map(tuple, session.table(table).collect()), key=str) == before
    # One for December and NULL, which make a file each; one core for each of the others.
    assert len(said) == 1 + math.ceil(3 / session.sparkContext.defaultParallelism)
    assert done.merges == 5
    found: dict[str, list[pd.DataFrame]] = {}
    for path in files_of(session, table):
        found.setdefault(path.parent.name, []).append(pd.read_parquet(path))
    assert sorted(map(len, found.values())) == [1, 1, 2, 3, 3]
    for files in found.values():
        sizes = [len(file) for file in files]
        assert len(files) == max(1, round(sum(sizes) / 150))
        assert min(sizes) >= 0.75 * max(sizes)
        files.sort(key=lambda one: tuple(one[["service", "at"]].iloc[0]))
        rows = pd.concat(files)[["service", "at"]]
        assert list(rows.itertuples(index=False)) == sorted(rows.itertuples(index=False))


def test_a_table_without_it_is_refused(session: SparkSession) -> None:
    table = f"bucketing.t{next(NUMBER)}"
    session.sql(
        f"create table {table} (at timestamp, at_day date, region int) using delta"
        " partitioned by (at_day, region)"
    )
    with pytest.raises(ValueError, match="no generated partition column at_day") as caught:
        bucket_column.check_table(session, table, GeneratedColumn("at", "day"))
    assert str(caught.value).endswith("a partition column of the table: at_day, region")
    assert "--full-refresh" in str(caught.value)
    with pytest.raises(ValueError, match="'region' is int; accepted for the window day: timestamp"):
        bucket_column.check_table(session, table, GeneratedColumn("region", "day"))
    with pytest.raises(ValueError, match="neither by 'at' nor by 'at_week'"):
        TableFiles(session, table).fragments("region", "at", "week")


@pytest.mark.slow
def test_what_a_batch_leaves_out_is_computed(session: SparkSession) -> None:
    table = f"bucketing.t{next(NUMBER)}"
    session.sql(
        f"create table {table} (a int, b int, At_Day date generated always as (cast(at as date)),"
        " at timestamp, Sum int generated always as (a + b)) using delta partitioned by (At_Day)"
    )

    def left_out(columns: str, replaces: bool = False) -> dict[str, str]:
        batch = session.sql(f"select {columns}")
        return bucket_column.left_out(session, table, lambda: batch, replaces=replaces)

    at = "timestamp'2024-03-01 05:00:00' as at"
    both = {"At_Day": "CAST(at AS DATE)", "Sum": "a + b"}
    assert {name: sql.upper() for name, sql in left_out(f"1 as a, 2 as b, {at}").items()} == {
        name: sql.upper() for name, sql in both.items()
    }
    assert list(left_out(f"1 as a, {at}")) == ["At_Day"]  # `b` may be one that a merge leaves out
    assert left_out(f"3 as sum, {at}, current_date as at_day") == {}
    assert list(left_out("1 as a, 2 as b, current_date as AT_DAY", replaces=True)) == ["Sum"]
    with pytest.raises(ValueError, match="is partitioned by At_Day, which Delta computes"):
        left_out(f"1 as a, 2 as b, {at}", replaces=True)
    # Nothing is looked at where nothing is generated.
    session.sql(f"create or replace table {table} (a int) using delta")
    assert bucket_column.left_out(session, table, lambda: pytest.fail("asked"), replaces=True) == {}


@pytest.mark.slow
def test_a_time_keeps_its_spelling(session: SparkSession, tmp_path: Path) -> None:
    """Without a zone it would be another time to a reader in Berlin."""
    table = f"delta.`{tmp_path / 'table'}`"
    session.sql(f"create table {table} (id bigint, at timestamp) using delta partitioned by (at)")
    times = {"at": [pd.Timestamp("2024-03-01 05:00", tz="UTC")]}
    for number in range(4):
        session.sql(f"insert into {table} values ({number}, timestamp'2024-03-01 05:00:00Z')")
        rows = pd.DataFrame({"id": [10 + number], **times})
        write_deltalake(tmp_path / "table", rows, mode="append")
    read = TableFiles(session, table)
    rewriter, fragments = Rewriter(read), read.fragments("id", "at", "hour", "")
    files = {add["path"]: add["partitionValues"]["at"] for add in adds(tmp_path / "table")}
    with_zone = "2024-03-01T05:00:00.000000Z"
    assert sorted(spelled == with_zone for spelled in files.values()) == [False] * 4 + [True] * 4
    assert set(fragments["path"].to_pylist()) == set(files)
    for first in (False, True):
        inputs = sorted(files, key=lambda path: (files[path] == with_zone) is not first)
        [[made]] = [one.files for one in rewriter.write([inputs], Layout(["id"]), 100)]
        assert json.loads(made.action.json())["add"]["partitionValues"] == {"at": with_zone}


@pytest.mark.slow
def test_a_bucket_may_be_spelled_in_several_ways(session: SparkSession, tmp_path: Path) -> None:
    """delta-rs writes the microseconds of a time, Spark does not; and a price has few digits."""
    path = tmp_path / "table"
    table = f"delta.`{path}`"
    rows = (
        "select id, timestamp'2024-03-01 00:00:00' + make_dt_interval(cast(id % 2 as int)) as day,"
        " cast(if(id % 3 = 0, null, 1.5) as decimal(4, 2)) as price from range(12)"
    )
    frame = session.sql(rows).coalesce(1)
    frame.write.format("delta").partitionBy("day", "price").save(str(path))
    write_deltalake(path, frame.toArrow(), partition_by=["day", "price"], mode="append")
    written = adds(path)
    spelled = {json.dumps(add["partitionValues"], sort_keys=True) for add in written}
    assert (len(written), len(spelled)) == (8, 8)
    before = tables.rows_of(session, table)
    layout = Layout(("id",), "day", "day", quiet_after=1.0)
    done = compact(session, table, layout, "spelled", clock=lambda: 1e11)
    assert (done.merges, done.inputs, done.outputs) == (4, 8, 4)
    assert tables.rows_of(session, table) == before
