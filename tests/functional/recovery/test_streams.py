"""Streaming tables: whatever is damaged, the next run has each event once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from functional.recovery.damage import commit
from functional.stream.bronze import Bronze
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.recovery.fsck import Fsck
from alluvium.recovery.recover import Recovery
from alluvium.recovery.tables import Table

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_each_event_is_there_once(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("create database if not exists recovered")
    bronze = Bronze(tmp_path, spark, "recovered.events")
    warehouse = str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:")
    place = Path(warehouse) / "recovered.db/events"
    table = Table(
        *("events", bronze.name, str(place), "model.shop.events", True),
        checkpoint=str(bronze.checkpoint),
    )

    def fsck() -> list[str]:
        report = Fsck(spark, [table], [str(place.parent)]).run()
        return [one.line(name) for name, one in report.found if one.is_damage]

    def recover() -> list[str]:
        return Recovery(spark, [table], [str(place.parent)], dry_run=False).run()

    def land(number: int) -> None:
        bronze.land(f"{number}.txt", f"a{number}\nb{number}\n".encode())

    for number in range(3):
        land(number)
        bronze.run()
    assert fsck() == []

    # The checkpoint is gone: the table knows its events.
    shutil.rmtree(bronze.checkpoint)
    assert fsck() == []
    assert recover() == []
    land(3)
    bronze.run()
    bronze.check()

    # A file of the ledger is damaged.
    ledger = next(bronze.checkpoint.rglob("files/*.all"))
    ledger.write_text("{")
    Path(ledger.with_name(f".{ledger.name}.crc")).unlink(missing_ok=True)
    (line,) = fsck()
    assert "its checkpoint is damaged" in line
    (line,) = recover()
    assert f"its checkpoint to {bronze.checkpoint}.recovered-" in line
    assert fsck() == []
    land(4)
    bronze.run()
    bronze.check()
    land(5)
    bronze.run()

    # The newest commit is lost, and a data file of the one before.
    version = log.version(spark, bronze.name)
    (place / "_delta_log" / commit(version)).unlink()
    lost = (place / "_delta_log" / commit(version - 1)).read_text()
    next(path for path in place.glob("*.parquet") if path.name in lost).unlink()
    assert any("1 commit missing" in line for line in fsck())
    lines = recover()
    assert any(
        f"goes back to version {version - 1}: version {version} is lost" in one for one in lines
    )
    assert any("the newest without 1 data file that cannot be read" in one for one in lines)
    assert any("its checkpoint to" in one for one in lines)
    assert fsck() == []
    bronze.run()
    bronze.check()

    # A table that is older than its checkpoint, as out of a backup.
    backup = tmp_path / "backup"
    shutil.copytree(place, backup)
    land(6)
    bronze.run()
    shutil.rmtree(place)
    shutil.copytree(backup, place)
    (line,) = fsck()
    assert (
        "its checkpoint is ahead: it has read 2 commits of the stream, and the table has 1" in line
    )
    recover()
    bronze.run()
    bronze.check()
