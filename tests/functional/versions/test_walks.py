"""Drawn walks of clone, publish, tag, drop, compact and vacuum: nothing that is needed goes.

Python keeps the rows of each version of each table. Every table but the first shows files of
others, and files of removed versions are deletable at once, so that each vacuum takes all it can.
`test_refs.py` has what is quick.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from functional.delta_rs import folder_in, newest
from functional.versions.kept import Rows, append, rows_by_spark, rows_of
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.delta.refs import dependents, pinned
from alluvium.publish.publish import checkout, publish
from alluvium.versions import refs
from alluvium.versions.points import Point, PointTable, resolve

pytestmark = pytest.mark.spark

SCHEMA = "walks"
# For the vacuums: what a version no longer names may go. For dependents that keep versions: an age
# that no walk reaches.
AT_ONCE, LONG = "interval 0 hours", "interval 30 days"
RETENTION = "'delta.deletedFileRetentionDuration' = '{0}'"


@dataclass
class Live:
    """A table that must be whole: what each version that it keeps shows."""

    name: str
    rows: Rows
    keeps_versions: bool = False
    versions: dict[int, Rows] = field(default_factory=dict)


class Walk:
    """Steps that are drawn, and what each must leave."""

    def __init__(self, spark: SparkSession, seed: int) -> None:
        self.spark, self.draw, self.seed = spark, random.Random(seed), seed
        spark.sql(f"drop database if exists {SCHEMA}_{seed} cascade")
        spark.sql(f"create database {SCHEMA}_{seed}")
        self.tables: dict[str, Live] = {}
        self.tags: dict[tuple[str, str], Rows] = {}
        self.ids = iter(range(1, 10_000))
        self.done: list[str] = []
        origin = f"{SCHEMA}_{seed}.origin"
        spark.sql(
            f"create table {origin} (id bigint, name string, _deleted boolean) using delta"
            f" tblproperties ('delta.enableDeletionVectors' = 'true', {RETENTION.format(AT_ONCE)})"
        )
        self.tables[origin] = Live(origin, {})
        for _ in range(3):
            self.insert(self.tables[origin])

    # What may be drawn ------------------------------------------------------------------------

    def insert(self, live: Live) -> None:
        new = {next(self.ids): "new" for _ in range(3)}
        folder = folder_in(self.spark, live.name)
        self.change(live, lambda: append(folder, new), {**live.rows, **new})

    def delete(self, live: Live) -> None:
        gone = self.some(live)
        left = {number: name for number, name in live.rows.items() if number not in gone}
        self.sql(live, f"delete from {live.name} where id in ({listed(gone)})", left)

    def update(self, live: Live) -> None:
        some = self.some(live)
        changed = live.rows | dict.fromkeys(some, "up")
        self.sql(live, f"update {live.name} set name = 'up' where id in ({listed(some)})", changed)

    def compact(self, live: Live) -> None:
        self.sql(live, f"optimize {live.name}", live.rows)

    def clone(self, live: Live) -> None:
        at = self.version_of(live)
        name = f"{live.name.partition('.')[0]}.c{next(self.ids)}"
        refs.clone(self.spark, Point(live.name, at), name, schema="x").apply()
        made = Live(name, live.versions[at], self.draw.random() < 0.5)
        retention = RETENTION.format(LONG if made.keeps_versions else AT_ONCE)
        self.spark.sql(f"alter table {name} set tblproperties ({retention})")
        made.versions = {0: made.rows, 1: made.rows}
        self.tables[name] = made

    def tag(self, live: Live) -> None:
        at, name = self.version_of(live), f"t{next(self.ids)}"
        refs.tag(self.spark, Point(live.name, at), name).apply()
        self.tags[live.name, name] = live.versions[at]

    def untag(self, live: Live) -> None:
        mine = [name for table, name in self.tags if table == live.name]
        if mine:
            name = self.draw.choice(mine)
            refs.untag(self.spark, live.name, name).apply()
            del self.tags[live.name, name]

    def publish(self, live: Live) -> None:
        shown = f"{live.name}_shown"
        if live.name.endswith("_shown"):
            return
        publish(self.spark, live.name, shown, None, {}, {})
        made = self.tables.setdefault(shown, Live(shown, {}, True))
        made.rows = dict(live.rows)
        made.versions[newest(folder_in(self.spark, shown))] = made.rows

    def checkout(self, live: Live) -> None:
        shown = self.tables.get(f"{live.name}_shown")
        if shown is None:
            return
        at = self.version_of(live)
        checkout(self.spark, live.name, shown.name, at, hold=False).apply()
        shown.rows = live.versions[at]
        shown.versions[newest(folder_in(self.spark, shown.name))] = shown.rows

    def drop(self, live: Live) -> None:
        """As a person may: what nobody needs."""
        folder = log.qualified(log.delta_log(self.spark, live.name))
        if live.name.endswith(".origin") or any(
            one.kind == "tag" or len(dependents.needed(self.spark, one, folder)) > 0
            for one in dependents.living(self.spark, folder)
        ):
            return
        self.spark.sql(f"drop table {live.name}")
        del self.tables[live.name]

    def vacuum(self, live: Live) -> None:
        pinned.vacuum(self.spark, live.name)
        # A version that has files no more is one that nobody can ask for.
        if not live.keeps_versions:
            live.versions = {newest(folder_in(self.spark, live.name)): live.rows}
        self.check()

    # -------------------------------------------------------------------------------------------

    def sql(self, live: Live, sql: str, rows: Rows) -> None:
        self.change(live, lambda: self.spark.sql(sql), rows)

    def change(self, live: Live, how: Callable[[], object], rows: Rows) -> None:
        if live.name.endswith("_shown"):
            return  # publishes alone write there
        how()
        live.rows = rows
        live.versions[newest(folder_in(self.spark, live.name))] = dict(rows)

    def some(self, live: Live) -> list[int]:
        ids = sorted(live.rows)
        return self.draw.sample(ids, min(len(ids), self.draw.randrange(1, 4))) or [0]

    def version_of(self, live: Live) -> int:
        return self.draw.choice(sorted(live.versions))

    def step(self) -> None:
        kinds = ("insert", "delete", "update", "compact", "clone", "tag", "untag", "publish")
        kind = self.draw.choice((*kinds, "checkout", "drop", "vacuum", "vacuum"))
        live = self.draw.choice(list(self.tables.values()))
        self.done.append(f"{kind} {live.name}")
        getattr(self, kind)(live)

    def end(self) -> None:
        """Nobody needs anything of the first table any more: what it has left goes."""
        origin, *others = self.tables
        for name in others:
            self.spark.sql(f"drop table {name}")
        for table, name in self.tags:
            if table == origin:
                refs.untag(self.spark, table, name).apply()
        live = {Path(path).name for path in self.spark.table(origin).inputFiles()}
        pinned.vacuum(self.spark, origin)
        assert files_in(self.spark, origin) == live
        assert rows_by_spark(self.spark, origin) == self.tables[origin].rows

    def check(self) -> None:
        """Every live table, each version that it keeps, and every tag."""
        for live in self.tables.values():
            assert rows_of(self.spark, live.name) == live.rows, (live.name, self.done)
            for version, rows in live.versions.items() if live.keeps_versions else ():
                found = rows_of(self.spark, f"{live.name} version as of {version}")
                assert found == rows, (live.name, version, self.done)
        for (table, name), rows in self.tags.items():
            point = resolve(self.spark, PointTable(table, table), tag=name)
            assert rows_of(self.spark, point.sql()) == rows, (table, name, self.done)


def files_in(spark: SparkSession, table: str) -> set[str]:
    return {path.name for path in folder_in(spark, table).glob("*.parquet")}


def listed(ids: list[int]) -> str:
    return ", ".join(map(str, ids))


def walk(spark: SparkSession, seed: int, steps: int) -> None:
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    made = Walk(spark, seed)
    for _ in range(steps):
        made.step()
    for live in list(made.tables.values()):
        made.vacuum(live)
    assert len(made.tables) > 1
    made.end()


@pytest.mark.slow
def test_a_walk(spark: SparkSession) -> None:
    walk(spark, 5, 10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 103))
def test_long_walks(spark: SparkSession, seed: int) -> None:
    walk(spark, seed, 40)


@pytest.mark.slow
def test_without_the_register_it_would_break(spark: SparkSession) -> None:
    """The oracle sees what goes: Spark's own VACUUM takes what a tag needs."""
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    made = Walk(spark, 1)
    (origin,) = made.tables.values()
    made.tag(origin)
    made.delete(origin)
    made.compact(origin)
    spark.sql(f"vacuum {origin.name}")
    with pytest.raises(Exception, match=r"Object at location .*\.parquet not found"):
        made.check()
