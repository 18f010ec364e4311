"""Who goes on in a table where another model was."""

from __future__ import annotations

import pytest

from alluvium.plan.versions.heirs import GIVEN, carried, formers, gave_away, said, taken_over

OLD, NEW, THIRD = "model.p.items", "model.p.items.v1", "model.q.items"
MINE = {
    "alluvium/stream/check": 9,
    "alluvium/published/id": 3,
    "alluvium/merged/began/id": 4,
    "alluvium/model.p.items/before": 12,  # of the table before a full refresh
    "alluvium/from/model.p.items": 77,
    "theirs/model.p.items/id": 8,
}


def merged(model: str, number: int = 5) -> dict[str, int]:
    return {f"alluvium/{model}/id": number}


def left_out(model: str, number: int = 1) -> dict[str, int]:
    return {f"alluvium/skip/{model}/3": number, f"alluvium/skip/{model}/4/a/b.json": number}


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        ({}, []),
        (merged(OLD), [OLD]),
        (left_out(OLD), [OLD]),
        (left_out(OLD, 0), []),
        (merged(OLD) | left_out(OLD) | merged(THIRD), [OLD, THIRD]),
        # What it has itself counts, whatever others have.
        (merged(OLD) | merged(NEW), []),
        (left_out(OLD) | left_out(NEW), []),
        (left_out(OLD) | merged(NEW), []),
        # It would begin in a table that has batches of another one.
        (merged(OLD) | left_out(NEW), [OLD]),
        # Of a model that another one took over from nothing is left.
        (merged(OLD, -1) | merged(THIRD), [THIRD]),
        (merged(OLD) | left_out(THIRD), [OLD]),
    ],
)
def test_formers(numbers: dict[str, int], found: list[str]) -> None:
    assert formers(MINE | numbers, "id", NEW) == found


def test_a_model_takes_over() -> None:
    numbers = MINE | merged(OLD) | left_out(OLD) | left_out(THIRD)
    due = carried(numbers, "id", OLD, NEW)
    assert due == merged(NEW) | left_out(NEW) | {"alluvium/from/model.p.items.v1": 77}
    assert said(due) == "behind batch 5, 2 marks of events that are left out"
    done = taken_over(numbers, "id", OLD, NEW)
    assert done == due | merged(OLD, GIVEN) | left_out(OLD, 0)
    # Again there is nothing to do, and a further rename goes on from the last. One back is not
    # certain: both may merge into the table in turns.
    after = numbers | done
    assert gave_away(after, "id", OLD)
    assert not gave_away(after, "other", OLD)
    assert not gave_away(after, "id", NEW)
    assert not gave_away(numbers | merged(NEW, -1), "id", NEW)  # a restore took it back
    assert not taken_over(after, "id", OLD, NEW)
    assert formers(after, "id", NEW) == []
    assert formers(after, "id", OLD) == [NEW]
    back = after | taken_over(after, "id", NEW, OLD)
    assert numbers.items() <= back.items()
    assert formers(back, "id", NEW) == [OLD]


def test_what_was_merged_later_is_kept() -> None:
    numbers = merged(OLD, 5) | merged(NEW, 7)
    assert carried(numbers, "id", OLD, NEW) == {}
