"""Tags and clones beside rows that Python keeps, and what vacuum leaves of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC
from functools import partial
from pathlib import Path

import pytest
from deltalake import CommitProperties, DeltaTable, Transaction
from functional.versions.kept import Kept, Rows, append, rows_by_spark, rows_of
from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.log import log
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.refs import cloning, dependents, pinned
from alluvium.delta.refs import refs as delta_refs
from alluvium.delta.refs.dependents import Dependent
from alluvium.engine import jvm
from alluvium.publish.publish import checkout, publish
from alluvium.versions import branches, refs
from alluvium.versions.branches import Branch
from alluvium.versions.points import Point, PointTable, resolve

pytestmark = pytest.mark.spark

AT_ONCE = "'delta.deletedFileRetentionDuration' = 'interval 0 hours'"


def location_of(spark: SparkSession, table: str) -> str:
    return log.qualified(log.delta_log(spark, table))


@dataclass
class Family:
    """A table, and others that show its files: a tag, a clone, that one's clone, and Delta's."""

    made: Kept
    folder: str
    then: int
    copied: Rows


@pytest.fixture(scope="module")
def family(spark: SparkSession) -> Family:
    made = Kept(spark, "tagged", AT_ONCE)
    folder = location_of(spark, made.name)
    made.insert(1, 2, 3)
    made.insert(4, 5)
    then = made.delete(2)
    data = {path.name for path in made.folder.glob("*.parquet")}
    tag = refs.tag(spark, Point(made.name, then), "before_fix", "as it was").apply()
    clone = refs.clone(
        spark, Point(made.name, then), "versions.tagged_copy", schema="versions"
    ).apply()
    assert tag.files == clone.files == len(spark.table(made.name).inputFiles())
    assert {path.name for path in made.folder.glob("*.parquet")} == data
    assert [one.kind for one in dependents.noted(spark, folder)] == ["clone", "tag"]
    # A clone of the clone, which goes its own way, is one of this table too.
    append(made.folder.parent / "tagged_copy", {9: "own"})
    second = refs.clone(
        spark, Point("versions.tagged_copy"), "tagged_second", schema="versions"
    ).apply()
    assert second.ref.table == "versions.tagged_copy"
    spark.sql(f"alter table versions.tagged_copy set tblproperties ({AT_ONCE})")
    spark.sql("delete from versions.tagged_copy where id = 3 or id = 9")
    # Delta's own clones are found by their first commits.
    made.insert(6)
    spark.sql(f"create table versions.by_delta shallow clone {made.name}")
    spark.sql("create table versions.of_nothing (id bigint) using delta")
    return Family(made, folder, then, dict(made.rows))


@pytest.mark.proves("tags", on="embedded")
def test_tags_and_clones_live_through_vacuum(spark: SparkSession, family: Family) -> None:
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    made, then = family.made, family.then
    there = set(made.folder.glob("*.parquet"))
    made.insert(7)
    (came,) = set(made.folder.glob("*.parquet")) - there
    made.do("optimize {t}")
    others = pinned.clones(
        spark,
        family.folder,
        [
            Dependent("clone", name, location_of(spark, f"versions.{name}"))
            for name in ("by_delta", "of_nothing", "tagged_copy")
        ],
    )
    assert {one.name for one in others} == {"by_delta", "tagged_copy"}
    # What came and went is nobody's.
    there = set(made.folder.glob("*.parquet"))
    pinned.vacuum(spark, made.name, others)
    (spare,) = there - set(made.folder.glob("*.parquet"))
    assert spare.name == came.name
    pinned.vacuum(spark, "versions.tagged_copy")
    before = made.versions[then]
    tagged = resolve(spark, PointTable(made.name, "t"), tag="before_fix")
    assert rows_by_spark(spark, tagged.sql()) == before
    assert rows_of(spark, "versions.by_delta") == family.copied
    assert rows_by_spark(spark, "versions.tagged_second") == {**before, 9: "own"}
    assert rows_of(spark, "versions.tagged_copy") == {4: "n4", 5: "n5", 1: "n1"}
    assert rows_of(spark, made.name) == made.rows
    # What came and went since is gone, and the old version needs none of it.
    refs.tag(spark, Point(made.name, then), "after_all").apply()
    again = resolve(spark, PointTable(made.name, "t"), tag="after_all")
    assert rows_of(spark, again.sql()) == before


def actions_of(spark: SparkSession, table: str) -> dict[str, list[str]]:
    """Of a table's first commit, by kind, but for what no two commits have in common."""
    folder = Path(location_of(spark, table).removeprefix("file:"))
    found: dict[str, list[str]] = {}
    for line in (folder / "_delta_log/00000000000000000000.json").read_text().splitlines():
        ((kind, action),) = json.loads(line).items()
        if kind == "commitInfo":
            action = {name: action[name] for name in ("operation", "isolationLevel")}
        if kind == "metaData":
            # Delta gives columns of row ids a name by chance.
            kept = action["configuration"].items()
            kept = {key: value for key, value in kept if "materialized" not in key}
            action = {**action, "configuration": kept, "id": None}
        found.setdefault(kind, []).append(json.dumps(action, sort_keys=True))
    return {kind: sorted(every) for kind, every in found.items()}


@pytest.mark.parametrize(
    ("name", "how", "plain"),
    [
        (
            "mapped",
            "partitioned by (day) tblproperties ('delta.enableDeletionVectors' = 'true', 'mine' ="
            " 'yes', 'delta.columnMapping.mode' = 'name', 'delta.constraints.some' = 'id > 0')",
            True,
        ),
        pytest.param(
            "clustered",
            "cluster by (id) tblproperties ('delta.enableChangeDataFeed' = 'true',"
            " 'delta.enableInCommitTimestamps' = 'true', 'delta.checkpointPolicy' = 'v2')",
            True,
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "both",
            "tblproperties ('delta.enableChangeDataFeed' = 'true', 'delta.columnMapping.mode' ="
            " 'name', 'delta.enableRowTracking' = 'true')",
            False,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_clone_is_what_deltas_is(spark: SparkSession, name: str, how: str, plain: bool) -> None:
    source = f"versions.{name}"
    spark.sql("create database if not exists versions")
    spark.sql(
        f"create table {source} (id bigint not null, name string, day date) using delta"
        f" comment 'of mine' {how}"
    )
    for day in ("2025-01-30", "2025-01-31"):
        spark.sql(
            f"insert into {source}"
            f" select /*+ coalesce(1) */ id, concat('a b%', id), date'{day}' from range(1, 9)"
        )
    spark.sql(f"delete from {source} where id = 3")
    assert cloning.is_plain(log.snapshot_of(spark, source)) is plain
    spark.sql(f"create table {source}_by_delta shallow clone {source}")
    made = refs.clone(spark, Point(source), f"{source}_ours", schema="versions").apply()
    assert made.files == len(spark.table(source).inputFiles())
    ours, deltas = (actions_of(spark, f"{source}_{whose}") for whose in ("ours", "by_delta"))
    assert ours == deltas
    rows = [row.id for row in spark.table(f"{source}_ours").orderBy("id").collect()]
    assert rows == [one for one in range(1, 9) if one != 3 for _ in range(2)]
    types = [
        spark.sql(f"describe extended {source}_{whose}").where("col_name = 'Type'").first()
        for whose in ("ours", "by_delta")
    ]
    assert types[0] == types[1]


@pytest.mark.slow
def test_a_clone_of_a_table_that_has_times_of_commits_since_a_version(spark: SparkSession) -> None:
    made = Kept(spark, "timed")
    made.insert(1)
    spark.sql(
        f"alter table {made.name} set tblproperties ('delta.enableInCommitTimestamps' = 'true')"
    )
    # By Spark: delta-rs writes no table that has them.
    made.do("insert into {t} values (2, 'n2', false)", lambda rows: rows.update({2: "n2"}))
    refs.clone(spark, Point(made.name), "timed_copy", schema="versions").apply()
    for number in (3, 4):
        spark.sql(f"insert into versions.timed_copy values ({number}, 'own', false)")
    history = spark.sql("describe history versions.timed_copy").orderBy("version").collect()
    own = {3: "own"}
    for row, rows in zip(history, ({}, own, {**own, 4: "own"}), strict=True):
        at = row.timestamp.strftime("%Y-%m-%d %H:%M:%S.%f")
        found = spark.sql(f"select id, name from versions.timed_copy timestamp as of '{at}'")
        assert dict(found.collect()) == made.rows | rows


@pytest.mark.slow
def test_a_clone_leaves_alone_what_is_there(spark: SparkSession) -> None:
    made = Kept(spark, "first_there")
    made.insert(1)
    other = Kept(spark, "second_there")
    other.insert(2)
    # As if another run had made it after all was checked.
    copy = jvm.SessionCopy(spark)
    snapshot = log.snapshot_of(spark, made.name)
    with pytest.raises(ValueError, match="holds a table already"):
        cloning.clone(copy, snapshot, made.name, location_of(spark, other.name), "an id", {}, {})
    assert rows_of(spark, other.name) == other.rows


@pytest.fixture(scope="module")
def kept(spark: SparkSession) -> Kept:
    """Its first version has a tag."""
    made = Kept(spark, "refused", AT_ONCE)
    refs.tag(spark, Point(made.name, made.insert(1)), "v1.0").apply()
    return made


def test_what_is_refused(spark: SparkSession, kept: Kept) -> None:
    made = kept
    folder = location_of(spark, made.name)
    for name in ("../x", "a/b", "", ".hidden", "_x", "head", "a b", "a`b", "x" * 101):
        with pytest.raises(ValueError, match=r"^name is .*; accepted: letters, digits"):
            refs.tag(spark, Point(made.name), name).apply()
    with pytest.raises(ValueError, match=r"has a tag v1\.0 already, of version 1"):
        refs.tag(spark, Point(made.name), "v1.0").apply()
    with pytest.raises(ValueError, match=r"has no tag 'v1'; accepted: v1\.0"):
        refs.untag(spark, made.name, "v1").apply()
    for to, said in (
        ("a.b.c", "to is 'a.b.c'; accepted: name or schema.name"),
        ("x;drop", "to is 'x;drop'"),
        ("nowhere.x", r"there is no schema nowhere; accepted: .*\bversions\b.*, or one that `on-"),
        ("version.x", r"did you mean versions\?$"),
        ("refused", "`versions`.`refused` is there already"),
    ):
        with pytest.raises(ValueError, match=said):
            refs.clone(spark, Point(made.name), to, schema="versions").apply()
    # A dry run leaves nothing behind, nor does a refusal.
    assert refs.tag(spark, Point(made.name), "dry").would.files > 0
    assert refs.clone(spark, Point(made.name), "dry", schema="versions").would.files > 0
    assert [one.name for one in dependents.noted(spark, folder)] == ["v1.0"]


def test_files_that_are_gone_or_about_to_go(spark: SparkSession, kept: Kept) -> None:
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    made, folder, first = kept, location_of(spark, kept.name), 1
    # A version whose files are gone cannot be had any more; one that a tag keeps can.
    there = set(made.folder.glob("*.parquet"))
    second = made.insert(2)
    (came,) = set(made.folder.glob("*.parquet")) - there
    made.do("optimize {t}")
    came.unlink()
    with pytest.raises(ValueError, match=r"version 2 .* needs 1 file that VACUUM deleted"):
        refs.tag(spark, Point(made.name, second), "late").apply()
    refs.tag(spark, Point(made.name, first), "again").apply()
    # Nor while a vacuum goes on, which may delete what it needs; the newest one is not in danger.
    with dependents.vacuuming(spark, folder):
        with pytest.raises(ValueError, match="a vacuum goes on that may delete"):
            refs.tag(spark, Point(made.name, first), "beside").apply()
        refs.tag(spark, Point(made.name), "newest").apply()
    assert [one.name for one in delta_refs.tags(spark, folder)] == ["again", "newest", "v1.0"]
    assert {one.name for one in dependents.noted(spark, folder)} == {"again", "newest", "v1.0"}
    # Without the tags the files are nobody's.
    for name in ("again", "v1.0"):
        assert refs.untag(spark, made.name, name).apply().version == first
    (spare,) = (
        path for path in pinned.vacuum(spark, made.name, dry_run=True) if ".parquet" in path
    )
    assert Path(spare.removeprefix("file:")).exists()
    # A folder that is left empty goes too; one with a file of somebody's stays.
    for name in ("day=1/hour=2/old.parquet", "day=1/hour=3/old.parquet", "day=1/.mine"):
        (made.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (made.folder / name).write_text("x")
    assert len(pinned.vacuum(spark, made.name)) >= 3
    assert not Path(spare.removeprefix("file:")).exists()
    assert [one.name for one in (made.folder / "day=1").iterdir()] == [".mine"]
    # What cannot be read may need anything.
    log_of = Path(
        refs.tag(spark, Point(made.name), "torn").apply().ref.location.removeprefix("file:")
    )
    for file in (log_of / "_delta_log").glob("0*"):
        file.write_text("torn")
    with pytest.raises(ValueError, match=r"tag torn in .* cannot be read"):
        pinned.vacuum(spark, made.name)
    assert rows_of(spark, made.name) == made.rows


def test_points(spark: SparkSession) -> None:
    made = Kept(spark, "pointed")
    made.insert(1)
    made.insert(2)
    table = PointTable(made.name, "pointed")
    assert resolve(spark, table) == Point(made.name, 2)
    assert resolve(spark, table, version=1) == Point(made.name, 1)
    for given, said in (
        ({"version": 3}, "pointed has no version 3; accepted: 0 to 2"),
        ({"tag": "x"}, "pointed has no tag 'x'; accepted: a tag; it has none yet"),
        ({"batch": 1}, "no commit that its log tells brought a batch"),
        ({"timestamp": "2020-01-01"}, "before the earliest version"),
        ({"version": 1, "tag": "x"}, "version and tag are given; accepted: one of version, "),
    ):
        with pytest.raises(ValueError, match=said):
            resolve(spark, table, **given)
    times = [row.timestamp for row in spark.sql(f"describe history {made.name}").collect()]
    first = times[1].astimezone(UTC).isoformat(" ").removesuffix("+00:00")
    assert resolve(spark, table, timestamp=first) == Point(made.name, 1)
    assert resolve(spark, table, timestamp="2999-01-01") == Point(made.name, 2)
    # Batches, as merges note them: 4 and 5 came at once, and a restore took 7 back.
    app = f"{marks.MERGED_THROUGH}model.shop.orders/{DeltaTable(made.folder).metadata().id}"
    for batch in (3, 5, 7, 6):
        transactions = [Transaction(app, batch)]
        made.insert(100 + batch, commit=CommitProperties(app_transactions=transactions))
        made.insert(200 + batch)
        if batch in (5, 6):
            publish(spark, made.name, f"{made.name}_shown", None, {}, {})
    newest = {3: 4, 4: 4, 5: 6, 6: 10, 7: 10}
    for batch, version in newest.items():
        assert resolve(spark, table, batch=batch) == Point(made.name, version), batch
    for batch in (2, 8):
        with pytest.raises(ValueError, match=rf"no batch {batch}; accepted: 3 to 7"):
            resolve(spark, table, batch=batch)
    # Of a published table: what it showed of them.
    shown = PointTable(f"{made.name}_shown", "pointed_shown", table)
    for batch, version in {5: 6, 6: 10}.items():
        point = resolve(spark, shown, batch=batch)
        assert rows_of(spark, point.sql()) == made.versions[version]
    with pytest.raises(ValueError, match="pointed_shown never showed version 4 of pointed"):
        resolve(spark, shown, batch=3)
    # On a branch readers see at first what they saw in its target.
    branch = Branch("points", "versions")
    branches.make_schema(spark, branch, branch.schema)
    for one in (table, shown):
        there = resolve(spark, one)
        branches.make_table(spark, branch, there, (branch.schema, one.model)).apply()
    ours = PointTable(f"{branch.schema}.pointed", "pointed")
    theirs = PointTable(f"{branch.schema}.pointed_shown", "pointed_shown", ours)
    assert resolve(spark, theirs, batch=6) == Point(theirs.name, 0)
    # What another session commits behind that look is not in the clone; a table that is dropped and
    # made again has other rows under that number.
    looked = resolve(spark, table, version=1)
    made.insert(900)
    refs.clone(spark, looked, "pointed_copy", schema="versions").apply()
    assert rows_of(spark, "versions.pointed_copy") == made.versions[1]
    spark.sql(f"drop table {made.name}")
    again = Kept(spark, "pointed")
    again.insert(7)
    for verb in (refs.tag, partial(refs.clone, schema="versions")):
        with pytest.raises(ValueError, match=f"{made.name} was made again meanwhile"):
            verb(spark, looked, "pointed_late")
    # Nor does a table show it that showed versions of the first one, of whatever numbers.
    while again.version < 10:
        again.insert(again.version)
    app = f"{marks.MERGED_THROUGH}model.shop.orders/{DeltaTable(again.folder).metadata().id}"
    again.insert(99, commit=CommitProperties(app_transactions=[Transaction(app, 9)]))
    with pytest.raises(ValueError, match=r"never showed version 11 of pointed, .*: version or"):
        resolve(spark, shown, batch=9)


@pytest.fixture(scope="module")
def origin(spark: SparkSession) -> Kept:
    """Its clone is a candidate: what is published lies in two folders."""
    made = Kept(spark, "origin", AT_ONCE)
    made.insert(1, 2)
    made.delete(2)
    refs.clone(spark, Point(made.name), "candidate", schema="versions").apply()
    return made


def test_published_tables_are_noted(spark: SparkSession, origin: Kept) -> None:
    candidate, shown = "versions.candidate", "versions.candidate_shown"
    append(origin.folder.parent / "candidate", {5: "five"})
    publish(spark, candidate, shown, None, {}, {})
    for table in (origin.name, candidate):
        noted = dependents.noted(spark, location_of(spark, table))
        assert shown in [one.name for one in noted if one.kind == "published"]
    # Where the register is lost, the next publish notes it again, whatever that brings.
    register = origin.folder.parent / "candidate/_alluvium/dependents"
    for entry in register.iterdir():
        entry.unlink()
    before = log.version(spark, shown)
    publish(spark, candidate, shown, None, {}, {})
    assert log.version(spark, shown) == before
    assert [one.name for one in dependents.noted(spark, f"file:{register.parents[1]}")] == [shown]


def test_what_is_shown_lives_through_vacuum(spark: SparkSession, origin: Kept) -> None:
    """After the one before: the candidate's second version is published."""
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    candidate, shown = "versions.candidate", "versions.candidate_shown"
    # Back to a version while a vacuum goes on: it may delete that one's files.
    with (
        dependents.vacuuming(spark, location_of(spark, candidate)),
        pytest.raises(ValueError, match=r"a vacuum goes on .* shows version 1 again"),
    ):
        checkout(spark, candidate, shown, 0, hold=True).apply()
    assert rows_of(spark, shown) == {1: "n1", 5: "five"}
    assert not TableSnapshot.of(spark, shown).is_held
    checkout(spark, candidate, shown, 0, hold=True).apply()
    spark.sql(f"alter table {candidate} set tblproperties ({AT_ONCE})")
    DeltaTable(origin.folder).delete()
    spark.sql(f"delete from {candidate}")
    for table in (origin.name, candidate):
        pinned.vacuum(spark, table)
    assert rows_by_spark(spark, shown) == {1: "n1"}
