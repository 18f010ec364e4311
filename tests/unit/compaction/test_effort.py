"""What a plan costs grows with the fragments, not with their square."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from alluvium.plan.compaction.bucket import UNSORTED, Bucket, Numbers
from alluvium.plan.compaction.budget import RewriteBudget
from alluvium.plan.compaction.levels import plan_levels
from alluvium.plan.compaction.quiet_bucket import quiet_bucket_merges
from alluvium.plan.layout.settings import Layout

SIZE = 100
LAYOUT = Layout(("a",), target_rows=SIZE, level_rows=1, growth=2)


class Counted(np.ndarray[Any, Any]):
    """An array that counts the elements that go into and come out of what is done with it."""

    touched = 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return counted(getattr(ufunc, method)(*map(plain, inputs), **options), *inputs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return counted(func(*map(plain, args), **kwargs), *args)

    def __getitem__(self, key: Any) -> Any:
        return counted(self.view(np.ndarray)[plain(key)], key)


def plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    return value.view(np.ndarray) if isinstance(value, Counted) else value


def counted(result: Any, *given: Any) -> Any:
    Counted.touched += sum(one.size for one in (*given, result) if isinstance(one, np.ndarray))
    return result.view(Counted) if isinstance(result, np.ndarray) else result


def effort(work: Callable[[Bucket], object], bucket: Bucket) -> int:
    """Elements of arrays that are touched, and functions that are called."""
    calls = 0

    def count(frame: Any, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    Counted.touched = 0
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work(bucket)
    finally:
        sys.setprofile(before)
    return Counted.touched + calls


def bucket(lo: Numbers, hi: Numbers, level: Numbers, rows: int | Numbers = SIZE) -> Bucket:
    count = len(lo)
    figures = {
        "rows": np.full(count, rows) if isinstance(rows, int) else rows,
        "bytes": np.full(count, SIZE),
        "level": level,
        "lo": lo,
        "hi": hi,
        "tier_bytes": np.full(count, SIZE),
    }
    others = {one.name for one in fields(Bucket)} - {"name", "paths", "ends", *figures}
    figures |= {name: np.zeros(count, dtype=np.int64) for name in others}
    figures |= {"arrived": np.zeros(count), "stuck": np.zeros(count, dtype=bool)}
    paths = [str(place) for place in range(count)]
    return Bucket("", paths, **{name: one.view(Counted) for name, one in figures.items()})


def disjoint(count: int) -> Bucket:
    lo = 2 * np.arange(count)
    return bucket(lo, lo + 1, np.full(count, UNSORTED))


def pairs(count: int) -> Bucket:
    lo = 4 * (np.arange(count) // 2) + np.arange(count) % 2
    return bucket(lo, lo + 2, np.zeros(count, dtype=np.int64))


def unknown(count: int) -> Bucket:
    return bucket(np.full(count, -1), np.full(count, count), np.full(count, UNSORTED))


def two_levels(lower: int) -> Callable[[int], Bucket]:
    """Each fragment of one overlaps one of the other."""

    def made(count: int) -> Bucket:
        at = np.arange(count) % 2
        lo = 4 * (np.arange(count) // 2) + at
        return bucket(lo, lo + 2, np.where(at, 1 if lower < 1 else 13, lower))

    return made


def below_one_over_all(count: int) -> Bucket:
    """What is sorted and reaches over all of what is not."""
    lo = 2 * np.arange(count)
    hi, level = lo + 1, np.full(count, UNSORTED)
    hi[0], level[0] = 2 * count, 0
    return bucket(lo, hi, level)


def many_levels(count: int) -> Bucket:
    """Ten, each over those below it."""
    lo = 4 * (np.arange(count) // 10)
    return bucket(lo, lo + 2, np.arange(count) % 10)


def every_other_small(count: int) -> Bucket:
    lo = 2 * np.arange(count)
    return bucket(lo, lo + 1, np.full(count, 9), np.where(np.arange(count) % 2, 1, SIZE))


STATES = {
    "disjoint": disjoint,
    "pairs": pairs,
    "unknown": unknown,
    "unsorted over level 1": two_levels(UNSORTED),
    "level 0 over level 1": two_levels(0),
    "runs alike": two_levels(12),
    "below one over all": below_one_over_all,
    "many levels": many_levels,
    "every other small": every_other_small,
}
LIMITS: dict[str, Callable[[], RewriteBudget]] = {
    "no limit": RewriteBudget,
    "a budget": lambda: RewriteBudget(20 * SIZE, 20 * SIZE),
    "order may cost nothing": lambda: RewriteBudget(ordered=0),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("work", [plan_levels, quiet_bucket_merges])
def test_four_times_the_fragments_take_four_times_the_effort(
    state: str, limit: str, work: Callable[[Bucket, Layout, RewriteBudget], object]
) -> None:
    few, many = (
        effort(lambda one: work(one, LAYOUT, LIMITS[limit]()), STATES[state](count))
        for count in (500, 2000)
    )
    assert many <= 4.2 * few, many / few
