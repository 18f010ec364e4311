"""Somebody else commits between the look of a command and its commit."""

from __future__ import annotations

import pytest
from functional.versions.kept import before, rows_of
from functional.versions.test_restore import MODEL, Feed
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.delta.refs import clones, dependents, pinned
from alluvium.merge import progress
from alluvium.versions import branches, refs
from alluvium.versions import restore as restoring
from alluvium.versions.branches import Branch
from alluvium.versions.points import Point, PointTable, resolve

# What is quick of it stands in test_restore.py and test_merging.py.
RETENTION = "'delta.deletedFileRetentionDuration' = 'interval 0 hours'"

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_restore(spark: SparkSession) -> None:
    made = Feed(spark, "between")
    good = made.batch(1, 1, 2, 3)
    made.batch(2, 4, 5)
    made.publish()
    app = progress.app_id(MODEL, log.table_id(spark, made.name))
    # Rows, progress alone, other files with the same rows: nobody has listed these.
    for theirs in (
        lambda: made.insert(77),
        lambda: log.commit_transactions(spark, made.name, {app: 3}),
        lambda: spark.sql(f"optimize {made.name}"),
    ):
        with (
            before(restoring, "SettingBack", theirs),
            pytest.raises(RuntimeError, match=r"writer was faster; nothing was changed; run it"),
        ):
            made.back(version=good, including=["write"])
        assert rows_of(spark, made.name) == made.rows
    assert made.merged == 3
    with pytest.raises(ValueError, match=r"write WRITE.*Accepted: including: \[write\]"):
        made.back(version=good)
    # What may delete the files that come back: they do not.
    newest = made.version
    with (
        dependents.vacuuming(spark, f"file:{made.folder}"),
        pytest.raises(ValueError, match=r"a vacuum goes on .* The table is what it was\."),
    ):
        made.back(version=good, including=["write"])
    assert (rows_of(spark, made.name), made.merged) == (made.rows, 3)
    # Behind the commit: readers see what was restored, and not what no test has seen.
    with before(restoring.publish, "checkout", lambda: made.batch(4, 9)):
        done = made.back(version=good, including=["write"])
    assert done.version == newest + 3
    assert rows_of(spark, made.shown.table) == made.versions[good]
    assert rows_of(spark, made.name) == made.versions[good] | {9: "n9"}
    # Nor is taken from them what passed its tests meanwhile.
    made.publish()
    with before(restoring.publish, "checkout", lambda: (made.batch(5, 10), made.publish())):
        made.back(version=good)
    assert rows_of(spark, made.shown.table) == made.versions[good] | {10: "n10"}


def test_checkout_and_discard(spark: SparkSession) -> None:
    made = Feed(spark, "between_heads")
    first = made.batch(1, 1)
    made.publish()
    second = made.batch(2, 2)
    made.publish_beside_a_checkout(first)
    assert rows_of(spark, made.shown.table) == made.versions[second]
    # A clone of a branch's table, made while the branch goes.
    branch = Branch("goes", "versions")
    branches.make_schema(spark, branch, branch.schema)
    name = (branch.schema, "between_heads")
    branches.make_table(spark, branch, Point(made.name, second), name).apply()
    ours = ".".join(name)
    spark.sql(f"insert into {ours} values (3, 'n3', false)")
    with (
        before(
            branches,
            "_drop",
            lambda: refs.clone(spark, Point(ours), "between_clone", schema="versions").apply(),
        ),
        pytest.raises(ValueError, match=r"clone versions\.between_clone\. Nothing of goes was"),
    ):
        branches.discard(spark, branch, []).apply()
    assert rows_of(spark, "versions.between_clone") == made.rows | {3: "n3"}


def test_branch_untag_and_vacuum(spark: SparkSession) -> None:
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    made = Feed(spark, "between_refs")
    first = made.batch(1, 1)
    branch = Branch("late", "versions")
    branches.make_schema(spark, branch, branch.schema)
    with before(clones.Making, "make", lambda: made.batch(2, 2)):
        branches.make_table(
            spark, branch, Point(made.name, first), (branch.schema, "between_refs")
        ).apply()
    assert rows_of(spark, f"{branch.schema}.between_refs") == made.versions[first]
    # Somebody else moves the tag first: it stays where it is now.
    refs.tag(spark, Point(made.name, first), "moved").apply()

    def move_it() -> None:
        refs.untag(spark, made.name, "moved").apply()
        refs.tag(spark, Point(made.name, first + 1), "moved").apply()

    with (
        before(clones, "drop", move_it),
        pytest.raises(ValueError, match="tag moved was made again meanwhile, so nothing was done"),
    ):
        refs.untag(spark, made.name, "moved").apply()
    assert (
        rows_of(spark, resolve(spark, PointTable(made.name, "t"), tag="moved").sql()) == made.rows
    )
    # A file that is about to go: nobody gets a clone that needs it.
    spark.sql(f"alter table {made.name} set tblproperties ({RETENTION})")
    old = made.insert(3)
    made.do("optimize {t}")

    def clone_it() -> None:
        with pytest.raises(ValueError, match="a vacuum goes on that may delete"):
            refs.clone(spark, Point(made.name, old), "between_late", schema="versions").apply()

    with before(pinned, "_delete", clone_it):
        assert pinned.vacuum(spark, made.name)
    assert rows_of(spark, made.name) == made.rows
    assert rows_of(spark, f"{branch.schema}.between_refs") == made.versions[first]
