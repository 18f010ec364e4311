"""Ranges of Spark DataFrames against plain Python over all rows."""

import datetime
import itertools
import math
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from functional.ranges.planned import planned
from pyspark.sql import DataFrame, SparkSession

from alluvium.plan.ranges.column_type import parse_type
from alluvium.ranges import (
    METHODS,
    Fragments,
    RangeError,
    Request,
    group_frame,
    group_rows,
    plan_frame,
    typed_literal,
)

pytestmark = pytest.mark.spark

EPOCH = datetime.datetime(1970, 1, 1)


def at(micros: int) -> datetime.datetime:
    return EPOCH + datetime.timedelta(microseconds=micros)


def unscaled(number: int, scale: int) -> Decimal:
    """Exact, whatever precision Python's decimal context has."""
    return Decimal((int(number < 0), tuple(int(digit) for digit in str(abs(number))), -scale))


def one_value(rng: random.Random, spark_type: str) -> Any:
    """A value in one of a few heaps, or one that is hard."""
    heap = rng.choice([0, 1_000_000, 1_000_900])
    number = heap + rng.randrange(300)
    match spark_type:
        case "tinyint":
            return rng.randrange(-128, 128)
        case "smallint":
            return rng.choice([-32768, 32767, rng.randrange(500)])
        case "int":
            return rng.choice([number, number, -(2**31), 2**31 - 1])
        case "bigint":
            return rng.choice([number, 2**60 + number, -(2**63), 2**63 - 1])
        case "float":
            return rng.choice([number / 4, -0.0, 0.0, math.nan, math.inf, -math.inf])
        case "double":
            return rng.choice([number / 7, -0.0, 0.0, 1e308, -1e308, 5e-324, math.nan, math.inf])
        case "decimal(10,2)":
            return unscaled(number, 2)
        case "decimal(38,10)":
            return unscaled(rng.choice([number, 10**37 + number]), 10)
        case "decimal(38,38)":
            return unscaled(rng.choice([-1, 1]) * (10**37 + number), 38)
        case "date":
            return datetime.date(1, 1, 1) + datetime.timedelta(days=number)
        case "timestamp":
            # Around the hour that a change of clocks repeats, to the microsecond.
            return at(1_603_585_800_000_000 + number * 3_001).replace(tzinfo=datetime.UTC)
        case "timestamp_ntz":
            return at(-5_000_000_000_000_000 + number * 3_001)
        case "object id":
            return f"{number:08x}{rng.randrange(2**64):016x}"
        case _:
            tail = rng.choice(["'", "\\", "\x00", "\n", "${x}", "😀", "é", "a", ""])
            return rng.choice(["", "p" * 40]) + tail + str(number)


TYPES = [
    "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)", "decimal(38,10)",
    "decimal(38,38)", "date", "timestamp", "timestamp_ntz", "object id", "string",
]  # fmt: skip


def key(value: Any) -> Any:
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def text(value: Any) -> str:
    """Canonical text, written another way than the library does."""
    if isinstance(value, datetime.datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f").zfill(26)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, float):
        return repr(0.0 if value == 0 else value)
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def check(ranges: list[Any], values: list[Any]) -> None:
    """Each range is a run of the sorted values, with its rows; together they are all of them."""
    present = sorted((v for v in values if v is not None), key=key)
    texts = [text(value) for value in present]
    done = 0
    for number, row in enumerate(ranges):
        run = slice(done, done + row.row_count)
        assert row.range_no == number
        assert (row.lo, row.hi) == (texts[run][0], texts[run][-1])
        assert done == 0 or key(present[done - 1]) != key(present[done])
        done += row.row_count
    assert done == len(present)


@pytest.fixture
def tokyo(spark: SparkSession) -> Iterator[None]:
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    yield
    spark.conf.set("spark.sql.session.timeZone", zone)


def batch(spark: SparkSession, spark_type: str, rows: int) -> tuple[DataFrame, list[Any]]:
    rng = random.Random(f"{spark_type} {rows}")
    values = [one_value(rng, spark_type) if rng.random() < 0.9 else None for _ in range(rows)]
    spark_type = "string" if spark_type == "object id" else spark_type
    return spark.createDataFrame([(v,) for v in values], f"`a.b c` {spark_type}"), values


def some_files(spark_type: str, count: int = 40) -> Fragments:
    """Files of a gigabyte whose values are much like those of the batch."""
    rng = random.Random(spark_type)
    values = sorted((one_value(rng, spark_type) for _ in range(count)), key=key)
    kind = parse_type("string" if spark_type == "object id" else spark_type)
    bounds = pa.array(values, kind, from_pandas=False)
    every = np.ones(count, dtype=np.bool_)
    return Fragments(bounds, bounds, np.full(count, 10**9), ~every, every, version=7)


# Whole numbers and texts in every run, exact ones below; unit tests see all types.
QUICK = ("bigint", "string")


@pytest.mark.parametrize(
    "spark_type",
    [pytest.param(t, marks=[] if t in QUICK else pytest.mark.slow) for t in TYPES],
)
def test_every_method_is_exact_over_all_rows(spark: SparkSession, spark_type: str) -> None:
    df, values = batch(spark, spark_type, 2000)
    files = some_files(spark_type)
    counts: dict[str, int] = {}
    for method in METHODS:
        if method == "auto" and spark_type not in ("bigint", "tinyint"):
            continue  # what it does on its own does not depend on the type
        # All values; far fewer than there are, where a method looks at them one by one.
        sizes = (50_000, 20) if method not in ("none", "min_max") else (20,)
        found = [
            planned(
                df, "a.b c", Request(method, 4, size, fragments=files, max_ranges=4, or_null=False)
            )
            for size in sizes
        ]
        if method in ("cover", "auto"):
            assert [row[:7] for row in found[0]] == [row[:7] for row in found[1]]
        for ranges in found:
            if method == "none":
                assert ranges == []
                continue
            used = ranges[0].method
            if used == "none":  # a tinyint has values in all of these files
                assert (method, spark_type) == ("auto", "tinyint")
                continue
            check(ranges, values)
            assert len(ranges) == 1 if method == "min_max" else len(ranges) <= 4
            assert len(ranges) > 1 or method not in ("gaps", "kmeans")
            name = "string" if spark_type == "object id" else spark_type
            assert used == method or (method == "auto" and used in ("cover", "min_max"))
            assert {(r.column_name, r.column_type, r.method, r.requested) for r in ranges} == {
                ("a.b c", name, used, method)
            }
            assert {(r.files_total, r.bytes_total, r.table_version) for r in ranges} == {
                (40, 40 * 10**9, 7)
            }
            assert {r.bytes_kept for r in ranges} == {ranges[0].files_kept * 10**9}
            for r in ranges:
                lo, hi = typed_literal(r.lo, name), typed_literal(r.hi, name)
                asked = f"count_if(`a.b c` between {lo} and {hi})"
                assert counts.setdefault(asked, r.row_count) == r.row_count
    # Spark finds the same rows by the ranges as literals.
    assert dict(zip(counts, df.selectExpr(*counts).first(), strict=True)) == counts


@pytest.mark.slow
@pytest.mark.usefixtures("tokyo")
@pytest.mark.parametrize("spark_type", ["date", "timestamp", "timestamp_ntz"])
def test_the_time_zone_of_the_session_changes_nothing(spark: SparkSession, spark_type: str) -> None:
    df, values = batch(spark, spark_type, 500)
    for sample_rows in (500, 10):
        check(planned(df, "a.b c", Request("gaps", 3, sample_rows)), values)


def test_the_sample_does_not_depend_on_partitions(spark: SparkSession) -> None:
    df, _ = batch(spark, "bigint", 3000)
    found = {
        tuple(row[3:7] for row in planned(df.repartition(n), "a.b c", Request("kmeans", 5, 30)))
        for n in (1, 3, 8)
    }
    assert len(found) == 1


SPREAD = {
    "id": ("id", "{}"),
    "decimal": ("cast(id as decimal(38,4))", "{}.0000"),
    "text": ("format_string('%024x', id)", "{:024x}"),
}
# Each method of some of them.
SPREAD_QUICK = [("gaps", "id"), ("gaps", "text"), ("kmeans", "decimal")]


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        pytest.param(*both, marks=() if both in SPREAD_QUICK else pytest.mark.slow)
        for both in itertools.product(("gaps", "kmeans"), SPREAD)
    ],
)
def test_values_that_the_sample_lacks_do_not_fill_the_gap(
    spark: SparkSession, method: str, kind: str
) -> None:
    value, written = SPREAD[kind]
    # Two heaps without a gap in them; the sample has one value of twenty, and rarely the ends.
    df = spark.range(10_000).selectExpr("if(id < 7000, id, id + 5000) as id")
    ranges = planned(df.selectExpr(f"{value} as v"), "V", Request(method, 2, 500))
    lo, middle, up, hi = map(written.format, (0, 6999, 12000, 14999))
    assert [(r.column_name, r.lo, r.hi, r.row_count) for r in ranges] == [
        ("v", lo, middle, 7000),
        ("v", up, hi, 3000),
    ]


def test_gaps_are_the_widest_of_all_rows_although_sampled(spark: SparkSession) -> None:
    # Gaps of 500, 400, … 100 among 20,000 values; the sample's own gaps are 10 in the mean.
    parts = [f"if(id >= {4000 * i}, {600 - 100 * i}, 0)" for i in range(1, 5)]
    df = spark.range(20_000).selectExpr(f"id + {' + '.join(parts)} as v")
    found = plan_frame(df, "v", Request("gaps", 3, 2_000)).collect()
    assert [(r.lo, r.hi) for r in found] == [("0", "3999"), ("4500", "8499"), ("8900", "21399")]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["gaps", "kmeans"])
def test_old_rows_that_the_sample_lacks(spark: SparkSession, method: str) -> None:
    df = spark.range(20_000).selectExpr("if(id < 3, id - 90000000, id + 1000) as v")
    found = planned(df, "v", Request(method, 2, 500))
    assert [(r.lo, r.hi) for r in found] == [("-90000000", "-89999998"), ("1003", "20999")]


def test_the_batch_is_computed_once(spark: SparkSession) -> None:
    counter = spark.sparkContext.accumulator(0)

    def count(value: int) -> int:
        counter.add(1)
        return value

    spark.udf.register("counted", count, "int")
    df = spark.range(0, 1000, 1, 2).selectExpr("counted(cast(id as int)) as v")
    cached = set(spark.sparkContext._jsc.getPersistentRDDs())  # Delta's, of other tests
    for method, sample_rows in (("min_max", 9), ("gaps", 9), ("kmeans", 9), ("kmeans", 9999)):
        counter.value = 0
        planned(df, "v", Request(method, 3, sample_rows))
        assert counter.value == 1000, (method, sample_rows)
    assert set(spark.sparkContext._jsc.getPersistentRDDs()) <= cached


def test_auto_takes_no_ranges_where_they_save_nothing(spark: SparkSession) -> None:
    def files(size: int) -> Fragments:
        lo, every = np.arange(20) * 100, np.ones(20, dtype=np.bool_)
        return Fragments(pa.array(lo), pa.array(lo + 99), np.full(20, size), ~every, every)

    everywhere = spark.range(2000).selectExpr("id as v")
    [row] = plan_frame(everywhere, "v", Request("auto", fragments=files(10**9))).collect()
    assert (row.method, row.requested, row.lo, row.hi, row.row_count) == (
        "none",
        "auto",
        *[None] * 3,
    )
    assert (row.files_kept, row.files_total) == (20, 20)
    # Read in less time than it takes to look: the batch is not computed.
    broken = spark.sql("select cast(raise_error('computed') as bigint) as v")
    assert [r.method for r in planned(broken, "v", Request("auto", fragments=files(10)))] == [
        "none"
    ]


@pytest.mark.slow
def test_kmeans_of_spark(spark: SparkSession) -> None:
    df = spark.range(3000).selectExpr("id + 100000 * (id div 1000) as v")
    for sample_rows in (5000, 500):
        ranges = plan_frame(df, "v", Request("kmeans", 3, sample_rows, engine="spark_ml")).collect()
        assert [(r.lo, r.hi, r.row_count) for r in ranges] == [
            ("0", "999", 1000), ("101000", "101999", 1000), ("202000", "202999", 1000),
        ]  # fmt: skip


@pytest.mark.slow
def test_groups_of_rows_that_lack_columns(spark: SparkSession) -> None:
    query = "select if(id % 3 = 0, null, id) as at, if(id % 5 = 0, null, string(id)) as `it's` "
    df = spark.sql(query + "from range(500)")
    lo, every = np.arange(50) * 10, np.ones(50, dtype=np.bool_)
    bounds = {"at": pa.array(lo + 3), "it's": pa.array(lo + 7).cast(pa.string())}
    files = {
        name: Fragments(one, one, np.full(50, 10**9), ~every, every) for name, one in bounds.items()
    }
    here = group_rows(df.toArrow(), ["it's"])
    for sample_rows in (5000, 5):
        there = group_frame(df, ["at", "it's"], ["it's"], files, sample_rows)
        assert [group.lacking for group in there] == [group.lacking for group in here]
        for one, other in zip(there, here, strict=True):
            assert [t.column for t in one.terms()] == [t.column for t in other.terms()]
            for a, b in zip(one.terms(), other.terms(), strict=True):
                assert a.ranges.row_count.sum() == b.ranges.row_count.sum()
                assert (a.keeps(files[a.column]) == b.keeps(files[b.column])).all()


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_plan(spark: SparkSession, method: str) -> None:
    for query in ("select 1L as v where false", "select cast(null as double) as v"):
        kind = parse_type("bigint" if "1L" in query else "double")
        none = pa.array([1], kind), np.ones(1, dtype=np.bool_)
        files = Fragments(none[0], none[0], np.array([10**9]), ~none[1], none[1])
        ranges = plan_frame(spark.sql(query), "v", Request(method, fragments=files))
        if method == "auto":
            assert [(r.method, r.lo) for r in ranges.collect()] == [("none", None)]
        else:
            assert ranges.collect() == []
        assert ranges.schema.simpleString() == (
            "struct<column_name:string,column_type:string,method:string,range_no:int,lo:string,"
            "hi:string,row_count:bigint,seconds:double,requested:string,files_kept:bigint,"
            "files_total:bigint,bytes_kept:bigint,bytes_total:bigint,table_version:bigint>"
        )


@pytest.mark.parametrize(
    ("query", "arguments", "said"),
    [
        ("select 1 as v", {"column": "w"}, "'w' is not in the batch: accepted are v"),
        ("select 1 as v, 2 as V", {}, "'v' is ambiguous: accepted are v, V"),
        (
            "select 1 as v",
            {"method": "mean"},
            "accepted are none, min_max, gaps, kmeans, cover",
        ),
        ("select 1 as v", {"k": 0}, "k is 0: accepted is"),
        ("select 1 as v", {"method": "auto"}, "method auto needs the table's fragments"),
        ("select 1 as v", {"engine": "ml"}, "unknown engine 'ml': accepted are sklearn, spark_ml"),
        ("select true as v", {}, "column v: ranges do not support the type boolean: accepted are"),
        ("select array(1) as v", {}, "type array<int>"),
        ("select map('a', 1) as v", {}, "type map<string,int>"),
        ("select struct(1 as a) as v", {}, "type struct<a:int>"),
        ("select x'00' as v", {}, "type binary"),
        ("select 'a' collate utf8_lcase as v", {}, "type string collate UTF8_LCASE"),
        ("select cast(x'ff' as string) as v", {}, "column v holds a string that is not UTF-8"),
    ],
)
def test_what_is_refused(
    spark: SparkSession, query: str, arguments: dict[str, Any], said: str
) -> None:
    column = arguments.pop("column", "v")
    with pytest.raises(RangeError, match=said.replace("(", r"\(")):
        plan_frame(spark.sql(query), column, Request(**arguments))
