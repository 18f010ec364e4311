"""Plain queries skip the files whose tags say that no row of theirs can match."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from functional import delta_rs
from pyspark.sql import DataFrame, Row, SparkSession
from support.tagged import files_read, rows_and_files, rows_and_scans, tag

from alluvium.delta.log import log
from alluvium.pruning.reading import SETTING
from alluvium.publish.publish import publish
from alluvium.versions import branches, points, refs
from alluvium.versions.points import Point
from alluvium.versions.restore import Subject, restore

pytestmark = pytest.mark.spark

T = "pruned.events"
# Each file has three services; what is asked for lies between the bounds of all files, mostly.
ROWS = """
    select id, element_at(if(id < 120, array('compactor', 'reader', 'zeta'),
        array('alpha', 'reader', 'writer')), int(id % 3) + 1) as service,
        if(id % 7 = 0, null, int(id % 4) * 100) as status, 'x' as note
    from range(0, 240, 1, 8)
"""


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> Iterator[SparkSession]:
    """Eight files of 30 rows: four of compactor, reader, zeta, four of alpha, reader, writer."""
    spark.sql("create database if not exists pruned")
    spark.sql(
        f"create table {T} (id bigint, service string, status int, note string) using delta"
        " tblproperties (delta.enableDeletionVectors = true, delta.columnMapping.mode = 'name')"
    )
    spark.sql(f"insert into {T} {ROWS}")
    snapshot = log.snapshot_of(spark, T)
    names = [log.physical_name(snapshot, name) for name in ("service", "status")]
    assert tag(spark, T, names) == 8
    yield spark
    spark.sql("drop database pruned cascade")


def check(events: SparkSession, home: Path, query: str, files: int) -> None:
    """A query of T reads so many files, and gives the rows that DuckDB gives."""
    pruned, read = rows_and_files(events, query)
    assert read == files
    with duckdb.connect() as connection:
        connection.sql("create schema pruned")
        connection.register("rows", delta_rs.rows(home, *T.split(".")))
        connection.sql(f"create view {T} as from rows")
        connection.sql(f"create view pruned.shown as {SHOWN}")
        connection.sql(f"create view mine as {MINE}")
        rows = connection.sql(query).fetchall()
    assert sorted(map(tuple, pruned), key=str) == sorted(rows, key=str)


def check_each(session: SparkSession, asked: dict[str, int]) -> list[Row]:
    """Tables with conditions read so many files, and give the ids that they give without pruning.

    All of them are one query, whose rows are given, with the place of each.
    """
    queries = (f"select {place} as place, id from {one}" for place, one in enumerate(asked))
    query = " union all ".join(queries)
    pruned, read = rows_and_scans(session, query)
    assert dict(zip(asked, read, strict=True)) == asked
    session.conf.set(SETTING, "false")
    plain = session.sql(query).collect()
    session.conf.unset(SETTING)
    assert sorted(pruned) == sorted(plain)
    return pruned


CONDITIONS = {
    "service = 'metadata'": 0,
    "service = 'compactor'": 4,
    "service = 'reader'": 8,
    "'metadata' = service": 0,
    "service <=> 'metadata'": 0,
    "service in ('metadata', 'query')": 0,
    "service in ('metadata', 'writer')": 4,
    # From eleven values on Spark has them in a set.
    "service in ('c','d','e','f','g','h','i','j','k','l','m', 'writer')": 4,
    "service like 'comp%'": 4,
    "service like 'm%'": 0,
    "service is null": 0,
    "status = 150": 0,
    "status is null": 8,
    "service = 'metadata' or service = 'compactor'": 4,
    "service = 'metadata' or id < 0": 8,
    "service = 'metadata' or length(note) = 1": 8,
    "not (service <> 'metadata')": 0,
    "service not in ('alpha', 'reader', 'writer')": 4,
    "service like '%omp%'": 4,
    "service = 'compactor' and id >= 60": 2,
    # Nothing can be said of these.
    "upper(service) = 'METADATA'": 8,
    "service = 'metadata' collate utf8_lcase": 8,
    "rand() < 2 and service = 'reader'": 8,
    "note = 'y'": 0,  # by its bounds
}


def test_values_between_the_bounds(events: SparkSession) -> None:
    # Conditions as columns skip nothing: all of them in one query say which rows there are.
    asked = ", ".join(f"{where} as c{place}" for place, where in enumerate(CONDITIONS))
    rows = events.sql(f"select id, {asked} from {T}").collect()
    queries = (
        f"select {place} as place, id from {T} where {where}"
        for place, where in enumerate(CONDITIONS)
    )
    found, read = rows_and_scans(events, " union all ".join(queries))
    assert dict(zip(CONDITIONS, read, strict=True)) == CONDITIONS
    wanted = [(place, row.id) for row in rows for place, is_true in enumerate(row[1:]) if is_true]
    assert sorted(map(tuple, found)) == sorted(wanted)


def test_the_setting_turns_it_off(events: SparkSession) -> None:
    off = events.newSession()
    off.sql(f"set {SETTING} = false")
    assert files_read(off, f"select * from {T} where service = 'metadata'") == 8
    assert files_read(events.newSession(), f"select * from {T} where service = 'metadata'") == 0


SHOWN = f"select id, service as s from {T}"
MINE = "select * from pruned.shown where s = 'writer'"


def test_wherever_a_query_stands(events: SparkSession, home: Path) -> None:
    events.sql(f"create or replace view pruned.shown as {SHOWN}")
    events.sql(f"create or replace temp view mine as {MINE}")
    for query, files in (
        ("select * from pruned.shown where s = 'compactor'", 4),
        ("select count(*) from mine", 4),
        (f"with a as (select * from {T}) select id from a where service = 'writer'", 4),
        ("select a.id from pruned.shown a join mine b using (id) where a.s = 'alpha'", 8),
        ("select count(*) from pruned.shown a join mine b using (id)", 12),
        (
            "select * from range(3) as r(id)"
            f" where id < (select count(*) from {T} where service = 'writer')",
            4,
        ),
        (
            "select * from range(3) as r(id)"
            f" where id in (select id from {T} where service = 'compactor')",
            4,
        ),
        (
            f"select 1 as n from {T} where service = 'alpha' union all"
            f" select 2 from {T} where service = 'metadata'",
            4,
        ),
    ):
        check(events, home, query, files)
    frame: DataFrame = events.table(T).where("service = 'writer'").groupBy("status").count()
    assert files_read(events, frame) == 4


def test_what_explain_shows(events: SparkSession) -> None:
    plan = events.sql(f"explain formatted select * from {T} where service = 'writer'").head()[0]
    assert "Location: PrunedFileIndex" in plan


def test_create_table_as(events: SparkSession) -> None:
    statement = (
        f"create table pruned.writers using delta as select * from {T} where service = 'writer'"
    )
    # The write's own scan is the one that reads.
    assert files_read(events, statement) == 4
    assert events.table("pruned.writers").count() == 40
    assert (
        files_read(events, f"insert into pruned.writers select * from {T} where service = 'q'") == 0
    )
    assert events.table("pruned.writers").count() == 40


def test_versions_of_the_table(events: SparkSession) -> None:
    """Before the tags, with vectors and after MERGE, in a clone."""
    table = "pruned.changed"
    events.sql(f"create table {table} shallow clone {T}")
    assert events.table(table).count() == 240  # reads the new log, which is Parquet too
    check_each(
        events,
        {
            f"{table} where service = 'metadata'": 0,
            f"{table} version as of 0 where service = 'writer'": 4,
            f"{T} version as of 1 where service = 'metadata'": 8,
        },
    )
    # Vectors: Delta picks files anew for each query from here on.
    events.sql(f"delete from {table} where id % 10 = 3")
    counted = f"(select count(*) as id from {table} where service = 'metadata')"
    found = check_each(events, {f"{table} where service = 'writer'": 4, counted: 0})
    assert [row.id for row in found if row.place == 1] == [0]
    # A merge writes a file without tags, which is always kept.
    events.sql(
        f"merge into {table} t using (select 32 as id, 'query' as s union all select 999, 'query')"
        " n on t.id = n.id when matched then update set service = s"
        " when not matched then insert (id, service) values (n.id, s)"
    )
    found = events.sql(f"select id from {table} where service = 'query'").collect()
    assert sorted(row.id for row in found) == [32, 999]


def test_columns_that_are_renamed(events: SparkSession) -> None:
    """Names are those in the files: a renamed column keeps its index, and a new one has none."""
    table = "pruned.renamed"
    events.sql(f"create table {table} shallow clone {T}")
    events.sql(f"alter table {table} rename column service to was")
    events.sql(f"alter table {table} add column service string")
    check_each(events, {f"{table} where was = 'writer'": 4, f"{table} where service is null": 8})
    events.sql(f"alter table {table} drop column was")
    events.sql(f"alter table {table} rename column service to was")
    check_each(events, {f"{table} where was is null": 8})


def test_a_published_table(events: SparkSession) -> None:
    publish(events, T, "pruned.shown_events", None, {}, {})
    shown = "pruned.shown_events where service"
    check_each(events, {f"{shown} = 'metadata'": 0, f"{shown} = 'compactor'": 4})


def test_branches_tags_and_restores(events: SparkSession) -> None:
    """What shows the files of another table, or those of an earlier version of its own."""
    source = Point(T, log.version(events, T))
    branch = branches.Branch("fix", "pruned")
    branches.make_schema(events, branch, branch.schema)
    assert branches.make_table(events, branch, source, (branch.schema, "events")).apply()
    table = f"`{branch.schema}`.events"
    of_branch = f"{table} where service"
    # A vector and a new file, which has no tag, on the branch alone.
    events.sql(f"delete from {table} where id % 10 = 3")
    events.sql(f"insert into {table} values (500, 'metadata', 1, 'y')")
    # What `alluvium.at` writes for a tag.
    refs.tag(events, source, "accepted").apply()
    tagged = points.resolve(events, points.PointTable(T, "events"), tag="accepted").table
    assert tagged != T
    of_tag = f"{tagged} where service"
    check_each(
        events,
        {
            f"{of_branch} = 'metadata'": 1,
            f"{of_branch} = 'compactor' and id >= 60": 2,
            f"{T} where service = 'metadata'": 0,
            f"{of_tag} = 'metadata'": 0,
            f"{of_tag} = 'compactor'": 4,
        },
    )
    # An update takes the tags of its files away; a restore brings the files back, and their tags.
    then = log.version(events, table)
    events.sql(f"update {table} set service = 'metadata' where id = 31")
    found = check_each(events, {f"{of_branch} = 'metadata'": 2})
    assert sorted(row.id for row in found) == [31, 500]
    restore(
        events, Subject(table, "events", "events"), [], version=then, including=["write"]
    ).apply()
    check_each(events, {f"{of_branch} = 'metadata'": 1, f"{of_branch} = 'writer'": 4})
    branches.discard(events, branch, []).apply()
