"""Compaction of real tables: no row changes, files are sorted, and other writers come first."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import random
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from functional.compaction.catalogued import (
    COLUMNS,
    KINDS,
    NUMBER,
    QUIET,
    SORT_BY,
    append,
    create,
    folder_of,
    is_sorted,
    live_files,
    log_of,
    rows_of,
)
from pyspark.sql import SparkSession

from alluvium.compact.run import compact, preview
from alluvium.delta.log.concurrency_errors import OTHER_ROWS
from alluvium.delta.rewrite.rewrite import Rewriter
from alluvium.delta.rewrite.table_files import TableFiles
from alluvium.marks import LAYOUT_TAG
from alluvium.plan.layout.errors import LayoutError
from alluvium.plan.layout.settings import Layout

pytestmark = pytest.mark.spark

SMALL = Layout(SORT_BY, target_rows=400, fan_in=8, level_rows=1600)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    spark.sql("create schema if not exists compacting")
    return spark


def test_statistics_are_those_of_the_files_and_these_are_disjoint(session: SparkSession) -> None:
    table = create(session, "plain", files=8, rows=150)
    assert compact(session, table, SMALL, "logs").outputs == 3
    folder, live = folder_of(session, table), live_files(session, table)
    tags = [json.loads(add["tags"][LAYOUT_TAG]) for add in live.values()]
    keys = sorted((one["lo"], one["hi"]) for one in tags)
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(keys))
    assert all(lo < hi for lo, hi in keys)
    for path, add in live.items():
        said, file = json.loads(add["stats"]), f"read_parquet('{folder}/{path}')"
        assert add["size"] == (folder / path).stat().st_size
        assert said["numRecords"] == duckdb.sql(f"select count(*) from {file}").fetchall()[0][0]
        for column in SORT_BY:
            ends = f'min("{column}"), max("{column}"), count(*) - count("{column}")'
            *found, nulls = duckdb.sql(f"select {ends} from {file}").fetchall()[0]
            as_said = [said["minValues"][column], said["maxValues"][column]]
            if column == "at":
                as_said = [dt.datetime.fromisoformat(text) for text in as_said]
            assert as_said == found
            assert said["nullCount"][column] == nulls


@pytest.mark.parametrize(
    "kind", [pytest.param(one, marks=() if one == "all" else pytest.mark.slow) for one in KINDS]
)
@pytest.mark.proves("compaction", on="embedded")
def test_small_fragments_become_sorted_ones_and_no_row_changes(
    session: SparkSession, kind: str
) -> None:
    table = create(session, kind, files=9)
    if kind in ("vectors", "all"):
        session.sql(f"delete from {table} where status = 404")
    if kind in ("mapped", "all"):
        session.sql(f"alter table {table} rename column message to body")
    before = rows_of(session, table)
    version = len(log_of(session, table)) - 1
    files = len(live_files(session, table))

    done = compact(session, table, SMALL, "logs")

    assert rows_of(session, table) == before
    assert rows_of(session, table, version) == before
    live = live_files(session, table)
    tagged = {path: add for path, add in live.items() if LAYOUT_TAG in (add.get("tags") or {})}
    assert done.inputs == 8
    assert len(tagged) == done.outputs == 1
    assert len(live) == files - done.inputs + done.outputs
    for path, add in tagged.items():
        assert is_sorted(session, table, path)
        assert not add["dataChange"]
        assert add.get("deletionVector") is None
        assert json.loads(add["stats"])["numRecords"] == done.rows
    for action in itertools.chain(*log_of(session, table)[version + 1 :]):
        assert not (action.get("add") or action.get("remove") or {}).get("dataChange", False)
    operation = log_of(session, table)[-1][0]["commitInfo"]
    assert operation["operation"] == "OPTIMIZE"
    assert operation["operationMetrics"]["numRemovedFiles"] == "8"
    [said] = json.loads(operation["userMetadata"])["alluvium_compaction"]
    assert (said["reason"], said["inputs"], said["outputs"]) == ("count", 8, 1)
    # Nothing is left to do, and that is no commit.
    commits = len(log_of(session, table))
    assert compact(session, table, SMALL, "logs").merges == 0
    assert len(log_of(session, table)) == commits


def test_buckets_are_never_mixed_and_a_quiet_one_gets_its_final_form(session: SparkSession) -> None:
    table = create(session, "bucketed", files=30)  # an hour each: two days
    before = rows_of(session, table)
    layout = Layout(
        SORT_BY, bucket_column="day", window="day", target_rows=400, fan_in=8, level_rows=1600
    )
    compact(session, table, layout, "logs", clock=lambda: QUIET)
    assert rows_of(session, table) == before
    live = live_files(session, table)
    days = [add["partitionValues"]["day"] for add in live.values()]
    assert sorted(set(days)) == ["2024-03-01", "2024-03-02"]
    assert len(days) == 4  # 1,200 and 300 rows, 400 a file
    commits = len(log_of(session, table))
    assert not compact(session, table, layout, "logs", clock=lambda: QUIET).merges
    assert len(log_of(session, table)) == commits
    # Late data makes the first day due again, once that is quiet.
    append(session, table, files=1)
    assert not preview(session, table, layout, "logs", now=0)[0]
    assert compact(session, table, layout, "logs", clock=lambda: QUIET).merges == 1
    assert len(live_files(session, table)) == 4


@pytest.mark.slow
def test_full_fragments_climb_levels_within_what_the_tiers_have_cost(session: SparkSession) -> None:
    """Quick: `unit/compaction/test_levels.py`, of the plan that decides it."""
    table = create(session, "plain", files=32, rows=25)
    before = rows_of(session, table)
    layout = Layout(SORT_BY, target_rows=100, fan_in=4, level_rows=400)
    done = compact(session, table, layout, "logs")
    assert rows_of(session, table) == before
    tags = [json.loads(add["tags"][LAYOUT_TAG]) for add in live_files(session, table).values()]
    assert max(one["level"] for one in tags) >= 1
    assert 0 < sum(one["locality_bytes"] for one in tags) <= sum(one["tier_bytes"] for one in tags)
    for level in range(1, max(one["level"] for one in tags) + 1):
        keys = sorted((one["lo"], one["hi"]) for one in tags if one["level"] == level)
        assert all(one[1] <= two[0] for one, two in itertools.pairwise(keys))
    removed = [
        one["remove"]["size"] for each in log_of(session, table) for one in each if "remove" in one
    ]
    assert done.bytes_read == sum(removed)


def test_an_append_meanwhile_stays_and_a_delete_of_an_input_wins(session: SparkSession) -> None:
    table = create(session, "vectors", files=8)
    paths = sorted(live_files(session, table))
    groups = [paths[:4], paths[4:]]
    rewriter = Rewriter(TableFiles(session, table))
    first, second = (one.files for one in rewriter.write(groups, Layout(SORT_BY), 10_000))
    append(session, table, files=1, seed=99)
    after_append = rows_of(session, table)
    rewriter.commits.commit(groups[0], [(one, {}) for one in first], "{}")
    assert rows_of(session, table) == after_append

    session.sql(f"delete from {table} where status = 500")
    after_delete = rows_of(session, table)
    with pytest.raises(OTHER_ROWS):
        rewriter.commits.commit(groups[1], [(one, {}) for one in second], "{}")
    assert rows_of(session, table) == after_delete


@pytest.mark.parametrize("kind", [pytest.param("plain", marks=pytest.mark.slow), "bucketed"])
def test_two_groups_of_one_job_are_two_commits(
    session: SparkSession, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(session, kind, files=8)
    before = rows_of(session, table)
    commits = len(log_of(session, table))
    layout = Layout(SORT_BY, fan_in=4, target_rows=10_000)
    write, written = Rewriter.write, []

    def noted(self: Rewriter, groups: Sequence[Any], *others: Any) -> Any:
        written.append(len(groups))
        return write(self, groups, *others)

    monkeypatch.setattr(Rewriter, "write", noted)
    assert compact(session, table, layout, "logs").merges >= 2
    # Those of the first plan, in one job.
    assert written[0] >= 2
    assert len(log_of(session, table)) >= commits + 2
    # Each by itself: another writer may be faster than one of them.
    for version in range(commits, len(log_of(session, table))):
        assert rows_of(session, table, version) == before


@pytest.mark.parametrize("commits", [2, pytest.param(200, marks=pytest.mark.slow)])
def test_new_labels_live_through_checkpoints_and_concurrent_deletes(
    session: SparkSession, commits: int
) -> None:
    table = create(session, "vectors", files=4)
    session.sql(f"alter table {table} set tblproperties ('delta.checkpointInterval'='3')")
    alive = rows_of(session, table)
    for number in range(commits):
        rewriter = Rewriter(TableFiles(session, table))
        tags = {path: {LAYOUT_TAG: f'{{"n":{number}}}'} for path in live_files(session, table)}
        if number % 3 == 1:
            # Another writer hides a row of a file that is being labelled.
            first = min(json.loads(row)["message"] for row in alive)
            session.sql(f"delete from {table} where message = '{first}'")
            alive = [row for row in alive if json.loads(row)["message"] != first]
            with pytest.raises(OTHER_ROWS):
                rewriter.commits.relabel(tags, "{}")
            rewriter = Rewriter(TableFiles(session, table))
        rewriter.commits.relabel(tags, "{}")
        assert rows_of(session, table) == alive
    labels = [add["tags"][LAYOUT_TAG] for add in live_files(session, table).values()]
    assert labels == [f'{{"n":{commits - 1}}}'] * len(labels)
    folder = folder_of(session, table)
    assert len(list((folder / "_delta_log").glob("*.checkpoint*.parquet"))) >= commits // 3
    # The checkpoint has the tags, and every file once.
    newest = max((folder / "_delta_log").glob("*.checkpoint*.parquet"))
    adds = [row["add"] for row in pq.read_table(newest).to_pylist() if row.get("add")]
    assert len({add["path"] for add in adds}) == len(adds)
    assert all(LAYOUT_TAG in dict(add["tags"]) for add in adds)


@pytest.mark.slow
def test_a_delete_that_begins_before_new_labels_and_ends_after_them(
    session: SparkSession, tmp_path: Path
) -> None:
    table = create(session, "vectors", files=2)
    session.sql(f"alter table {table} set tblproperties ('delta.checkpointInterval'='2')")
    alive = rows_of(session, table)
    begun, go = tmp_path / "begun", tmp_path / "go"

    def wait(message: str) -> bool:
        begun.touch()
        while not go.exists():
            time.sleep(0.05)
        return True

    other = session.newSession()
    other.udf.register("wait", wait, "boolean")
    first = session.sql(f"select min(message) from {table}").first()[0]
    refused: list[Exception] = []

    def delete() -> None:
        try:
            other.sql(f"delete from {table} where message = '{first}' and wait(message)")
        except OTHER_ROWS as error:
            refused.append(error)

    thread = threading.Thread(target=delete)
    thread.start()
    while not begun.exists() and thread.is_alive():
        time.sleep(0.05)
    rewriter = Rewriter(TableFiles(session, table))
    labels = {path: {LAYOUT_TAG: '{"n":1}'} for path in live_files(session, table)}
    version = rewriter.commits.relabel(labels, "{}")
    go.touch()
    thread.join()
    # Delta refuses it, for its rows may have gone elsewhere: the labels stay, and it can go again.
    assert len(refused) == 1
    assert rows_of(session, table) == rows_of(session, table, version) == alive
    assert all(LAYOUT_TAG in add["tags"] for add in live_files(session, table).values())
    session.sql(f"delete from {table} where message = '{first}'")
    left = [row for row in alive if json.loads(row)["message"] != first]
    assert rows_of(session, table) == left
    # Over a checkpoint, too.
    for number in range(2):
        rewriter = Rewriter(TableFiles(session, table))
        rewriter.commits.relabel({path: {LAYOUT_TAG: f'{{"n":{number}}}'} for path in labels}, "{}")
        assert rows_of(session, table) == left


def test_a_sort_key_that_cannot_be_had_is_refused(session: SparkSession) -> None:
    table = f"compacting.t{next(NUMBER)}"
    session.sql(f"create table {table} {KINDS['bucketed']}")
    for sort_by, said in (
        (("nothing",), "no such column"),
        (("tags",), "has no order"),
        (("service", "DAY"), "all rows of a bucket share it"),
    ):
        with pytest.raises(LayoutError, match=said):
            compact(session, table, Layout(sort_by), "logs")


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ("tblproperties ('delta.enableRowTracking'='true')", "row tracking"),
        ("cluster by (service)", "liquid clustering"),
    ],
)
def test_tables_whose_files_may_not_be_rewritten_are_refused(
    session: SparkSession, properties: str, said: str
) -> None:
    table = f"compacting.t{next(NUMBER)}"
    session.sql(f"create table {table} ({COLUMNS}) using delta {properties}")
    with pytest.raises(LayoutError, match=said):
        compact(session, table, SMALL, "logs")


def test_only_delta_tables_are_compacted(session: SparkSession) -> None:
    table = f"compacting.t{next(NUMBER)}"
    session.sql(f"create table {table} using parquet as select 'a' as service")
    with pytest.raises(LayoutError, match="not a Delta table; accepted: file_format delta"):
        compact(session, table, SMALL, "logs")
    assert session.table(table).count() == 1


@pytest.mark.slow
def test_a_key_that_is_strange_is_kept_in_order(session: SparkSession) -> None:
    table = f"compacting.t{next(NUMBER)}"
    session.sql(f"create table {table} (a double, b decimal(38, 5), c string) using delta")
    values = [
        *("double('NaN')", "double('-Infinity')", "double('Infinity')", "-0.0D", "0.0D", "null"),
        *("1e308D", "-1e-308D"),
    ]
    random.Random(3).shuffle(values)
    for value in values:
        session.sql(
            f"insert into {table} select /*+ coalesce(1) */ {value}, * from values (-1.5, 'a'),"
            " (null, ''), (99999999999999999999999999999999.99999, '\\u0000 \\ud83d\\ude00')"
        )
    before = rows_of(session, table)
    layout = Layout(("a", "b", "c"), target_rows=8, fan_in=8)
    compact(session, table, layout, "strange")
    assert rows_of(session, table) == before
    tags = [json.loads(add["tags"][LAYOUT_TAG]) for add in live_files(session, table).values()]
    keys = sorted((one["lo"], one["hi"]) for one in tags)
    assert len(keys) == 3
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(keys))
