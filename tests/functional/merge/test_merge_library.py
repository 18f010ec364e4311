"""The library below the macros: progress, the statement's own settings, Delta's skipping."""

from __future__ import annotations

import os
import time
from pathlib import Path
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from functional.compaction import tables
from functional.compaction.catalogued import folder_of
from functional.delta_rs import unused_files
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.delta.log import committing, log
from alluvium.merge import execute, progress

pytestmark = pytest.mark.spark

MERGE = (
    "merge into lib.t using (select 1L as id) s on s.id = t.id when not matched then insert (id)"
    " values (s.id)"
)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    spark.sql("create schema if not exists lib")
    return spark


@pytest.fixture
def table(session: SparkSession) -> str:
    session.sql("create or replace table lib.t using delta as select id from range(0)")
    return "lib.t"


def merged(session: SparkSession, table: str, sql: str, model: str, through: int) -> int:
    """Rows that a merge changed."""
    statement = execute.Statement(sql, {}, through)
    outcome = execute.run(execute.DeltaTable(session, table, model), lambda: statement)
    assert outcome is not None
    return outcome.affected


def left(session: SparkSession) -> list[str]:
    """What of the statement's settings the session still has."""
    ours = (committing.TXN_APP, committing.TXN_VERSION, committing.COMMIT_METADATA)
    return [row["key"] for row in session.sql("set").collect() if row["key"] in ours]


def test_progress_is_read_back_and_not_merged_twice(session: SparkSession, table: str) -> None:
    assert progress.read(session, table, "m") is None
    assert merged(session, table, MERGE, "m", 7) == 1
    assert progress.read(session, table, "m") == 7
    assert progress.read(session, table, "other") is None
    session.sql("delete from lib.t")
    assert merged(session, table, MERGE, "m", 7) == 0
    assert merged(session, table, MERGE, "m", 8) == 1
    assert left(session) == []
    # A table that is made again starts from nothing.
    session.sql("create or replace table lib.t using delta as select id from range(0)")
    assert progress.read(session, table, "m") is None
    assert merged(session, table, MERGE, "m", 1) == 1
    assert progress.read(session, table, "m") == 1


@pytest.mark.parametrize("vectors", ["true", pytest.param("false", marks=pytest.mark.slow)])
def test_a_merge_without_rows_leaves_no_file(session: SparkSession, vectors: str) -> None:
    """By the one-commit merge, and by MERGE INTO, which does it for tables without vectors."""
    properties = f"tblproperties ('delta.enableDeletionVectors' = '{vectors}')"
    session.sql(f"create or replace table lib.n (id bigint) using delta {properties}")
    sql = MERGE.replace("lib.t", "lib.n").replace("= t.", "= n.")
    assert [merged(session, "lib.n", sql, "m", number) for number in (1, 2)] == [1, 0]
    folder = Path(urlparse(log.qualified(log.delta_log(session, "lib.n"))).path)
    assert unused_files(folder) == set()
    # One that leaves none takes nothing of a writer whose commit is still to come.
    theirs = folder / "part-00000-theirs.parquet"
    pq.write_table(pa.table({"id": pa.array([], pa.int64())}), theirs)
    os.utime(theirs, (time.time() + 60,) * 2)
    sql = sql.replace("1L", "2L").partition(" when ")[0] + " when matched then delete"
    assert merged(session, "lib.n", sql, "m", 3) == 0
    assert unused_files(folder) == {theirs.name}
    theirs.unlink()


def test_failed_statement_leaves_no_setting(session: SparkSession, table: str) -> None:
    broken = MERGE.replace("1L as id", "raise_error('stop') as id")
    with pytest.raises((PySparkException, Py4JJavaError)):
        merged(session, table, broken, "m", 1)
    assert left(session) == []
    assert progress.read(session, table, "m") is None
    session.sql("insert into lib.t values (5)")
    assert session.table(table).count() == 1


def clone(session: SparkSession) -> None:
    session.sql("drop table if exists lib.c")
    session.sql("create table lib.c shallow clone lib.t")


def test_clone_gets_the_progress_of_its_rows_and_no_more(session: SparkSession, table: str) -> None:
    merged(session, table, MERGE, "m", 1)
    clone(session)
    assert progress.read(session, "lib.c", "m") is None
    merged(session, table, MERGE.replace("1L", "2L"), "m", 2)  # while `dbt clone` goes on
    assert progress.copy(session, table, "lib.c") == 1
    assert session.table("lib.c").count() == 1
    assert progress.read(session, "lib.c", "m") == 1
    into_clone = MERGE.replace("lib.t", "lib.c").replace("= t.", "= c.")
    assert merged(session, "lib.c", into_clone, "m", 3) == 0
    assert progress.read(session, table, "m") == 2


@pytest.mark.slow
def test_clone_of_a_table_that_was_rebuilt_since(session: SparkSession, table: str) -> None:
    merged(session, table, MERGE, "m", 1)
    clone(session)
    session.sql("create or replace table lib.t using delta as select id from range(0)")
    merged(session, table, MERGE, "m", 5)
    assert progress.copy(session, table, "lib.c") == 1
    assert progress.read(session, "lib.c", "m") == 1


@pytest.mark.slow
def test_clone_that_another_writer_changed_first(session: SparkSession, table: str) -> None:
    merged(session, table, MERGE, "m", 1)
    clone(session)
    session.sql("delete from lib.c")
    assert progress.copy(session, table, "lib.c") == 0
    assert progress.read(session, "lib.c", "m") is None


@pytest.mark.slow
def test_skipping_looks_at_files_where_the_table_is_cached(
    session: SparkSession, table: str
) -> None:
    for first in (0, 10):
        session.range(first, first + 5, 1, 1).writeTo(table).append()
    session.sql(f"cache table {table}")
    try:
        for predicate, files in ((None, 2), ("id > 8", 1), ("id = 100", 0), ("false", 0)):
            kept = log.skipping(session, table, predicate)
            assert (kept.files, kept.files_total) == (files, 2), predicate
            assert (kept.bytes > 0) == (files > 0)
            assert kept.bytes_total > 0
    finally:
        session.sql(f"uncache table {table}")


def test_skipping_counts_files_as_delta_reads_them(session: SparkSession, table: str) -> None:
    files = [pa.table({"id": range(first, first + 5)}) for first in (0, 10, 20)]
    tables.commit(folder_of(session, table), files)
    every = log.skipping(session, table, None)
    assert (every.files, every.files_total) == (3, 3)
    some = log.skipping(session, table, "id between 11 and 12 or id is null")
    assert (some.files, some.files_total) == (1, 3)
    read = session.table(table).where("id between 11 and 12").inputFiles()
    assert some.files == len(read)
    assert 0 < some.bytes < some.bytes_total == every.bytes
    none = log.skipping(session, table, "id = 100")
    assert (none.files, none.files_total, none.bytes) == (0, 3, 0)
