"""Counts by columns, from the log and the files that it does not tell of: what DuckDB counts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from urllib.parse import unquote

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from functional.delta_rs import folder_of, live_adds
from functional.pruning.test_against_duckdb import Conditions, edits
from pyspark.sql import SparkSession
from support.tagged import rows_and_files, tag

from alluvium.pruning.counts import Counts, count_by
from alluvium.publish.publish import publish

pytestmark = pytest.mark.spark
T, PARTED, SHOWN = "counted.edits", "counted.parted", "counted.parted_shown"
FILES = 12
# What the log tells of: everything but floats and times.
KEYS = ("channel", "namespace", "countryName", "isRobot", "share", "later")
BOUNDED = ("id", "added", "share", "later", "day", "isRobot", "page")
LIVE = "not coalesce(_deleted, false)"
LONG = "a text that the log has only the beginning of"


@pytest.fixture(scope="module")
def counted(spark: SparkSession) -> Iterator[tuple[SparkSession, dict[str, pa.Table]]]:
    """Two tables, one of them with partitions, which is published too; and the rows of each."""
    rows = edits(2_000)
    spark.sql("create database if not exists counted")
    frame = spark.createDataFrame(rows).selectExpr(
        "*",
        "date_add(date'2026-01-01', int(id div 500)) as day",
        "if(channel < '#d', false, null) _deleted",
    )
    options = {"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": "none"}
    for table, files, parts in ((T, FILES, []), (PARTED, 3, ["isRobot", "day"])):
        some = frame.repartitionByRange(files, "channel", "namespace", "countryName")
        writer = some.write.format("delta").options(**options).partitionBy(*parts)
        writer.saveAsTable(table)
        tag(spark, table, ["page", "isRobot", "_deleted"], budget=300, leave=2)
        # Vectors: in files of one value, and in others.
        spark.sql(f"delete from {table} where id % 9 = 4")
        spark.sql(f"alter table {table} add column later string")
        # All rows of a file are new, and have one value; of another most are tombstones.
        spark.sql(
            f"insert into {table} (id, channel, later, isRobot, day, _deleted)"
            f" select if(id < 50, 10000 + id, 20000 + id - 50), if(id < 50, '{LONG}', '#new'),"
            f" if(id < 50, '{LONG}', 'x'), true,"
            " if(id < 50, date'1500-01-01', date'2026-01-09'), if(id < 50, null, id % 5 > 0)"
            " from range(0, 100, 1, 2)"
        )
    publish(spark, PARTED, SHOWN, None, {}, {})
    everything = duckdb.sql(
        "select *, date '2026-01-01' + (id // 500)::int as day,"
        " case when channel < '#d' then false end as _deleted,"
        " null::varchar as later from rows where id % 9 <> 4 union all by name"
        f" select 10000 + i as id, '{LONG}' as channel, '{LONG}' as later, true as isRobot,"
        " date '1500-01-01' as day from range(50) t(i) union all by name"
        " select 20000 + i as id, '#new' as channel, 'x' as later, true as isRobot,"
        " date '2026-01-09' as day, i % 5 > 0 as _deleted from range(50) t(i)"
    ).to_arrow_table()
    live = duckdb.sql(f"select * from everything where {LIVE}").to_arrow_table()
    yield spark, {T: everything, PARTED: everything, SHOWN: live}
    spark.sql("drop database counted cascade")


def check(
    session: SparkSession,
    table: str,
    rows: pa.Table,
    by: list[str],
    where: str | None,
    min_max: list[str],
) -> Counts | None:
    """Where the log tells anything, the rows are DuckDB's, and no other file is read."""
    of_spark = None if where is None else where.replace('"', "`")
    found = count_by(session, table, by, of_spark, min_max)
    if found is None:
        return None
    columns = [f'"{name}"' for name in by]
    ends = "".join(f', {end}("{name}")' for name in min_max for end in ("min", "max"))
    theirs = duckdb.sql(
        f"select {', '.join(columns)}, count(*){ends} from rows"
        f" where {where or 'true'} group by {', '.join(columns)}"
    ).fetchall()
    got, read = rows_and_files(session, f"select * from {found.view}")
    assert sorted(map(tuple, got), key=str) == sorted(theirs, key=str), (by, where, min_max)
    # Of a condition that nothing can fulfil Spark sees later on that no file is to be read.
    assert read <= found.read <= found.files - found.told
    assert read == found.read or where is not None
    return found


def told_of(home: Path, by: list[str]) -> int:
    """The files of T of which all rows have one value, as their Parquet files have them."""
    folder = folder_of(home, *T.split("."))
    number = 0
    for file in live_adds(folder):
        rows = pq.ParquetFile(folder / unquote(file["path"])).read()
        if not set(by) <= set(rows.column_names):
            continue
        values = [pc.unique(rows[name].combine_chunks()).to_pylist() for name in by]
        # Of a boolean only a tag knows that it is true, or false.
        has_tag = bool(file.get("tags"))
        number += all(
            len(some) == 1 and (has_tag or not isinstance(some[0], bool)) and len(str(some[0])) < 32
            for some in values
        )
    return number


def test_files_of_one_value_are_not_read(
    counted: tuple[SparkSession, dict[str, pa.Table]], home: Path
) -> None:
    session, rows = counted
    for by in (["channel"], ["channel", "namespace"], ["countryName", "channel"], ["isRobot"]):
        found = check(session, T, rows[T], by, None, [])
        assert found is not None
        assert found.told == told_of(home, by)
        assert 0 < found.read < found.files, by
    # Partitions: of the bounds of a file with a vector one value alone is known.
    every = check(session, PARTED, rows[PARTED], ["isRobot", "day"], None, ["day"])
    assert every is not None
    assert every.read == 0
    some = check(session, PARTED, rows[PARTED], ["isRobot", "day"], None, ["id"])
    assert some is not None
    assert 0 < some.read < some.files
    # A condition on a column of one value is asked of the log; Delta and tags skip the rest.
    none = check(session, PARTED, rows[PARTED], ["day"], "\"isRobot\" and day < '2025-01-01'", [])
    assert none is not None
    assert none.read == 0
    live = check(session, T, rows[T], ["channel"], LIVE, [])
    assert live is not None
    assert live.told == told_of(home, ["channel", "_deleted"])
    assert live.told > 0
    skipped = check(session, T, rows[T], ["channel"], "page = 'nobody wrote this'", [])
    assert skipped is not None
    assert skipped.read < skipped.files - skipped.told


STRANGE = {
    # Both are one sign in the log.
    "texts that are not UTF-8": "string(unhex(if(id < 2, 'ff', 'fe')))",
    "a long text": f"'{LONG}'",
    "a text of signs of two units": "repeat('\\U0001f600', if(id < 2, 31, 32))",
    "times that differ by less than the log says": "timestamp_micros(1000000 + id)",
    "fractions": "if(id < 2, 0.0D, -0.0D)",
    "a NaN": "if(id < 2, double('NaN'), 1.5D)",
    "a day of the other calendar": "date'1500-01-01'",
    "a large number": "9223372036854775807",
    "a decimal": "cast(12345678901234567890123456789012345.678 as decimal(38, 3))",
    "an empty text": "''",
}


def test_strange_values(counted: tuple[SparkSession, dict[str, pa.Table]]) -> None:
    session, _ = counted
    made = ", ".join(f"{sql} as c{place}" for place, sql in enumerate(STRANGE.values()))
    session.sql(
        "create table counted.strange using delta partitioned by (part)"
        f" as select /*+ coalesce(1) */ {made}, int(id div 2) as part, id from range(4)"
    )
    session.sql(f"insert into counted.strange select {made}, 3, id from range(2, 3)")
    told = []
    asked: dict[str, tuple[str, str]] = {}
    for place, name in enumerate(STRANGE):
        found = count_by(session, "counted.strange", [f"c{place}"])
        bounds = count_by(session, "counted.strange", ["part"], None, [f"c{place}"])
        if found is not None:
            told.append(name)
            asked[name] = (
                f"select hex(string(c{place})), row_count from {found.view}",
                f"select hex(string(c{place})), count(*) from counted.strange group by c{place}",
            )
        if bounds is not None:
            asked[f"bounds of {name}"] = (
                f"select * from {bounds.view}",
                f"select part, count(*), min(c{place}), max(c{place})"
                " from counted.strange group by part",
            )
    # All of one side are one query, their rows as texts.
    got, theirs = (
        session.sql(
            " union all ".join(
                f"select '{name}' as name, cast(struct(asked.*) as string) as row"
                f" from ({queries[side]}) asked"
                for name, queries in asked.items()
            )
        ).collect()
        for side in (0, 1)
    )
    assert sorted(map(tuple, got)) == sorted(map(tuple, theirs))
    assert {row.name for row in got} == asked.keys()
    assert told == ["a large number", "an empty text"]


def test_decimals_that_the_log_has_as_doubles(
    counted: tuple[SparkSession, dict[str, pa.Table]], home: Path
) -> None:
    """delta-rs writes them so."""
    session, _ = counted
    session.sql("create table counted.prices (price decimal(18, 2), v int) using delta")
    rest = (["9007199254740993.17", "9007199254740993.18"], ["7.25", "7.25"])
    for prices in rest:
        columns = {"price": pa.array(map(Decimal, prices), pa.decimal128(18, 2))}
        rows = pa.table(columns | {"v": pa.array([0, 0], pa.int32())})
        write_deltalake(folder_of(home, "counted", "prices"), rows, mode="append")
    for ours, plain in (
        (count_by(session, "counted.prices", ["price"]), "price, count(*)"),
        (
            count_by(session, "counted.prices", ["v"], None, ["price"]),
            "v, 4, min(price), max(price)",
        ),
    ):
        assert ours is not None
        assert (ours.told, ours.files) == (1, 2)
        by = plain.split(",")[0]
        wanted = session.sql(f"select {plain} from counted.prices group by {by}").collect()
        assert sorted(session.table(ours.view).collect()) == sorted(wanted)


@pytest.mark.parametrize(
    ("by", "where", "min_max"),
    [
        (["channel"], "rand() < 2", []),
        (["channel"], "day < current_date()", []),
        (["channel"], f"id in (select id from {T})", []),
        (["nobody"], None, []),
        (["channel"], "nobody = 1", []),
        (["channel"], "channel ===", []),
        (["channel"], None, ["nobody"]),
        (["_metadata.file_path"], None, []),
    ],
)
def test_a_plain_query_is_as_good(
    counted: tuple[SparkSession, dict[str, pa.Table]],
    by: list[str],
    where: str | None,
    min_max: list[str],
) -> None:
    assert count_by(counted[0], T, by, where, min_max) is None


def draw(counted: tuple[SparkSession, dict[str, pa.Table]], seed: int, number: int) -> None:
    session, rows = counted
    conditions = {table: Conditions(some, seed) for table, some in rows.items()}
    chance = random.Random(seed)
    told = 0
    for _ in range(number):
        table = chance.choice(list(rows))
        by = chance.sample([*KEYS, "day"], chance.choice([1, 1, 2, 3]))
        where = chance.choice([None, LIVE, conditions[table].one(2), conditions[table].one()])
        min_max = chance.sample(BOUNDED, chance.choice([0, 0, 1, 2]))
        found = check(session, table, rows[table], by, where, min_max)
        told += found is not None
    assert told > number / 3


@pytest.mark.slow
def test_drawn(counted: tuple[SparkSession, dict[str, pa.Table]]) -> None:
    draw(counted, 1, 5)


@pytest.mark.slow
def test_many_drawn(counted: tuple[SparkSession, dict[str, pa.Table]]) -> None:
    draw(counted, 2, 100)
