"""What a dbt run does after another writer was faster, and with its batch when the merge fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt import selected_resources
from delta.exceptions import ConcurrentAppendException
from functional.merge.conftest import BATCH, SOURCES, merged
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from alluvium.delta.merge import batch
from alluvium.merge import execute
from dbt.adapters.alluvium.handle import SessionHandle

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def lose_once(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[..., Any]) -> list[str]:
    """Let the next merge lose against `meanwhile`; gives the statements that were tried."""
    commit = execute.DeltaTable.commit
    tried: list[str] = []

    def losing(table: Any, statement: Any, *args: Any) -> Any:
        tried.append(statement.sql)
        if len(tried) > 1:
            return commit(table, statement, *args)
        meanwhile(table.session, lambda: commit(table, statement, *args))
        raise ConcurrentAppendException("another writer")

    monkeypatch.setattr(execute.DeltaTable, "commit", losing)
    return tried


def test_events_without_a_key_that_another_process_merged(
    feed: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = feed("inserted", {"on_match": "ignore", "null_keys": "insert"})
    made.append_events(0, (1, "c", 1, None, "a"), (None, "c", 2, None, "b"))
    made.dbt("run")
    made.append_events(1, (2, "c", 3, None, "c"), (None, "c", 4, None, "d"))
    tried = lose_once(monkeypatch, lambda session, merge: merge())
    made.dbt("run")
    assert made.said("already merged")
    assert len(tried) == 1
    assert sorted(made.sql("select v from {s}.items")["v"]) == ["a", "b", "c", "d"]


def test_a_batch_that_another_writer_left_nothing_of(
    make_project: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = (
        "select * from {{ ref('batch') }}"
        "{% if is_incremental() %} where id not in (select id from {{ this }}){% endif %}"
    )
    made = make_project(
        "leftover",
        {
            "models/sources.yml": SOURCES,
            "models/batch.sql": BATCH,
            "models/items.sql": merged({"order_by": "lsn"}, body),
        },
    )
    made.append_events(0, (1, "c", 1, None, "a"))
    made.dbt("run")
    made.append_events(1, (2, "c", 2, None, "b"))
    other = "insert into leftover.items select 2L, 'c', 9L, null, 'other'"
    tried = lose_once(monkeypatch, lambda session, _: session.newSession().sql(other))
    made.dbt("run")
    assert len(tried) == 1
    assert made.figures("items")["rows_affected"] == 0
    assert sorted(made.sql("select v from {s}.items")["v"]) == ["a", "other"]


@pytest.mark.parametrize("fails", [False, True])
def test_the_batch_is_not_kept_longer_than_its_node(feed: Callable[..., Any], fails: bool) -> None:
    made = feed(f"kept_{fails}".lower(), {})
    made.append_events(0, (1, "c", 1, None, "a"), (1 if fails else 2, "c", 2, None, "b"))
    other = SessionHandle(made.session, "of another node")
    try:
        assert made.try_dbt("run").success is not fails
        assert bool(made.said("nothing says which is the newest")) is fails
        assert made.session._jsparkSession.sharedState().cacheManager().isEmpty()
    finally:
        other.close()


def test_an_error_of_keeping_the_batch_is_the_models(
    feed: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = feed("unkept", {})
    made.append_events(0, (1, "c", 1, None, "a"))

    def fails(_: Any) -> None:
        raise AnalysisException("no disk is left")

    monkeypatch.setattr(batch, "keep", fails)
    assert not made.try_dbt("run").success
    assert made.said("no disk is left")
    monkeypatch.undo()
    made.dbt("run")
    assert made.sql("select v from {s}.items")["v"].tolist() == ["a"]


def lose_statement(monkeypatch: pytest.MonkeyPatch, begins: str, other: str = "") -> list[str]:
    """Let the first statement that begins so lose to another; gives those that were tried."""
    run = SparkSession.sql
    tried: list[str] = []

    def losing(session: SparkSession, sql: str, *args: Any, **kwargs: Any) -> Any:
        text = sql[sql.find("*/") + 2 :].strip() if sql.startswith("/*") else sql.strip()
        if text.startswith(begins):
            tried.append(text)
            if len(tried) == 1:
                if other:
                    run(session, other)
                raise ConcurrentAppendException("another writer")
        return run(session, sql, *args, **kwargs)

    monkeypatch.setattr(SparkSession, "sql", losing)
    return tried


def test_rejected_events_and_purges_are_tried_again(
    feed: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    dated = {"order_by": ["lsn", "at"], "delete_when": "op = 'd'", "tombstone_time": "at"}
    made = feed("again", dated)
    made.append_events(0, (None, "c", 1, None, "a"), (2, "d", 2, "2024-01-01", "b"))
    tried = lose_statement(monkeypatch, "merge into again.items__rejected")
    made.dbt("run")
    assert len(tried) == 2
    assert len(made.sql("select * from {s}.items__rejected")) == 1
    twice = "insert into again.items select * from again.items"
    tried = lose_statement(monkeypatch, "delete from again.items", twice)
    made.dbt(
        "run-operation", "alluvium.purge_tombstones", "--args", "{model: items, dry_run: false}"
    )
    assert len(tried) == 2
    assert made.said("items: deleted 2 of 2 tombstones older than 30 days")
    assert made.sql("select * from {s}.items").empty


class Failing:
    """A feed whose models can be made to fail once."""

    def __init__(self, made: Any) -> None:
        self.made = made
        names = ("models/batch.sql", "models/items.sql")
        self.good = {name: (made.root / name).read_text() for name in names}
        made.append_events(1, (1, "c", 1, None, "a"), (2, "c", 2, None, "b"))
        made.dbt("run")
        made.append_events(2, (3, "c", 3, None, "c"))

    def fail(self, model: str, *command: str) -> None:
        name = f"models/{model}.sql"
        self.made.write({name: self.good[name] + "where nope"})
        assert not self.made.try_dbt(*command).success
        self.made.write(self.good)
        # What another command selected in this process is not what the retry runs.
        selected_resources.set_selected_resources({"model.other.other"})

    def values(self) -> list[str]:
        return sorted(self.made.sql("select v from {s}.items where not _deleted")["v"])


SOFT = {"order_by": "lsn", "delete_when": "op = 'd'"}


def test_a_retry_of_a_full_refresh(feed: Callable[..., Any]) -> None:
    made = feed("taken_up", SOFT)
    failing = Failing(made)
    # The model that stages the batch failed: all events are staged again, not the new ones.
    failing.fail("batch", "run", "--full-refresh")
    made.dbt("retry")
    assert failing.values() == ["a", "b", "c"]
    # The merge failed after its batch was staged: the retry has no need to stage it again.
    failing.fail("items", "run", "--full-refresh")
    made.dbt("retry")
    assert made.figures("items")["events"] == 3


@pytest.mark.slow
def test_a_retry_of_a_rebuild_whose_batch_is_not_whole(feed: Callable[..., Any]) -> None:
    made = feed("not_whole", SOFT)
    failing = Failing(made)
    made.dbt("run")
    failing.fail("items", "run", "--full-refresh")
    results = (made.root / "target/run_results.json").read_text()
    made.append_events(3, (4, "c", 4, None, "d"))
    made.dbt("run", "--select", "batch")
    made.write({"target/run_results.json": results})
    assert not made.try_dbt("retry").success
    assert made.said("the staged batch starts after event batch 2, but the table holds none yet")
    assert failing.values() == ["a", "b", "c"]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["batch", "items"])
def test_a_retry_of_a_backfill(feed: Callable[..., Any], model: str) -> None:
    made = feed(f"filled_{model}", SOFT)
    failing = Failing(made)
    made.dbt("run")
    made.session.sql(f"update filled_{model}.items set v = 'wrong', lsn = 0 where id = 3")
    window = "{alluvium_backfill: {items: {from_batch: 2, through_batch: 2}}}"
    failing.fail(model, "run", "--vars", window)
    made.dbt("retry")
    assert failing.values() == ["a", "b", "c"]
