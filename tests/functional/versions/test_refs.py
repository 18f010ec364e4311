"""Tags and clones beside rows that Python keeps, and what vacuum leaves of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from functional.versions.kept import Kept, rows_of
from pyspark.sql import SparkSession

from alluvium.delta import dependents, log, pinned
from alluvium.delta.dependents import relation
from alluvium.versions import refs
from alluvium.versions.points import Point, Table, resolve

pytestmark = pytest.mark.spark

AT_ONCE = "'delta.deletedFileRetentionDuration' = 'interval 0 hours'"


def tag_of(made: Kept, name: str) -> str:
    return resolve(made.spark, Table(made.name, "t"), tag=name).sql()


def test_tags_and_clones_live_through_vacuum(spark: SparkSession) -> None:
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    made = Kept(spark, "tagged", AT_ONCE)
    made.insert(1, 2, 3)
    made.insert(4, 5)
    then = made.delete(2)
    data = {path.name for path in made.folder.glob("*.parquet")}
    tag = refs.tag(spark, Point(made.name, then), "before_fix", "as it was")
    clone = refs.clone(spark, Point(made.name, then), "versions.tagged_copy", schema="versions")
    assert tag.files == clone.files == len(spark.table(made.name).inputFiles())
    assert {path.name for path in made.folder.glob("*.parquet")} == data
    assert [one.kind for one in dependents.noted(spark, f"file:{made.folder}")] == ["clone", "tag"]
    # A clone of the clone, which goes its own way, is one of this table too.
    spark.sql("insert into versions.tagged_copy values (9, 'own', false)")
    second = refs.clone(spark, Point("versions.tagged_copy"), "tagged_second", schema="versions")
    spark.sql(f"alter table versions.tagged_copy set tblproperties ({AT_ONCE})")
    spark.sql("delete from versions.tagged_copy where id = 3 or id = 9")
    made.delete(1)
    made.do("optimize {t}")
    # Of all that the table has left, the vector of its last delete alone is nobody's.
    (spare,) = pinned.vacuum(spark, made.name, dry_run=True)
    assert spare.endswith(".bin") and Path(spare.removeprefix("file:")).exists()
    for table in (made.name, "versions.tagged_copy"):
        pinned.vacuum(spark, table)
    before = made.versions[then]
    assert rows_of(spark, tag_of(made, "before_fix")) == before
    assert rows_of(spark, "versions.tagged_second") == {**before, 9: "own"}
    assert rows_of(spark, made.name) == made.rows
    assert not Path(spare.removeprefix("file:")).exists()
    assert second.ref.table == "versions.tagged_copy"
