"""What `tests/cost.json` says of the tests, and how their costs are used."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import cost

TESTS = Path(__file__).parents[1]
SLOW = "pytest.mark.slow"


def is_slow(path: Path) -> bool:
    """Whether each test of a file says by itself that it is slow, or the file does."""
    body = ast.parse(path.read_text()).body
    of_file = [ast.unparse(one) for one in body if isinstance(one, ast.Assign)]
    if any(one.startswith("pytestmark = ") and SLOW in one for one in of_file):
        return True
    found: list[set[str]] = []
    for one in body:
        of_class = one.decorator_list if isinstance(one, ast.ClassDef) else []
        for test in one.body if isinstance(one, ast.ClassDef) else [one]:
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test"):
                found.append({ast.unparse(mark) for mark in (*test.decorator_list, *of_class)})
    return bool(found) and all(SLOW in marks for marks in found)


def test_each_file_has_a_figure() -> None:
    """But for those of slow tests alone: a run of theirs gives them one, and a shard needs none."""
    noted = cost.recorded()
    quick, slow = (noted[kind]["files"].keys() for kind in ("quick", "slow"))
    files = {str(path.relative_to(TESTS.parent)): path for path in TESTS.rglob("test_*.py")}
    of_slow_tests = {name for name, path in files.items() if is_slow(path)}
    assert (quick | slow) - files.keys() == set()
    assert files.keys() - of_slow_tests - quick - slow == set()
    assert quick & of_slow_tests == set()


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


def test_shards_are_all_files_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole files, by what their slow tests cost; a new one costs as the middle one does."""
    slow = {"a": 9.0, "b": 8.0, "c": 5.0, "d": 4.0, "e": 1.0, "gone": 100.0}
    noted = {"slow": {"files": slow}, "quick": {"files": {"c": 70.0, "new": 70.0}}}
    monkeypatch.setattr(cost, "recorded", lambda: noted)
    shards = [cost.shard_of(f"{number}/3", [*"edcba", "new"]) for number in (1, 2, 3)]
    # The new one costs 6.5: 9, 8, 6.5; then 5 to 6.5, 4 to 8, and 1 to 9.
    assert shards == [{"a", "e"}, {"b", "d"}, {"new", "c"}]
    monkeypatch.setattr(cost, "recorded", dict)
    assert [len(cost.shard_of(f"{number}/2", "abcd")) for number in (1, 2)] == [2, 2]


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
