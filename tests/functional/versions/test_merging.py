"""Branches and their merges beside rows that Python keeps."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from functional.delta_rs import by_query, folder_in, newest
from functional.versions.kept import before
from pyspark.sql import SparkSession

from alluvium.delta.log import committing, log
from alluvium.delta.refs import cloning, dependents, pinned, unregistered
from alluvium.delta.refs.dependents import Dependent
from alluvium.delta.refs.needed_files import forget
from alluvium.delta.refs.refs import branch_in
from alluvium.engine import jvm
from alluvium.merge import execute, progress
from alluvium.plan.versions import three_ways
from alluvium.versions import branches, merging, refs
from alluvium.versions.branches import Branch
from alluvium.versions.points import Point

pytestmark = pytest.mark.spark

OF = "merged_to"
Rows = dict[int, tuple[str | None, bool]]


@pytest.fixture(scope="module", autouse=True)
def _schema(spark: SparkSession) -> None:
    spark.sql(f"create schema if not exists {OF}")


class Sides:
    """A table, a branch of it, and what rows each should have."""

    def __init__(self, spark: SparkSession, name: str, rows: Rows, more: str = "") -> None:
        self.spark, self.name = spark, name
        self.table, self.branch = f"`{OF}`.`{name}`", Branch("fix", OF)
        self.ours = f"`{self.branch.schema}`.`{name}`"
        # Changes come by delta-rs, which takes a fiftieth of the time of Spark's UPDATE, but for
        # what it cannot write: vectors, files of another table, columns of other names.
        self.by_spark = {self.ours}
        spark.sql(
            f"create table {self.table} (id bigint, name string, _deleted boolean) using delta"
            f" tblproperties ('delta.enableDeletionVectors' = 'true') {more}"
        )
        self.rows: dict[str, Rows] = {self.table: {}}
        for start in range(0, len(rows), 8):
            self.put(self.table, dict(list(rows.items())[start : start + 8]))

    def put(self, table: str, rows: Rows) -> None:
        """Rows by their keys, old or new: a commit for those, and one for these."""
        old = {key: row for key, row in rows.items() if key in self.rows[table]}
        if old:
            names, gone = (
                "case id "
                + " ".join(f"when {key} then {row[place]!r}" for key, row in old.items())
                + " end"
                for place in (0, 1)
            )
            where = f"id in ({', '.join(map(str, old))})"
            if table in self.by_spark:
                self.spark.sql(
                    f"update {table} set name = {names}, _deleted = {gone} where {where}"
                )
            else:
                self.by_delta_rs(table).update({"name": names, "_deleted": gone}, predicate=where)
        if new := [(key, *row) for key, row in rows.items() if key not in old]:
            self.append(table, *new)
        self.rows[table] |= rows

    def by_delta_rs(self, table: str) -> DeltaTable:
        return DeltaTable(folder_in(self.spark, table))

    def append(self, table: str, *rows: tuple[int | None, str | None, bool]) -> None:
        """By delta-rs: a twentieth of the time of Spark's INSERT; whatever keys are there."""
        made = [dict(zip(("id", "name", "_deleted"), row, strict=True)) for row in rows]
        found = self.by_delta_rs(table)
        write_deltalake(found, pa.Table.from_pylist(made, pa.schema(found.schema())), mode="append")

    def drop(self, table: str, *keys: int) -> None:
        where = f"id in ({', '.join(map(str, keys))})"
        if table in self.by_spark:
            self.spark.sql(f"delete from {table} where {where}")
        else:
            self.by_delta_rs(table).delete(where)
        for key in keys:
            self.rows[table].pop(key, None)

    def begin(self) -> None:
        branches.make_schema(self.spark, self.branch, self.branch.schema)
        source = Point(self.table, log.version(self.spark, self.table))
        assert branches.make_table(
            self.spark, self.branch, source, (self.branch.schema, self.name)
        ).apply()
        self.rows[self.ours] = dict(self.rows[self.table])

    def merge(self, dry_run: bool = False, prefer: str | None = None) -> three_ways.MergedBranch:
        table = execute.DeltaTable(self.spark, self.table, "fix")
        return merging.merge(
            self.spark, "fix", self.ours, table, ["`id`"], prefer=prefer, dry_run=dry_run
        )

    def outlive(self) -> None:
        """As long after: what either side removed is older than its retention, and vacuumed."""
        self.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        at_once = "'delta.deletedFileRetentionDuration' = 'interval 0 hours'"
        for table in (self.table, self.ours):
            self.spark.sql(f"alter table {table} set tblproperties ({at_once})")
            pinned.vacuum(self.spark, table)

    def seen(self, table: str) -> Rows:
        rows = by_query(self.by_delta_rs(table), "select id, name, _deleted from t")
        found = {row["id"]: (row["name"], row["_deleted"]) for row in rows.to_pylist()}
        assert len(found) == len(rows)
        return found

    def check(self) -> None:
        assert {table: self.seen(table) for table in self.rows} == self.rows


@pytest.mark.slow
def test_a_backup_under_a_branch(spark: SparkSession) -> None:
    """The table comes back from a backup, and what it gets then has the number of the base."""
    made = Sides(spark, "backed_up", some(range(8), "n"))
    folder = folder_in(spark, made.table)
    made.put(made.table, {8: ("base", False)})
    made.begin()
    made.append(made.ours, (9, "ours", False))
    made.rows[made.ours] |= {9: ("ours", False)}
    for file in (folder / "_delta_log").glob(f"*{newest(folder):020}*"):
        file.unlink()
    forget(spark, f"file:{folder}")
    made.rows[made.table] = dict(some(range(8), "n"))
    made.check()
    made.put(made.table, {9: ("theirs", False)})
    with pytest.raises(ValueError, match="added on the branch"):
        made.merge()
    made.check()


def some(keys: range, name: str) -> Rows:
    return {key: (f"{name}{key}", False) for key in keys}


@pytest.fixture(scope="module")
def ways(spark: SparkSession) -> Sides:
    """A branch that is merged, meets conflicts, and is merged once more."""
    made = Sides(spark, "ways", some(range(24), "n"))
    made.begin()
    return made


def test_three_ways(spark: SparkSession, ways: Sides) -> None:
    made = ways
    made.check()
    began = list(folder_in(spark, made.table).glob("*.parquet"))
    assert not set(spark.table(made.ours).inputFiles()) ^ set(spark.table(made.table).inputFiles())
    # The branch changes, adds, deletes, marks, and is compacted.
    changed: Rows = {1: ("ours", False), 2: ("n2", True), 8: ("both", False)}
    made.put(made.ours, changed | {30: ("new", False), 31: (None, False)})
    made.drop(made.ours, 3, 4)
    spark.sql(f"optimize {made.ours}")
    made.check()
    # The table moves on: other keys, the same changes, the same deletion, and a compaction.
    alike: Rows = {8: ("both", False), 31: (None, False)}
    made.put(made.table, alike | {5: ("theirs", False), 40: ("more", False)})
    made.drop(made.table, 4, 6)
    spark.sql(f"optimize {made.table}")
    made.outlive()
    before = log.version(spark, made.table)
    check_that_it_looks_first(made, began)
    done = made.merge()
    assert (done.added, done.changed, done.removed, done.same) == (1, 2, 1, 3)
    assert done.moved_on
    made.rows[made.table] |= {1: ("ours", False), 2: ("n2", True), 30: ("new", False)}
    del made.rows[made.table][3]
    made.check()
    assert log.version(spark, made.table) == before + 1
    note = json.loads(log.last_commit(spark, made.table).info["userMetadata"])
    assert {key: note["alluvium_branch_merge"][key] for key in ("branch", "added", "removed")} == {
        "branch": "fix",
        "added": 1,
        "removed": 1,
    }


def check_that_it_looks_first(made: Sides, began: list[Path]) -> None:
    """A plain VACUUM of the table spares none of the files with which the branch began."""
    for file in began:
        file.rename(file.with_suffix(".aside"))
    for is_dry in (True, False):
        with pytest.raises(ValueError, match=r"^fix cannot be merged: version 0 of .*`") as told:
            made.merge(is_dry)
        assert any(
            f"that VACUUM deleted, such as file:{file}. " in str(told.value) for file in began
        )
        assert "Nothing was changed. Accepted: to discard fix and branch again" in str(told.value)
    for file in began:
        file.with_suffix(".aside").rename(file)


def test_conflicts_change_nothing(ways: Sides) -> None:
    """After the one before: both go on from the merge. Vectors were merged, and need no Spark."""
    made = ways
    made.by_spark.clear()
    ours: Rows = dict.fromkeys((10, 11, 50), ("ours", False))
    made.put(made.ours, ours | {7: ("ours later", False)})
    made.drop(made.ours, 12)
    made.put(made.table, dict.fromkeys((10, 12, 50), ("theirs", False)))
    made.drop(made.table, 11)
    with pytest.raises(ValueError, match=r"4 rows changed on fix and in .*, and not alike") as told:
        made.merge()
    lines = sorted(str(told.value).splitlines()[1:])
    assert lines[0] == (
        '  {"id":10}: changed on the branch ({"id":10,"name":"ours","_deleted":false}),'
        ' changed in the table ({"id":10,"name":"theirs","_deleted":false})'
    )
    assert lines[1].endswith(", removed in the table")
    made.check()
    # Of both sides one may be preferred, which then nobody has to make alike.
    would = made.merge(dry_run=True, prefer="branch")
    assert (would.added, would.changed, would.removed, would.conflicts) == (1, 3, 1, 4)
    assert "; 4 rows changed on both sides and not alike: those of fix would be taken; " in (
        would.line("conflicts", "fix", True)
    )
    made.check()


def test_a_later_merge(spark: SparkSession, ways: Sides) -> None:
    """After the one before: it begins where the first merge ended.

    What the table changed since of what was merged is no conflict, nor is what both made alike; of
    what is left, the branch's row is taken. No file of the branch is one of the table. A vacuum
    spared what the branch had then.
    """
    made = ways
    alike: Rows = dict.fromkeys((10, 11), ("ours", False))
    made.put(made.table, alike)
    made.drop(made.table, 12)
    made.outlive()
    theirs: Rows = {1: ("theirs later", False)}
    # Another writer is faster: it is compared again.
    with before(merging._Merging, "_check_constraints", lambda: made.put(made.table, theirs)):
        later = made.merge(prefer="branch")
    assert (later.rows, later.changed, later.same, later.moved_on) == (2, 2, 3, True)
    assert "; 1 row changed on both sides and not alike: those of fix were taken; " in (
        later.line("ways", "fix", False)
    )
    assert later.line("ways", "fix", False).endswith("; ways has changed since fix was merged last")
    made.rows[made.table] |= {7: ("ours later", False), 50: ("ours", False)}
    made.check()
    read = spark.sql(f"select id, name, _deleted from {made.table}").collect()
    assert sorted((id, (name, gone)) for id, name, gone in read) == sorted(
        made.rows[made.table].items()
    )
    folder = log.qualified(log.delta_log(spark, made.ours)).removeprefix("file:")
    assert not [file for file in spark.table(made.table).inputFiles() if folder in file]
    # Nor is anything dropped that somebody clones meanwhile.
    late = refs.clone(spark, Point(made.ours), "late_clone", schema=OF)
    with (
        before(branches, "_drop", late.apply),
        pytest.raises(ValueError, match=rf"clone {OF}\.late_clone\. "),
    ):
        branches.discard(spark, made.branch, []).apply()
    made.check()
    spark.sql(f"drop table {OF}.late_clone")
    branches.discard(spark, made.branch, []).apply()
    del made.rows[made.ours]
    made.check()
    assert not spark.catalog.databaseExists(made.branch.schema)


@pytest.mark.slow
def test_columns_of_other_names_and_rows_that_both_changed(spark: SparkSession) -> None:
    made = Sides(spark, "columns", some(range(6), "n"))
    made.by_spark.add(made.table)
    spark.sql(
        f"alter table {made.table} set tblproperties ('delta.columnMapping.mode' = 'name',"
        " 'delta.enableTypeWidening' = 'true')"
    )
    spark.sql(f"alter table {made.table} add columns (other string, number int)")
    made.begin()
    before = log.version(spark, made.table)
    swapped = [("name", "aside"), ("other", "name"), ("aside", "other")]
    for old, new in swapped:
        spark.sql(f"alter table {made.ours} rename column {old} to {new}")
    spark.sql(f"update {made.ours} set other = 'ours' where id = 1")
    with pytest.raises(ValueError, match=r"name is another column .*; other is another") as told:
        made.merge(prefer="branch")
    assert "Nothing was changed" in str(told.value)
    for new, old in reversed(swapped):
        spark.sql(f"alter table {made.ours} rename column {old} to {new}")
    made.rows[made.ours] |= {1: ("ours", False)}
    spark.sql(f"alter table {made.ours} alter column number type bigint")
    with pytest.raises(ValueError, match=r"number is bigint on the branch and int in the table"):
        made.merge()
    assert log.version(spark, made.table) == before
    # Once both have them they are the same ones; so is one that each has added.
    spark.sql(f"alter table {made.table} alter column number type bigint")
    for table in (made.ours, made.table):
        spark.sql(f"alter table {table} add columns (more double)")
    made.put(made.ours, {2: ("ours", False), 5: ("ours", False)})
    made.put(made.table, {1: ("theirs", False)})
    made.drop(made.table, 2)
    done = made.merge(dry_run=True, prefer="table")
    assert (done.changed, done.rows, done.conflicts) == (1, 1, 2)
    assert done.line("columns", "fix", True) == (
        "columns: would take over 1 row of fix (0 added, 1 changed, 0 removed); 2 rows changed on"
        " both sides and not alike: those of columns would be taken; columns has changed since fix"
        " began"
    )
    done = made.merge(prefer="branch")
    assert (done.added, done.changed, done.rows, done.conflicts) == (1, 2, 3, 2)
    made.rows[made.table] |= {1: ("ours", False), 2: ("ours", False), 5: ("ours", False)}
    # delta-rs does not read tables whose columns were widened.
    for table, rows in made.rows.items():
        read = spark.sql(f"select id, name, _deleted from {table}").collect()
        assert {row.id: (row.name, row["_deleted"]) for row in read} == rows


@pytest.mark.slow
@pytest.mark.parametrize("prefer", ["branch", "table"])
def test_who_is_preferred(spark: SparkSession, prefer: str) -> None:
    """Beside a merge of dicts; a later merge begins where this one ended."""
    made = Sides(spark, f"prefers_{prefer}", some(range(6), "n"))
    made.begin()
    base = dict(made.rows[made.ours])
    for side, gone in ((made.ours, 1), (made.table, 2)):
        made.put(side, {0: (side, False), 3 - gone: (side, False), 7: (side, False)})
        made.drop(side, gone)
    made.put(made.ours, {3: ("ours", False)})
    done = made.merge(prefer=prefer)
    assert (done.conflicts, done.rows) == (4, 5 if prefer == "branch" else 1)
    ours, theirs = made.rows[made.ours], made.rows[made.table]
    for key in base.keys() | ours.keys():
        if ours.get(key) != base.get(key) and (prefer == "branch" or key == 3):
            theirs.pop(key, None)
            theirs |= {key: ours[key]} if key in ours else {}
    made.check()
    assert (made.merge().rows, made.merge().conflicts) == (0, 0)
    # It begins behind that: what the branch changes now is another change.
    made.put(made.ours, {0: ("later", False)})
    done = made.merge(prefer=prefer, dry_run=True)
    assert done.conflicts == (prefer == "table")


@pytest.mark.slow
def test_columns_that_were_dropped_and_added(spark: SparkSession) -> None:
    made = Sides(spark, "dropped", some(range(4), "n"))
    mapped = "'delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true'"
    spark.sql(f"alter table {made.table} set tblproperties ({mapped})")
    made.begin()
    spark.sql(f"alter table {made.ours} drop column name")
    with pytest.raises(ValueError, match=r"name is not there on the branch and string in the"):
        made.merge()
    spark.sql(f"alter table {made.ours} add columns (name string)")
    made.put(made.ours, {1: ("ours", False)})
    for prefer in ("branch", "table"):
        with pytest.raises(ValueError, match=r"name is another column on the branch than in the"):
            made.merge(prefer=prefer)
    assert made.seen(made.table) == made.rows[made.table]
    # Made again by a full refresh, its columns are known by their names.
    spark.sql(
        f"create or replace table {made.ours} using delta tblproperties ({mapped})"
        f" as select id, concat('new', id) as name, false as _deleted from {made.table}"
    )
    made.merge()
    made.rows[made.table] = some(range(4), "new")
    assert made.seen(made.table) == made.rows[made.table]


@pytest.mark.slow
def test_a_drawn_history(spark: SparkSession) -> None:
    draw = random.Random(11)
    for turn in range(2):
        made = Sides(spark, f"drawn{turn}", some(range(16), "n"))
        made.begin()
        for side, keys in ((made.ours, range(0, 40, 2)), (made.table, range(1, 40, 2))):
            for _ in range(2):
                made.put(side, {draw.choice(keys): (f"x{draw.random()}", False) for _ in range(4)})
                made.drop(side, *(draw.choice(keys) for _ in range(2)))
            if draw.random() < 0.5:
                spark.sql(f"optimize {side}")
        made.merge()
        ours = {key: row for key, row in made.rows[made.ours].items() if key % 2 == 0}
        theirs = {key: row for key, row in made.rows[made.table].items() if key % 2}
        assert made.seen(made.table) == {**ours, **theirs}


@pytest.fixture(scope="module")
def fed(spark: SparkSession) -> Sides:
    """A table whose changes others read, which no merge in one commit writes; and a branch."""
    made = Sides(spark, "fed", some(range(4), "n"))
    spark.sql(f"alter table {made.table} set tblproperties ('delta.enableChangeDataFeed' = 'true')")
    spark.sql(f"alter table {made.table} add columns (low int, high int, tags map<string, int>)")
    made.begin()
    return made


def test_tables_that_take_no_merge_in_one_commit(spark: SparkSession, fed: Sides) -> None:
    # Where there is nothing to take over there is no commit.
    before = log.version(spark, fed.table)
    assert (fed.merge().rows, log.version(spark, fed.table)) == (0, before)
    # Maps that are equal are alike, whatever order their entries have.
    for table, tags in ((fed.ours, "'a', 1, 'b', 2"), (fed.table, "'b', 2, 'a', 1")):
        spark.sql(f"update {table} set tags = map({tags}) where id = 3")
    done = fed.merge(dry_run=True)
    assert (done.rows, done.same, done.conflicts) == (0, 1, 0)
    fed.put(fed.ours, {1: ("ours", False)})
    for is_dry in (True, False):
        with pytest.raises(ValueError, match=r"change data feed .* Nothing was changed. Accepted"):
            fed.merge(is_dry)
    fed.check()


def test_what_cannot_be_merged(spark: SparkSession, fed: Sides) -> None:
    table = execute.DeltaTable(spark, fed.table, "fix")
    with pytest.raises(ValueError, match="is not a table of a branch"):
        merging.merge(spark, "fix", fed.table, table, ["id"], dry_run=False)
    with pytest.raises(ValueError, match="has no column nobody, by which rows are merged"):
        merging.merge(spark, "fix", fed.ours, table, ["nobody"], dry_run=False)
    # What the table asks for by now. One row breaks it, of another its text is NULL.
    spark.sql(f"alter table {fed.table} add constraint good check (name <> 'bad')")
    fed.append(fed.ours, (7, "bad", False), (8, None, False), (9, "good", False))
    breaks = r"fix brings 2 rows that break the constraint good \(name <> 'bad'\)\. Nothing"
    with pytest.raises(ValueError, match=breaks):
        fed.merge()
    # A key that a file has which both sides share, and the branch once more.
    fed.append(fed.ours, (2, "again", False))
    with pytest.raises(ValueError, match=r'key: \{"id":2\} \(1 row\)\. Nothing was changed'):
        fed.merge()
    # Each that follows is looked for before those that are still there.
    fed.append(fed.ours, (None, "nobody", False))
    with pytest.raises(ValueError, match=r"1 row changed that have NULL in the key \(id\)"):
        fed.merge()
    spark.sql(f"alter table {fed.ours} add columns (weight double)")
    with pytest.raises(ValueError, match=r"weight is double on the branch and not there in the"):
        fed.merge()
    # Two columns that change their names.
    spark.sql(f"alter table {fed.ours} set tblproperties ('delta.columnMapping.mode' = 'name')")
    spark.sql(f"alter table {fed.ours} drop column weight")
    spark.sql(f"alter table {fed.ours} rename column low to aside")
    with pytest.raises(ValueError, match=r"columns: aside on the branch is low in the table, for"):
        fed.merge()
    for old, new in (("high", "low"), ("aside", "high")):
        spark.sql(f"alter table {fed.ours} rename column {old} to {new}")
    with pytest.raises(ValueError, match=r"high is another column .*; low is another column"):
        fed.merge()
    assert fed.seen(fed.table) == fed.rows[fed.table]


@pytest.mark.slow
def test_a_table_that_numbers_its_rows(spark: SparkSession) -> None:
    made = Sides(spark, "numbered", {})
    spark.sql(f"drop table {made.table}")
    spark.sql(
        f"create table {made.table} (id bigint, name string, _deleted boolean,"
        " number bigint generated by default as identity) using delta"
        " tblproperties ('delta.enableDeletionVectors' = 'true')"
    )
    spark.sql(f"insert into {made.table} (id, name, _deleted) values (1, 'n', false)")
    made.begin()
    assert made.merge().rows == 0
    spark.sql(f"update {made.ours} set name = 'ours'")
    with pytest.raises(ValueError, match=r"has an identity column. .*Nothing was changed"):
        made.merge()


@pytest.mark.slow
def test_a_writer_that_is_faster(spark: SparkSession) -> None:
    made = Sides(spark, "raced", some(range(4), "n"))
    made.begin()
    made.put(made.ours, {1: ("ours", False)})
    check, times = merging._Merging._check_fits, []

    def meanwhile(self: merging._Merging, now: int) -> None:
        check(self, now)
        if not times:
            made.put(made.table, {1: ("theirs", False)})
        times.append(now)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging._Merging, "_check_fits", meanwhile)
        # Planned anew, it meets what was written meanwhile.
        with pytest.raises(ValueError, match="1 row changed on fix and in"):
            made.merge()
    made.check()


@pytest.mark.slow
def test_a_kill_between_clone_and_progress(spark: SparkSession) -> None:
    made = Sides(spark, "killed", some(range(4), "n"))
    app = progress.app_id("model.a.killed", log.table_id(spark, made.table))
    log.commit_transactions(spark, made.table, {app: 7})

    def kill(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for step in (cloning, "add_files"), (branches.unregistered, "register"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(*step, kill)
            with pytest.raises(KeyboardInterrupt):
                made.begin()
        assert not spark.catalog.tableExists(made.ours)
    assert committing.COMMIT_METADATA not in dict(spark.sql("set").collect())
    # Inside the commit of the clone: a log without one, and a draft.
    place = Path(unregistered.default_location(spark, made.branch.schema, made.name))
    branches.discard(spark, made.branch, []).apply()
    (place / "_delta_log").mkdir(parents=True)
    (place / "_delta_log" / f".{0:020}.json.a.tmp").write_text("{")
    made.begin()
    made.check()
    assert progress.read(spark, made.ours, "model.a.killed") == 7
    # Nothing is dropped while another table needs its files.
    spark.sql(f"insert into {made.ours} values (9, 'n9', false)")
    refs.clone(spark, Point(made.ours, None), "copied", schema=OF).apply()
    with pytest.raises(
        ValueError, match=r"are needed by clone merged_to\.copied\. Nothing of fix was"
    ):
        branches.discard(spark, made.branch, []).apply()
    spark.sql(f"drop table {OF}.copied")
    # Delta's own clone is in no register.
    spark.sql(f"create table {OF}.by_delta shallow clone {made.ours}")
    by_delta = Dependent("clone", "by_delta", log.qualified(log.delta_log(spark, f"{OF}.by_delta")))
    others = [by_delta, Dependent("clone", "itself", f"file:{place}")]
    with pytest.raises(ValueError, match=r"are needed by clone by_delta\. Nothing of fix was"):
        branches.discard(spark, made.branch, [], [], others).apply()
    assert made.seen(made.ours) == {**made.rows[made.ours], 9: ("n9", False)}
    spark.sql(f"drop table {OF}.by_delta")
    # Nothing is dropped that the branch did not make, and of a discard that is killed the rest.
    spark.sql(f"create table {made.branch.schema}.mine using delta as select 1 as id")
    spark.sql(f"create view {made.branch.schema}.seen as select 1 as id")
    # Nor what the catalog does not know, but for what a build left, and folders of nobody.
    others = [place.parent / name for name in ("strange", "built", "empty")]
    for folder in others:
        (folder / "_delta_log").mkdir(parents=True)
    for folder in others[:2]:
        (folder / "a.parquet").write_text("a")
    spark.sql(f"create schema {made.branch.schema}_aside")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branches.Files, "delete", kill)
        with pytest.raises(KeyboardInterrupt):
            branches.discard(spark, made.branch, []).apply()
    assert len(DeltaTable(place).file_uris()) > 0
    done = branches.discard(spark, made.branch, ["merged_to__fix.built"]).apply()
    assert sorted(done.kept) == [
        f"file:{others[0]}",
        "merged_to__fix.mine",
        "merged_to__fix.seen",
    ]
    assert done.schemas == ()
    assert done.strangers == ("merged_to__fix_aside",)
    assert [folder.exists() for folder in (place, *others[:2])] == [False, True, False]
    spark.sql(f"drop schema {made.branch.schema}_aside")
    shutil.rmtree(others[0])
    spark.sql(f"drop table {made.branch.schema}.mine")
    spark.sql(f"drop view {made.branch.schema}.seen")
    assert branches.discard(spark, made.branch, []).would.schemas == ("merged_to__fix",)
    assert branches.discard(spark, made.branch, []).apply().schemas == ("merged_to__fix",)
    with pytest.raises(ValueError, match="there is no branch fix of merged_to; accepted: the name"):
        branches.discard(spark, made.branch, []).apply()
    assert made.seen(made.table) == made.rows[made.table]
    spark.sql("create schema merged_to__fix")
    with pytest.raises(ValueError, match="the branch fix did not make it"):
        made.begin()
    spark.sql("drop schema merged_to__fix")


@pytest.mark.slow
def test_a_table_that_was_built_again(spark: SparkSession) -> None:
    """Nothing of what was merged into it is left: it is merged once more."""
    made = Sides(spark, "rebuilt", some(range(4), "n"))
    made.begin()
    made.put(made.ours, {1: ("ours", False), 9: ("ours", False)})
    assert made.merge().rows == 2
    spark.sql(
        f"create or replace table {made.table} using delta"
        " tblproperties ('delta.enableDeletionVectors' = 'true')"
        " as select id, concat('n', id) as name, false as _deleted from range(5)"
    )
    assert (made.merge().rows, made.merge().rows) == (2, 0)
    made.rows[made.table] = some(range(5), "n") | {1: ("ours", False), 9: ("ours", False)}
    made.check()


@pytest.mark.slow
def test_what_both_did_alike_is_merged(spark: SparkSession) -> None:
    """And stays so where the branch's table is replaced: what the table does later is its own."""
    made = Sides(spark, "alike", some(range(4), "n"))
    made.begin()
    for side in (made.ours, made.table):
        made.put(side, {1: ("both", False)})
    before = log.version(spark, made.table)
    assert (made.merge(dry_run=True).same, log.version(spark, made.table)) == (1, before)
    done = made.merge()
    assert (done.rows, done.same, log.version(spark, made.table)) == (0, 1, before + 1)
    assert (made.merge().same, log.version(spark, made.table)) == (0, before + 1)
    # Columns in another order are the same ones.
    spark.sql(
        f"create or replace table {made.ours} using delta as"
        f" select _deleted, name, id from {made.ours}"
    )
    made.put(made.table, {1: ("corrected", False)})
    made.put(made.ours, {2: ("ours", False)})
    made.put(made.table, {3: ("both", False)})
    made.put(made.ours, {3: ("both", False)})
    done = made.merge()
    assert (done.rows, done.same) == (1, 1)
    made.rows[made.table] |= {2: ("ours", False)}
    made.check()
    # What was alike is undone before that is noted: it is the branch's change then.
    for side in (made.ours, made.table):
        made.put(side, {0: ("alike", False)})
    before, commit = log.version(spark, made.table), log.commit_transactions
    with pytest.MonkeyPatch.context() as patch:

        def meanwhile(*args: Any, **how: Any) -> None:
            patch.undo()
            spark.sql(f"restore table {made.table} to version as of {before - 1}")
            commit(*args, **how)

        patch.setattr(log, "commit_transactions", meanwhile)
        done = made.merge()
    assert (done.rows, done.same) == (1, 0)
    made.check()


@pytest.mark.slow
def test_a_branch_that_took_events_back(spark: SparkSession) -> None:
    made = Sides(spark, "taken_back", some(range(4), "n"))

    def merged(table: str, batch: int) -> None:
        app = progress.app_id("model.a.orders", log.table_id(spark, table))
        log.commit_transactions(spark, table, {app: batch})

    merged(made.table, 7)
    made.begin()
    for batch in (8, 9):
        made.put(made.ours, {batch: (f"n{batch}", False)})
        merged(made.ours, batch)
    made.merge()
    made.rows[made.table] |= some(range(8, 10), "n")
    spark.sql(f"delete from {made.ours} where id = 9")
    merged(made.ours, 8)
    for is_dry in (True, False):
        with pytest.raises(ValueError, match=r"merged last: model\.a\.orders from batch 9 to 8\."):
            made.merge(is_dry)
    merged(made.ours, 9)
    assert made.merge().removed == 1
    del made.rows[made.table][9]
    assert made.seen(made.table) == made.rows[made.table]


@pytest.mark.slow
def test_values_that_differ_by_a_microsecond(spark: SparkSession) -> None:
    """Beside columns whose names this package uses itself."""
    made = Sides(spark, "moments", {})
    columns = "id bigint, there timestamp_ntz, `key` timestamp, change string, after int, now int"
    spark.sql(f"drop table {made.table}")
    spark.sql(
        f"create table {made.table} ({columns}) using delta"
        " tblproperties ('delta.enableDeletionVectors' = 'true')"
    )
    moment = "'2024-01-01 00:00:00.12345{}'"
    for number, digits in enumerate(("67", "67", "68")):
        one = moment.format(digits[0])
        spark.sql(
            f"insert into {made.table} values"
            f" ({number}, timestamp_ntz{one}, timestamp{one}, 'x', 1, 1)"
        )
    made.begin()

    def at(table: str, number: int, kind: str, column: str, digit: int) -> None:
        value = kind + moment.format(digit)
        spark.sql(f"update {table} set {column} = {value} where id = {number}")

    for number, kind, column in ((0, "timestamp_ntz", "there"), (1, "timestamp", "`key`")):
        at(made.ours, number, kind, column, 1)
        at(made.table, number, kind, column, 2)
    with pytest.raises(ValueError, match="2 rows changed on fix and in"):
        made.merge()
    for number, kind, column in ((0, "timestamp_ntz", "there"), (1, "timestamp", "`key`")):
        at(made.table, number, kind, column, 1)
    spark.sql(
        f"insert into {made.ours} select 9, there, `key`, change, 2, 3 from {made.ours}"
        " where id = 2"
    )
    done = made.merge()
    assert (done.added, done.rows, done.same) == (1, 1, 2)
    assert spark.table(made.table).exceptAll(spark.table(made.ours)).isEmpty()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["plain", "by Delta"])
def test_old_commits_of_a_branch(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """They are what it is merged by; where they are gone all the same, it is known as a branch."""
    made = Sides(spark, f"aged_{how.replace(' ', '_')}".lower(), some(range(4), "n"))
    if how == "by Delta":
        monkeypatch.setattr(cloning, "is_plain", lambda _: False)
    made.begin()
    made.put(made.ours, {1: ("ours", False)})
    made.put(made.ours, {9: ("ours", False)})
    table_log = log.delta_log(spark, made.ours)
    folder = Path(log.qualified(table_log).removeprefix("file:")) / "_delta_log"
    then = time.time() - 60 * 86_400
    for file in folder.iterdir():
        os.utime(file, (then, then))
    spark.sql(f"optimize {made.ours}")
    none = jvm.of(spark).scala.Option.empty()
    table_log.checkpointAndCleanUpDeltaLog(log.snapshot_of(spark, made.ours), none)
    assert made.merge().rows == 2
    made.rows[made.table] |= made.rows[made.ours]
    made.check()
    first = folder / f"{0:020}.json"
    first.unlink()
    assert branch_in(spark, str(folder.parent), "fix") is not None
    assert not branches.make_table(
        spark, made.branch, Point(made.table, None), (made.branch.schema, made.name)
    ).apply()
    done = branches.discard(spark, made.branch, []).apply()
    assert (made.ours in done.tables, done.kept) == (True, ())
    source = log.qualified(log.delta_log(spark, made.table))
    assert not dependents.noted(spark, source)
    assert not folder.parent.exists()
