"""What is kept of commits: that runs go on from each other, and what they open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from functional.delta_rs import by_query, folder_of
from pyspark.sql import SparkSession
from support.opens import counting
from support.written_log import WrittenLog

from alluvium.delta import footers, log
from alluvium.report import actions
from alluvium.report.actions import Table, Unseen, make_way, unseen

pytestmark = pytest.mark.spark
TABLES = [Table("items", "kept.items")]
KEPT = "kept.actions"


@pytest.fixture
def items(spark: SparkSession, tmp_path: Path) -> Iterator[WrittenLog]:
    """A table of four versions, and nothing kept."""
    spark.sql("create schema if not exists kept")
    written = WrittenLog(tmp_path / "items")
    written.commit(4)
    written.commit(2, removes=1)
    written.commit(1, removes=3)
    spark.sql(f"create table kept.items using delta location '{written.folder}'")
    yield written
    for name in ("items", "actions", "copy"):
        spark.sql(f"drop table if exists kept.{name}")


def run(spark: SparkSession, tables: list[Table] = TABLES) -> Unseen:
    """As a model does, in a session of its own."""
    session = spark.newSession()
    kept = KEPT if session.catalog.tableExists(KEPT) else None
    found = unseen(session, tables, kept)
    write(session, kept, found)
    return found


def write(session: SparkSession, kept: str | None, found: Unseen) -> None:
    make_way(session, kept, found)
    session.createDataFrame(found.rows).createOrReplaceTempView("found")
    into = f"insert into {KEPT}" if kept else f"create table {KEPT} using delta as"
    session.sql(f"{into} select * from found")


def rows(home: Path) -> tuple[list[Any], list[Any]]:
    """What is kept of commits, and of blocks without their footers, in one order."""
    found = by_query(DeltaTable(folder_of(home, *KEPT.split(".")))).to_pylist()
    found.sort(
        key=lambda one: (one["table_name"], one["version"], (one["block"] or {}).get("path", ""))
    )
    commits, blocks = ([one for one in found if one[kind]] for kind in ("commit", "block"))
    # A file that comes back has its footer where it came first.
    opened = {one["block"]["path"] for one in blocks if one["block"]["footer"]}
    if not any(one["block"]["bytes_uncompressed"] is None for one in blocks):
        assert opened == {one["block"]["path"] for one in blocks}
    for one in blocks:
        del one["block"]["footer"], one["block"]["location"]
    return commits, blocks


def read_anew(spark: SparkSession, home: Path) -> tuple[list[Any], list[Any]]:
    """What is kept; then all is read once more."""
    kept = rows(home)
    spark.sql(f"drop table {KEPT}")
    run(spark)
    return kept


def test_runs_go_on_from_each_other(spark: SparkSession, home: Path, items: WrittenLog) -> None:
    assert run(spark).rows.num_rows == 4 + 4 + 3 + 4
    assert run(spark).rows.num_rows == 0
    first, *_ = items.live
    items.commit(3, removes=2)
    items.bring_back(first)
    spark.sql("alter table kept.items set tblproperties ('delta.enableDeletionVectors' = 'true')")
    spark.sql("delete from kept.items where id = 1")
    run(spark)
    spark.sql("optimize kept.items")
    run(spark)
    kept = read_anew(spark, home)
    assert kept == rows(home)
    head = kept[0][-1]["commit"]
    table = DeltaTable(items.folder)
    assert head["row_count"] == by_query(table).num_rows == 10
    assert head["blocks"] == len(table.file_uris()) == 1


def test_what_was_seen_is_not_opened_again(spark: SparkSession, items: WrittenLog) -> None:
    for _ in range(5):
        items.commit(1, removes=1)
    run(spark)
    items.commit(1)
    # A copy shares the files.
    spark.sql("create table kept.copy shallow clone kept.items")
    data = {path.name for path in items.folder.glob("*.parquet")}
    # Later ones than what keeps them has itself: only names are counted.
    commits = {f"{version:020}.json" for version in range(4, 10)}
    with counting(spark) as opened:
        run(spark, [*TABLES, Table("copy", "kept.copy")])
        first = opened()
        run(spark, [*TABLES, Table("copy", "kept.copy")])
        second = opened() - first
    *_, new = items.live
    assert {name: n for name, n in first.items() if name in data} == {new: 1}
    # The newest that was seen is looked at: the log may be another one by now.
    assert commits & first.keys() == {f"{version:020}.json" for version in (8, 9)}
    assert not data & second.keys()
    assert commits & second.keys() == {f"{9:020}.json"}


def test_a_table_that_is_made_again_or_gone(
    spark: SparkSession, home: Path, items: WrittenLog, tmp_path: Path
) -> None:
    run(spark)
    spark.sql("drop table kept.items")
    other = WrittenLog(tmp_path / "other", rows=5)
    for _ in range(6):
        other.commit(1)
    spark.sql(f"create table kept.items using delta location '{other.folder}'")
    assert run(spark).forget == ["kept.items"]
    commits, blocks = rows(home)
    assert [one["commit"]["row_count"] for one in commits] == [0, 5, 10, 15, 20, 25, 30]
    assert len(blocks) == 6
    run(spark, [])
    assert rows(home) == ([], [])


@pytest.mark.slow
def test_a_log_that_was_cleaned(spark: SparkSession, home: Path, items: WrittenLog) -> None:
    """The state of the first version that is whole stands for the commits that are gone."""
    run(spark)
    for _ in range(3):
        items.commit(1, removes=1)
    log.snapshot_of(spark, "kept.items").deltaLog().checkpoint()
    items.commit(2)
    for version in range(6):
        (items.folder / f"_delta_log/{version:020}.json").unlink()
    run(spark)
    commits, blocks = rows(home)
    assert [one["version"] for one in commits] == [0, 1, 2, 3, 6, 7]
    jump, head = commits[-2]["commit"], commits[-1]["commit"]
    assert jump["previous_snapshot_id"] is None
    assert jump["rows_added"] is None
    assert head["previous_snapshot_id"] == jump["snapshot_id"]
    assert (head["blocks"], head["row_count"], head["rows_added"]) == (5, 15, 6)
    # What version 6 brought has a segment, and what was seen; of the others nobody knows.
    spark.sql(f"drop table {KEPT}")
    run(spark)
    anew, blocks = rows(home)
    assert [one["version"] for one in anew] == [6, 7]
    assert anew[-1]["commit"] | {"segments": 0} == head | {"segments": 0}
    assert [one["block"]["segment"] for one in blocks if one["version"] == 6].count(None) == 2
    assert anew[0]["commit"]["segments"] == 2


@pytest.mark.slow
def test_of_two_runs_one_adds(spark: SparkSession, home: Path, items: WrittenLog) -> None:
    run(spark)
    items.commit(2)
    sessions = [spark.newSession(), spark.newSession()]
    found = [unseen(session, TABLES, KEPT) for session in sessions]
    assert found[0].rows.num_rows == found[1].rows.num_rows == 3
    for session, one in zip(sessions, found, strict=True):
        write(session, KEPT, one)
    kept = read_anew(spark, home)
    assert kept == rows(home)


@pytest.mark.slow
def test_totals_that_went_wrong_are_read_again(
    spark: SparkSession, home: Path, items: WrittenLog
) -> None:
    run(spark)
    spark.sql(f"update {KEPT} set commit.blocks = 99 where version = 3")
    spark.sql("insert into kept.items values (7, 'writer', 1)")
    assert run(spark).forget == ["kept.items"]
    assert read_anew(spark, home) == rows(home)


@pytest.mark.slow
def test_small_files_are_merged(
    spark: SparkSession, home: Path, items: WrittenLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "MOST_FILES", 3)
    for _ in range(3):
        run(spark)
        items.commit(1)
    run(spark)
    kept = spark.sql(f"describe history {KEPT}").toArrow()["operation"].to_pylist()
    assert "OPTIMIZE" in kept
    assert kept[0] == "WRITE"
    assert read_anew(spark, home) == rows(home)


@pytest.mark.slow
def test_a_note_is_believed_while_nobody_else_wrote(
    spark: SparkSession, home: Path, items: WrittenLog
) -> None:
    run(spark)
    spark.sql(f"delete from {KEPT} where version > 1")
    run(spark)
    kept = read_anew(spark, home)
    assert kept == rows(home)


def test_footers_that_cannot_be_read(spark: SparkSession, home: Path, items: WrittenLog) -> None:
    gone, short, *_ = items.live
    (items.folder / gone).unlink()
    (items.folder / short).write_bytes((items.folder / short).read_bytes()[:-9])
    run(spark)
    commits, blocks = rows(home)
    lacking = {one["block"]["path"] for one in blocks if one["block"]["bytes_uncompressed"] is None}
    assert lacking == {gone, short}
    # Their rows stand in the log.
    assert (commits[-1]["commit"]["row_count"], commits[-1]["commit"]["unsized"]) == (9, 2)


def test_footers_say_what_pyarrow_reads(spark: SparkSession, tmp_path: Path) -> None:
    nested = pa.table(
        {
            "a": pa.array([{"b": [1, 2], "c": "x"}] * 5000),
            "d": pa.array(range(5000)),
        }
    )
    codecs = {"a.b.list.element": "zstd", "a.c": "gzip", "d": "none"}
    paths = [tmp_path / "ä ö.parquet", tmp_path / "wide.parquet"]
    pq.write_table(nested, paths[0], row_group_size=1000, compression=codecs)
    pq.write_table(pa.table({f"column_{n:05}": [n] for n in range(2000)}), paths[1])
    uris, sizes = [one.as_uri() for one in paths], [one.stat().st_size for one in paths]
    read = footers.of_many(spark, pa.table({"location": uris, "bytes": sizes})).to_pylist()
    found = {one["location"]: one["footer"] for one in read}
    for path, uri in zip(paths, uris, strict=True):
        ours, footer = found[uri], pq.read_metadata(path)
        assert (ours["rows"], ours["row_groups"]) == (footer.num_rows, footer.num_row_groups)
        groups = [footer.row_group(n) for n in range(footer.num_row_groups)]
        assert ours["bytes_uncompressed"] == sum(group.total_byte_size for group in groups)
        for n, column in enumerate(ours["columns"]):
            chunks = [group.column(n) for group in groups]
            assert column["name"] == chunks[0].path_in_schema
            assert column["bytes"] == sum(one.total_compressed_size for one in chunks)
            plain = sum(one.total_uncompressed_size for one in chunks)
            assert column["bytes_uncompressed"] == plain
        assert len(ours["columns"]) == footer.num_columns
    assert found[uris[0]]["compression"] == "gzip, uncompressed, zstd"
