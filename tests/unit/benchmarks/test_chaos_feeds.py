"""The fold that `make chaos-feeds` compares with, against a replay; how its kinds are dealt out."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from chaos.orders import Event, Rows, fold
from chaos_feeds import CHANGES, KINDS, dealt
from hypothesis import given
from hypothesis import strategies as st
from support.drawn import examples


def replayed(events: list[Event]) -> Rows:
    rows: Rows = {}
    for event in sorted(events, key=lambda one: one.place):
        before = rows.pop(event.key, (0, 0, None, True))
        if not event.gone:
            note = before[2:] if event.lacks else (event.note, False)
            rows[event.key] = (event.place, event.amount, *note)
    return rows


@examples(25)
@given(st.integers(), st.integers(0, 30))
def test_a_fold_is_a_replay(seed: int, events: int) -> None:
    random = Random(seed)
    sent = [
        Event(
            random.randrange(4),
            place,
            random.random() < 0.3,
            place,
            random.choice((None, f"note {place}")),
            random.random() < 0.5,
        )
        for place in range(events)
    ]
    wanted = replayed(sent)
    sent += random.sample(sent, events // 2)
    random.shuffle(sent)
    assert fold(sent) == wanted


@pytest.mark.parametrize("names", [KINDS, CHANGES])
def test_each_is_dealt_out_as_often(names: tuple[str, ...]) -> None:
    found = Counter(dealt(names, seed) for seed in range(100))
    assert found.keys() == set(names)
    assert min(found.values()) >= 100 // len(names)
    assert [dealt(names, seed) for seed in range(len(names))] != list(names)
