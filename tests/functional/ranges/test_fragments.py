"""What the log says of a table's files, and that ranges keep the files that Delta itself keeps."""

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from functional.ranges.planned import planned
from pyspark.sql import Row, SparkSession

from alluvium.delta.log import log
from alluvium.ranges import Fragments, Request, typed_literal

pytestmark = pytest.mark.spark

# Values of six files (None: a file without any), rising, and beyond all of them.
NUMBERS = (-70, -5, 0, 30, 60, 90, 120)
TYPES = {
    "tinyint": "cast(n as tinyint)",
    "smallint": "cast(n * 200 as smallint)",
    "int": "n * 10000000",
    "bigint": "n * 70000000000000000",
    "float": "cast(n / 8 as float)",
    "double": "case n when -70 then double('-inf') when 90 then double('nan') else n / 7 end",
    "decimal(10,2)": "cast(n / 4 as decimal(10,2))",
    "decimal(38,10)": "cast(n * 10000000000000000000000000BD as decimal(38,10))",
    "date": "date_add(date'2000-01-01', n)",
    "timestamp": "timestamp'2000-01-01 00:00:00.000123' + make_interval(0, 0, 0, n)",
    "timestamp_ntz": "timestamp_ntz'2000-01-01 00:00:00.000999' + make_interval(0, 0, 0, n)",
    "object id": "concat(lpad(hex(n + 100), 8, '0'), repeat('e', 16))",
    "long string": "concat(repeat('p', 40 - n div 30), chr(n + 100), repeat('q', 40))",
    "string": "concat(chr(n + 200), '''\\\\', chr(0), '😀')",
}


def table_of(session: SparkSession, path: Path, query: str, order: str, **properties: str) -> str:
    """A table with a file for each value of `order`."""
    frame = session.sql(query).repartitionByRange(20, order)
    writer = frame.write.format("delta")
    for name, value in properties.items():
        writer = writer.option("delta." + name, value)
    writer.save(str(path))
    return f"delta.`{path}`"


def fragments(session: SparkSession, table: str, column: str) -> Fragments:
    return log.fragments(session, table, [column])[column]


def rows(session: SparkSession, table: str, column: str) -> list[tuple[Any, ...]]:
    """(rows, nulls, lo, hi) of each file, in order."""
    found = log.fragments(session, table, [column])[column]
    listed = (one.to_pylist() for one in (found.rows, found.nulls, found.lo, found.hi))
    return sorted(zip(*listed, strict=True), key=str)


def predicate(column: str, ranges: list[Row]) -> str:
    def literals(row: Row) -> tuple[str, str]:
        return typed_literal(row.lo, row.column_type), typed_literal(row.hi, row.column_type)

    terms = [f"`{column}` between {lo} and {hi}" for lo, hi in map(literals, ranges)]
    return f"({' or '.join(terms)} or `{column}` is null)"


def check(
    session: SparkSession, table: str, column: str, batch: str, files: Fragments | None = None
) -> Row:
    """Ranges for a batch say of the files what Delta's skipping does."""
    if files is None:
        files = fragments(session, table, column)
    ranges = planned(session.sql(batch), column, Request("cover", 3, fragments=files))
    kept = log.skipping(session, table, predicate(column, ranges))
    found = ranges[0]
    assert (found.files_kept, found.files_total) == (kept.files, kept.files_total)
    assert (found.bytes_kept, found.bytes_total) == (kept.bytes, kept.bytes_total)
    assert found.table_version == files.version
    return found


@pytest.fixture(scope="module")
def typed(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Mapping[str, Fragments]]:
    """A table with a column of each type, and what its log says of each."""
    columns = ", ".join(
        f"if(lacks, null, {expression}) as `{name}`" for name, expression in TYPES.items()
    )
    numbers = ", ".join(f"({n}, false)" for n in NUMBERS[:-1])
    query = f"select n, {columns} from values {numbers}, (115, true) as v(n, lacks)"
    path = tmp_path_factory.mktemp("typed") / "t"
    table = table_of(spark, path, query, "n", **{"columnMapping.mode": "name"})
    return table, log.fragments(spark, table, list(TYPES))


# Others are of the kind of one that is quick.
LIKE = {"tinyint": "int", "smallint": "int", "float": "double", "decimal(10,2)": "decimal(38,10)"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=pytest.mark.slow if one in LIKE else ()) for one in sorted(TYPES)],
)
def test_types(spark: SparkSession, typed: tuple[str, Mapping[str, Fragments]], name: str) -> None:
    table, files = typed
    batch = f"select {TYPES[name]} as `{name}` from values (-70), (30), (60), (120) as v(n)"
    found = check(spark, table, name, batch, files[name])
    # 90 and what lies between -70 and 30 is left out, the file without values is not. Strings
    # that share the first 32 characters are one to Delta.
    assert found.files_kept == (7 if name == "long string" else 4)
    assert found.files_total == 7


def test_bounds_are_wider_than_the_values(spark: SparkSession, tmp_path: Path) -> None:
    query = """
        select timestamp'2020-01-01 00:00:00.123456 UTC' as ts,
               timestamp_ntz'2020-01-01 00:00:00.123456' as ntz, repeat('a', 40) as low,
               concat(repeat('z', 32), '😀') as high, repeat('\u00fc', 40) as mid"""
    table = table_of(spark, tmp_path / "t", query, "ts")
    moment = datetime.datetime(2020, 1, 1, 0, 0, 0, 123_000)
    up = moment + datetime.timedelta(milliseconds=1)
    expected = {
        "ts": (moment.replace(tzinfo=datetime.UTC), up.replace(tzinfo=datetime.UTC)),
        "ntz": (moment, up),
        "low": ("a" * 32, "a" * 32 + "\x7f"),
        "high": ("z" * 32, "z" * 32 + "\U0010ffff"),
        "mid": ("\u00fc" * 32, "\u00fc" * 32 + "\U0010ffff"),
    }
    found = log.fragments(spark, table, list(expected))
    for column, (lo, hi) in expected.items():
        files = found[column]
        assert (files.lo.to_pylist(), files.hi.to_pylist()) == ([lo], [hi])


def test_what_the_log_does_not_say(spark: SparkSession, tmp_path: Path) -> None:
    wide = ", ".join(f"{i} as c{i}" for i in range(30))
    query = f"select id as a, struct(1 as x, struct(2 as y) as z) as s, {wide}, id as `b.c` "
    table = table_of(spark, tmp_path / "t", query + "from range(3)", "a")
    assert rows(spark, table, "A") == [(1, 0, 0, 0), (1, 0, 1, 1), (1, 0, 2, 2)]
    # The nested fields are the second and the third of 32 columns that have statistics.
    assert rows(spark, table, "c28") == [(1, 0, 28, 28)] * 3
    for column in ("c29", "b.c", "s"):
        assert rows(spark, table, column) == [(1, None, None, None)] * 3
    assert check(spark, table, "b.c", "select 7L as `b.c`").files_kept == 3
    with pytest.raises(ValueError, match=r"no column 'b': accepted are \['a', 's', 'c0'"):
        log.fragments(spark, table, ["b"])
    other = spark.newSession()
    other.conf.set("spark.databricks.delta.stats.collect", "false")
    other.sql(f"insert into {table} select * from {table} where a = 2")
    assert rows(spark, table, "a") == [
        (1, 0, 0, 0), (1, 0, 1, 1), (1, 0, 2, 2), (None, None, None, None),
    ]  # fmt: skip
    assert check(spark, table, "a", "select 1L as a").files_kept == 2


def test_deleted_rows_and_renamed_columns(spark: SparkSession, tmp_path: Path) -> None:
    query = "select id as a, if(id % 4 = 0, null, id) as b, id div 10 as part from range(40)"
    table = table_of(
        spark, tmp_path / "t", query, "part", enableDeletionVectors="true",
        **{"columnMapping.mode": "name"},
    )  # fmt: skip
    spark.sql(f"alter table {table} rename column a to `it's new`")
    spark.sql(f"delete from {table} where `it's new` % 10 > 1")
    assert rows(spark, table, "it's new") == [(10, 0, i, i + 9) for i in (0, 10, 20, 30)]
    assert [one[:2] for one in rows(spark, table, "b")] == [(10, 2), (10, 2), (10, 3), (10, 3)]
    found = check(spark, table, "it's new", "select explode(array(5L, 25L)) as `it's new`")
    assert found.files_kept == 2
    assert check(spark, table, "b", "select 5L as b").files_kept == 4  # they may lack it


PARTS = {
    "int": ["-7", "3", "null"],
    "string": ["'a=b/''c'", "'é'", "''"],
    "date": ["date'2020-01-01'", "date'0099-01-01'", "null"],
    "timestamp": [
        "timestamp'2020-01-01 00:00:00.123456 UTC'", "timestamp'1960-01-01 00:00:00 UTC'", "null",
    ],
    "decimal(12,3)": ["1.5BD", "-2BD", "null"],
}  # fmt: skip


def test_partition_columns(spark: SparkSession, tmp_path: Path) -> None:
    names = {kind: f"p {kind[:4]}" for kind in PARTS}
    every = " union all ".join(
        "select " + ", ".join(f"cast({PARTS[k][i]} as {k}) as `{names[k]}`" for k in PARTS)
        + f", {i} as v" for i in range(3)
    )  # fmt: skip
    spark.sql(every).write.format("delta").option("delta.columnMapping.mode", "name").partitionBy(
        *names.values()
    ).save(str(tmp_path / "t"))
    table = f"delta.`{tmp_path}/t`"
    found = log.fragments(spark, table, list(names.values()))
    for kind, values in PARTS.items():
        column = names[kind]
        files = found[column]
        of = {f"select cast({value} as {kind}) as `{column}`" for value in values[:2]}
        for batch in of:
            # The file with the value, and the one with NULL.
            assert check(spark, table, column, batch, files).files_kept == 2
        assert sorted(files.has_value.tolist()) == [False, True, True]
        assert (files.has_null == ~files.has_value).all()
