"""Many merges in one plan: what their commits cost, and what one of them that fails stops."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from delta.exceptions import MetadataChangedException
from deltalake import DeltaTable, write_deltalake
from functional.compaction import tables
from pyspark.sql import SparkSession
from support.opens import counting

from alluvium.compact.outcome import Compacted, MergeError
from alluvium.compact.run import compact
from alluvium.delta.log import committing
from alluvium.delta.log.concurrency_errors import OTHER_ROWS
from alluvium.delta.rewrite import layout_commits
from alluvium.delta.rewrite.layout_commits import LayoutCommits
from alluvium.delta.rewrite.rewrite import Rewriter
from alluvium.delta.rewrite.table_files import TableFiles
from alluvium.plan.layout.settings import Layout

pytestmark = [pytest.mark.spark, pytest.mark.slow]
LAYOUT = Layout(tables.SORT_BY, fan_in=2, bucket_column="kind", window="day")


def make(path: Path, kinds: int) -> str:
    """A table of so many partitions with two small files each, written by delta-rs."""
    for first in range(2):
        numbers = range(kinds * 3)
        rows = {
            "id": [number * 2 + first for number in numbers],
            "service": ["a" for _ in numbers],
            "message": ["m" for _ in numbers],
            "kind": [f"k{number % kinds}" for number in numbers],
        }
        write_deltalake(path, pa.table(rows), partition_by=["kind"], mode="append")
    return f"delta.`{path}`"


def make_with_spark(session: SparkSession, path: Path, kinds: int) -> str:
    """The same, as Spark writes it."""
    table = f"delta.`{path}`"
    session.sql(
        f"create table {table} (id bigint, service string, message string, kind string)"
        " using delta partitioned by (kind)"
    )
    for first in range(2):
        session.sql(
            f"insert into {table} select /*+ coalesce(1) */ id * 2 + {first}, 'a', 'm',"
            f" concat('k', id % {kinds}) from range({kinds * 3})"
        )
    return table


def test_commits_do_not_look_at_one_another(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "table", 40)
    before = tables.rows_of(spark, table)
    with counting(spark) as opens:
        assert compact(spark, table, LAYOUT, "logs").merges == 40
        commits = [n for name, n in opens().items() if re.fullmatch(r"\d{20}\.json", name)]
    # Each merge beginning at the version that was planned for, it would be 40 * 39 / 2.
    assert sum(commits) < 200
    assert tables.rows_of(spark, table) == before


@pytest.mark.parametrize("long_ago", [0, 10**6])
def test_others_that_commit_meanwhile_are_seen(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long_ago: int
) -> None:
    """However long ago the version was that was planned for."""
    monkeypatch.setattr(layout_commits, "_LONG_AGO", long_ago)
    table = make(tmp_path / "table", 4)
    files = TableFiles(spark, table)
    rewriter, fragments = Rewriter(files), files.fragments("service", "kind", "day").to_pylist()
    inputs: dict[str, list[str]] = {}
    for one in fragments:
        inputs.setdefault(json.loads(one["bucket"])["kind"], []).append(one["path"])
    made = {kind: rewriter.write([paths], LAYOUT, 1000)[0] for kind, paths in inputs.items()}
    other = spark.newSession()

    def commit(kind: str) -> int:
        return rewriter.commits.commit(inputs[kind], [(one, {}) for one in made[kind].files], "{}")

    begun: list[int] = []
    transaction = committing.transaction

    def noted(session: SparkSession, snapshot: Any) -> Any:
        begun.append(int(snapshot.version()))
        return transaction(session, snapshot)

    monkeypatch.setattr(committing, "transaction", noted)
    first = commit("k0")
    other.sql(f"insert into {table} values (1000, 'a', 'm', 'k1')")
    other.sql(f"delete from {table} where kind = 'k2' and id < 10")
    rows = tables.rows_of(spark, table)
    spark.sql(f"refresh table {table}")
    TableFiles(spark, table)  # reads the newest version
    assert commit("k1") == first + 3
    with pytest.raises(OTHER_ROWS):
        commit("k2")
    assert commit("k3") == first + 4
    assert tables.rows_of(spark, table) == rows
    # The version after the first merge, or the newest where nothing that it takes has changed.
    newest = [first + 2, first, first + 3]
    assert begun[1:] == (newest if long_ago == 0 else [first] * 3)
    assert set(rewriter.commits._known) == set(inputs["k2"])


@pytest.mark.parametrize("altered", [False, True])
def test_a_later_version_to_begin_at_hides_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, altered: bool
) -> None:
    """What others did after the version that was looked at last is seen all the same."""
    monkeypatch.setattr(layout_commits, "_LONG_AGO", 2)
    table = make(tmp_path / "table", 4)
    files = TableFiles(spark, table)
    rewriter, inputs = Rewriter(files), dict[str, list[str]]()
    for one in files.fragments("service", "kind", "day").to_pylist():
        inputs.setdefault(json.loads(one["bucket"])["kind"], []).append(one["path"])
    made = dict(zip(inputs, rewriter.write(list(inputs.values()), LAYOUT, 1000), strict=True))

    def commit(kind: str) -> int:
        return rewriter.commits.commit(inputs[kind], [(one, {}) for one in made[kind].files], "{}")

    def other(statement: str) -> None:
        spark.newSession().sql(statement)
        spark.sql(f"refresh table {table}")
        TableFiles(spark, table)  # reads the newest version

    first = commit("k0")
    for value in range(3):
        other(f"insert into {table} values ({value}, 'a', 'm', 'k9')")
    # It looks, and the next one need not.
    assert commit("k1") == first + 4
    assert rewriter.commits._later.version() == first + 4
    assert rewriter.commits._base.version() == first
    if altered:
        other(f"alter table {table} set tblproperties ('some' = 'thing')")
    other(f"delete from {table} where kind = 'k3' and id < 10")
    rows = tables.rows_of(spark, table)
    changed = MetadataChangedException if altered else OTHER_ROWS
    with pytest.raises(changed):
        commit("k3")  # without a look, two versions being no long time
    if altered:
        with pytest.raises(changed):
            commit("k2")
    else:
        assert commit("k2") == first + 6
        with pytest.raises(changed):
            commit("k3")  # after a look
    assert tables.rows_of(spark, table) == rows


def test_merges_that_fail_stop_no_others(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "table"
    table = make(path, 20)
    before = tables.rows_of(spark, table)
    broken = {f"kind=k{number}" for number in range(0, 18, 2)}
    gone: dict[Path, bytes] = {}
    for one in tables.files_of(path):
        if one.parent.name in broken - {kept.parent.name for kept in gone}:
            gone[one] = one.read_bytes()
            one.unlink()
    with pytest.raises(MergeError, match="9 merges failed, the others went on") as raised:
        compact(spark, table, LAYOUT, "logs")
    assert raised.value.done.merges == 11
    for one in gone:
        assert f'- {{"kind":"{one.parent.name.removeprefix("kind=")}"}}, 2 fragments' in str(
            raised.value
        )
        assert one.name in str(raised.value)
    assert len(tables.files_of(path)) == 11 + 9 * 2
    for one, content in gone.items():
        one.write_bytes(content)
    assert tables.rows_of(spark, table) == before
    assert compact(spark, table, LAYOUT, "logs").merges == 9
    assert tables.rows_of(spark, table) == before


def test_what_is_broken_keeps_the_budget_from_no_other(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "table"
    table = make(path, 3)
    sizes = {one: one.stat().st_size for one in tables.files_of(path)}
    # The first that is planned, in every run; and room for one merge a run.
    next(one for one in sizes if one.parent.name == "kind=k0").unlink()
    layout = replace(LAYOUT, budget=max(sizes.values()) * 2)
    for _ in range(2):
        with pytest.raises(MergeError, match="a merge failed, the others went on") as raised:
            compact(spark, table, layout, "logs")
        assert raised.value.done.merges == 1
    folders = [one.parent.name for one in tables.files_of(path)]
    assert sorted(folders) == ["kind=k0", "kind=k0", "kind=k1", "kind=k2"]


def test_what_is_broken_keeps_no_other_of_its_bucket(spark: SparkSession, tmp_path: Path) -> None:
    """A table of one bucket, whose budget holds one merge a run."""
    path = tmp_path / "table"
    table = tables.make(spark, path, 12)
    sizes = {one: one.stat().st_size for one in tables.files_of(path)}
    gone = min(sizes)
    content = gone.read_bytes()
    gone.unlink()
    layout = Layout(tables.SORT_BY, target_rows=400, fan_in=4, budget=max(sizes.values()) * 5)
    for _ in range(2):
        with pytest.raises(MergeError, match="a merge failed, the others went on") as raised:
            compact(spark, table, layout, "logs")
        assert gone.name in str(raised.value)
        assert (raised.value.done.merges, raised.value.done.inputs) == (1, 4)
    gone.write_bytes(content)
    rows = tables.rows_of(spark, table)
    assert compact(spark, table, layout, "logs").inputs == 4
    assert tables.rows_of(spark, table) == rows


def test_many_that_are_broken_next_to_one_another_keep_no_others(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path / "table", 60)
    write, broken = Rewriter.write, {f"kind=k{number}" for number in range(10, 50)}

    def fail(self: Rewriter, groups: Sequence[Any], *others: Any) -> Any:
        gone = [path for inputs in groups for path in inputs if path.split("/")[0] in broken]
        if gone:
            raise RuntimeError(f"no such file: {gone[0]}")
        return write(self, groups, *others)

    monkeypatch.setattr(Rewriter, "write", fail)
    with pytest.raises(MergeError, match="40 merges failed, the others went on") as raised:
        compact(spark, table, LAYOUT, "logs")
    assert raised.value.done.merges == 20


def test_what_stops_a_run_hides_no_merge_that_failed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table"
    table = make(path, 4)
    gone = next(one for one in tables.files_of(path) if one.parent.name == "kind=k0")
    gone.unlink()
    commit, committed = LayoutCommits.commit, []

    def full(self: LayoutCommits, *args: Any) -> int:
        if len(committed) == 2:
            raise RuntimeError("the disk is full")
        committed.append(commit(self, *args))
        return committed[-1]

    monkeypatch.setattr(LayoutCommits, "commit", full)
    with pytest.raises(MergeError, match="stopped by RuntimeError: the disk is full") as raised:
        compact(spark, table, LAYOUT, "logs")
    assert gone.name in str(raised.value)
    assert raised.value.done.merges == len(committed) == 2


def test_what_stops_a_run_hides_no_merge_that_is_committed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path / "table", 4)
    commit, committed = LayoutCommits.commit, []

    def full(self: LayoutCommits, *args: Any) -> int:
        if len(committed) == 2:
            raise RuntimeError("the disk is full")
        committed.append(commit(self, *args))
        return committed[-1]

    monkeypatch.setattr(LayoutCommits, "commit", full)
    with pytest.raises(MergeError) as raised:
        compact(spark, table, LAYOUT, "logs")
    assert str(raised.value) == "logs: the run was stopped by RuntimeError: the disk is full"
    assert raised.value.done.merges == 2


def test_a_cancelled_run_ends(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path / "table", 4)
    tried: list[int] = []

    def slow(_: Rewriter, groups: Sequence[Any], *__: Any) -> None:
        tried.append(len(groups))
        threading.Timer(1, spark.sparkContext.cancelAllJobs).start()
        spark.range(1).selectExpr("reflect('java.lang.Thread', 'sleep', 60000L)").collect()

    monkeypatch.setattr(Rewriter, "write", slow)
    with pytest.raises(Exception, match="SPARK_JOB_CANCELLED"):
        compact(spark, table, LAYOUT, "logs")
    assert tried == [4]


def test_a_cancelled_run_is_no_failed_merge(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever cancels does not want the next table of the tier."""
    path = tmp_path / "table"
    table = make(path, 2)
    next(one for one in tables.files_of(path) if one.parent.name == "kind=k0").unlink()

    def slow(*_: Any) -> None:
        threading.Timer(1, spark.sparkContext.cancelAllJobs).start()
        spark.range(1).selectExpr("reflect('java.lang.Thread', 'sleep', 60000L)").collect()

    monkeypatch.setattr(LayoutCommits, "commit", slow)
    with pytest.raises(Exception, match="SPARK_JOB_CANCELLED") as raised:
        compact(spark, table, LAYOUT, "logs")
    assert not isinstance(raised.value, MergeError)


def test_what_stops_all_merges_is_not_tried_for_each(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path / "table", 40)
    tried: list[int] = []

    def fail(_: Rewriter, groups: Sequence[Any], *__: Any) -> Any:
        tried.append(len(groups))
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(Rewriter, "write", fail)
    with pytest.raises(MergeError, match="8 merges failed, the run was given up") as raised:
        compact(spark, table, LAYOUT, "logs")
    assert str(raised.value).count("the disk is full") == 8
    assert len(tried) <= 20


def test_nor_where_each_has_a_reason_of_its_own(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path / "table", 40)

    def fail(_: Rewriter, groups: Sequence[Any], *__: Any) -> Any:
        raise RuntimeError(f"no access to {groups[0][0]}")

    monkeypatch.setattr(Rewriter, "write", fail)
    with pytest.raises(MergeError, match="32 merges failed, the run was given up"):
        compact(spark, table, LAYOUT, "logs")


def test_two_runs_at_once_lose_nothing_and_do_no_merge_twice(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "table"
    table = make_with_spark(spark, path, 30)
    rows, version = tables.rows_of(spark, table), DeltaTable(path).version()
    done: list[Compacted] = []

    def run(session: SparkSession) -> None:
        done.append(compact(session, table, LAYOUT, "logs"))

    both = [threading.Thread(target=run, args=(spark.newSession(),)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    # Whoever comes second gives its merge up; each is done once.
    assert len(done) == 2
    assert sum(one.merges for one in done) == 30 == DeltaTable(path).version() - version
    assert len(tables.files_of(path)) == 30
    assert tables.rows_of(spark, table) == rows
