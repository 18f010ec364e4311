"""Whose turn it is, on a clock of the test."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.drawn import examples

from alluvium.plan.turns import LONGEST, Turn, next_of

NODES = {"a", "b", "c"}


def round_of(turn: Turn, now: float, failed: set[str] | None = None) -> None:
    """A round that ran what is not waiting, of which some failed."""
    ran = {one: one not in (failed or set()) for one in NODES - turn.waiting()}
    turn.ended(now, NODES, ran, is_well=all(ran.values()))


def test_a_round_each_period() -> None:
    turn = Turn(period=60, due=100)
    round_of(turn, now=107)
    assert (turn.due, turn.rounds, turn.overran) == (160, 1, 0)


def test_a_round_that_overran_is_followed_at_once_and_once() -> None:
    turn = Turn(period=60, due=100)
    round_of(turn, now=400)
    assert (turn.due, turn.overran) == (400, 1)
    round_of(turn, now=410)
    assert (turn.due, turn.overran) == (460, 1)


def test_what_is_due_for_longest_goes_first() -> None:
    often, seldom = Turn(period=10, due=0), Turn(period=60, due=0)
    assert next_of([often, seldom]) is often
    round_of(often, now=15)  # it overran, and waits behind the other one
    assert next_of([often, seldom]) is seldom
    round_of(seldom, now=50)
    assert next_of([often, seldom]) is often


def test_a_failed_node_waits_for_twice_as_many_periods_each_time() -> None:
    turn, tried = Turn(period=60, due=0), []
    for number in range(40):
        if "a" not in turn.waiting():
            tried.append(number)
        round_of(turn, now=turn.due + 1, failed={"a"})
    assert tried == [0, 1, 3, 7, 15, 31]
    assert turn.failures == len(tried)


def test_a_node_that_went_well_begins_again_at_one_period() -> None:
    turn, failing, tried = Turn(period=60, due=0), {0, 1, 3, 8}, []
    for number in range(12):
        if "a" not in turn.waiting():
            tried.append(number)
        round_of(turn, turn.due + 1, {"a"} if number in failing else set())
    assert tried == [0, 1, 3, 7, 8, 9, 10, 11]
    assert turn.failed == set()


def test_a_failed_node_waits_for_a_day_or_a_period_at_most() -> None:
    for period in (60.0, 2 * LONGEST):
        turn, last = Turn(period, due=0), 0.0
        longest = 0.0
        for _ in range(int(3 * LONGEST / period) + 4):
            if "a" not in turn.waiting():
                longest, last = max(longest, turn.due - last), turn.due
            round_of(turn, turn.due + 1, {"a"})
        assert longest == max(LONGEST, period)


def test_what_did_not_run_stays_as_it_was() -> None:
    turn = Turn(period=60, due=0)
    round_of(turn, 1, {"a", "b"})
    # Skipped below another failure, then a round that did not parse.
    turn.ended(61, NODES, {"a": False}, is_well=False)
    turn.ended(121, None, {}, is_well=False)
    assert turn.failed == {"a", "b"}
    # `a` failed twice, so one round is left out; `b` waits for nothing but its turn.
    assert turn.waiting() == set()
    round_of(turn, 181, {"a"})
    assert (turn.failed, turn.waiting()) == ({"a"}, {"a"})
    # It is of the selection no more.
    turn.ended(241, {"b"}, {"b": True}, is_well=True)
    assert turn.failed == set()


@given(
    periods=st.lists(st.integers(1, 50), min_size=1, max_size=4),
    lengths=st.lists(st.floats(0.1, 120), min_size=1, max_size=60),
)
@examples(60)
def test_turns(periods: list[int], lengths: list[float]) -> None:
    """No round begins early; no selection waits for more than one round of each other one."""
    turns = [Turn(period, due=0) for period in periods]
    now, starts = 0.0, dict[int, list[float]]()
    for length in lengths:
        turn = next_of(turns)
        place = next(at for at, one in enumerate(turns) if one is turn)
        now = max(now, turn.due)
        for other in turns:
            if other is not turn:
                assert other.due >= turn.due
        begun = starts.setdefault(place, [])
        if begun:
            # A period behind the start that was due, or at once after a round that was longer.
            late = now - turn.due
            between = [one for at, all_of in starts.items() if at != place for one in all_of]
            waited = [one for one in between if one > begun[-1] and one + 1e-9 >= turn.due]
            assert late < 1e-9 or len(waited) <= len(turns) - 1
        begun.append(now)
        due, now = turn.due, now + length
        turn.ended(now, set(), {}, is_well=True)
        assert turn.due == max(due + turn.period, now)
    assert sum(one.rounds for one in turns) == len(lengths)
    for place, begun in starts.items():
        # Never more rounds than periods have begun, but for those that followed a late one.
        assert len(begun) <= now / periods[place] + 1 + turns[place].overran


@given(
    fails=st.lists(st.sets(st.sampled_from(sorted(NODES))), min_size=1, max_size=40),
    period=st.integers(1, 1000),
)
@examples(60)
def test_failures(fails: list[set[str]], period: int) -> None:
    """Against a count of periods for each node alone: no node changes another one's turn."""
    turn = Turn(period, due=0)
    again, times = dict.fromkeys(NODES, 0), dict.fromkeys(NODES, 0)
    for number, failed in enumerate(fails):
        assert turn.waiting() == {one for one in NODES if again[one] > number}
        for one in NODES:
            if again[one] <= number:
                times[one] = times[one] + 1 if one in failed else 0
                again[one] = number + (2 ** (times[one] - 1) if one in failed else 0)
                limit = number + max(LONGEST, period) / period
                again[one] = min(again[one], limit)
        round_of(turn, turn.due, failed)
