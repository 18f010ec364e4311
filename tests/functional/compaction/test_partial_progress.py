"""Merges of one plan: a commit each, or one commit for all of them, which holds all or nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from functional.compaction import tables
from pyspark.sql import SparkSession

from alluvium.compact import history
from alluvium.compact.run import compact
from alluvium.delta.rewrite.layout_commits import LayoutCommits
from alluvium.delta.rewrite.rewrite import Rewriter
from alluvium.plan.layout.settings import Layout

pytestmark = pytest.mark.spark
EACH = Layout(tables.SORT_BY, target_rows=400, fan_in=8)
TOGETHER = replace(EACH, partial_progress=False)
BY_ID = replace(EACH, sort_by=("id",), level_rows=400)
# Some rows of the last file of `two_merges`, and of no other.
DELETED = [1330, 1340]


def two_merges(session: SparkSession, path: Path) -> str:
    """A table that needs two merges: one makes a file, the other several, in a job of its own."""
    table = tables.make(session, path, 8, 50)
    tables.land(path, 8, 190)
    return table


def overlapping_ends(session: SparkSession, path: Path, **properties: str) -> str:
    """A table whose level 0 has two rows of fragments by id, of which only the ends overlap: the
    others need labels alone."""
    waiting = replace(BY_ID, level_rows=10**6)
    table = tables.make(session, path, 8, 190, **properties)
    assert compact(session, table, waiting, "logs").outputs == 4
    tables.append(session, path, 8, 190, first=1000)
    assert compact(session, table, waiting, "logs").outputs == 4
    return table


def commit(path: Path, version: int) -> list[dict[str, Any]]:
    lines = (path / "_delta_log" / f"{version:020}.json").read_text().splitlines()
    return [json.loads(line) for line in lines]


def written(path: Path) -> set[Path]:
    return set(path.glob("*.parquet"))


def test_one_commit_holds_all_merges_and_the_figures_of_each(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = two_merges(spark, tmp_path / "table")
    before, version = tables.read(tmp_path / "table"), DeltaTable(tmp_path / "table").version()
    inputs = set(tables.files_of(tmp_path / "table"))

    done = compact(spark, table, TOGETHER, "logs")

    assert (done.merges, done.inputs, done.outputs, done.conflicts) == (2, 16, 5, 0)
    assert DeltaTable(tmp_path / "table").version() == version + 1
    assert tables.read(tmp_path / "table") == before
    live = set(tables.files_of(tmp_path / "table"))
    assert len(live) == 5
    assert not live & inputs
    actions = commit(tmp_path / "table", version + 1)
    files = [one.get("add") or one.get("remove") for one in actions]
    assert not any(file["dataChange"] for file in files if file)
    rows = history.compactions(spark, table).to_pylist()
    assert [(one["version"], one["merge_number"]) for one in rows] == [
        (version + 1, 1),
        (version + 1, 2),
    ]
    assert [(one["inputs"], one["outputs"], one["row_count"]) for one in rows] == [
        (8, 1, 400),
        (8, 4, 1520),
    ]
    assert {one["reason"] for one in rows} == {"count"}
    assert sum(one["bytes_written"] for one in rows) == sum(file.stat().st_size for file in live)
    assert sum(one["bytes_read"] for one in rows) == sum(file.stat().st_size for file in inputs)


@pytest.mark.parametrize(("layout", "given_up", "commits"), [(EACH, 1, 2), (TOGETHER, 2, 1)])
def test_another_writer_takes_an_input(
    spark: SparkSession, tmp_path: Path, layout: Layout, given_up: int, commits: int
) -> None:
    table = two_merges(spark, tmp_path / "table")
    version = DeltaTable(tmp_path / "table").version()
    other, said = spark.newSession(), []

    def change(line: str) -> None:
        """Before the second of the plan's jobs: the first one's file is written."""
        said.append(line)
        if len(said) == 2:
            other.sql(f"delete from {table} where id in ({DELETED[0]}, {DELETED[1]})")

    kept = [row for row in tables.read(tmp_path / "table") if json.loads(row)["id"] not in DELETED]
    done = compact(spark, table, layout, "logs", say=change)

    assert tables.read(tmp_path / "table") == kept
    assert (done.merges, done.conflicts) == (2, given_up)
    deletes = 1
    assert DeltaTable(tmp_path / "table").version() == version + deletes + commits
    rows = history.compactions(spark, table)
    assert len(set(rows["version"].to_pylist())) == commits
    # Together nothing is there before the writer's commit; else the first merge is.
    assert min(rows["version"].to_pylist()) == version + (1 if commits == 2 else 2)
    assert sum(rows["row_count"].to_pylist()) == len(kept)
    assert len(tables.files_of(tmp_path / "table")) == done.outputs


class Killed(BaseException):
    pass


@pytest.mark.slow
def test_many_merges_are_several_jobs_and_committed_after_each(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alluvium.plan.compaction.jobs._SMALL_PER_CORE", 1)
    cores = spark.sparkContext.defaultParallelism
    path = tmp_path / "table"
    table = tables.make(spark, path, 2 * (2 * cores + 1), 10)
    before = tables.rows_of(spark, table)
    versions: list[int] = []
    layout = Layout(tables.SORT_BY, target_rows=40, fan_in=2)
    compact(spark, table, layout, "m", say=lambda _: versions.append(DeltaTable(path).version()))
    assert versions[:3] == [1, 1 + cores, 1 + 2 * cores]
    assert tables.rows_of(spark, table) == before


def test_killed_between_its_jobs_it_has_done_nothing(spark: SparkSession, tmp_path: Path) -> None:
    table = two_merges(spark, tmp_path / "table")
    before, version = tables.read(tmp_path / "table"), DeltaTable(tmp_path / "table").version()
    files, said = written(tmp_path / "table"), []

    def stop(line: str) -> None:
        said.append(line)
        if len(said) == 2:
            raise Killed

    with pytest.raises(Killed):
        compact(spark, table, TOGETHER, "logs", say=stop)
    assert DeltaTable(tmp_path / "table").version() == version
    assert tables.read(tmp_path / "table") == before
    # What it had written is no part of the table.
    assert len(written(tmp_path / "table") - files) == 1
    assert set(tables.files_of(tmp_path / "table")) <= files
    assert compact(spark, table, TOGETHER, "logs").merges == 2
    assert tables.read(tmp_path / "table") == before


@pytest.mark.slow
def test_new_labels_are_a_commit_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    """A commit that labels files anew and merges others would stop every later checkpoint."""
    table = overlapping_ends(spark, tmp_path / "table")
    version = DeltaTable(tmp_path / "table").version()
    # One plan: what overlaps nothing leaves level 0 as it is.
    done = compact(spark, table, replace(BY_ID, partial_progress=False), "logs")
    assert (done.merges, done.inputs, done.relabelled) == (1, 4, 4)
    rows = history.compactions(spark, table).to_pylist()[-2:]
    assert [(one["version"] - version, one["reason"]) for one in rows] == [
        (1, "relabel"),
        (2, "locality"),
    ]
    assert not any("remove" in one for one in commit(tmp_path / "table", version + 1))


@pytest.mark.slow
def test_merges_do_not_go_ahead_of_labels_that_were_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer has changed what the plan is made of."""
    table = overlapping_ends(spark, tmp_path / "table", enableDeletionVectors="true")
    kept = tables.rows_of(spark, table)
    relabel, write, other, gone = LayoutCommits.relabel, Rewriter.write, spark.newSession(), []
    refused_at: list[int] = []
    merged_at: list[int] = []

    def noted(rewriter: Rewriter, *args: Any) -> Any:
        merged_at.append(rewriter._table.version)
        return write(rewriter, *args)

    def late(commits: LayoutCommits, tags: dict[str, Any], metadata: str) -> int:
        """Another writer deletes a row of a fragment that is to get a label."""
        if not gone:
            [row] = other.sql(
                f"select to_json(min(struct(id, service, message))) from {table}"
                f" where endswith(_metadata.file_path, '{min(tags)}')"
            ).first()
            gone.append(row)
            refused_at.append(commits._table.version)
            other.sql(f"delete from {table} where id = {json.loads(row)['id']}")
        return relabel(commits, tags, metadata)

    monkeypatch.setattr(LayoutCommits, "relabel", late)
    monkeypatch.setattr(Rewriter, "write", noted)
    done = compact(spark, table, BY_ID, "logs")

    assert (done.conflicts, done.relabelled > 0, done.merges > 0) == (1, True, True)
    kept.remove(gone[0])
    assert tables.rows_of(spark, table) == kept
    # No merge is of the plan whose labels were refused.
    assert min(merged_at) > refused_at[0]


@pytest.mark.slow
def test_merges_that_are_given_up_use_up_the_budget(spark: SparkSession, tmp_path: Path) -> None:
    table = two_merges(spark, tmp_path / "table")
    size = sum(file.stat().st_size for file in tables.files_of(tmp_path / "table"))
    before = set(tmp_path.glob("table/*.parquet"))
    other, said = spark.newSession(), []

    def change(line: str) -> None:
        said.append(line)
        if len(said) == 2:
            other.sql(f"delete from {table} where id = {DELETED[0]}")

    done = compact(spark, table, replace(TOGETHER, budget=size), "logs", say=change)
    assert (done.merges, done.conflicts, done.bytes_given_up) == (0, 2, size)
    # What they wrote is named, and is of no version.
    left = next(line.partition("left for VACUUM: ")[2] for line in said if "VACUUM" in line)
    orphans = {tmp_path / "table" / name for name in left.split(", ")}
    known = before.union(tables.files_of(tmp_path / "table"))
    assert orphans == set(tmp_path.glob("table/*.parquet")) - known
    # The next run has a budget of its own.
    assert compact(spark, table, replace(TOGETHER, budget=size), "logs").merges == 2


@pytest.mark.slow
def test_a_partition_may_be_named_like_a_file(spark: SparkSession, tmp_path: Path) -> None:
    table = f"delta.`{tmp_path / 'table'}`"
    columns = "id bigint, service string, message string, kind string"
    spark.sql(f"create table {table} ({columns}) using delta partitioned by (kind)")
    for first in range(4):
        for kind in ("part-7-x", "part-00001-y", "plain"):
            spark.sql(
                f"insert into {table} select /*+ coalesce(1) */"
                f" id * 4 + {first}, 'a', 'm', '{kind}' from range(10)"
            )
    before = tables.rows_of(spark, table)
    layout = replace(EACH, fan_in=4, bucket_column="kind", window="day")
    done = compact(spark, table, layout, "logs")
    assert (done.merges, done.inputs, done.outputs) == (3, 12, 3)
    assert tables.rows_of(spark, table) == before


@pytest.mark.slow
def test_figures_of_earlier_versions_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """They wrote one merge a commit, and no list."""
    table = tables.make(spark, tmp_path / "table", 1)
    figures = {
        "model": "logs",
        "bucket": '{"day":"2024-03-01"}',
        "reason": "final",
        "level": 1,
        "inputs": 8,
        "outputs": 1,
        "rows": 400,
        "bytes_read": 4000,
        "bytes_written": 3000,
    }
    labels = {"model": "logs", "reason": "relabel", "relabelled": 3}
    for said in (figures, labels):
        spark.conf.set(
            "spark.databricks.delta.commitInfo.userMetadata",
            json.dumps({"alluvium_compaction": said}, sort_keys=True),
        )
        tables.append(spark, tmp_path / "table", 1)
    for other in ("no json", "[1, 2]", '{"alluvium_merge": {"rows": 1}}'):
        spark.conf.set("spark.databricks.delta.commitInfo.userMetadata", other)
        tables.append(spark, tmp_path / "table", 1)
    spark.conf.unset("spark.databricks.delta.commitInfo.userMetadata")
    one, two = history.compactions(spark, table).drop_columns("committed_at").to_pylist()
    absent = dict.fromkeys(one)
    figures.pop("model")
    rows = figures.pop("rows")
    assert one == absent | figures | {"version": 2, "merge_number": 1, "row_count": rows}
    assert two == absent | {
        "version": 3, "merge_number": 1, "reason": "relabel", "relabelled": 3,
    }  # fmt: skip
