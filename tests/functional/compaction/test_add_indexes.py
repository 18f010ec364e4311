"""Indexes for files that have none, whatever other writers do; and where tags go from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from functional.compaction.test_automata import check, indexes, make
from functional.delta_rs import by_query
from pyspark.sql import SparkSession

from alluvium.compact import history, index
from alluvium.compact.index import IndexDone, add_indexes
from alluvium.compact.report import index_line
from alluvium.delta.log import log
from alluvium.delta.rewrite.layout_commits import LayoutCommits
from alluvium.plan.layout.settings import Layout
from alluvium.publish.publish import publish
from alluvium.versions import refs
from alluvium.versions.points import Point

pytestmark = pytest.mark.spark

LAYOUT = Layout(("service", "id"), index=("service", "status"))
NAMES = {"service": "service", "status": "status"}


def figures(done: IndexDone) -> tuple[int, int, int]:
    return done.files, done.left, done.conflicts


def rows(path: Path) -> list[tuple[Any, ...]]:
    found = by_query(DeltaTable(path), "select id, service, status from t").to_pylist()
    return sorted((tuple(row.values()) for row in found), key=lambda row: row[0])


def test_files_get_indexes_whoever_writes_meanwhile(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    table = make(spark, path, "tblproperties ('delta.enableDeletionVectors' = true)", files=10)
    before = rows(path)
    version = log.version(spark, table)
    would = add_indexes(spark, table, LAYOUT, "m", dry_run=True)
    assert (would.columns, figures(would)) == (("service", "status"), (10, 0, 0))
    assert log.version(spark, table) == version

    # Stopped between two commits, the next run goes on behind the first.
    monkeypatch.setattr(index, "_TOGETHER", 4)
    relabel = LayoutCommits.relabel
    calls: list[int] = []

    def stopped(self: LayoutCommits, *arguments: Any) -> int:
        calls.append(len(arguments[0]))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return relabel(self, *arguments)

    monkeypatch.setattr(LayoutCommits, "relabel", stopped)
    with pytest.raises(KeyboardInterrupt):
        add_indexes(spark, table, LAYOUT, "m")
    assert len(indexes(spark, table)) == 4

    def late(self: LayoutCommits, *arguments: Any) -> int:
        """Another writer hides rows of all files while they are looked at, and adds one."""
        if not calls:
            calls.append(0)
            spark.sql(f"delete from {table} where id % 100 = 7")
            spark.sql(f"insert into {table} (id, service) values (-1, 'late')")
        return relabel(self, *arguments)

    calls.clear()
    monkeypatch.setattr(LayoutCommits, "relabel", late)
    said: list[str] = []
    done = add_indexes(spark, table, LAYOUT, "m", say=said.append)
    assert (figures(done), done.later) == ((6, 0, 1), 1)
    assert done.bytes > 0
    assert said == ["m: 4 files indexed, 2 ahead"]

    def appending(self: LayoutCommits, *arguments: Any) -> int:
        """A writer that only appends, a file for each commit: no commit fails for it."""
        calls.append(len(arguments[0]))
        assert len(calls) <= 20, "the run never ends"
        spark.sql(f"insert into {table} (id, service) values ({-10 - len(calls)}, 'new')")
        return relabel(self, *arguments)

    calls.clear()
    monkeypatch.setattr(LayoutCommits, "relabel", appending)
    done = add_indexes(spark, table, LAYOUT, "m")
    assert (figures(done), done.later, calls) == ((1, 0, 0), 1, [1])
    assert ", 1 new file for the next run in " in index_line("m", done, False)
    spark.sql(f"delete from {table} where id < -10")
    monkeypatch.setattr(LayoutCommits, "relabel", relabel)
    found = indexes(spark, table)
    assert len(found) == 11
    check(path, found, NAMES)
    kept = [row for row in before if row[0] % 100 != 7]
    assert rows(path) == [(-1, "late", None), *kept]
    assert figures(add_indexes(spark, table, LAYOUT, "m")) == (0, 0, 0)
    made = history.compactions(spark, table).to_pylist()
    assert [(row["reason"], row["relabelled"]) for row in made] == [
        ("index", n) for n in (4, 4, 2, 1)
    ]
    # A column that `index` names later is looked at in each file, and once.
    wider = Layout(LAYOUT.sort_by, index=("service", "status", "id"))
    for number in (11, 0):
        assert figures(add_indexes(spark, table, wider, "m")) == (number, 0, 0)
    check(path, indexes(spark, table), NAMES | {"id": "id"})


@pytest.mark.slow
def test_a_writer_that_is_always_faster(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ends, and says what is left."""
    table = f"delta.`{tmp_path / 't'}`"
    spark.sql(
        f"create table {table} using delta tblproperties ('delta.enableDeletionVectors' = true) as"
        " select /*+ coalesce(1) */ -9 + id as id, 'x' as service, 0 as status from range(9)"
    )
    relabel, calls = LayoutCommits.relabel, list[int]()

    def never(self: LayoutCommits, *arguments: Any) -> int:
        calls.append(0)
        spark.sql(f"delete from {table} where id = -10 + {len(calls)}")
        return relabel(self, *arguments)

    monkeypatch.setattr(index, "_TRIES", 2)
    monkeypatch.setattr(LayoutCommits, "relabel", never)
    ended = add_indexes(spark, table, LAYOUT, "m")
    assert (figures(ended), ended.later) == ((0, 1, 2), 0)


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_shows_a_table_shows_its_indexes(
    spark: SparkSession, tmp_path: Path, times: int
) -> None:
    """The table is published behind a delete, and before it too where it is published twice."""
    spark.sql("drop database if exists indexed cascade")
    spark.sql("create database indexed")
    table = "indexed.events"
    spark.sql(
        f"create table {table} (id bigint, service string, status int, _deleted boolean)"
        f" using delta location '{tmp_path / 'events'}'"
        " tblproperties ('delta.enableDeletionVectors' = true)"
    )
    spark.sql(
        f"insert into {table} select id, concat('s-', id % 40), cast(id % 3 * 100 as int),"
        " id % 50 = 0 from range(0, 2000, 1, 4)"
    )
    add_indexes(spark, table, LAYOUT, "events")
    found = sorted(indexes(spark, table).values(), key=repr)
    assert len(found) == 4

    def said(of: str) -> list[Any]:
        return sorted(indexes(spark, of).values(), key=repr)

    if times == 2:
        publish(spark, table, "indexed.shown", None, {}, {})
        assert said("indexed.shown") == found
    point = Point(table, log.version(spark, table))
    refs.clone(spark, point, "indexed.copy", schema="indexed").apply()
    assert said("indexed.copy") == found
    # A vector hides rows of a file, and its tag stays; so after a restore of Delta's.
    spark.sql(f"delete from {table} where service = 's-3'")
    assert said(table) == found
    publish(spark, table, "indexed.shown", None, {}, {})
    assert said("indexed.shown") == found
    spark.sql(f"restore table {table} to version as of {point.version}")
    assert said(table) == found
    with pytest.raises(ValueError, match="the table is published"):
        add_indexes(spark, "indexed.shown", LAYOUT, "shown")
