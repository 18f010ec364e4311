"""Which tries a merge makes, what it plans them on and when it is done, on a table in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from delta.exceptions import (
    ConcurrentAppendException,
    ConcurrentTransactionException,
    MetadataChangedException,
)

from alluvium.merge import conflicts, execute
from alluvium.merge.conflicts import ConflictError, StaleBatchError
from alluvium.merge.execute import Statement
from alluvium.plan.merge.figures import Merged

DONE = Merged(updated=3, engine="one_commit")


@dataclass
class Table:
    """A table whose other writers come in while it commits: the port in place of a Delta table.

    meanwhile: what they do in each try, one after the other; it may raise Delta's conflict.
    """

    meanwhile: list[Callable[[Table], None]] = field(default_factory=list)
    name: str = "t"
    made: int = 1
    at: int = 5
    merged: int | None = None
    tries: int = 0

    def id(self) -> str:
        return f"id-{self.made}"

    def version(self) -> int:
        return self.at

    def progress(self) -> int | None:
        return self.merged

    def commit(self, statement: Statement, table_id: str) -> Merged:
        self.tries += 1
        assert table_id == self.id()
        if self.meanwhile:
            self.meanwhile.pop(0)(self)
        if statement.at is not None and statement.at != self.at:
            raise StaleBatchError(f"moved on to {self.at}")
        self.at += 1
        self.merged = statement.through
        return DONE


def appends(table: Table) -> None:
    table.at += 1
    raise ConcurrentAppendException("an append")


def moves(table: Table) -> None:
    """A commit that no conflict names: it came before the statement read the table."""
    table.at += 1


def merges(through: int, error: type[Exception]) -> Callable[[Table], None]:
    def come_in(table: Table) -> None:
        table.at += 1
        table.merged = through
        raise error("a merge")

    return come_in


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits before tries, which are not waited."""
    found: list[float] = []
    monkeypatch.setattr(conflicts, "sleep", found.append)
    return found


def planned(table: Table, through: int | None = 7, holds: bool = False) -> Callable[[], Statement]:
    return lambda: Statement("merge", {}, through, at=table.version() if holds else None)


def test_the_first_try(waits: list[float]) -> None:
    table = Table()
    assert execute.run(table, planned(table)) == DONE
    assert (table.tries, table.merged, waits) == (1, 7, [])


def test_nothing_to_merge_asks_nothing_of_the_table() -> None:
    assert execute.run(Table(meanwhile=[appends]), lambda: None) is None


def test_each_try_is_planned() -> None:
    table = Table(meanwhile=[appends, appends])
    plans: list[int] = []

    def plan() -> Statement:
        plans.append(table.version())
        return Statement("merge", {}, 7)

    assert execute.run(table, plan) == replace(DONE, conflicts=2)
    assert plans == [5, 6, 7]


def test_what_was_planned_on_another_version_is_planned_anew() -> None:
    table = Table(meanwhile=[moves])
    assert execute.run(table, planned(table, holds=True)) == replace(DONE, conflicts=1)
    assert table.tries == 2
    table = Table(meanwhile=[moves])
    assert execute.run(table, planned(table)) == DONE


@pytest.mark.parametrize("error", [ConcurrentAppendException, ConcurrentTransactionException])
@pytest.mark.parametrize("through", [7, 8])
def test_the_same_batch_by_another_process(error: type[Exception], through: int) -> None:
    table = Table(meanwhile=[merges(through, error)])
    outcome = execute.run(table, planned(table))
    assert outcome == Merged(already_merged=True, conflicts=1)
    assert table.tries == 1


@pytest.mark.parametrize("error", [ConcurrentAppendException, ConcurrentTransactionException])
def test_an_earlier_batch_does_not_stand_for_ours(error: type[Exception]) -> None:
    table = Table(meanwhile=[merges(6, error)])
    assert execute.run(table, planned(table)) == replace(DONE, conflicts=1)
    assert table.merged == 7


def test_a_batch_that_records_no_progress_is_never_merged_already() -> None:
    table = Table(meanwhile=[merges(9, ConcurrentAppendException)])
    assert execute.run(table, planned(table, through=None)) == replace(DONE, conflicts=1)


@pytest.mark.parametrize("by_another", [False, True])
def test_another_writer_left_nothing_of_the_batch(by_another: bool) -> None:
    table = Table(meanwhile=[appends])

    def plan() -> Statement | None:
        if table.tries == 0:
            return Statement("merge", {}, 7)
        if by_another:  # while this was planned
            table.merged = 7
        return None

    expected = Merged(already_merged=by_another, conflicts=1)
    assert execute.run(table, plan) == expected
    assert table.tries == 1


@pytest.mark.parametrize("leaves", [False, True])
def test_a_table_that_was_replaced_between_tries(leaves: bool) -> None:
    table = Table(meanwhile=[appends])

    def plan() -> Statement | None:
        if table.tries:
            table.made += 1
        return Statement("merge", {}, 7) if leaves or not table.tries else None

    with pytest.raises(ConflictError, match="was replaced while the merge was planned or waited"):
        execute.run(table, plan)
    assert table.merged is None


def test_a_table_that_was_replaced_while_its_merge_was_planned() -> None:
    table = Table()

    def plan() -> Statement:
        seen = table.id()
        table.made += 1
        return Statement("merge", {}, 7, table_id=seen)

    with pytest.raises(ConflictError, match="was replaced while the merge was planned or waited"):
        execute.run(table, plan)
    assert table.tries == 0


def test_an_altered_table_is_not_merged_into() -> None:
    def alters(table: Table) -> None:
        raise MetadataChangedException("altered")

    table = Table(meanwhile=[alters])
    with pytest.raises(ConflictError, match="was altered or replaced while the merge ran"):
        execute.run(table, planned(table))
    assert table.tries == 1


def test_tries_end(waits: list[float]) -> None:
    table = Table(meanwhile=[appends] * 9)
    with pytest.raises(ConflictError, match="each of the merge's 3 tries"):
        execute.run(table, planned(table), retries=2)
    assert (table.tries, table.merged, len(waits)) == (3, None, 2)
