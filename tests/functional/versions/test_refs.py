"""Tags and clones beside rows that Python keeps, and what vacuum leaves of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from functional.versions.kept import Kept, rows_of
from pyspark.sql import SparkSession

from alluvium.delta import dependents, log, pinned
from alluvium.delta.dependents import Dependent
from alluvium.versions import refs
from alluvium.versions.points import Point, Table, resolve

pytestmark = pytest.mark.spark

AT_ONCE = "'delta.deletedFileRetentionDuration' = 'interval 0 hours'"


def location_of(spark: SparkSession, table: str) -> str:
    return log.qualified(log.delta_log(spark, table))


def test_tags_and_clones_live_through_vacuum(spark: SparkSession) -> None:
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    made = Kept(spark, "tagged", AT_ONCE)
    folder = location_of(spark, made.name)
    made.insert(1, 2, 3)
    made.insert(4, 5)
    then = made.delete(2)
    data = {path.name for path in made.folder.glob("*.parquet")}
    tag = refs.tag(spark, Point(made.name, then), "before_fix", "as it was")
    clone = refs.clone(spark, Point(made.name, then), "versions.tagged_copy", schema="versions")
    assert tag.files == clone.files == len(spark.table(made.name).inputFiles())
    assert {path.name for path in made.folder.glob("*.parquet")} == data
    assert [one.kind for one in dependents.noted(spark, folder)] == ["clone", "tag"]
    # A clone of the clone, which goes its own way, is one of this table too.
    spark.sql("insert into versions.tagged_copy values (9, 'own', false)")
    second = refs.clone(spark, Point("versions.tagged_copy"), "tagged_second", schema="versions")
    spark.sql(f"alter table versions.tagged_copy set tblproperties ({AT_ONCE})")
    spark.sql("delete from versions.tagged_copy where id = 3 or id = 9")
    # Delta's own clones are found by their first commits.
    made.delete(1)
    spark.sql(f"create table versions.by_delta shallow clone {made.name}")
    spark.sql("create table versions.of_nothing (id bigint) using delta")
    copied = dict(made.rows)
    made.insert(7)
    made.delete(7)
    made.do("optimize {t}")
    others = pinned.clones(
        spark,
        folder,
        [
            Dependent("clone", name, location_of(spark, f"versions.{name}"))
            for name in ("by_delta", "of_nothing", "tagged_copy")
        ],
    )
    assert {one.name for one in others} == {"by_delta", "tagged_copy"}
    # What came and went is nobody's.
    spare = pinned.vacuum(spark, made.name, others, dry_run=True)
    assert ".parquet" in {Path(path).suffix for path in spare}
    assert all(Path(path.removeprefix("file:")).exists() for path in spare)
    pinned.vacuum(spark, made.name, others)
    pinned.vacuum(spark, "versions.tagged_copy")
    assert not any(Path(path.removeprefix("file:")).exists() for path in spare)
    before = made.versions[then]
    tagged = resolve(spark, Table(made.name, "t"), tag="before_fix")
    assert rows_of(spark, tagged.sql()) == before
    assert rows_of(spark, "versions.by_delta") == copied
    assert rows_of(spark, "versions.tagged_second") == {**before, 9: "own"}
    assert rows_of(spark, "versions.tagged_copy") == {4: "n4", 5: "n5", 1: "n1"}
    assert rows_of(spark, made.name) == made.rows
    assert second.ref.table == "versions.tagged_copy"
