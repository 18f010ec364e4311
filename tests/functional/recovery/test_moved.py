"""A home that was moved or copied: what shows files of the old place shows those of the new one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from deltalake import DeltaTable
from functional.delta_rs import by_query
from functional.recovery.damage import commit
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.published.published import Publisher
from alluvium.delta.refs.dependents import noted
from alluvium.delta.refs.needed_files import forget
from alluvium.publish.publish import publish
from alluvium.recovery.fsck import Fsck, Report
from alluvium.recovery.recover import Recovery
from alluvium.recovery.tables import Table
from alluvium.versions import refs
from alluvium.versions.points import Point

pytestmark = pytest.mark.spark


class Home:
    """A candidate, the table that publishes it, and a clone, in a home folder."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self.root = spark, root

    def make(self) -> None:
        sql = self.spark.sql
        sql(f"create database moved location '{self.root}/warehouse/moved.db'")
        sql(
            "create table moved.wap (id bigint, name string, _deleted boolean, `a b` string)"
            " using delta partitioned by (`a b`) tblproperties"
            " ('delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name')"
        )
        for part in range(3):
            rows = (f"({10 * part + one}, 'n{one}', false, 'p {part}+%')" for one in range(5))
            sql(f"insert into moved.wap values {', '.join(rows)}")
        sql("update moved.wap set _deleted = true where id = 11")
        sql("delete from moved.wap where id in (0, 12)")
        publish(self.spark, "moved.wap", "moved.shown", None, {}, {})
        point = Point("moved.wap", None)
        refs.clone(self.spark, point, "moved.clone", schema="moved").apply()
        refs.tag(self.spark, point, "good").apply()
        sql("delete from moved.clone where id in (20, 21)")

    def place(self, name: str) -> Path:
        return self.root / "warehouse/moved.db" / name

    @property
    def tables(self) -> list[Table]:
        names = {"wap": None, "clone": None, "shown": "wap"}
        return [
            Table(
                *(name, f"delta.`{self.place(name)}`", str(self.place(name)), name, True),
                shows=shows,
            )
            for name, shows in names.items()
        ]

    def fsck(self) -> Report:
        return Fsck(self.spark, self.tables, [str(self.root)]).run()

    def recover(self, names: list[str] | None = None, *, dry_run: bool = False) -> list[str]:
        return Recovery(self.spark, self.tables, [str(self.root)], dry_run=dry_run).run(names)

    def rows(self, name: str) -> list[int]:
        """What readers see, by Spark and by delta-rs, which must agree."""
        found = self.spark.read.format("delta").load(str(self.place(name))).select("id")
        ids = sorted(row.id for row in found.collect())
        other = by_query(DeltaTable(self.place(name)), "select id from t")
        assert sorted(other["id"].to_pylist()) == ids
        return ids

    def read_from(self, name: str) -> set[str]:
        """The folders of tables that files of a table lie in, as delta-rs tells them."""
        uris = [unquote(uri) for uri in DeltaTable(self.place(name)).file_uris()]
        return {
            uri.removeprefix("file:").split("/warehouse/")[0].replace("//", "/") for uri in uris
        }

    def content(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()}


@pytest.fixture
def old(spark: SparkSession, tmp_path: Path) -> Iterator[Home]:
    home = Home(spark, tmp_path / "an old home")
    home.make()
    yield home
    spark.sql("drop database moved cascade")


WAP = [1, 2, 3, 4, 10, 11, 13, 14, 20, 21, 22, 23, 24]
CLONE = [one for one in WAP if one not in (20, 21)]
SHOWN = [one for one in WAP if one != 11]


@pytest.mark.slow
def test_a_home_in_another_place(old: Home, tmp_path: Path) -> None:
    report = old.fsck()
    assert report.damaged == [], report.lines()
    assert old.recover() == []
    new = Home(old.spark, tmp_path / "a new home")
    shutil.copytree(old.root, new.root)
    before = old.content()

    report = new.fsck()
    assert report.damaged == ["wap", "wap (tag good)", "clone", "shown"]
    for kind in ("clone", "published", "tag"):
        assert any(f"wap: the register names {kind} " in line for line in report.lines())
    for name in ("wap (tag good)", "clone", "shown"):
        assert any(
            line.startswith(f"{name}: it shows files in file:{old.place('wap')}")
            for line in report.lines()
        )
    kept = new.content()
    assert all(": would " in line for line in new.recover(dry_run=True))
    assert new.content() == kept
    lines = new.recover()
    assert (
        f"clone: shows the files of this home in place of those in file:{old.place('wap')}" in lines
    )
    assert any(line.startswith("shown: shows version 5 of wap: files in ") for line in lines)
    assert new.recover() == []
    assert new.fsck().damaged == []
    assert old.content() == before

    locations = {one.location for one in noted(old.spark, f"file:{new.place('wap')}")}
    names = ("clone", "shown", "wap/_alluvium/tags/good")
    assert locations == {f"file:{new.place(name)}" for name in names}

    # The original may change, and go: the copy reads and writes its own.
    shutil.rmtree(old.root)
    old.spark.sql("select 1").collect()
    assert (new.rows("wap"), new.rows("clone"), new.rows("shown")) == (WAP, CLONE, SHOWN)
    assert new.rows("wap/_alluvium/tags/good") == WAP
    for name in ("clone", "shown", "wap/_alluvium/tags/good"):
        assert new.read_from(name) == {str(new.root)}
    wap, shown = (f"delta.`{new.place(name)}`" for name in ("wap", "shown"))
    old.spark.sql(f"insert into {wap} values (30, 'new', false, 'p 0+%')")
    Publisher(old.spark, wap, shown).publish({})
    assert new.rows("shown") == [*SHOWN, 30]


def test_a_publish_in_another_place(old: Home, tmp_path: Path) -> None:
    """Without a recovery: a publish takes all files from its own candidate."""
    new = Home(old.spark, tmp_path / "moved")
    old.root.rename(new.root)
    wap, shown = (f"delta.`{new.place(name)}`" for name in ("wap", "shown"))
    old.spark.sql(f"insert into {wap} values (30, 'new', false, 'p 0+%')")
    Publisher(old.spark, wap, shown).publish({})
    assert new.rows("shown") == [*SHOWN, 30]
    assert new.read_from("shown") == {str(new.root)}
    # The clone reads nothing, and fsck says so.
    report = new.fsck()
    assert report.damaged == ["wap", "wap (tag good)", "clone"]
    lines = report.lines()
    assert any("data files that the log needs are missing" in line for line in lines), lines
    new.recover(["clone"])
    assert new.rows("clone") == CLONE
    new.root.rename(old.root)


@pytest.mark.slow
def test_what_readers_see_is_put_right(old: Home) -> None:
    spark = old.spark
    # Somebody else writes to the published table.
    spark.sql("delete from moved.shown where id = 1")
    (line,) = [line for line in old.fsck().lines() if "no damage" not in line]
    assert "shown: somebody else wrote to it: readers see rows that are not those" in line
    assert any("shown: shows version 5 of wap: somebody else" in line for line in old.recover())
    assert old.rows("shown") == SHOWN
    rows = "values (40, 'hidden', true, 'q'), (41, 'seen', false, 'q')"
    spark.sql(f"insert into moved.wap select /*+ coalesce(1) */ * from {rows}")
    publish(spark, "moved.wap", "moved.shown", None, {}, {})
    assert old.rows("shown") == [*SHOWN, 41]
    # The candidate loses its newest commit, which was published.
    spark.sql("insert into moved.wap values (30, 'new', false, 'p 0+%')")
    publish(spark, "moved.wap", "moved.shown", None, {}, {})
    assert old.rows("shown") == [*SHOWN, 30, 41]
    (old.place("wap") / "_delta_log" / commit(7)).unlink()
    assert old.fsck().damaged == ["wap", "shown"]
    lines = old.recover()
    assert any("wap: goes back to version 6: version 7 is lost" in line for line in lines)
    assert any("shown: shows version 6 of wap: wap went back" in line for line in lines)
    assert (old.rows("wap"), old.rows("shown")) == ([*WAP, 40, 41], [*SHOWN, 41])
    assert old.fsck().damaged == []
    # Its versions are numbered again, and the next publish is right.
    spark.sql("insert into moved.wap values (31, 'newer', false, 'p 0+%')")
    publish(spark, "moved.wap", "moved.shown", None, {}, {})
    assert old.rows("shown") == [*SHOWN, 31, 41]
    # What failed its tests is whole, and the version behind it is lost: readers keep what passed.
    passed = TableSnapshot.of(spark, "moved.shown").head.version
    for number in (32, 33):
        spark.sql(f"insert into moved.wap values ({number}, 'bad', false, 'p 0+%')")
    (old.place("wap") / "_delta_log" / commit(passed + 2)).unlink()
    lines = old.recover()
    assert any(f"wap: goes back to version {passed + 1}: " in line for line in lines)
    assert not any(line.startswith("shown: ") for line in lines)
    assert (old.rows("wap"), old.rows("shown")) == (
        [*WAP, 31, 32, 40, 41],
        [*SHOWN, 31, 41],
    )
    # The same where readers saw the lost one: they see the one that passed before it.
    spark.sql("insert into moved.wap values (34, 'good', false, 'p 0+%')")
    publish(spark, "moved.wap", "moved.shown", None, {}, {})
    newest = log.version(spark, "moved.wap")
    (old.place("wap") / "_delta_log" / commit(newest)).unlink()
    would = old.recover(dry_run=True)
    assert any("shown: would show the newest version that readers saw" in line for line in would)
    lines = old.recover()
    assert any(f"shown: shows version {passed} of wap: wap went back" in line for line in lines)
    assert old.rows("shown") == [*SHOWN, 31, 41]
    assert old.fsck().damaged == []
    # A backup of the candidate: its numbers are given again, and fsck says what readers see.
    backup = shutil.copytree(old.place("wap"), old.root / "backup")
    spark.sql("insert into moved.wap values (35, 'good', false, 'p 0+%')")
    publish(spark, "moved.wap", "moved.shown", None, {}, {})
    shutil.rmtree(old.place("wap"))
    shutil.move(backup, old.place("wap"))
    forget(spark, f"file:{old.place('wap')}")
    spark.sql("insert into moved.wap values (36, 'untested', false, 'p 0+%')")
    # The file of the version that is lost is gone too.
    gone, other = [line for line in old.fsck().lines() if "no damage" not in line]
    assert "shown: 1 data file that the log needs is missing" in gone
    assert "which is another one now: wap lost what readers see" in other
    shows = f"shown: shows version {passed} of wap: 1 data file cannot be read"
    assert any(line.startswith(shows) for line in old.recover())
    assert old.rows("shown") == [*SHOWN, 31, 41]
    assert old.fsck().damaged == []
    # A cleanup of the candidate's log takes the commit that readers see: nothing is lost.
    log.snapshot_of(spark, "moved.wap").deltaLog().checkpoint()
    for number in range(passed + 1):
        (old.place("wap") / "_delta_log" / commit(number)).unlink(missing_ok=True)
    forget(spark, f"file:{old.place('wap')}")
    assert old.fsck().damaged == []
    assert old.recover() == []


@pytest.mark.slow
def test_a_vector_that_hides_tombstones_is_gone(spark: SparkSession, tmp_path: Path) -> None:
    home = Home(spark, tmp_path)
    spark.sql(f"create database moved location '{home.root}/warehouse/moved.db'")
    try:
        rows = "select /*+ coalesce(1) */ id, hash(id) % 2 = 0 as _deleted from range(30000)"
        spark.sql(f"create table moved.wap using delta as {rows}")
        publish(spark, "moved.wap", "moved.shown", None, {}, {})
        shown = home.rows("shown")
        assert 10_000 < len(shown) < 20_000
        # So many rows are hidden by a file beside the published table's log.
        (vector,) = home.place("shown").glob("*.bin")
        vector.unlink()
        home_tables = [one for one in home.tables if one.name != "clone"]
        assert Fsck(spark, home_tables, [str(home.root)]).run().damaged == ["shown"]
        (line,) = Recovery(spark, home_tables, [str(home.root)], dry_run=False).run()
        assert line == "shown: shows version 0 of wap: 1 data file cannot be read"
        assert home.rows("shown") == shown
        assert Fsck(spark, home_tables, [str(home.root)]).run().damaged == []
    finally:
        spark.sql("drop database moved cascade")
