"""Small files of many sizes, in many orders, merged by the size tiers alone while they arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from alluvium.plan.compaction.size_classes import size_class_merges
from alluvium.plan.layout.settings import Layout
from support.playground import Playground, huffman

# Nothing becomes full, and all files are above the lowest class.
LARGE = Layout(("a",), target_rows=10**7, target_bytes=10**12)
Sizes = npt.NDArray[np.int64]
# Of so many files.
SIZES: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "all equal": lambda rng, count: np.full(count, 1000),
    "uniform": lambda rng, count: rng.integers(500, 1501, count),
    "lognormal": lambda rng, count: rng.lognormal(np.log(1000), 0.5, count).clip(1).astype(int),
    "half large": lambda rng, count: rng.choice([100, 5000], count),
    "few large": lambda rng, count: rng.choice([100, 5000], count, p=[40 / 49, 9 / 49]),
    "very few large": lambda rng, count: rng.choice([100, 5000], count, p=[0.98, 0.02]),
}
# The bucket of `trickle` cools in so many seconds.
COOLS_IN = 86400.0
# How the files are ordered, and after how many of them a run comes.
ORDERS: dict[str, tuple[Callable[[Sizes], Sizes], int]] = {
    "drawn, a run after each": (lambda sizes: sizes, 1),
    "drawn, a run after 10": (lambda sizes: sizes, 10),
    "drawn, a run after 50": (lambda sizes: sizes, 50),
    "rising, a run after 10": (np.sort, 10),
    "falling, a run after 10": (lambda sizes: np.sort(sizes)[::-1], 10),
}


def settle(bucket: Playground, now: float = 0.0) -> None:
    """As a run does: until nothing is left to do."""
    while found := list(size_class_merges(bucket.bucket(), bucket.layout, now)):
        bucket.apply(found)


def arrive(sizes: Sizes, order: str) -> Iterator[Playground]:
    """One bucket, after each file and after the last run."""
    ordered, every = ORDERS[order]
    bucket = Playground(LARGE)
    for n, size in enumerate(ordered(sizes), 1):
        bucket.land(np.arange(size))
        if n % every == 0:
            settle(bucket)
        yield bucket
    settle(bucket)
    yield bucket


def trickle(sizes: Sizes, gap: float, runs: int = 12) -> Iterator[Playground]:
    """One bucket into which a file comes every `gap` of the time in which it cools, after each.

    A run comes with each file and `runs` times until the next one, the last just before that.
    """
    bucket = Playground(replace(LARGE, quiet_after=COOLS_IN))
    for n, size in enumerate(sizes):
        now = n * gap * COOLS_IN
        bucket.land(np.arange(size), now)
        yield bucket
        for later in np.linspace(0.0, gap * COOLS_IN, runs + 1):
            settle(bucket, now + float(later))
    yield bucket


def to_one(bucket: Playground) -> int:
    """Rows that have been rewritten once all are in one fragment.

    What remains is merged as cheaply as can be, so that the least possible has the same end.
    """
    rest = huffman([len(one.keys) for one in bucket.fragments.values()], bucket.layout.fan_in)
    return bucket.rewritten.total() + rest
