"""What is tried again, how often, and how long a merge waits before it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from delta import exceptions
from hypothesis import given
from hypothesis import strategies as st

from alluvium.merge import conflicts
from alluvium.merge.conflicts import FIRST_LIMIT, LONGEST, ConflictError, delays, retry


@given(st.integers(0, 40), st.integers())
def test_as_many_as_retries_each_below_its_limit(retries: int, seed: int) -> None:
    found = list(delays(retries, Random(seed)))
    assert len(found) == retries
    limits = [FIRST_LIMIT]
    while len(limits) < retries:
        limits.append(min(limits[-1] * 2, LONGEST))
    assert all(0 <= wait <= limit for wait, limit in zip(found, limits, strict=False))


def test_two_merges_that_collide_wait_differently() -> None:
    assert list(delays(5, Random(1))) != list(delays(5, Random(2)))


def test_waits_use_all_of_their_limit() -> None:
    last = [list(delays(3, Random(seed)))[-1] for seed in range(200)]
    assert min(last) < 0.2 * FIRST_LIMIT * 4
    assert max(last) > 0.8 * FIRST_LIMIT * 4


Attempt = Callable[[], str]


def failing(*errors: Exception) -> tuple[Attempt, list[int]]:
    """An attempt that fails with these errors, one after the other, and then succeeds."""
    tries: list[int] = []

    def attempt() -> str:
        tries.append(1)
        if len(tries) <= len(errors):
            raise errors[len(tries) - 1]
        return "merged"

    return attempt, tries


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits of the test, which are not waited; other threads of this process wait as ever."""
    found: list[float] = []
    monkeypatch.setattr(conflicts, "sleep", found.append)
    return found


AGAIN = [
    exceptions.ConcurrentAppendException,
    exceptions.ConcurrentDeleteDeleteException,
    exceptions.ConcurrentDeleteReadException,
    exceptions.ConcurrentTransactionException,
    exceptions.ConcurrentWriteException,
]


@pytest.mark.parametrize("error", AGAIN)
def test_conflicts_are_tried_again(error: type[Exception], waits: list[float]) -> None:
    attempt, tries = failing(error("one"), error("two"))
    assert retry("t", attempt, lambda: None, 2) == ("merged", 2)
    assert len(tries) == 3
    assert len(waits) == 2


@pytest.mark.parametrize("error", AGAIN)
def test_tries_end(error: type[Exception], waits: list[float]) -> None:
    attempt, tries = failing(*(error(f"number {i}") for i in range(9)))
    with pytest.raises(ConflictError, match=r"each of the merge's 3 tries.*number 2"):
        retry("t", attempt, lambda: None, 2)
    assert len(tries) == 3
    assert len(waits) == 2


def test_what_another_writer_did_is_not_done_again(waits: list[float]) -> None:
    attempt, tries = failing(exceptions.ConcurrentTransactionException("taken"))
    assert retry("t", attempt, lambda: "by another", 2) == ("by another", 1)
    assert len(tries) == 1
    assert waits == []


def test_another_writers_rows_do_not_stand_for_ours(waits: list[float]) -> None:
    attempt, _ = failing(exceptions.ConcurrentAppendException("rows"))
    assert retry("t", attempt, lambda: "by another", 2) == ("merged", 1)


def test_messages_name_the_statement(waits: list[float]) -> None:
    attempt, _ = failing(exceptions.ConcurrentAppendException("rows"))
    with pytest.raises(ConflictError, match="each of the delete's 1 tries"):
        retry("t", attempt, lambda: None, 0, "delete")


@pytest.mark.parametrize(
    "error",
    [exceptions.MetadataChangedException("why"), exceptions.ProtocolChangedException("why")],
)
def test_another_table_is_not_tried_again(error: Exception, waits: list[float]) -> None:
    attempt, tries = failing(error)
    with pytest.raises(ConflictError, match=r"^t was altered or replaced.*Delta said: why"):
        retry("t", attempt, lambda: None, 2)
    assert len(tries) == 1


def test_other_errors_pass(waits: list[float]) -> None:
    attempt, tries = failing(OSError("the disk is full"))
    with pytest.raises(OSError, match="the disk is full"):
        retry("t", attempt, lambda: None, 2)
    assert len(tries) == 1
