"""Published tables beside rows that Python keeps, whatever happens to the candidate."""

from __future__ import annotations

import datetime as dt
import json
import random
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from functional.delta_rs import by_query, folder_in, newest
from functional.runner import new_session
from pyspark.sql import SparkSession

from alluvium.delta.files.vector_writer import VectorWriter
from alluvium.delta.log import log
from alluvium.delta.published import published, published_files, tombstones
from alluvium.delta.published.published import Publisher
from alluvium.delta.refs import pinned
from alluvium.delta.refs.needed_files import forget
from alluvium.delta.rewrite.layout_commits import LayoutCommits
from alluvium.delta.rewrite.table_files import TableFiles
from alluvium.engine.causes import explain
from alluvium.publish.publish import head, publish
from alluvium.recovery.fsck import Fsck
from alluvium.recovery.recover import Recovery
from alluvium.recovery.tables import Table

pytestmark = pytest.mark.spark


class Candidate:
    """A table, what its rows should be, and the published table that shows it."""

    def __init__(self, spark: SparkSession, name: str, more: str = "") -> None:
        self.spark, self.name, self.shown = spark, f"published.{name}", f"published.{name}_shown"
        self.rows: dict[int, str] = {}
        self.versions: dict[int, dict[int, str]] = {}
        # Of a table of plain columns: delta-rs takes a twentieth of the time of Spark's INSERT.
        self.is_plain = "columnMapping" not in more
        spark.sql("create database if not exists published")
        spark.sql(
            f"create table {self.name} (id bigint, name string, _deleted boolean)"
            f" using delta {more}"
        )

    def do(self, sql: str, change: Callable[[dict[int, str]], None] = lambda _: None) -> None:
        self.spark.sql(sql.format(t=self.name))
        change(self.rows)
        self.keep()

    def keep(self) -> None:
        self.versions[newest(self.folder(self.name))] = dict(self.rows)

    def publish(self, version: int | None = None) -> None:
        publish(self.spark, self.name, self.shown, version, {}, {})

    def seen(self) -> dict[int, str]:
        """By delta-rs."""
        found = by_query(DeltaTable(self.folder(self.shown)), "select id, name from t")
        return dict(zip(*(found[name].to_pylist() for name in ("id", "name")), strict=True))

    def seen_by_each(self) -> dict[int, str]:
        """By Spark, and by delta-rs, which must agree."""
        rows = dict(self.spark.sql(f"select id, name from {self.shown}").collect())
        assert self.seen() == rows
        return rows

    def folder(self, table: str) -> Path:
        return folder_in(self.spark, table)

    def history(self) -> list[str]:
        """Operations, oldest first."""
        commits = sorted((self.folder(self.shown) / "_delta_log").glob("*[0-9].json"))
        actions = (json.loads(line) for one in commits for line in one.read_text().splitlines())
        return [one["commitInfo"]["operation"] for one in actions if "commitInfo" in one]


def insert(candidate: Candidate, ids: range) -> None:
    rows = {number: f"n{number}" for number in ids}
    if candidate.is_plain:
        columns = {"id": list(rows), "name": list(rows.values()), "_deleted": [False] * len(rows)}
        write_deltalake(candidate.folder(candidate.name), pa.table(columns), mode="append")
        candidate.rows.update(rows)
        candidate.keep()
        return
    values = ", ".join(f"({number}, '{name}', false)" for number, name in rows.items())
    candidate.do(
        f"insert into {{t}} (id, name, _deleted) values {values}", lambda r: r.update(rows)
    )


def drop(ids: range) -> Callable[[dict[int, str]], None]:
    return lambda rows: [rows.pop(number, None) for number in ids] and None


def kill(*_: object) -> None:
    raise KeyboardInterrupt


def files_of(spark: SparkSession, table: str) -> list[dict[str, Any]]:
    actions = log.snapshot_of(spark, table).allFiles().collectAsList()
    return [json.loads(action.json())["add"] for action in actions]


def note_looks(patch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """The files, with their vectors, in which a publish has looked for tombstones."""
    looked_at: list[tuple[str, str | None]] = []
    find = tombstones.hidden

    def noted(copy: Any, source: Any, transaction: Any, files: Any, shown: Any) -> Any:
        for file in files:
            vector = file.deletionVector()
            looked_at.append((file.path(), None if vector is None else vector.uniqueId()))
        return find(copy, source, transaction, files, shown)

    patch.setattr(tombstones, "hidden", noted)
    return looked_at


# The draws of the first seed have a change of each kind, and as one publish a compaction with rows
# that came behind it. So have those of the last one. What is quick of it: the walk below.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "turns", "has_both"), [(36650, 6, True), (2624, 8, False), (7, 14, True)]
)
def test_a_history(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, seed: int, turns: int, has_both: bool
) -> None:
    looked_at = note_looks(monkeypatch)
    made = Candidate(
        spark,
        f"drawn_{seed}",
        "tblproperties ('delta.enableDeletionVectors' = 'true',"
        " 'delta.columnMapping.mode' = 'name',"
        " 'delta.checkpointInterval' = '4')",
    )
    draw, commits = random.Random(seed), list[list[str]]()
    made.publish()  # an empty one
    assert made.seen() == {}
    assert head(spark, made.shown) is not None
    for turn in range(turns):
        kind = draw.choice(("insert", "delete", "tombstone", "update", "optimize"))
        some = range(start := draw.randrange(40), start + draw.randrange(1, 12))
        where = f"where id between {some.start} and {some.stop - 1}"
        if kind == "insert" or not made.rows:
            insert(made, range(100 * turn + 1, 100 * turn + 9))
        elif kind == "delete":
            made.do(f"delete from {{t}} {where}", drop(some))
        elif kind == "tombstone":
            made.do(f"update {{t}} set _deleted = true {where}", drop(some))
        elif kind == "update":
            change = {number: "up" for number in some if number in made.rows}
            made.do(f"update {{t}} set name = 'up' {where}", lambda r, c=change: r.update(c))
        else:
            made.do("optimize {t}")
        if turn % 3:
            there = len(made.history())
            made.publish()
            assert made.seen() == made.rows, turn
            commits.append(made.history()[there:])
    # A compaction and a change: two commits, and rows change in the second alone.
    assert (["OPTIMIZE", "Manual Update"] in commits) is has_both
    assert made.seen_by_each() == made.rows
    # The column is read once of a file, and once more when its candidate hides other rows of it.
    assert len(looked_at) == len(set(looked_at)) > 0
    check_what_is_put_right(made)
    check_what_is_no_newer_version(made)


def check_what_is_put_right(made: Candidate) -> None:
    """Somebody writes to the published table: the next publish puts it right.

    Statistics that are missing are taken from the footer.
    """
    spark = made.spark
    spark.sql(f"delete from {made.shown} where id % 2 = 0")
    spark.sql(f"insert into {made.shown} (id, name) values (-1, 'mine')")
    spark.conf.set("spark.databricks.delta.stats.collect", "false")
    made.do("insert into {t} values (901, 'gone', true), (902, 'here', false)")
    spark.conf.set("spark.databricks.delta.stats.collect", "true")
    made.rows = {**made.rows, 902: "here"}
    made.publish()
    assert made.seen_by_each() == made.rows


def check_what_is_no_newer_version(made: Candidate) -> None:
    """An older version is none to go back to by itself; a newer one may hold what it held."""
    spark, earlier = made.spark, min(made.versions)
    made.publish(earlier)
    assert made.seen() == made.rows
    made.do(f"restore table {{t}} to version as of {earlier}")
    made.rows = made.versions[earlier]
    made.publish()
    assert made.seen() == made.rows
    # Another table under the same name, with another column. A slow run brings back no older one.
    older = newest(made.folder(made.name))
    mapped = "" if made.is_plain else "tblproperties ('delta.columnMapping.mode' = 'name')"
    made.do(
        f"create or replace table {{t}} using delta {mapped} as"
        " select 5L as id, 'five' as name, 1.5 as x"
    )
    made.publish()
    assert made.seen() == {5: "five"}
    made.publish(older)
    assert made.seen_by_each() == {5: "five"}
    assert spark.table(made.shown).columns == ["id", "name", "x"]


@pytest.mark.slow
def test_what_a_slow_run_brings(spark: SparkSession) -> None:
    """It tested a version, and others went on with the candidate before it publishes."""
    made = Candidate(spark, "slow")
    insert(made, range(3))
    first = log.table_version(spark, made.name)
    insert(made, range(3, 6))
    tested = log.table_version(spark, made.name)

    def shown(version: log.TableVersion) -> str:
        done = publish(
            spark, made.name, made.shown, version.version, {}, {}, table_id=version.table_id
        )
        return done.line("shown", "slow", 1)

    # What is undone is not shown, also where nothing was shown before.
    made.do(f"restore table {{t}} to version as of {first.version}")
    with pytest.raises(RuntimeError, match="for the table was restored to an earlier one since"):
        shown(tested)
    assert "version 1 of slow published" in shown(first)
    restored = "version 2 of slow is not published, for the table was restored to an earlier one"
    assert restored in shown(tested)
    assert made.seen() == made.versions[first.version]
    # Back again, it is no longer undone. A restore to a time may have been to any version.
    made.do(f"restore table {{t}} to version as of {tested.version}")
    assert "version 2 of slow published" in shown(tested)
    insert(made, range(6, 9))
    later = log.table_version(spark, made.name)
    before = spark.sql(f"describe history {made.name}").collect()[1].timestamp.astimezone(dt.UTC)
    made.do(f"restore table {{t}} to timestamp as of '{before:%Y-%m-%d %H:%M:%S.%f}'")
    made.rows = dict(made.versions[tested.version])
    assert "the table was restored to an earlier one since" in shown(later)
    # What another run wrote over is shown: it passed, and the newer one is still to be tested.
    insert(made, range(9, 12))
    rows, over = dict(made.rows), log.table_version(spark, made.name)
    made.do("create or replace table {t} using delta as select 5L as id, 'five' as name")
    assert f"version {over.version} of slow published" in shown(over)
    assert made.seen() == rows
    # A table that was dropped has the same numbers for other rows; its files are gone.
    shows = head(spark, made.shown)
    spark.sql(f"drop table {made.name}")
    spark.sql(f"create table {made.name} using delta as select 6L as id, 'six' as name")
    for _ in range(tested.version):
        made.do("insert into {t} values (7, 'untested')")
    assert "for the table was dropped and made again since" in shown(tested)
    with pytest.raises(ValueError, match=r"slow has no version 999; accepted: a version up to"):
        shown(log.TableVersion(over.table_id, 999))
    assert head(spark, made.shown) == shows


@pytest.mark.slow
def test_tombstones_that_a_model_keeps_no_longer(spark: SparkSession) -> None:
    """Then all are rows, and later none: whatever files they lie in, and whenever these came."""
    made = Candidate(spark, "turned", "tblproperties ('delta.enableDeletionVectors' = 'true')")
    dead = dict[int, str]()

    def put(number: int) -> None:
        made.do(f"insert into {{t}} values ({number}, 'n', false), ({-number}, 'n', true)")
        made.rows[number] = dead[-number] = "n"

    put(1)
    put(2)
    made.publish()
    for turn in range(2):
        put(3 + turn)
        if turn:
            made.do("optimize {t}")
        for hides, rows in ((False, made.rows | dead), (True, made.rows)):
            publish(spark, made.name, made.shown, None, {}, {}, hides=hides)
            assert made.seen_by_each() == rows
            version = log.version(spark, made.shown)
            publish(spark, made.name, made.shown, None, {}, {}, hides=hides)
            assert log.version(spark, made.shown) == version


@pytest.mark.slow
def test_where_vectors_lie(spark: SparkSession) -> None:
    """In files beside the log, united with those of the candidate."""
    made = Candidate(spark, "vectors", "tblproperties ('delta.enableDeletionVectors' = 'true')")
    made.do("insert into {t} select id, 'n', id % 7 = 0 from range(0, 20, 1, 1)")
    made.do("insert into {t} select id, 'n', id % 2 = 0 from range(100, 4100, 1, 1)")
    made.do("delete from {t} where id in (2, 101)")
    made.publish()

    def kinds() -> list[tuple[str, int]]:
        vectors = [file["deletionVector"] for file in files_of(spark, made.shown)]
        return sorted((one["storageType"], one["cardinality"]) for one in vectors)

    assert kinds() == [("u", 4), ("u", 2001)]
    small = {number: "n" for number in range(20) if number % 7 and number != 2}
    made.rows = small | dict.fromkeys(range(103, 4100, 2), "n")
    assert made.seen_by_each() == made.rows
    # A file of a vector is written once: it is the same where nothing differs.
    made.do("update {t} set _deleted = true where id = 3", drop(range(3, 4)))
    made.publish()
    before = made.history()
    made.publish()
    assert made.seen() == made.rows
    assert made.history() == before
    assert ("u", 5) in kinds()
    # A tombstone that is deleted hides what it hid: the same vector again.
    made.do("delete from {t} where id = 7")
    made.publish()
    assert made.history() == [*before, "COMPUTE STATS"]
    assert made.seen() == made.rows
    insert(made, range(5000, 5001))
    made.publish()
    assert made.seen_by_each() == made.rows


class Inline(VectorWriter):
    """As other engines may write small vectors, and earlier versions did: into the log."""

    def write(self, file: str, before: Any, bitmap: bytes, rows: int, known: Any = None) -> Any:
        assert before is None
        assert self.session._jvm is not None
        actions = self.session._jvm.org.apache.spark.sql.delta.actions
        return actions.DeletionVectorDescriptor.inlineInLog(bitmap, rows)


@pytest.fixture
def mended(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Candidate:
    """A table whose published log has two vectors: of a file that is there, and of one that went.

    Its file of the first version went from the candidate too.
    """
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    made = Candidate(
        spark,
        f"inline_{request.node.name}",
        "tblproperties ('delta.enableDeletionVectors' = 'true',"
        " 'delta.deletedFileRetentionDuration' = 'interval 0 hours')",
    )
    with monkeypatch.context() as patch:
        patch.setattr(tombstones, "VectorWriter", Inline)
        patch.setattr(published_files, "in_files", lambda copy, snapshot, files: files)
        patch.setattr(published, "IN_FILES", "")
        patch.setattr(Publisher, "_mend", lambda *_: None)
        for turn in range(2):
            made.do(
                "insert overwrite {t} select id, 'n', id % 3 = 0 from"
                f" range({10 * turn}, {10 * turn + 10}, 1, 1)",
                lambda rows: rows.clear(),
            )
            made.publish()
    made.rows = {number: "n" for number in range(10, 20) if number % 3}
    assert in_log(made) == ["add", "add", "remove"]
    return made


def in_log(made: Candidate) -> list[str]:
    """The actions of the published log with a vector in it, that VACUUM would stumble over."""
    found = []
    for one in sorted((made.folder(made.shown) / "_delta_log").glob("*[0-9].json")):
        for line in one.read_text().splitlines():
            [(kind, action)] = json.loads(line).items()
            is_old = action.get("deletionTimestamp", 1) == 0
            if (action.get("deletionVector") or {}).get("storageType") == "i" and not is_old:
                found.append(kind)
    return sorted(found)


def check_mended(made: Candidate, shown: int, files: int) -> None:
    """VACUUM does its work, and keeps what readers may still look at.

    shown: the version of the published table that showed the first rows.
    files: of its newest version.
    """
    before = by_query(
        DeltaTable(made.folder(made.shown), version=shown), "select id from t order by id"
    )["id"].to_pylist()
    assert before == [number for number in range(10) if number % 3]
    assert made.spark.sql(f"vacuum {made.shown} dry run").collect() == []
    made.spark.sql(f"vacuum {made.shown}")
    pinned.vacuum(made.spark, made.name)
    assert made.seen_by_each() == made.rows
    then = made.spark.sql(f"select id from {made.shown} version as of {shown} order by id")
    assert [row.id for row in then.collect()] == before
    # What Delta counts of the newest version is what is there.
    newest = max((made.folder(made.shown) / "_delta_log").glob("[0-9]*.crc"))
    assert json.loads(newest.read_text())["numFiles"] == files


@pytest.mark.slow
def test_a_vector_in_the_log_is_put_into_a_file(mended: Candidate) -> None:
    with pytest.raises(Exception, match=r"DeletionVectorDescriptor\(i,") as stopped:
        mended.spark.sql(f"vacuum {mended.shown} dry run").collect()
    assert "The next publish puts" in explain(stopped.value).text
    shown = log.version(mended.spark, mended.shown) - 1
    insert(mended, range(30, 33))
    mended.publish()
    assert mended.history()[-3:] == ["OPTIMIZE", "Deletion Vector Tombstones", "Manual Update"]
    check_mended(mended, shown, files=2)
    # The next one looks for none, and nothing else wrote to the table.
    insert(mended, range(40, 43))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(published, "InlineVectors", kill)
        mended.publish()
    assert mended.seen() == mended.rows


@pytest.mark.slow
def test_recover_puts_vectors_into_files(mended: Candidate) -> None:
    spark, home = mended.spark, str(mended.folder(mended.name).parent)
    tables = [
        Table("wap", mended.name, str(mended.folder(mended.name)), "", True),
        Table("shown", mended.shown, str(mended.folder(mended.shown)), "", True, shows="wap"),
    ]
    shown = log.version(spark, mended.shown) - 1

    def looked_at() -> tuple[list[str], list[str]]:
        report = Fsck(spark, tables, [home], full=True).run()
        return report.damaged, report.lines()

    damaged, lines = looked_at()
    assert damaged == [], lines
    (line,) = lines
    assert "shown: no damage: 2 deletion vectors of its log" in line
    assert "Helps: the next publish, or alluvium.recover" in line
    before = mended.history()
    (would,) = Recovery(spark, tables, [home], dry_run=True).run()
    assert "shown: would put 2 deletion vectors of its log into files" in would
    assert mended.history() == before
    (done,) = Recovery(spark, tables, [home], dry_run=False).run()
    assert "shown: puts 2 deletion vectors of its log into files" in done
    assert looked_at() == ([], [])
    assert mended.history() == [*before, "OPTIMIZE", "Deletion Vector Tombstones"]
    check_mended(mended, shown, files=1)
    after = mended.history()
    mended.publish()
    assert mended.history() == after


@pytest.fixture(scope="module")
def moved(spark: SparkSession) -> Candidate:
    """A candidate that goes, test by test, through what a publish meets."""
    vectors = "tblproperties ('delta.enableDeletionVectors' = 'true',"
    return Candidate(spark, "moved", f"{vectors} 'delta.checkpointInterval' = '4')")


@pytest.fixture(scope="module")
def looked_at() -> Iterator[list[tuple[str, str | None]]]:
    with pytest.MonkeyPatch.context() as patch:
        yield note_looks(patch)


def test_what_a_compaction_moved(
    spark: SparkSession, moved: Candidate, looked_at: list[tuple[str, str | None]]
) -> None:
    made = moved
    made.publish()  # an empty one
    assert made.seen() == {}
    assert head(spark, made.shown) is not None
    for start in (0, 10, 20):
        insert(made, range(start, start + 10))
    DeltaTable(made.folder(made.name)).update({"_deleted": "true"}, predicate="id in (3, 13)")
    drop(range(3, 14, 10))(made.rows)
    made.keep()
    made.publish()
    # Delta's VACUUM fails on a vector that stands in the log.
    vectors = [file.get("deletionVector") for file in files_of(spark, made.shown)]
    assert {one["storageType"] for one in vectors if one} <= {"p", "u"}
    spark.sql(f"vacuum {made.shown} dry run").collect()
    files = set(spark.table(made.shown).inputFiles())
    made.do("optimize {t}")
    made.publish()
    assert made.history()[-1] == "OPTIMIZE"
    assert made.seen_by_each() == made.rows
    # The same files, and the tags and statistics that are new.
    assert not files & set(spark.table(made.shown).inputFiles())
    labels = {file["path"]: {"of": "the source"} for file in files_of(spark, made.name)}
    LayoutCommits(TableFiles(spark, made.name)).relabel(labels, "{}")
    made.publish()
    assert made.history()[-1] == "COMPUTE STATS"
    assert {file["tags"]["of"] for file in files_of(spark, made.shown)} == {"the source"}
    assert made.seen() == made.rows


def test_what_comes_between_its_steps(
    spark: SparkSession, moved: Candidate, looked_at: list[tuple[str, str | None]]
) -> None:
    """After the one before: everything is published."""
    made = moved
    labels = {file["path"]: {"of": "nobody"} for file in files_of(spark, made.name)}
    LayoutCommits(TableFiles(spark, made.name)).relabel(labels, "{}")
    labelling = Publisher(spark, made.name, made.shown)
    made.do("delete from {t} where id = 5", drop(range(5, 6)))
    insert(made, range(50, 55))
    slow = Publisher(spark, made.name, made.shown)
    made.publish()
    assert made.seen() == made.rows
    # The column is read once of a file, and once more when its candidate hides other rows of it.
    assert len(looked_at) == len(set(looked_at)) > 0
    # Of two publishers one loses. Of two that only label files too: what it has read may have
    # another vector since.
    before = made.history()
    for loser in (labelling, slow):
        with pytest.raises(Exception, match=r"(?i)concurrent"):
            loser.publish({})
    assert made.history() == before
    assert made.seen() == made.rows
    # Killed between the steps, it shows what it showed; the next publish does the rest.
    shown = dict(made.rows)
    made.do("optimize {t}")
    insert(made, range(70, 75))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Publisher, "_change", kill)
        with pytest.raises(KeyboardInterrupt):
            made.publish()
    assert made.history()[-1] == "OPTIMIZE"
    assert made.seen() == shown
    # A compaction and a change: two commits, and rows change in the second alone.
    made.publish()
    assert made.history()[-2:] == ["OPTIMIZE", "Manual Update"]
    assert made.seen_by_each() == made.rows


def test_two_publishers_at_once(spark: SparkSession, moved: Candidate) -> None:
    """From two sessions of one candidate: the same version, once."""
    made = moved
    insert(made, range(80, 83))
    home = made.folder(made.name).parents[2]
    with ThreadPoolExecutor(2) as pool:
        tried = [
            pool.submit(publish, new_session(home), made.name, made.shown, None, {}, {})
            for _ in range(2)
        ]
    errors = [one.exception() for one in tried]
    assert [
        one for one in errors if one and "another run published meanwhile" not in str(one)
    ] == []
    assert errors.count(None) >= 1
    assert made.seen() == made.rows


@pytest.mark.parametrize("behind", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_a_restore_beside_a_publish(
    spark: SparkSession, moved: Candidate, monkeypatch: pytest.MonkeyPatch, behind: int
) -> None:
    """After the one before: to what readers saw before, and behind that."""
    made = moved
    original, due = Publisher.publish, list[int]()

    def meanwhile(self: Publisher, *args: Any) -> Any:
        if due:
            spark.sql(f"restore table {made.name} to version as of {due.pop()}")
        return original(self, *args)

    monkeypatch.setattr(Publisher, "publish", meanwhile)
    if not made.versions:  # where the quick tests did not run
        insert(made, range(80, 83))
        made.publish()
    version = last_but(made, behind)
    insert(made, range(90, 93))
    due.append(version)
    told = publish(spark, made.name, made.shown, None, {}, {}).line("shown", "moved", 1)
    assert "not published, for the table was restored to an earlier one meanwhile" in told
    made.rows = dict(made.versions[version])
    assert made.seen() == made.rows
    # What was undone is no version to go back to.
    del made.versions[max(made.versions)]
    made.keep()


def last_but(made: Candidate, behind: int) -> int:
    """The newest version, or one so many behind it that has other rows."""
    known = sorted(number for number, rows in made.versions.items() if rows != made.rows)
    return newest(made.folder(made.name)) if behind == 0 else known[-behind]


def test_what_others_did_to_it(moved: Candidate) -> None:
    """After the one before."""
    check_what_is_put_right(moved)
    check_what_is_no_newer_version(moved)


def test_what_stops_a_publish(spark: SparkSession) -> None:
    made = Candidate(spark, "refused", "tblproperties ('delta.enableRowTracking' = 'true')")
    with pytest.raises(ValueError, match=r"cannot be published: its property delta\.enableRowTr"):
        made.publish()
    # Turned off, it leaves its columns; what the message names takes them away.
    spark.sql(f"alter table {made.name} set tblproperties ('delta.enableRowTracking' = 'false')")
    with pytest.raises(ValueError, match=r"by `alter table .* drop feature rowTracking`") as told:
        made.publish()
    assert not spark.catalog.tableExists(made.shown)
    spark.sql(str(told.value).split("`")[-2])
    made.publish()
    # Rows are only hidden where the column is a merge's: another table's own stay.
    made = Candidate(spark, "mine")
    made.do("insert into {t} values (1, 'shown', true)", lambda rows: rows.update({1: "shown"}))
    publish(spark, made.name, made.shown, None, {}, {}, hides=False)
    assert made.seen() == made.rows
    # What a slow run tested lost a file since: readers keep what they see.
    candidate = DeltaTable(made.folder(made.name))
    before, tested = candidate.file_uris(), candidate.version() + 1
    insert(made, range(2, 3))
    candidate.update_incremental()
    (file,) = set(candidate.file_uris()) - set(before)
    candidate.delete("id = 2")
    Path(file).unlink()
    told = publish(spark, made.name, made.shown, tested, {}, {}, hides=False)
    lost = f"version {tested} of mine is not published, for it needs 1 file that VACUUM deleted"
    assert lost in told.line("mine_shown", "mine", 1)
    assert made.seen() == {1: "shown"}
    # A table of somebody else's is left alone.
    made = Candidate(spark, "foreign")
    spark.sql(f"create table {made.shown} using delta as select 1L as id, 'mine' as name")
    with pytest.raises(ValueError, match="is there with rows that no publish brought"):
        made.publish()
    assert made.seen() == {1: "mine"}


def test_the_commit_says_what_it_shows(spark: SparkSession, tmp_path: Path) -> None:
    made = Candidate(spark, "told")
    made.do(
        "insert into {t} select id, concat('n', id), false from range(3)",
        lambda rows: rows.update({number: f"n{number}" for number in range(3)}),
    )
    told = publish(spark, made.name, made.shown, None, {}, {}, dry_run=True)
    assert (told.source_version, told.files_added) == (1, len(files_of(spark, made.name)))
    assert "version 1 of told would be published, " in told.line("told_shown", "told", 0)
    assert not spark.catalog.tableExists(made.shown)
    publish(
        spark,
        made.name,
        made.shown,
        None,
        {"tests": 3},
        {"delta.logRetentionDuration": "interval 40 days"},
    )
    info, place = log.last_commit(spark, made.shown).info, made.folder(made.name)
    root = f"file:{place}"
    commit = log.last_commit(spark, made.name).id
    noted = {"tests": 3, "base": 0, "version": 1, "root": root, "commit": commit}
    noted |= {"hides": True, "vectors": "files"}
    assert json.loads(info["userMetadata"]) == {"alluvium_published": noted}
    kept = DeltaTable(made.folder(made.shown)).metadata().configuration
    assert kept["delta.logRetentionDuration"] == "interval 40 days"
    assert kept["delta.deletedFileRetentionDuration"] == "interval 30 days"

    # The candidate comes back from a backup: its next commits have numbers that readers saw. The
    # same number at first, and then a later one.
    backup, rows = shutil.copytree(place, tmp_path / "backup"), dict(made.rows)
    insert(made, range(3, 6))
    made.publish()
    assert made.seen() == made.rows
    for more in ([range(6, 9)], [range(9, 12), range(20, 23)]):
        shutil.rmtree(place)
        shutil.copytree(backup, place)
        forget(spark, root)
        made.rows = dict(rows)
        for ids in more:
            insert(made, ids)
        made.publish()
        assert made.seen() == made.rows
