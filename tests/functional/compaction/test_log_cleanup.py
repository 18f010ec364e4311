"""What compaction keeps in the log outlives the commits that it was written with."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from functional.compaction import tables
from pyspark.sql import SparkSession

from alluvium.compaction import zorder
from alluvium.compaction.layout import Layout
from alluvium.compaction.run import compact, look, preview
from alluvium.compaction.tags import TAG
from alluvium.delta import jvm, log

pytestmark = pytest.mark.spark
DAY = 86400
# Of each kind of checkpoint: the table's policy, a setting of the session that writes it, and the
# files that it is made of.
KINDS: dict[str, tuple[str, dict[str, str], dict[str, int]]] = {
    "classic": ("classic", {}, {"*.checkpoint.parquet": 1}),
    "parts": ("classic", {"checkpoint.partSize": "4"}, {"*.checkpoint.*.*.parquet": 3}),
    "v2 json": (
        "v2",
        {"checkpointV2.topLevelFileFormat": "json"},
        {"*.checkpoint.*.json": 1, "_sidecars/*.parquet": 1},
    ),
    "v2 parquet": (
        "v2",
        {"checkpointV2.topLevelFileFormat": "parquet"},
        {"*.checkpoint.*.parquet": 1, "_sidecars/*.parquet": 1},
    ),
}


@contextmanager
def settings(session: SparkSession, values: dict[str, str]) -> Iterator[None]:
    names = {f"spark.databricks.delta.{name}": value for name, value in values.items()}
    for name, value in names.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name in names:
            session.conf.unset(name)


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
                live[action["add"]["path"]] = (action["add"].get("tags") or {}).get(TAG)
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
                    live[action["add"]["path"]] = dict(action["add"]["tags"] or {}).get(TAG)
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
    manual = jvm.scala_object(session, "org.apache.spark.sql.delta.DeltaOperations$ManualUpdate$")
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
    for checksum in [*folder.glob("*.crc"), *folder.glob(".*.crc")]:
        checksum.unlink()
    java.org.apache.spark.sql.delta.DeltaLog.clearCache()


@pytest.mark.parametrize("kind", KINDS)
def test_tags_and_cuts_outlive_their_commits(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    policy, values, files = KINDS[kind]
    path, folder = tmp_path / "table", tmp_path / "table" / "_delta_log"
    table = tables.make(
        spark,
        path,
        24,
        checkpointPolicy=policy,
        checkpointInterval="1000",
        setTransactionRetentionDuration="interval 1 hour",
    )
    layout = Layout(tables.SORT_BY, curve="zorder", target_rows=400, fan_in=8)
    assert compact(spark, table, layout, "logs").merges == 3
    tables.append(spark, path, 5)  # fewer than a merge takes
    rows, (tags, apps) = tables.rows_of(spark, table), replayed(folder)
    cuts = look(spark, table, layout, "logs")[1].cuts
    assert cuts is not None
    assert sum(tag is not None for tag in tags.values()) == 3
    assert len(tags) == 8
    commit_old_transaction(spark, table)
    last = sorted(folder.glob("[0-9]*.json"))[-1]

    with settings(spark, values):
        checkpoint_and_clean_up(spark, table, folder)

    # Nothing but the checkpoint has them.
    assert [one for one in folder.glob("*.json") if one.stem.isdigit()] == [last]
    assert "add" not in last.read_text()
    assert {pattern: len(list(folder.glob(pattern))) for pattern in files} == files
    found, known = checkpointed(folder, files)
    assert found == tags
    assert known == apps
    assert {app.partition(":")[0] for app in apps} == {zorder.APP}
    # And they are read, to the same decision.
    assert tables.rows_of(spark, table) == rows
    plan, fragments = preview(spark, table, layout, "logs")
    assert dict(zip(*fragments.select(["path", "tag"]).to_pydict().values(), strict=True)) == tags
    assert not plan
    assert not compact(spark, table, layout, "logs").merges
    assert sorted(folder.glob("[0-9]*.json"))[-1] == last
    # What comes later is sorted by the same cuts.
    assert look(spark, table, layout, "logs")[1].cuts == cuts
    tables.append(spark, path, 3)
    assert compact(spark, table, layout, "logs").inputs == 8
    later = look(spark, table, layout, "logs")[2]["tag"].to_pylist()
    assert {json.loads(tag)["row_key"].endswith(cuts.name) for tag in later} == {True}
    assert len(later) == 4
