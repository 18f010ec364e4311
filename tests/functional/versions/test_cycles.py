"""Branches, publishes and restores while batches are merged: no event is lost, none counts twice.

Every batch brings keys of its own, so that one which is passed over shows.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.merge import execute, progress
from alluvium.merge.conflicts import ConflictError
from alluvium.publish.publish import publish
from alluvium.versions import branches
from alluvium.versions.branches import Branch
from alluvium.versions.points import Point
from alluvium.versions.restore import Reader, Subject, restore

pytestmark = [pytest.mark.spark, pytest.mark.slow]

OF, MODEL = "cycled", "model.shop.cycles"
Event = tuple[int, int, str, bool]


class UndoneError(Exception):
    """The table was set back since the batch was read; a build says so, and is run again."""


class Feed:
    """Batches of events, and the table that they are merged into."""

    def __init__(self, spark: SparkSession, name: str, seed: int) -> None:
        self.spark, self.name, self.table = spark, name, f"`{OF}`.`{name}`"
        self.batches: list[list[Event]] = []
        self._draw, self._lsn = random.Random(seed), 0
        spark.sql(f"create schema if not exists {OF}")
        spark.sql(
            f"create table {self.table} (id bigint, lsn bigint, name string, _deleted boolean)"
            " using delta tblproperties ('delta.enableDeletionVectors' = 'true')"
        )
        self.shown = Reader(f"{self.table[:-1]}_shown`", "shown", True)
        self.subject = Subject(self.table, MODEL, name)

    def grow(self) -> None:
        number, events = len(self.batches), []
        old = [self._draw.randrange(4 * number) for _ in range(4)] if number else []
        for key in [*range(4 * number, 4 * number + 4), *old]:
            self._lsn += 1
            events.append((key, self._lsn, f"n{self._lsn}", key in old[:1]))
        self.batches.append(events)

    def replay(self, through: int | None) -> dict[int, Event]:
        """The rows after the batch of this number; None for none of them."""
        last = -1 if through is None else through
        return {one[0]: one for events in self.batches[: last + 1] for one in events}

    def merge_next(self, session: SparkSession, table: str, engine: str) -> bool:
        """What a build does: merge what lies behind the table's progress; False for nothing."""
        done = progress.read(session, table, MODEL)
        after = -1 if done is None else done
        through = len(self.batches) - 1
        if after >= through:
            return False
        newest = {one[0]: one for batch in self.batches[after + 1 : through + 1] for one in batch}
        schema = "id bigint, lsn bigint, name string, _deleted boolean"
        view = f"events_{threading.get_ident()}"
        session.createDataFrame(list(newest.values()), schema).createOrReplaceTempView(view)
        sql = (
            f"merge into {table} t using {view} s on t.id = s.id"
            " when matched and s.lsn > t.lsn then update set * when not matched then insert *"
        )

        def plan() -> execute.Statement:
            now = progress.read(session, table, MODEL)
            if (-1 if now is None else now) < after:
                raise UndoneError
            return execute.Statement(sql, {}, through, after=after)

        execute.run(execute.DeltaTable(session, table, MODEL, engine), plan)
        return True

    def back(self, batch: int) -> None:
        def has_batch(number: int) -> bool:
            return number < len(self.batches)

        restore(
            self.spark, self.subject, [self.shown], before_batch=batch, has_batch=has_batch
        ).apply()

    def publish(self) -> log.TableVersion:
        publish(self.spark, self.table, self.shown.table, None, {}, {})
        return log.table_version(self.spark, self.table)

    def rows(self, relation: str) -> dict[int, Event]:
        found = [tuple(row) for row in self.spark.sql(f"select * from {relation}").collect()]
        rows = {row[0]: row for row in found}
        assert len(rows) == len(found)
        return rows

    def through(self, version: int) -> int | None:
        """The progress of a version."""
        table_id, found = log.state(self.spark, self.table, version)
        number = found.get(progress.app_id(MODEL, table_id), -1)
        return None if number < 0 else number


class Ingesting(threading.Thread):
    """Builds, one after the other, until all batches are there and `finish` was called."""

    def __init__(self, feed: Feed, session: SparkSession) -> None:
        super().__init__(daemon=True)
        self._feed, self._session, self._is_last = feed, session, threading.Event()
        self.undone = self.merged = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        engines = ("auto", "merge_into")
        try:
            while True:
                is_last = self._is_last.is_set()
                try:
                    engine = engines[self.merged % 2]
                    if self._feed.merge_next(self._session, self._feed.table, engine):
                        self.merged += 1
                    elif is_last:
                        return
                    else:
                        time.sleep(0.05)
                except (UndoneError, ConflictError):
                    self.undone += 1
        except BaseException as error:
            self.error = error

    def finish(self) -> None:
        self._is_last.set()
        self.join(300)
        if self.error is not None:
            raise self.error
        assert not self.is_alive()


def patiently(task: Callable[[], object]) -> None:
    """Again where another writer was faster, as the message says."""
    for _ in range(20):
        try:
            task()
        except RuntimeError as error:
            if "run it again" not in str(error):
                raise
        else:
            return
    raise AssertionError("another writer was faster each time")


@pytest.mark.parametrize("cycles", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_cycles_beside_ingestion(spark: SparkSession, cycles: int) -> None:
    feed, draw = Feed(spark, f"cycles{cycles}", cycles), random.Random(cycles)
    for _ in range(3):
        feed.grow()
    feed.merge_next(spark, feed.table, "auto")
    ingesting = Ingesting(feed, spark.newSession())
    ingesting.start()
    for number in range(cycles):
        feed.grow()
        branch = Branch(f"b{number}", OF)
        branches.make_schema(spark, branch, branch.schema)
        began = log.version(spark, feed.table)
        name = (branch.schema, feed.name)
        assert branches.make_table(spark, branch, Point(feed.table, began), name).apply()
        ours = f"`{branch.schema}`.`{feed.name}`"
        held = progress.read(spark, ours, MODEL)
        assert held == feed.through(began)
        assert feed.rows(ours) == feed.replay(held)

        shown: list[int] = []
        patiently(lambda seen=shown: seen.append(feed.publish().version))
        seen = feed.rows(feed.shown.table)
        lives = [
            {key: row for key, row in feed.replay(one).items() if not row[3]}
            for one in {feed.through(version) for version in range(began, shown[-1] + 1)}
        ]
        assert seen in lives

        feed.grow()
        feed.merge_next(spark, ours, "auto")
        done = progress.read(spark, ours, MODEL)
        assert done is not None
        assert feed.rows(ours) == feed.replay(done)
        if number % 3 == 2:
            spark.sql(f"optimize {ours}")
        merged = feed.through(log.version(spark, feed.table)) or 0
        if merged > 1:
            batch = draw.randint(max(merged - 3, 1), merged)
            patiently(lambda one=batch: feed.back(one))
        branches.discard(spark, branch, []).apply()
        assert log.version(spark, feed.table) > began
    ingesting.finish()
    last = len(feed.batches) - 1
    assert feed.through(log.version(spark, feed.table)) == last
    assert feed.rows(feed.table) == feed.replay(last)
    feed.publish()
    live = {key: row for key, row in feed.replay(last).items() if not row[3]}
    assert feed.rows(feed.shown.table) == live


@pytest.mark.parametrize(
    ("engine", "is_followed"), [("auto", False), ("merge_into", False), ("merge_into", True)]
)
def test_a_restore_between_plan_and_commit(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, engine: str, is_followed: bool
) -> None:
    """The batch begins where the table does no longer end: its events alone would leave a gap.

    is_followed: whether somebody else commits right behind the merge.
    """
    feed = Feed(spark, f"between_{engine}_{is_followed}".lower(), 1)
    for _ in range(3):
        feed.grow()
        feed.merge_next(spark, feed.table, "auto")
    feed.grow()
    times: list[int] = []
    step = "_check_not_behind" if engine == "merge_into" else "commit"
    original = getattr(execute.DeltaTable, step)

    def meanwhile(self: execute.DeltaTable, *args: object) -> object:
        if step == "commit" and not times:
            feed.back(1)
        done = original(self, *args)
        if step != "commit" and not times:
            feed.back(1)
        times.append(1)
        return done

    look = execute.DeltaTable._set_back_again

    def behind(self: execute.DeltaTable, *args: Any) -> None:
        spark.sql(f"alter table {feed.table} set tblproperties ('behind' = '1')")
        look(self, *args)

    if is_followed:
        monkeypatch.setattr(execute.DeltaTable, "_set_back_again", behind)
    monkeypatch.setattr(execute.DeltaTable, step, meanwhile)
    with pytest.raises(UndoneError):
        feed.merge_next(spark, feed.table, engine)
    assert progress.read(spark, feed.table, MODEL) == 0
    assert feed.merge_next(spark, feed.table, engine)
    assert feed.rows(feed.table) == feed.replay(3)
