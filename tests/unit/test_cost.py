"""What `tests/cost.json` says of the tests, and how their costs are used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import cost


def test_the_sum_is_that_of_the_files() -> None:
    noted = cost.recorded()["quick"]
    assert noted["sum"] == pytest.approx(sum(noted["files"].values()) + noted["start"], abs=20)


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1000), max_size=40), st.integers(1, 6))
def test_files_are_dealt_out_evenly(costs: dict[str, float], hands: int) -> None:
    dealt = cost.deal(costs, hands)
    assert len(dealt) == hands
    assert sorted(name for hand in dealt for name in hand) == sorted(costs)
    sums = [sum(costs[name] for name in hand) for hand in dealt]
    # Whoever got a file had least until then.
    assert max(sums) - min(sums) <= max(costs.values(), default=0) + 1e-6


def test_shards_are_all_files_once() -> None:
    files = [*cost.recorded()["slow"]["files"], "tests/unit/test_new.py"]
    shards = [cost.shard_of(f"{number}/4", files) for number in range(1, 5)]
    assert sorted(name for shard in shards for name in shard) == sorted(files)


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "a/b", "1/0", "-1/4", "1/4/2"])
def test_what_is_not_a_shard(text: str) -> None:
    with pytest.raises(ValueError, match="accepted: for example 2/4, the second of four"):
        cost.shard_of(text, ["tests/a.py"])


def test_a_rise_is_named_beside_the_machine() -> None:
    then = {"a": 10.0, "b": 20.0, "c": 30.0, "new": 0.0, "tiny": 0.1}
    assert list(cost.risen({"a": 10.0, "b": 20.0, "c": 31.0, "other": 99.0}, then)) == []
    assert list(cost.risen({"a": 16.0, "b": 20.0, "c": 30.0, "tiny": 1.0}, then)) == [("a", 1.6)]
    # All of them take twice as long on a busy machine.
    assert list(cost.risen({"a": 20.0, "b": 40.0, "c": 60.0}, then)) == []
    assert list(cost.risen({"a": 40.0, "b": 40.0, "c": 60.0}, then)) == [("a", 4.0)]
