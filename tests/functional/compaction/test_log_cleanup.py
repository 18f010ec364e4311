"""Tags outlive the commits that wrote them: compactions find them in checkpoints, V2 ones too."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from functional.compaction import tables
from pyspark.sql import SparkSession

from alluvium.compaction.layout import Layout
from alluvium.compaction.run import compact, preview
from alluvium.compaction.tags import TAG
from alluvium.delta import jvm, log

pytestmark = pytest.mark.spark
LAYOUT = Layout(tables.SORT_BY, target_rows=400, fan_in=8, level_rows=1600)


def clean_up(session: SparkSession, path: Path) -> None:
    """A checkpoint, and no commit before it: they are made older than the log is kept."""
    past = time.time() - 60 * 86400
    for file in (path / "_delta_log").iterdir():
        os.utime(file, (past, past))
    table_log = log.delta_log(session, f"delta.`{path}`")
    none = jvm.of(session).scala.Option.empty()
    table_log.checkpointAndCleanUpDeltaLog(table_log.update(False, none, none), none)
    # Whoever comes next reads the files.
    jvm.of(session).org.apache.spark.sql.delta.DeltaLog.clearCache()


def tags_of_checkpoint(path: Path) -> dict[str, str | None]:
    """Each file's tag, as the newest checkpoint (V2: its sidecars) has it."""
    folder = path / "_delta_log"
    newest = max(folder.glob("*.checkpoint.*"))
    if newest.suffix == ".parquet":
        actions = pq.read_table(newest).to_pylist()
    else:
        actions = [json.loads(line) for line in newest.read_text().splitlines()]
    sidecars = [one["sidecar"]["path"] for one in actions if one.get("sidecar")]
    for sidecar in sidecars:
        actions += pq.read_table(folder / "_sidecars" / sidecar).to_pylist()
    adds = [one["add"] for one in actions if one.get("add")]
    return {add["path"]: dict(add["tags"] or {}).get(TAG) for add in adds}


@pytest.mark.parametrize("policy", ["classic", "v2"])
def test_tags_without_their_commits(spark: SparkSession, tmp_path: Path, policy: str) -> None:
    path = tmp_path / "table"
    table = tables.make(spark, path, files=64, rows=200, checkpointPolicy=policy)
    compact(spark, table, LAYOUT, "logs")
    rows = tables.rows_of(spark, table)
    before = preview(spark, table, LAYOUT, "logs")[1].sort_by("path")
    assert before["tag"].null_count == 0
    assert any(json.loads(tag)["level"] > 0 for tag in before["tag"].to_pylist())

    clean_up(spark, path)

    left = list((path / "_delta_log").glob("*.json"))
    assert not any(TAG in one.read_text() for one in left if ".checkpoint." not in one.name)
    in_checkpoint = tags_of_checkpoint(path)
    assert in_checkpoint == dict(
        zip(before["path"].to_pylist(), before["tag"].to_pylist(), strict=True)
    )
    planned, after = preview(spark, table, LAYOUT, "logs")
    assert not planned
    assert after.sort_by("path") == before
    assert tables.rows_of(spark, table) == rows

    # A later compaction takes up what is new, and what it leaves alone keeps its tag.
    tables.append(spark, path, files=8)
    rows = tables.rows_of(spark, table)
    assert compact(spark, table, LAYOUT, "logs").merges
    clean_up(spark, path)
    assert tables.rows_of(spark, table) == rows
    assert all(tags_of_checkpoint(path).values())
    assert not preview(spark, table, LAYOUT, "logs")[0]
