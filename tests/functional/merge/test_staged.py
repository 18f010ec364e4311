"""A table that one commit wrote whole is read by that commit alone; any other as Delta reads it."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.delta.merge import staged

pytestmark = pytest.mark.spark

MADE = "create or replace table {t} using delta {how} as select id, id % 3 as part, 'v' || id as v"
MAPPED = "tblproperties ('delta.columnMapping.mode' = 'name')"
VECTORS = "tblproperties ('delta.enableDeletionVectors' = 'true')"


@pytest.fixture(scope="module")
def schema(spark: SparkSession) -> str:
    spark.sql("create schema staged")
    return "staged"


def make(session: SparkSession, table: str, how: str = "", rows: int = 50) -> None:
    session.sql(f"{MADE.format(t=table, how=how)} from range(0, {rows}, 1, 3)")


def read(session: SparkSession, query: str) -> bool:
    """Whether newest commits sufficed; the rows are Delta's own either way."""
    frame = session.sql(query)
    found = staged.by_newest_commit(frame)
    if found is frame:
        return False
    assert found.schema == frame.schema
    assert sorted(found.collect()) == sorted(frame.collect())
    return True


@pytest.mark.parametrize(
    "how",
    [
        f"partitioned by (part) {MAPPED}",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("", VECTORS)),
    ],
)
def test_written_whole(spark: SparkSession, schema: str, how: str) -> None:
    table = f"{schema}.whole"
    make(spark, table, how)
    assert read(spark, f"select * from {table}")
    assert read(spark, f"select part, count(*) as n from {table} where part = 1 group by part")
    assert read(spark, f"select v, _metadata.file_path from {table} where id between 3 and 9")
    make(spark, table, how, rows=0)
    assert read(spark, f"select * from {table}")
    where = "part = 1 and id between 3 and 9"
    assert read(spark, f"select part, count(*) as n from {table} where {where} group by part")


THEN = (
    "insert into {t} values (100, 1, 'more')",
    "update {t} set v = 'changed' where id < 3",
    "delete from {t} where id = 7",
    "optimize {t}",
    "restore {t} version as of 0",
    "insert overwrite {t} values (100, 1, 'other')",
    "delete from {t}",
    "alter table {t} add column w int",
)
# One that leaves other files, one that leaves vectors, and one that leaves its own files alone.
QUICK = (THEN[0], THEN[1], THEN[5])


@pytest.mark.parametrize("then", [QUICK, pytest.param(THEN, marks=pytest.mark.slow)])
def test_changed_since(spark: SparkSession, schema: str, then: tuple[str, ...]) -> None:
    """By whatever the newest commit is, also where it leaves no other file."""
    table = f"{schema}.changed"
    make(spark, table, VECTORS, rows=60)
    assert read(spark, f"select * from {table}")
    for statement in then:
        spark.sql(statement.format(t=table))
        assert not read(spark, f"select * from {table}"), statement


@pytest.mark.slow
def test_other_reads(spark: SparkSession, schema: str) -> None:
    whole, grown = f"{schema}.one", f"{schema}.two"
    make(spark, whole, rows=10)
    make(spark, whole)
    make(spark, grown)
    spark.sql(f"insert into {grown} values (100, 1, 'more')")
    assert not read(spark, f"select * from {whole} version as of 0")
    assert not read(spark, "select id from range(3)")
    assert not read(spark, f"select * from {grown}")
    both = f"select a.*, b.v as w from {whole} a join {grown} b using (id) where a.part < 2"
    assert read(spark, both)
    assert read(spark, f"{both} union all select *, v from {whole}")


def test_the_view_is_put_back(spark: SparkSession, schema: str) -> None:
    table = f"{schema}.seen"
    make(spark, table)
    spark.sql(f"create or replace temporary view staged_view as select id + 1 as id from {table}")
    put_back = staged.replace_view(spark.table("staged_view"), "`staged_view`")
    assert put_back is not None
    assert spark.table("staged_view").count() == 50
    make(spark, table, rows=20)
    assert spark.table("staged_view").count() == 50
    put_back()
    assert spark.table("staged_view").count() == 20
    assert staged.replace_view(spark.table(table), table) is None


def test_a_view_reads_its_tables_as_they_were(spark: SparkSession, schema: str) -> None:
    changed = f"{schema}.settled"
    make(spark, changed, VECTORS)
    spark.sql(f"delete from {changed} where id = 7")
    count = f"select count(*) as n from {changed}"
    spark.sql(
        "create or replace temporary view settled_view as"
        f" select a.id, now() as at, (select n from ({count})) as n"
        f" from {changed} a join {changed} b using (id)"
    )
    seen = {"id": 49, "n": 49}
    folder = str(log.delta_log(spark, changed).dataPath())
    for but, after in ((None, seen), (folder, {"id": 50, "n": 50})):
        put_back = staged.replace_view(spark.table("settled_view"), "settled_view", but)
        assert (put_back is None) == (but is not None)
        if put_back:
            spark.sql(f"insert into {changed} values (100, 1, 'more')")
        rows = spark.table("settled_view").collect()
        assert {"id": len(rows), "n": rows[0]["n"]} == after
        if put_back:
            assert spark.sql("select at from settled_view").first()["at"] == rows[0]["at"]
        if put_back:
            put_back()


THROUGH = (
    "create or replace table {t} using delta {how} as"
    " select id, id % 5 as _batch_through from range({rows})"
)


def test_what_is_known_of_a_batch(spark: SparkSession, schema: str) -> None:
    """Never more than its rows say, and all of it where one commit or a constant tells."""
    table = f"{schema}.batch"
    spark.sql(THROUGH.format(t=table, how="", rows=50))

    def known(sql: str, most: int) -> bool:
        return staged.has_none_above(spark.sql(sql), "_batch_through", most)

    rows = f"select * from {table}"
    assert [known(rows, most) for most in (3, 4, 5)] == [False, True, True]
    assert known(f"select _batch_through, 1 as x from ({rows}) where id > 3", 4)
    # Each of these has more, or NULL.
    for other in (
        f"select id as _batch_through from {table}",
        f"select _batch_through + 1 as _batch_through from {table}",
        f"select b._batch_through from {table} a left join {table} b on a.id = b.id + 1",
        f"select _batch_through from {table} union all select 9",
        f"select max(id) as _batch_through from {table}",
        "select max(id) as _batch_through from (select 7 as id where false)",
        f"select cast(null as bigint) as _batch_through from {table}",
        f"select nullif(_batch_through, 1) as _batch_through from {table}",
    ):
        assert not known(other, 4), other
    # As `alluvium.new_events` writes it, whatever comes above.
    new = f"select id, 7L as _batch_through from {table} where id > 7 and id <= 9"
    for above in (
        "{}",
        "select *, row_number() over (partition by id order by id) as n from ({})",
        "select distinct id, _batch_through from ({}) lateral view explode(array(id)) as e",
        "select * from ({}) lateral view outer explode(array(id, id)) as e",
        "select * from ({}) union all select 1 as id, 6L as _batch_through",
    ):
        sql = above.format(new)
        assert [known(sql, most) for most in (6, 7)] == [False, True], sql
    # A note behind the commit changes no row; a mapped column's statistics have another name.
    log.commit_transactions(spark, table, {"noted": 1})
    assert known(rows, 4)
    spark.sql(f"insert into {table} select 1, null")
    assert not known(rows, 4)
    spark.sql(THROUGH.format(t=table, how=MAPPED, rows=50))
    assert not known(rows, 4)
    spark.sql(THROUGH.format(t=table, how=MAPPED, rows=0))
    assert known(rows, -1)
    # What is not made of files has no statistics.
    url = "jdbc:derby:memory:batches;create=true"
    how = {"driver": "org.apache.derby.jdbc.EmbeddedDriver"}
    spark.sql("select 3L as _batch_through").write.jdbc(url, "batches", properties=how)
    assert not staged.has_none_above(
        spark.read.jdbc(url, "batches", properties=how), "_batch_through", 4
    )
