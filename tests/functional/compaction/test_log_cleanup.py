"""What compaction keeps in the log outlives the commits that it was written with."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from functional.compaction import tables
from pyspark.sql import SparkSession
from support.settings import settings

from alluvium.compact.run import compact
from alluvium.compact.state import look
from alluvium.delta.internals import MANUAL_UPDATE
from alluvium.delta.log import log
from alluvium.engine import jvm
from alluvium.marks import LAYOUT_TAG, ZORDER_CUTS
from alluvium.plan.layout.settings import Layout

pytestmark = pytest.mark.spark
DAY = 86400
LAYOUT = Layout(tables.SORT_BY, curve="zorder", target_rows=400, fan_in=8)
# Of each kind of checkpoint: the table's policy, a setting of the session that writes it, and the
# files that it is made of.
KINDS: dict[str, tuple[str, dict[str, str], dict[str, int]]] = {
    "classic": ("classic", {}, {"*.checkpoint.parquet": 1}),
    "parts": (
        "classic",
        {"spark.databricks.delta.checkpoint.partSize": "8"},
        {"*.checkpoint.*.*.parquet": 3},
    ),
    "v2": ("v2", {}, {"*.checkpoint.*.json": 1, "_sidecars/*.parquet": 1}),
}


def replayed(folder: Path) -> tuple[dict[str, str | None], set[str]]:
    """The tag of each live file and the ids of all `txn` actions, by the log's commits."""
    live: dict[str, str | None] = {}
    apps = set()
    for commit in sorted(folder.glob("[0-9]*.json")):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            if "remove" in action:
                live.pop(action["remove"]["path"], None)
        for action in actions:
            if "add" in action:
                live[action["add"]["path"]] = (action["add"].get("tags") or {}).get(LAYOUT_TAG)
            if "txn" in action:
                apps.add(action["txn"]["appId"])
    return live, apps


def checkpointed(folder: Path, files: dict[str, int]) -> tuple[dict[str, str | None], set[str]]:
    """The same by the files of a checkpoint, read without Delta."""
    live: dict[str, str | None] = {}
    apps = set()
    for pattern in files:
        for file in folder.glob(pattern):
            actions: list[dict[str, Any]] = (
                [json.loads(line) for line in file.read_text().splitlines()]
                if file.suffix == ".json"
                else pq.read_table(file).to_pylist()
            )
            for action in actions:
                if action.get("add"):
                    live[action["add"]["path"]] = dict(action["add"]["tags"] or {}).get(LAYOUT_TAG)
                if action.get("txn"):
                    apps.add(action["txn"]["appId"])
    return live, apps


def commit_old_transaction(session: SparkSession, table: str) -> None:
    """A commit without data, of an application that was last heard of in 1970."""
    java: Any = jvm.of(session)
    none = java.scala.Option.empty()
    action = java.org.apache.spark.sql.delta.actions.SetTransaction(
        "forgotten", 1, java.scala.Option.apply(1)
    )
    manual = jvm.internal(session, MANUAL_UPDATE)
    transaction = log.delta_log(session, table).startTransaction(none, none)
    transaction.commit(jvm.scala_seq(session, [action]), manual)


def checkpoint_and_clean_up(session: SparkSession, table: str, folder: Path) -> None:
    """As a commit would some weeks later; then no JVM knows the table any more."""
    past = time.time() - 60 * DAY
    for file in folder.glob("[0-9]*"):
        os.utime(file, (past, past))
    java: Any = jvm.of(session)
    none = java.scala.Option.empty()
    table_log = log.delta_log(session, table)
    table_log.checkpointAndCleanUpDeltaLog(table_log.update(False, none, none), none)
    # Delta reads small tables from these where it can; nothing rests on them.
    for checksum in folder.glob("*.crc"):
        checksum.unlink()
    java.org.apache.spark.sql.delta.DeltaLog.clearCache()


@pytest.fixture(scope="module")
def compacted(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of two merged files, and fewer new ones than another merge takes."""
    path = tmp_path_factory.mktemp("compacted") / "table"
    table = tables.make(spark, path, 8, setTransactionRetentionDuration="interval 1 hour")
    tables.land(path, 8)
    assert compact(spark, table, LAYOUT, "logs").merges == 2
    tables.land(path, 5)
    return path


@pytest.mark.parametrize(
    "kind", [pytest.param(one, marks=() if one == "parts" else pytest.mark.slow) for one in KINDS]
)
def test_tags_and_cuts_outlive_their_commits(
    spark: SparkSession, tmp_path: Path, compacted: Path, kind: str
) -> None:
    policy, values, files = KINDS[kind]
    path, folder = tmp_path / "table", tmp_path / "table" / "_delta_log"
    shutil.copytree(compacted, path)
    table = f"delta.`{path}`"
    rows, (tags, apps) = tables.rows_of(spark, table), replayed(folder)
    assert len(tags) == 7
    assert sum(tag is not None for tag in tags.values()) == 2
    commit_old_transaction(spark, table)
    spark.sql(f"alter table {table} set tblproperties ('delta.checkpointPolicy' = '{policy}')")
    last = sorted(folder.glob("[0-9]*.json"))[-1]

    with settings(spark, values):
        checkpoint_and_clean_up(spark, table, folder)

    # Nothing but the checkpoint has them.
    assert [one for one in folder.glob("*.json") if one.stem.isdigit()] == [last]
    assert not {"add", "txn"} & {
        key for line in last.read_text().splitlines() for key in json.loads(line)
    }
    assert {pattern: len(list(folder.glob(pattern))) for pattern in files} == files
    assert checkpointed(folder, files) == (tags, apps)
    assert {app.partition(":")[0] for app in apps} == {ZORDER_CUTS}
    # And they are read, to the same decision.
    _, layout, fragments = look(spark, table, LAYOUT, "logs")
    read = zip(fragments["path"].to_pylist(), fragments["tag"].to_pylist(), strict=True)
    assert dict(read) == tags
    assert layout.cuts is not None
    assert f"{ZORDER_CUTS}:{layout.cuts.text()}" in apps
    assert tables.rows_of(spark, table) == rows
    assert not compact(spark, table, LAYOUT, "logs").merges
    assert sorted(folder.glob("[0-9]*.json"))[-1] == last


def test_a_log_that_is_cleaned_up_meanwhile_is_planned_anew(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Delta forgets the state of a version that is not the newest, and its commits are gone."""
    folder = tmp_path / "table"
    table = tables.make(spark, folder, 8)
    said: list[str] = []

    def clean(line: str) -> None:
        said.append(line)
        if len(said) == 1:
            tables.land(folder, 1)
            checkpoint_and_clean_up(spark, table, folder / "_delta_log")

    before = tables.read(folder)
    layout = Layout(tables.SORT_BY, target_rows=10_000, fan_in=8)
    done = compact(spark, table, layout, "logs", say=clean)
    assert not (folder / "_delta_log" / f"{0:020}.json").exists()
    assert (done.merges, done.inputs, done.conflicts) == (1, 8, 1)
    assert done.bytes_given_up > 0
    after = tables.read(folder)
    assert len(after) == len(before) + 50
    assert set(before) <= set(after)
