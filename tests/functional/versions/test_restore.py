"""Tables that go back, beside rows that Python keeps."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError
from deltalake import CommitProperties, DeltaTable, Transaction
from functional.versions.kept import Kept, before, rows_by_spark, rows_of
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.published.published import Publisher
from alluvium.delta.refs import cloning
from alluvium.merge import progress
from alluvium.plan.versions import left_out
from alluvium.publish.publish import checkout, publish
from alluvium.versions import branches
from alluvium.versions import restore as restoring
from alluvium.versions.branches import Branch
from alluvium.versions.diff import diff
from alluvium.versions.points import Point
from alluvium.versions.restore import Reader, Restored, Subject, mark, restore
from dbt.adapters.alluvium.verbs.restoring import Restoring

pytestmark = pytest.mark.spark

MODEL = "model.shop.orders"


class Feed(Kept):
    """A table into which batches are merged, and its published table."""

    def __init__(self, spark: SparkSession, name: str, *properties: str) -> None:
        super().__init__(spark, name, *properties)
        self.subject = Subject(self.name, MODEL, name)
        self.shown = Reader(f"{self.name}_shown", "shown", True)

    def batch(self, number: int, *ids: int) -> int:
        """Rows and their progress in one commit, as a merge has them."""
        app = progress.app_id(MODEL, DeltaTable(self.folder).metadata().id)
        transactions = [Transaction(app, number)]
        return self.insert(*ids, commit=CommitProperties(app_transactions=transactions))

    def publish(self) -> None:
        publish(self.spark, self.name, self.shown.table, None, {}, {})

    def publish_beside_a_checkout(self, version: int) -> None:
        """A checkout of this version stops: readers see what was published meanwhile."""
        with (
            before(Publisher, "_note_dependent", self.publish),
            pytest.raises(RuntimeError, match="another run published meanwhile, and it shows"),
        ):
            checkout(self.spark, self.name, self.shown.table, version, hold=True).apply()

    def back(self, *, dry_run: bool = False, **how: Any) -> Restored:
        return restore(self.spark, self.subject, [self.shown], **how).done(dry_run=dry_run)

    @property
    def merged(self) -> int | None:
        return progress.read(self.spark, self.name, MODEL)


@dataclass
class Undone:
    """A table to which much was done behind its second batch; both versions."""

    feed: Feed
    good: int
    newest: int


@pytest.fixture(scope="module")
def undone(spark: SparkSession) -> Undone:
    made = Feed(spark, "undone", "'delta.checkpointInterval' = '3'")
    made.batch(1, 1, 2, 3)
    good = made.batch(2, 4, 5)
    spark.sql(f"alter table {made.name} add constraint small check (id < 100)")
    made.batch(3, 6)
    made.do("optimize {t}")
    spark.sql(f"alter table {made.name} add column more string")
    spark.sql(f"alter table {made.name} drop constraint small")
    made.update("bad", 1, 2, 3, 4)
    made.publish()
    assert rows_of(spark, made.shown.table) == made.rows
    return Undone(made, good, made.version)


@pytest.mark.proves("restore", on="embedded")
def test_a_bad_batch(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, undone: Undone) -> None:
    made, good, newest = undone.feed, undone.good, undone.newest
    with pytest.raises(ValueError, match=r"write UPDATE.*Accepted: including: \[write\]"):
        made.back(before_batch=3)
    would = made.back(before_batch=3, including=["write"], skip=True, dry_run=True)
    assert (made.version, would.version, would.then) == (newest, None, good + 1)
    assert [one.kind for one in would.undone] == [
        "write", "schema", "schema", "compaction", "batch"
    ]  # fmt: skip
    assert [one.name for one in would.readers if one.is_undone] == ["shown"]
    # Killed behind the table's commit.
    with monkeypatch.context() as patch:
        patch.setattr(restoring.publish, "checkout", _kill)
        with pytest.raises(KeyboardInterrupt):
            made.back(before_batch=3, including=["write"], skip=True)
    assert rows_of(spark, made.name) == made.versions[good]
    assert rows_of(spark, made.shown.table) == made.rows
    done = made.back(before_batch=3, including=["write"], skip=True)
    assert (done.version, done.undone, done.skips) == (None, [], [])
    assert rows_of(spark, made.shown.table) == made.versions[good]
    # Progress, columns and constraints are those of then.
    assert made.merged == 2
    assert left_out.batches(left_out_of(spark, made.name)) == [3]
    assert spark.table(made.name).columns == ["id", "name", "_deleted"]
    with pytest.raises(Exception, match="CHECK constraint small"):
        spark.sql(f"insert into {made.name} values (1000, 'x', false)")
    assert diff(spark, Point(made.name, good), Point(made.name), ["id"]).opened == (0, 0)


def left_out_of(session: SparkSession, table: str) -> set[left_out.Events]:
    return left_out.left_out(log.state(session, table)[1], MODEL)


def test_a_table_goes_on_and_back_and_forward(spark: SparkSession, undone: Undone) -> None:
    """After the one before: the table went back to its second batch, and batch 3 is left out."""
    made, good, newest = undone.feed, undone.good, undone.newest
    # What comes next is merged and shown, and can be undone again.
    made.rows = dict(made.versions[good])
    then = made.version
    made.batch(4, 7)
    made.publish()
    assert rows_of(spark, made.shown.table) == made.rows
    assert made.back(before_batch=4).then == then
    assert rows_of(spark, made.name) == made.versions[good]
    assert rows_of(spark, made.shown.table) == made.versions[good]
    assert made.merged == 2
    with pytest.raises(ValueError, match="holds no batch 9 or later one"):
        made.back(before_batch=9)
    with pytest.raises(ValueError, match=r"no merge in its log is of batch 0, .* a batch from 1;"):
        made.back(before_batch=0)
    assert mark(spark, made.subject, 3, False).apply()
    assert not mark(spark, made.subject, 3, False).apply()
    assert left_out.batches(left_out_of(spark, made.name)) == []
    # Files of batches; then all of one.
    files: list[left_out.Events] = [(3, "a/3.json"), (4, "b")]
    assert mark(spark, made.subject, 3, True, files).apply() == files
    assert mark(spark, made.subject, 3, True, [*files, (4, "c")]).would == [(4, "c")]
    assert made.back(version=made.version, files=[(4, "b")], skip=False).skips == [(4, "b")]
    assert left_out.files(left_out_of(spark, made.name)) == [(3, "a/3.json")]
    assert mark(spark, made.subject, 3, True).apply() == [(3, None)]
    assert left_out.batches(left_out_of(spark, made.name)) == [3]
    with pytest.raises(ValueError, match=r"batch 3 is left out as a whole, a/3.json with it"):
        mark(spark, made.subject, 3, False, files[:1])
    assert mark(spark, made.subject, 3, False).apply() == [(3, None), (3, "a/3.json")]
    assert left_out_of(spark, made.name) == set()
    # What is published while a checkout looks stays.
    made.rows = dict(made.versions[good])
    newer = made.batch(5, 8)
    made.publish_beside_a_checkout(good)
    assert rows_of(spark, made.shown.table) == made.versions[newer]
    # And forward again, to any version that is there, where a checkout holds what readers see.
    checkout(spark, made.name, made.shown.table, good, hold=True).apply()
    made.back(version=newest, including=["write"])
    assert rows_by_spark(spark, made.name) == made.versions[newest]
    assert made.merged == 3
    assert rows_by_spark(spark, made.shown.table) == made.versions[good]


def test_columns_that_were_renamed_beside_a_change_feed(spark: SparkSession) -> None:
    """In a project of its own: delta-rs writes no table whose columns have ids."""
    feed = "'delta.enableChangeDataFeed' = '{}'"
    made = Feed(spark, "renamed", "'delta.columnMapping.mode' = 'name'", feed.format("true"))
    good = made.do("insert into {t} values (1, 'n1', false)", lambda rows: rows.update({1: "n1"}))
    made.do("alter table {t} rename column name to named")
    newest = made.do("insert into {t} values (2, 'n2', false)")
    # A column of another name makes no row another one.
    found = diff(spark, Point(made.name, good), Point(made.name), ["id"])
    assert (found.columns.added, found.columns.removed) == ([], [])
    assert [(one.change, one.after.named) for one in found.rows.collect()] == [("added", "n2")]

    def back(dry_run: bool = False) -> Restored:
        planned = restore(spark, made.subject, [], version=good, including=["write"])
        return planned.done(dry_run=dry_run)

    for is_dry in (True, False):
        with pytest.raises(ValueError, match=r"columns were renamed or added since, .*Accepted: a"):
            back(is_dry)
    assert made.version == newest
    made.do(f"alter table {{t}} set tblproperties ({feed.format('false')})")
    back()
    assert rows_of(spark, made.name) == made.versions[good]


def _kill(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.fixture(scope="module")
def replaced(spark: SparkSession) -> Feed:
    return Feed(spark, "vectors")


def test_vectors_alone_and_a_table_that_was_replaced(spark: SparkSession, replaced: Feed) -> None:
    made = replaced
    good = made.batch(1, *range(10))
    files = set(spark.table(made.name).inputFiles())
    made.delete(3, 4)
    assert set(spark.table(made.name).inputFiles()) == files
    made.back(version=good, including=["write"])
    assert rows_by_spark(spark, made.name) == made.versions[good]
    first = log.table_id(spark, made.name)
    # A full refresh has another id, and progress of its own; what is left out stays so.
    mark(spark, made.subject, 5, True).apply()
    made.do(
        "create or replace table {t} using delta as select 1L as id, 'new' as name,"
        " cast(null as boolean) as _deleted",
        lambda rows: rows.clear(),
    )
    assert log.table_id(spark, made.name) != first
    assert left_out.batches(left_out_of(spark, made.name)) == [5]
    made.batch(7, 50)
    made.back(version=good, including=["write"])
    assert log.table_id(spark, made.name) == first
    assert (made.merged, rows_of(spark, made.name)) == (1, made.versions[good])
    assert left_out.batches(left_out_of(spark, made.name)) == [5]
    made.rows = dict(made.versions[good])


def test_what_stops_a_restore(
    spark: SparkSession, replaced: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the one before."""
    made = replaced
    # Another writer is faster: nothing is changed.
    good = made.version
    made.batch(2, 60)
    now, then = (TableSnapshot.of(spark, made.name, one) for one in (None, good))
    slow = restoring.SettingBack(now, then)
    made.batch(3, 61)
    with pytest.raises(Exception, match=r"(?i)concurrent"):
        slow.commit("{}")
    # Nor is what they commit behind the look of a restore, and before its own.
    real = restoring.SettingBack

    def late(*args: Any) -> Any:
        made.insert(77)
        return real(*args)

    monkeypatch.setattr(restoring, "SettingBack", late)
    with pytest.raises(RuntimeError, match="another writer was faster; nothing was changed"):
        made.back(version=good)
    monkeypatch.undo()
    last = made.version
    assert rows_of(spark, made.name) == made.rows
    # Files that are gone are told before anything is done.
    made.do("optimize {t}")
    there = {path.name for path in made.folder.glob("*.parquet")}
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    spark.sql(
        f"alter table {made.name} set tblproperties"
        " ('delta.deletedFileRetentionDuration' = 'interval 0 hours')"
    )
    spark.sql(f"vacuum {made.name}")
    assert {path.name for path in made.folder.glob("*.parquet")} < there
    with pytest.raises(ValueError, match=r"version \d+ needs \d files? that VACUUM deleted"):
        made.back(version=last, including=["write"])


@pytest.mark.parametrize(
    "how",
    [
        "branch",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("branch by Delta", "dbt clone")),
    ],
)
def test_batches_that_came_with_a_clone(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    name = f"source_of_{how.replace(' ', '_').lower()}"
    made = Feed(spark, name)
    made.batch(1, 1, 2)
    made.publish()
    made.batch(2, 3)
    branch = Branch(name, "versions")
    schema = branch.schema if how.startswith("branch") else "versions"
    ours, made_as = copy.copy(made), f"{schema}.{name}{'' if how.startswith('branch') else '_copy'}"
    ours.name, ours.subject = made_as, Subject(made_as, MODEL, name)
    if how == "dbt clone":
        spark.sql(f"create table {made_as} shallow clone {made.name}")
        assert progress.copy(spark, made.name, made_as) == 1
    else:
        if how == "branch by Delta":
            monkeypatch.setattr(cloning, "is_plain", lambda _: False)
        branches.make_schema(spark, branch, schema)
        branches.make_table(spark, branch, Point(made.name, made.version), (schema, name)).apply()
    assert ours.version == (0 if how == "branch" else 1)
    with pytest.raises(ValueError, match="no commit in its log brought batch 2 or a later one up"):
        ours.back(before_batch=2)
    ours.rows = dict(made.rows)
    ours.batch(3, 4)
    newest = ours.version
    for batch in (1, 2):
        with pytest.raises(ValueError, match=f"brought batch {batch} or a later one up to 2"):
            ours.back(before_batch=batch, skip=True)
    assert (ours.version, ours.merged, rows_of(spark, made_as)) == (newest, 3, ours.rows)
    [reader] = ours.back(before_batch=3).readers
    # Its reader shows a version of the table that was copied: nothing of that is undone.
    assert reader.is_undone is False
    assert (ours.merged, rows_of(spark, made_as)) == (2, made.rows)
    assert (made.merged, rows_of(spark, made.name)) == (2, made.rows)
    assert set(rows_of(spark, made.shown.table)) == {1, 2}


class Files(Restoring):
    """What restores of files look at, of a project whose nodes are given."""

    def __init__(self, schema: str, *nodes: Any) -> None:
        found = {one.unique_id: one for one in nodes}
        self.set_macro_resolver(SimpleNamespace(nodes=found))
        self.config = SimpleNamespace(credentials=SimpleNamespace(schema=schema))

    def table_of(self, node: Any) -> str:
        return f"{node.schema}.{node.alias}"


def test_events_of_files(spark: SparkSession) -> None:
    """They are found where builds read them, and can be left out of what builds read."""
    spark.sql("create database files")
    branches.make_schema(spark, Branch("fix", "files"), "files__fix")
    spark.sql("create table files.events (id int, _batch_id bigint, _source_partition string)")
    spark.sql("insert into files.events values (1, 1, 'bad'), (2, 2, 'bad'), (3, 2, 'good')")
    bare, named = "id, _batch_id", "_source_partition as f, _batch_id"
    spark.sql(f"create view files.bare as select {bare} from files.events")
    spark.sql(f"create view files.named as select {named} from files.events")

    def events_of(
        sql: str, *between: str, schema: str = "files", read: str = "mid", skip: bool = True
    ) -> list[left_out.Events]:
        def node(name: str, kind: str, sql: str, *parents: str) -> Any:
            macros = ["macro.alluvium.new_events"] if "new_events" in sql else []
            return SimpleNamespace(
                unique_id=name,
                name=name,
                alias=name,
                package_name="p",
                schema=schema,
                version=None,
                raw_code=sql,
                config=SimpleNamespace(materialized=kind),
                depends_on=SimpleNamespace(nodes=parents, macros=macros),
            )

        asks = f"{{{{ alluvium.new_events(ref('{read}'), 'items', bronze=ref('events')) }}}}"
        merged = node("items", "incremental", asks, "mid", "events")
        made = Files(
            schema,
            merged,
            node("mid", "ephemeral", sql, *between, "events"),
            *(node(one, "view", "{{ sql }}", "events") for one in ("bare", "named")),
            node("events", "streaming_table", "select * from {{ source('landing', 'events') }}"),
        )
        return made._events_of(spark, merged, ["bad"], None, 2, skip)

    by_name = "select *, f as _source_partition from {{ ref('named') }} -- bare"
    for sql, above in (
        (by_name, ["named"]),
        ("from {{ ref('events') }} |> where id > 0", []),
        ("select {{ columns }} from {{ ref('bare') }}", ["bare"]),
    ):
        assert events_of(sql, *above) == [(2, "bad")]
    # What they are read from may be without it.
    assert events_of("select * from {{ ref('bare') }}", "bare", read="events") == [(2, "bad")]
    without = "mid has no column _source_partition, by which items would leave out a file's events"
    for sql, above, query in (
        (f"select {bare} from {{{{ ref('events') }}}} -- _source_partition", [], "mid"),
        ("select * from {{ ref('bare') }}", ["bare"], "mid and of bare"),
    ):
        with pytest.raises(DbtRuntimeError, match=f"{without}. Accepted: a query of {query} that"):
            events_of(sql, *above)
        assert events_of(sql, *above, skip=False) == [(2, "bad")]
    # On a branch they are the target's, as `--defer` reads them; another target has none.
    assert events_of(by_name, "named", schema="files__fix") == [(2, "bad")]
    with pytest.raises(DbtRuntimeError, match="mid and of bare that selects it"):
        events_of("select * from {{ ref('bare') }}", "bare", schema="files__fix")
    with pytest.raises(DbtRuntimeError, match=r"events is not built on this target.* of bad with"):
        events_of(by_name, "named", schema="elsewhere")


@pytest.mark.slow
def test_what_readers_saw_before_the_log_begins_stays(spark: SparkSession) -> None:
    """Nobody can tell whether it was undone; it was not, by a restore to a later version."""
    made = Feed(spark, "cleaned", "'delta.checkpointInterval' = '100'")
    made.insert(1, 2)
    made.publish()
    seen = dict(made.rows)
    for number in range(10, 14):
        made.insert(number)
    # A log cleanup: what is newer than readers see is left.
    DeltaTable(made.folder).create_checkpoint()
    for commit in sorted((made.folder / "_delta_log").glob("*.json"))[:-1]:
        commit.unlink()
    good = made.insert(20)
    made.insert(21)
    for dry_run in (True, False):
        done = made.back(version=good, including=["write"], dry_run=dry_run)
        [reader] = done.readers
        assert (reader.name, reader.is_undone) == (made.shown.name, None)
        assert reader.head is not None
        assert reader.head.version == 1
    assert rows_of(spark, made.name) == made.versions[good]
    assert rows_of(spark, made.shown.table) == seen


def test_what_a_dba_set_beside_the_rows(spark: SparkSession) -> None:
    """Clustering by a column that goes, here and in the published table; an identity."""
    name, shown = "versions.clustered", "versions.clustered_shown"
    spark.sql(
        f"create table {name} (sk bigint generated by default as identity, id bigint) using delta"
        " tblproperties ('delta.enableDeletionVectors' = 'true')"
    )
    subject = Subject(name, MODEL, "clustered")
    spark.sql(f"insert into {name} (id) values (1), (2)")
    good = log.version(spark, name)
    spark.sql(f"alter table {name} add columns (region string)")
    spark.sql(f"alter table {name} cluster by (region)")
    spark.sql(f"insert into {name} (id, region) values (3, 'x'), (4, 'y')")
    publish(spark, name, shown, None, {}, {})
    spark.sql(f"alter table {shown} cluster by (region)")
    restore(
        spark, subject, [Reader(shown, "shown", False)], version=good, including=["write"]
    ).apply()
    for table in (name, shown):
        [detail] = spark.sql(f"describe detail {table}").collect()
        assert detail.clusteringColumns == []
        spark.sql(f"optimize {table}")
        assert spark.table(table).columns == ["sk", "id"]
    # No number is given twice: others may have the rows that are undone.
    before = {
        row.sk for row in spark.sql(f"select sk from {name} version as of {good + 3}").collect()
    }
    spark.sql(f"insert into {name} (id) values (5), (6)")
    after = {row.sk for row in spark.table(name).where("id > 2").collect()}
    assert len(after) == 2
    assert not before & after
