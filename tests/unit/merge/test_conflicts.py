"""How long a merge waits before it tries again."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from alluvium.merge.conflicts import FIRST_LIMIT, LONGEST, delays


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
