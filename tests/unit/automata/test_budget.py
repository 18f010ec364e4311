"""What the log's budget leaves of the indexes of files."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alluvium.plan.automata import Index, budget, summarize
from alluvium.plan.automata.tags import to_text

COLUMNS = ("service", "état", 'a"b')
LOSSES = st.sampled_from([0.0, 0.1, 0.5, 1.0])
TEXTS = st.text('ab"\\é', max_size=400).map(lambda text: f"^{text}$")
INDEXES = st.builds(lambda text, loss: Index(False, not loss, text, loss=loss), TEXTS, LOSSES)
FILES = st.lists(st.dictionaries(st.sampled_from(COLUMNS), INDEXES, max_size=3), max_size=6)


def written(indexes: Mapping[str, Index]) -> str:
    return to_text(indexes) if indexes else ""


@given(FILES, st.integers(0, 20_000))
def test_the_budget_holds(found: list[dict[str, Index]], log_bytes: int) -> None:
    kept = budget.within(found, 2, log_bytes)
    texts = [written(indexes) for indexes in kept]
    assert sum(len(text.encode()) for text in texts) <= 256 * 2 * len(found)
    for indexes in kept:
        for name, index in indexes.items():
            assert len(to_text({name: index}).encode()) <= 1024 + 1


@given(FILES, st.integers(0, 20_000))
def test_those_are_left_out_that_exclude_least(
    found: list[dict[str, Index]], log_bytes: int
) -> None:
    kept = budget.within(found, 3, log_bytes)
    assert len(kept) == len(found)
    assert all(
        list(some.items()) == [(name, one) for name, one in every.items() if name in some]
        for some, every in zip(kept, found, strict=True)
    )
    losses = [one.loss for indexes in kept for one in indexes.values()]
    left_out = [
        one
        for some, every in zip(kept, found, strict=True)
        for name, one in every.items()
        if name not in some and budget.size_in_tag(name, one) <= budget.MOST_BYTES
    ]
    assert all(max(losses, default=0.0) <= one.loss for one in left_out)


@given(FILES)
def test_all_are_kept_where_there_is_room(found: list[dict[str, Index]]) -> None:
    kept = budget.within(found, 100, 10**9)
    assert kept == [
        {n: one for n, one in indexes.items() if budget.size_in_tag(n, one) <= 1024}
        for indexes in found
    ]


def test_nothing_is_kept_without_room() -> None:
    index = summarize(["a", "c"], 100)
    assert index is not None
    assert budget.within([{"a": index}], 1, 0) == [{}]
    assert budget.within([], 1, 0) == []


@pytest.mark.parametrize("count", [1, 50, 51, 5000])
def test_an_index_has_its_room_with_name_and_marks(count: int) -> None:
    name = 'a"é' * 10
    values = [f"value-{n * n * 7919 % 99991}-{n}" for n in range(count)]
    index = summarize(values, budget.bytes_for(name, count))
    assert index is not None
    size = len(
        json.dumps(
            {name: json.loads(index.to_tag())}, ensure_ascii=False, separators=(",", ":")
        ).encode()
    )
    assert size <= (1024 if count <= 50 else 256)


@pytest.mark.parametrize(
    ("values", "low", "high", "more"),
    [
        (["a"], "a", "a", False),
        (["a"], None, None, True),  # the log has no bounds
        (["a", "b"], "a", "b", True),
        (["a" * 40], "a" * 32, "a" * 32 + "\U0010ffff", True),  # cut off
        (["a" * 32], "a" * 32, "a" * 32, True),  # may be cut off
        ([1, 2, 3], 1, 3, False),
        ([1, 3], 1, 3, True),
        ([True], None, None, True),
        ([False, True], None, None, False),
    ],
)
def test_what_says_no_more_than_the_bounds_is_not_written(
    values: list[object], low: object, high: object, more: bool
) -> None:
    index = summarize(values, 1000)
    assert index is not None
    assert budget.says_more(index, low, high) is more


@given(st.sets(st.text("abc01-", max_size=12), min_size=1, max_size=200), st.integers(40, 400))
def test_the_loss_is_a_share_and_none_where_the_index_is_exact(values: set[str], room: int) -> None:
    index = summarize(values, room)
    if index is not None:
        assert 0 <= index.loss <= 1
        assert not index.exact or index.loss == 0


def test_more_bytes_lose_less() -> None:
    values = [f"{n * 7919 % 100_003:06d}" for n in range(300)]
    losses = [one.loss for size in (60, 256, 1024) if (one := summarize(values, size))]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > losses[-1] > 0
    numbers = summarize([1, 2, 100, 200], 45)
    assert numbers is not None
    assert numbers.held == ((1, 100), (200, 200))
    assert numbers.loss == pytest.approx(97 / 196)


def test_more_indexes_of_many_values_are_made_only_where_they_exclude_half() -> None:
    good, bad = (Index(False, False, "^[a-z]*$", loss=loss) for loss in (0.5, 0.6))
    effort = budget.Effort()
    effort.begin(1000, 10**9)
    made = {"good": 0, "bad": 0, "nothing": 0}
    for _ in range(100):
        for name in effort.next_file(made):
            if effort.pays(name):
                made[name] += 1
                effort.note(name, {"good": good, "bad": bad}.get(name))
    assert made == {"good": 100, "bad": 8, "nothing": 8}
    assert effort.next_file(made) == ["good", "bad", "nothing"]


def test_the_files_of_a_commit_share_the_room_for_indexes_of_many_values() -> None:
    index = Index(False, False, "^[a-z]{80}.*$", loss=0.1)
    effort = budget.Effort()
    size = budget.size_in_tag("a", index)
    # A quarter of a checkpoint, which has a byte of 2.5: every tenth file has room.
    effort.begin(100, 100 * size / 10 / (0.25 * 2.5))
    made = []
    for file in range(100):
        assert effort.next_file(["a"]) == ["a"]
        if effort.pays("a"):
            made.append(file)
            effort.note("a", index)
    assert made[:8] == list(range(8))
    assert len(made) in (10, 11)
    assert made[-1] >= 89
