"""Large merges that several tasks share: what one task would have made, or nearly so."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from functional.compaction import tables
from functional.compaction.test_zorder import STRANGE
from functional.sorted_files import is_sorted, rows_in
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from support.opens import counting
from support.settings import settings

from alluvium.compact import history
from alluvium.compact.run import compact
from alluvium.delta.rewrite import key_ranges
from alluvium.plan.compaction import jobs
from alluvium.plan.layout import sort_key
from alluvium.plan.layout.settings import Layout

pytestmark = [pytest.mark.spark, pytest.mark.slow]

QUIET = 10.0**11  # seconds since 1970: long after all arrivals
LAYOUT = Layout(tables.SORT_BY, target_rows=1000, quiet_after=1.0)


def quiet() -> float:
    return QUIET


@pytest.fixture(autouse=True)
def small_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks for as few files as may be, however few cores there are."""
    monkeypatch.setattr(jobs, "_SHARE", 1)
    monkeypatch.setattr(jobs, "_CORES", 1)


def ends_of(path: Path) -> list[tuple[object, object]]:
    """The first and the last sort key of each file, in the order of these."""
    keys = (rows_in(file, tables.SORT_BY) for file in tables.files_of(path))
    return sorted((one[0], one[-1]) for one in keys)


def test_ranges_are_disjoint_and_their_last_files_full(spark: SparkSession, tmp_path: Path) -> None:
    table = tables.make(spark, tmp_path, 32, rows=500)
    spark.sql(f"delete from {table} where id % 10 = 3")
    before = tables.rows_of(spark, table)
    inputs = set(tables.files_of(tmp_path))
    with counting(spark) as opens:
        done = compact(spark, table, LAYOUT, "logs", clock=quiet)
        opened = {name: count for name, count in opens().items() if name.startswith("part-")}
    assert (done.merges, done.rows) == (1, 14_400)
    assert tables.rows_of(spark, table) == before
    files = tables.files_of(tmp_path)
    # 14 full files by three tasks; each file says which one made it.
    assert {file.name.split("-")[1] for file in files} == {f"{task:05}" for task in range(3)}
    assert 14 <= len(files) <= 16
    assert all(is_sorted(file, tables.SORT_BY) for file in files)
    assert all(one[1] < two[0] for one, two in itertools.pairwise(ends_of(tmp_path)))
    assert min(pq.read_metadata(file).num_rows for file in files) >= 500
    # Once for its rows; and once for the sample, which takes rows of 64 files.
    assert {opened[file.name] for file in inputs} == {2}
    [figures] = history.compactions(spark, table).to_pylist()
    assert figures["files_opened"] == sum(opened.values())
    assert figures["outputs_planned"] == 14
    assert not compact(spark, table, LAYOUT, "logs", clock=quiet).merges


@pytest.mark.parametrize(
    ("curve", "columns"),
    [
        ("lexical", ("number", "exact", "text")),
        ("lexical", ("wall", "raw", "at")),
        ("lexical", ("flag", "day", "small")),
        ("zorder", ("number", "text")),
    ],
)
def test_strange_keys(
    spark: SparkSession, tmp_path: Path, curve: str, columns: tuple[str, ...]
) -> None:
    types = {f"{column}-`": STRANGE[column][0] for column in columns}
    quoted = [f"`{name.replace('`', '``')}` {kind}" for name, kind in types.items()]
    table = f"delta.`{tmp_path}`"
    spark.sql(f"create table {table} ({', '.join(quoted)}, id int) using delta")
    draw = random.Random(len(columns))
    rows = [
        (*(draw.choice([None, *STRANGE[column][1]]) for column in columns), number)
        for number in range(400)
    ]
    given = ["double", "binary", "boolean", "tinyint"]
    texts = [f"c{n} {kind if kind in given else 'string'}" for n, kind in enumerate(types.values())]
    frame = spark.createDataFrame(rows, f"{', '.join(texts)}, id int")
    casts = [f"cast(c{number} as {kind}) as c{number}" for number, kind in
             enumerate(types.values())]  # fmt: skip
    frame = frame.selectExpr(*casts, "id").toDF(*types, "id")
    frame.repartition(8, "id").write.format("delta").mode("append").save(str(tmp_path))
    before = tables.rows_of(spark, table)
    layout = Layout(tuple(types), curve=curve, target_rows=40, quiet_after=1.0)

    done = compact(spark, table, layout, "strange", clock=quiet)

    assert tables.rows_of(spark, table) == before
    assert done.rows >= 400
    files = tables.files_of(tmp_path)
    assert len({file.name.split("-")[1] for file in files}) > 1
    if curve == "zorder":
        return  # what lies where on the curve is tested with it
    ends = []
    for file in files:
        values = pq.read_table(file, columns=list(types))
        keys = sort_key.encode([_plain(column) for column in values.columns])
        assert keys == sorted(keys)
        ends.append((keys[0], keys[-1]))
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(sorted(ends)))


def _plain(column: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz))
    return column.combine_chunks()


def test_one_key_for_nearly_all_rows(spark: SparkSession, tmp_path: Path) -> None:
    table = tables.make(spark, tmp_path, 16, rows=500)
    spark.sql(f"update {table} set service = 's', id = 7 where id % 100 > 2")
    before = tables.rows_of(spark, table)
    compact(spark, table, LAYOUT, "logs", clock=quiet)
    assert tables.rows_of(spark, table) == before
    assert all(is_sorted(file, tables.SORT_BY) for file in tables.files_of(tmp_path))
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(ends_of(tmp_path)))


def test_row_counts_that_the_log_does_not_say(spark: SparkSession, tmp_path: Path) -> None:
    with settings(spark, {"spark.databricks.delta.stats.collect": "false"}):
        table = tables.make(spark, tmp_path, 20, rows=500)
    before = tables.rows_of(spark, table)
    layout = Layout(tables.SORT_BY, target_rows=1000, target_bytes=60_000, quiet_after=1.0)
    compact(spark, table, layout, "logs", clock=quiet)
    assert tables.rows_of(spark, table) == before
    assert len({file.name.split("-")[1] for file in tables.files_of(tmp_path)}) > 1
    assert all(one[1] < two[0] for one, two in itertools.pairwise(ends_of(tmp_path)))


def in_time(file: str) -> str:
    return f"{file} * 1000 + id % 1500"


def at_random(file: str) -> str:
    return "rand(3) * 1e6"


@pytest.mark.parametrize("keys", [at_random, pytest.param(in_time, marks=pytest.mark.slow)])
def test_ranges_have_like_numbers_of_rows(
    spark: SparkSession, tmp_path: Path, keys: Callable[[str], str]
) -> None:
    """Whatever the sizes of the files, and whatever keys lie together in one."""
    tasks = 6
    for files, rows in ((2, 40_000), (300, 200), (20, 2000)):
        values = spark.range(files * rows).withColumn("file", F.expr(f"cast(id div {rows} as int)"))
        made = values.repartitionById(files, "file").selectExpr(
            f"cast({keys('file')} as bigint) as key", "sha1(string(id)) as text"
        )
        made.write.parquet(str(tmp_path / "files"), mode="append")
    paths = sorted((tmp_path / "files").glob("*.parquet"))
    sizes = [path.stat().st_size for path in paths]
    frame = spark.read.parquet(*map(str, paths))
    some = spark.read.parquet(*(str(paths[place]) for place in key_ranges.to_sample(sizes)))
    key = F.struct("key")
    ends = key_ranges.bounds(some, key, tasks, sizes, frame.count())
    parts = key_ranges.shared(frame, key, tasks, ends)
    found = parts.groupBy(F.spark_partition_id().alias("part")).agg(
        F.count("*").alias("rows"), F.min("key").alias("lo"), F.max("key").alias("hi")
    )
    ranges = [tuple(row) for row in found.orderBy("part").collect()]
    assert [one[0] for one in ranges] == list(range(tasks))
    assert all(one[3] < two[2] for one, two in itertools.pairwise(ranges))
    counts = [one[1] for one in ranges]
    assert max(counts) <= 1.1 * sum(counts) / tasks, counts
    assert min(counts) >= 0.9 * sum(counts) / tasks, counts
