"""Merges beside other writers: what is tried again, what is not, and that nothing is done twice."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pandas as pd
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.merge import execute, progress
from alluvium.merge.conflicts import ConflictError
from alluvium.plan.merge.figures import Merged

pytestmark = pytest.mark.spark

TABLE = "beside.t"
# Says that the statement has begun to read, and lets no row pass for 4 s.
BEGUN = "alluvium.beside.begun"
SLOW = (
    f"java_method('java.lang.System', 'setProperty', '{BEGUN}', 'yes') is distinct from 'no'"
    " and java_method('java.lang.Thread', 'sleep', 4000L) is null"
)


def merge(rows: str, after: str = "true") -> str:
    """A merge in which the newest `v` of an `id` wins; `rows` as in VALUES."""
    return (
        f"merge into {TABLE} t using (select id, v from values {rows} as s(id, v) where {after}) s"
        " on s.id = t.id when matched and s.v > t.v then update set v = s.v"
        " when not matched then insert (id, v) values (s.id, s.v)"
    )


@pytest.fixture(params=["one_commit", pytest.param("merge_into", marks=pytest.mark.slow)])
def used(request: pytest.FixtureRequest) -> str:
    """The engine that runs the merges, by what the table has."""
    return str(request.param)


@pytest.fixture
def session(spark: SparkSession, used: str) -> SparkSession:
    vectors = str(used == "one_commit").lower()
    spark.sql("create schema if not exists beside")
    spark.sql(
        f"create or replace table {TABLE} (id bigint, v bigint) using delta"
        f" tblproperties ('delta.enableDeletionVectors' = '{vectors}')"
    )
    spark.sql(f"insert into {TABLE} values (1L, 1L)")
    return spark


def run(
    session: SparkSession,
    plan: Callable[[], execute.Statement | None],
    model: str = "m",
    retries: int = execute.RETRIES,
) -> Merged | None:
    return execute.run(execute.DeltaTable(session, TABLE, model), plan, retries)


def affected(session: SparkSession, statement: execute.Statement, model: str = "m") -> int:
    """Rows that a merge changed."""
    outcome = run(session, lambda: statement, model)
    assert outcome is not None
    return outcome.affected


def rows(session: SparkSession) -> list[tuple[int, int]]:
    return sorted((r["id"], r["v"]) for r in session.table(TABLE).collect())


@dataclass
class Plan:
    """A merge whose first try is slow enough for `meanwhile`; counts its tries."""

    session: SparkSession
    values: str
    meanwhile: Callable[[SparkSession], object]
    through: int = 7
    tries: int = 0
    failures: list[BaseException] = field(default_factory=list)

    def __call__(self) -> execute.Statement:
        self.tries += 1
        if self.tries > 1:
            return execute.Statement(merge(self.values), {"try": self.tries}, self.through)
        self.session._jvm.System.clearProperty(BEGUN)
        threading.Thread(target=self._disturb, daemon=True).start()
        return execute.Statement(merge(self.values, SLOW), {"try": 1}, self.through)

    def _disturb(self) -> None:
        try:
            end = time.monotonic() + 120
            while self.session._jvm.System.getProperty(BEGUN) is None:
                assert time.monotonic() < end, "the statement never began"
                time.sleep(0.05)
            self.meanwhile(self.session.newSession())
        except BaseException as error:
            self.failures.append(error)


def append(session: SparkSession) -> None:
    session.sql(f"insert into {TABLE} values (50L, 1L)")


def test_a_conflict_is_tried_again_with_a_new_plan(session: SparkSession, used: str) -> None:
    plan = Plan(session, "(1L, 2L), (2L, 1L)", append)
    outcome = run(session, plan)
    assert plan.failures == []
    assert outcome is not None
    assert (outcome.affected, outcome.conflicts, outcome.already_merged) == (2, 1, False)
    assert outcome.engine == used
    assert plan.tries == 2
    metadata = json.loads(log.last_commit(session, TABLE).info["userMetadata"])["alluvium_merge"]
    assert metadata["try"] == 2
    # The other writer's file is one to look at now.
    assert outcome.kept is not None
    assert metadata["files_kept"] == outcome.kept.files == 2
    assert rows(session) == [(1, 2), (2, 1), (50, 1)]
    assert progress.read(session, TABLE, "m") == 7


@pytest.mark.parametrize("appended", [pytest.param([], marks=pytest.mark.slow), [(50, 1)]])
def test_the_same_batch_by_another_process_is_no_error(
    session: SparkSession, appended: list[tuple[int, int]]
) -> None:
    """With an append before it: that is what Delta names, and the other merge came right behind."""

    def same(other: SparkSession) -> None:
        if appended:
            append(other)
        assert affected(other, execute.Statement(merge("(1L, 2L), (2L, 1L)"), {}, 7)) == 2

    plan = Plan(session, "(1L, 2L), (2L, 1L)", same)
    outcome = run(session, plan)
    assert plan.failures == []
    assert outcome == Merged(already_merged=True, conflicts=1)
    assert plan.tries == 1
    assert rows(session) == [(1, 2), (2, 1), *appended]


def test_a_new_plan_with_nothing_to_do_is_not_run(session: SparkSession) -> None:
    plan = Plan(session, "(2L, 1L)", append)

    def first_only() -> execute.Statement | None:
        return plan() if plan.tries == 0 else None

    assert run(session, first_only) == Merged(conflicts=1)
    assert plan.failures == []
    assert rows(session) == [(1, 1), (50, 1)]


@pytest.mark.slow
def test_an_earlier_batch_by_another_process_does_not_stand_for_ours(session: SparkSession) -> None:
    def earlier(other: SparkSession) -> None:
        assert affected(other, execute.Statement(merge("(3L, 1L)"), {}, 6)) == 1

    plan = Plan(session, "(2L, 1L)", earlier)
    outcome = run(session, plan)
    assert plan.failures == []
    assert outcome is not None
    assert (outcome.affected, outcome.conflicts, outcome.already_merged) == (1, 1, False)
    assert rows(session) == [(1, 1), (2, 1), (3, 1)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        f"alter table {TABLE} add columns (extra string)",
        pytest.param(
            f"create or replace table {TABLE} (id bigint, v bigint) using delta",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["altered", "replaced"],
)
def test_another_table_is_not_merged_into(session: SparkSession, change: str) -> None:
    plan = Plan(session, "(2L, 1L)", lambda other: other.sql(change))
    with pytest.raises(ConflictError, match=r"was altered or replaced.*none of it was committed"):
        run(session, plan)
    assert plan.failures == []
    assert plan.tries == 1
    assert progress.read(session, TABLE, "m") is None
    assert (2, 1) not in rows(session)


@pytest.mark.slow
def test_a_table_replaced_between_two_tries_is_not_merged_into(session: SparkSession) -> None:
    plan = Plan(session, "(2L, 1L)", append)

    def replacing() -> execute.Statement:
        if plan.tries == 1:
            session.sql(f"create or replace table {TABLE} (id bigint, v bigint) using delta")
        return plan()

    with pytest.raises(ConflictError, match="was replaced while the merge was planned or waited"):
        run(session, replacing)
    assert rows(session) == []


@pytest.mark.slow
def test_retries_end(session: SparkSession) -> None:
    plan = Plan(session, "(2L, 1L)", append)
    with pytest.raises(ConflictError, match=r"beside\.t during each of the merge's 1 tries"):
        run(session, plan, retries=0)
    assert plan.failures == []
    assert rows(session) == [(1, 1), (50, 1)]
    assert progress.read(session, TABLE, "m") is None
    session.sql(f"insert into {TABLE} values (60L, 1L)")  # no setting of the merge was left
    assert (60, 1) in rows(session)


@pytest.mark.slow
def test_another_error_is_not_repeated(session: SparkSession) -> None:
    tries: list[int] = []

    def broken() -> execute.Statement:
        tries.append(1)
        return execute.Statement(merge("(2L, raise_error('stop'))"), {}, 7)

    with pytest.raises((PySparkException, Py4JJavaError), match="stop"):
        run(session, broken)
    assert len(tries) == 1


BATCHES = 3


def batches(first: int, step: int) -> Iterator[list[tuple[int, int]]]:
    """Events of one feed: keys of its own, and keys 0 to 9 that the other feed has as well."""
    for number in range(BATCHES):
        v = 10 * number + step
        yield [(first + number + i, v) for i in range(5)] + [(i, v) for i in range(step, 10)]


@pytest.mark.slow
def test_feeds_an_appender_and_optimize_at_once(session: SparkSession) -> None:
    session.sql(f"delete from {TABLE}")
    feeds = {"a": list(batches(100, 1)), "b": list(batches(200, 2))}
    appended = [(1000 + n, n) for n in range(4)]

    def feed(name: str) -> list[Merged]:
        own = session.newSession()
        outcomes = []
        for number, events in enumerate(feeds[name]):
            values = ", ".join(f"({i}L, {v}L)" for i, v in events)
            statement = execute.Statement(merge(values), {}, number)
            done = run(own, lambda s=statement: s, name, retries=12)
            assert done is not None
            outcomes.append(done)
        return outcomes

    def appends() -> None:
        own = session.newSession()
        for i, v in appended:
            own.sql(f"insert into {TABLE} values ({i}L, {v}L)")
            time.sleep(0.5)

    def optimize() -> None:
        own = session.newSession()
        for _ in range(3):
            own.sql(f"optimize {TABLE}")
            time.sleep(1)

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(feed, name) for name in feeds]
        others = [pool.submit(appends), pool.submit(optimize)]
        outcomes = [outcome for future in futures for outcome in future.result()]
        for future in others:
            future.result()

    events = pd.DataFrame(
        [event for of_feed in feeds.values() for batch in of_feed for event in batch] + appended,
        columns=["id", "v"],
    )
    newest = events.groupby("id")["v"].max()
    assert rows(session) == sorted(newest.items())
    assert not any(outcome.already_merged for outcome in outcomes)
    assert sum(outcome.conflicts for outcome in outcomes) > 0
    assert progress.read(session, TABLE, "a") == progress.read(session, TABLE, "b") == BATCHES - 1
