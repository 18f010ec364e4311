"""What is known of the fragments of one bucket, and what is to be done with some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from alluvium.plan.layout.settings import Layout

Numbers = npt.NDArray[np.int64]
# Level of a fragment that is not sorted, or by another sort schema.
UNSORTED = -1
# Why fragments are merged: `fan_in` of one size, fewer in an ageing bucket, the last time of a
# quiet one, and because they overlap.
COUNT, AGE, FINAL, LOCALITY = "count", "age", "final", "locality"
# A fragment of half the target or more is full: merging it by its size class would gain less than
# that rewrites.
FULL = 0.5
# Full fragments that level 0 holds at most, unless the layout says how many rows.
_LEVEL_0 = 16


@dataclass(frozen=True)
class Bucket:
    """The fragments of one bucket, an element of each array a fragment.

    Attributes:
        name: value of the bucket, as text; empty where the table is one bucket.
        paths: of the fragments.
        rows, bytes: size of each, without the rows that a deletion vector hides.
        deleted: rows that a deletion vector hides.
        level: of locality; UNSORTED for a fragment that nothing is known of.
        lo, hi: place of its smallest and largest sort key among all those of the bucket. Where the
            keys are unknown, a place before and one behind all others.
        arrived: when its newest row was committed, in seconds since 1970.
        tier_bytes, locality_bytes: bytes that have been rewritten for its rows so far, by size
            classes and by locality.
        stuck: whether no merge can take it.
        ends: when the time that the bucket stands for is over, in seconds since 1970; None where
            it stands for none.
    """

    name: str
    paths: Sequence[str]
    rows: Numbers
    bytes: Numbers
    deleted: Numbers
    level: Numbers
    lo: Numbers
    hi: Numbers
    arrived: npt.NDArray[np.float64]
    tier_bytes: Numbers
    locality_bytes: Numbers
    stuck: npt.NDArray[np.bool_]
    ends: float | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def fullness(self, layout: Layout) -> npt.NDArray[Any]:
        """Size of each fragment over that of a full one."""
        return np.asarray(filled_by(self.rows, self.bytes, layout))

    def is_full(self, layout: Layout) -> npt.NDArray[np.bool_]:
        """Whether a fragment is large enough to be left alone by the size classes."""
        return np.asarray(self.fullness(layout) >= FULL)

    def level_0(self, layout: Layout) -> int:
        """Rows that level 0 holds before it is ordered."""
        if layout.level_rows is not None:
            return layout.level_rows
        rows = self.rows.sum()
        every = filled_by(rows, self.bytes.sum(), layout)
        return int(_LEVEL_0 * (rows / every if every else layout.target_rows))

    @property
    def since(self) -> float:
        """The last arrival, or the end of the bucket's time if that is later; seconds since
        1970."""
        last = float(self.arrived.max(initial=0.0))
        return max(last, self.ends or last)

    def age(self, now: float) -> float:
        """Seconds since then; 0 while the bucket's time lasts."""
        return max(0.0, now - self.since)

    def left_for_order(self) -> float:
        """Bytes of sorted fragments that locality may still rewrite: it may cost no more than the
        size classes have."""
        # What paid may be gone: replaced by a writer, or merged with all of its rows deleted. Order
        # waits until size classes have paid again then; sorting what is unsorted needs none of it.
        return max(0.0, float(self.tier_bytes.sum()) - float(self.locality_bytes.sum()))

    def lateness(self) -> float:
        """Seconds by which the last arrival came after the end of the bucket's time."""
        if self.ends is None:
            return 0.0
        return max(0.0, float(self.arrived.max(initial=0.0)) - self.ends)


@dataclass(frozen=True)
class MergeTask:
    """Fragments of one bucket that are merged into sorted, disjoint ones.

    Attributes:
        bucket: name of the bucket.
        reason: the criterion that decided.
        inputs: paths of the fragments.
        level: of the outputs.
        rows, bytes: of all inputs.
        outputs: how many fragments they will make.
        arrived, tier_bytes, locality_bytes: of the outputs together, see `Bucket`.
    """

    bucket: str
    reason: str
    inputs: tuple[str, ...]
    level: int
    rows: int
    bytes: int
    outputs: int
    arrived: float
    tier_bytes: int
    locality_bytes: int

    @staticmethod
    def of(bucket: Bucket, reason: str, inputs: Numbers, level: int, layout: Layout) -> MergeTask:
        [task] = MergeTask.each(bucket, reason, [inputs], [level], layout)
        return task

    @staticmethod
    def each(
        bucket: Bucket,
        reason: str,
        merges: Sequence[Numbers],
        levels: Sequence[int],
        layout: Layout,
    ) -> list[MergeTask]:
        """A task for the inputs of each merge, and the level of its outputs."""
        if not merges:
            return []
        counts = np.array([len(inputs) for inputs in merges])
        starts = np.cumsum(counts) - counts
        places = np.concatenate(merges)
        places = places[np.lexsort((places, np.repeat(np.arange(len(merges)), counts)))]

        def total(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return np.asarray(np.add.reduceat(values, starts))

        rows, size = total(bucket.rows[places]), total(bucket.bytes[places])
        # The first sorting of a fragment is of its size class, whoever does it.
        local = total(bucket.bytes[places] * (bucket.level[places] != UNSORTED))
        if reason != LOCALITY:
            local = np.zeros_like(local)
        tier = total(bucket.tier_bytes[places])
        if reason != FINAL:
            tier = tier + size - local
        figures = zip(
            starts.tolist(),
            counts.tolist(),
            levels,
            rows.tolist(),
            size.tolist(),
            outputs_of(rows, size, layout).astype(int).tolist(),
            np.maximum.reduceat(bucket.arrived[places], starts).tolist(),
            tier.tolist(),
            (total(bucket.locality_bytes[places]) + local).tolist(),
            strict=True,
        )
        paths = [bucket.paths[place] for place in places.tolist()]
        return [
            MergeTask(bucket.name, reason, tuple(paths[start : start + count]), *of_merge)
            for start, count, *of_merge in figures
        ]


@dataclass(frozen=True)
class Relabel:
    """Fragments of one bucket that get a new level and stay as they are."""

    bucket: str
    inputs: tuple[str, ...]
    level: int

    @staticmethod
    def of(bucket: Bucket, inputs: Numbers, level: int) -> Relabel:
        return Relabel(bucket.name, tuple(bucket.paths[place] for place in inputs), level)


def filled_by(rows: Any, size: Any, layout: Layout) -> Any:
    """Rows and bytes over those of a full fragment, whichever is more; for numbers or arrays."""
    return np.maximum(rows / layout.target_rows, size / layout.target_bytes)


def outputs_of(rows: Any, size: Any, layout: Layout) -> Any:
    """Fragments that so many rows and bytes make, merged; for numbers or arrays."""
    return np.maximum(1, np.rint(filled_by(rows, size, layout)))
