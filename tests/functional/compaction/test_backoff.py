"""Looks that are left out: for how long, what ends that, and that nothing else is left out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from functional.compaction import tables
from pyspark.sql import SparkSession

from alluvium.compact import run
from alluvium.compact.outcome import Compacted
from alluvium.compact.run import compact, preview
from alluvium.delta.internals import MANUAL_UPDATE
from alluvium.delta.log import log
from alluvium.engine import jvm
from alluvium.plan.compaction import backoff
from alluvium.plan.layout.settings import Layout

pytestmark = pytest.mark.spark
# Full fragments of 50 rows. 8 small ones are merged.
LAYOUT = Layout(tables.SORT_BY, target_rows=50, fan_in=8)


@pytest.fixture(autouse=True)
def _of_small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "WORTH", 1)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A name for each time that a table's state was read."""
    found: list[str] = []
    read = run.look

    def noted(session: SparkSession, table: str, *others: Any, **named: Any) -> Any:
        found.append(table)
        return read(session, table, *others, **named)

    monkeypatch.setattr(run, "look", noted)
    return found


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of which nothing is due. Spark makes it: backoffs need the checksums of its log."""
    path = tmp_path_factory.mktemp("made") / "table"
    tables.make_with_spark(spark, path, files=3)
    return path


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path, made: Path) -> Path:
    """The same, as a hook has found and noted."""
    path = tmp_path / "table"
    shutil.copytree(made, path)
    hook(spark, path)
    assert newest(path).keys() == {"commitInfo", "txn"}
    return path


def hook(session: SparkSession, path: Path, layout: Layout = LAYOUT) -> Compacted:
    return compact(session, f"delta.`{path}`", layout, "logs", may_back_off=True)


def newest(path: Path) -> dict[str, object]:
    """The actions of the newest commit, by kind."""
    commit = sorted((path / "_delta_log").glob("*.json"))[-1]
    actions: dict[str, object] = {}
    for line in commit.read_text().splitlines():
        actions |= json.loads(line)
    return actions


def append(session: SparkSession, path: Path, rows: int = 10, first: int = 1_000) -> None:
    tables.append(session, path, 1, rows, first)


def test_small_files_are_not_looked_at_until_a_merge_may_be_due(
    spark: SparkSession, path: Path, looks: list[str]
) -> None:
    looks.clear()
    # An operation and a dry run always look.
    compact(spark, f"delta.`{path}`", LAYOUT, "logs")
    preview(spark, f"delta.`{path}`", LAYOUT, "logs")
    assert len(looks) == 2
    assert "txn" in newest(path)  # of the hook before: an operation notes nothing
    looks.clear()
    jobs = spark.sparkContext._jsc.sc().statusStore()
    merges = []
    seen = []
    for place in range(8):
        append(spark, path, first=1_000 * place)
        before = tables.read(path)
        if place == 0:
            jvm.of(spark).org.apache.spark.sql.delta.DeltaLog.clearCache()
        run_before = jobs.jobsList(None).size()
        merges.append(hook(spark, path).merges)
        seen.append(len(looks))
        if place == 0:  # not even the state of the table is read
            assert jobs.jobsList(None).size() == run_before
        assert tables.read(path) == before
    # Room for 7 files, of which half may land; 3 more are no longer worth a commit. The merge
    # comes when it would have come with a look behind each commit.
    assert seen[:4] == [0, 0, 0, 1]
    assert merges == [0, 0, 0, 0, 0, 0, 0, 1]


def delete_rows(session: SparkSession, path: Path) -> None:
    session.sql(f"delete from delta.`{path}` where id < 30")


def delete_a_file(session: SparkSession, path: Path) -> None:
    session.sql(f"delete from delta.`{path}` where id < 50")


def append_a_full_file(session: SparkSession, path: Path) -> None:
    append(session, path, rows=40)


def add_a_column(session: SparkSession, path: Path) -> None:
    session.sql(f"alter table delta.`{path}` add column more string")


def replace_the_table(session: SparkSession, path: Path) -> None:
    table = f"delta.`{path}`"
    session.sql(f"create or replace table {table} using delta as select * from {table} limit 9")


def restore(session: SparkSession, path: Path) -> None:
    delete_rows(session, path)
    session.sql(f"restore table delta.`{path}` to version as of 0")


def append_by_delta_rs(session: SparkSession, path: Path) -> None:
    write_deltalake(path, pa.table({"id": [9], "service": ["s"], "message": ["m"]}), mode="append")


def lose_a_commit(session: SparkSession, path: Path) -> None:
    append(session, path)
    last = sorted((path / "_delta_log").glob("*.json"))[-1]
    append(session, path)
    log.delta_log(session, f"delta.`{path}`").checkpoint()
    last.unlink()


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        delete_rows,
        delete_a_file,
        append_a_full_file,
        add_a_column,
        replace_the_table,
        restore,
        append_by_delta_rs,
        lose_a_commit,
    ],
)
def test_what_calls_for_a_look(
    spark: SparkSession, path: Path, looks: list[str], change: Callable[[SparkSession, Path], None]
) -> None:
    change(spark, path)
    looks.clear()
    hook(spark, path)
    assert looks


@pytest.mark.slow
def test_another_layout_and_another_table_call_for_a_look(
    spark: SparkSession, path: Path, looks: list[str], tmp_path: Path
) -> None:
    looks.clear()
    hook(spark, path, Layout(tables.SORT_BY, target_rows=50, fan_in=9))
    assert len(looks) == 1
    hook(spark, path)  # that of this layout still holds
    assert len(looks) == 1
    other = tmp_path / "other"
    tables.make_with_spark(spark, other, files=3)
    hook(spark, other)
    assert len(looks) == 2


def test_small_tables_get_none(
    spark: SparkSession, tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "WORTH", 4)
    path = tmp_path / "table"
    shutil.copytree(made, path)
    hook(spark, path)
    assert "txn" not in newest(path)
    append(spark, path)
    hook(spark, path)
    assert "txn" in newest(path)


def test_a_merge_ends_with_one_and_it_disturbs_no_writer(
    spark: SparkSession, tmp_path: Path, looks: list[str]
) -> None:
    path = tmp_path / "table"
    tables.make_with_spark(spark, path, files=8, rows=10)
    before = tables.read(path)
    assert hook(spark, path).merges == 1
    assert newest(path).keys() == {"commitInfo", "txn"}
    assert tables.read(path) == before
    looks.clear()
    assert hook(spark, path) == Compacted()
    assert not looks


@pytest.mark.slow
def test_a_backoff_does_not_disturb_a_merge_that_is_under_way(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "table"
    table = tables.make_with_spark(spark, path, files=3)
    transaction = log.delta_log(spark, table).startTransaction(*[none(spark)] * 2)
    transaction.filterFiles()
    hook(spark, path)
    assert newest(path).keys() == {"commitInfo", "txn"}
    actions = jvm.of(spark).org.apache.spark.sql.delta.actions
    own = actions.SetTransaction("feed", 1, none(spark))
    manual = jvm.internal(spark, MANUAL_UPDATE)
    assert transaction.commit(jvm.scala_seq(spark, [own]), manual) > 1


def none(session: SparkSession) -> object:
    return jvm.of(session).scala.Option.empty()
