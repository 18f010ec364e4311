"""What is known of the fragments of one bucket, and what is to be done with some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from alluvium.compaction.layout import Layout

Numbers = npt.NDArray[np.int64]
# Level of a fragment that is not sorted, or by another sort schema.
UNSORTED = -1
# Why fragments are merged: `fan_in` of one size, fewer in an ageing bucket, the last time of a
# quiet one, and because they overlap.
COUNT, AGE, FINAL, LOCALITY = "count", "age", "final", "locality"
# A fragment of half the target or more is full: a tier merge would gain less than it rewrites.
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
        lo, hi: place of its smallest and largest row key among all those of the bucket. Where the
            keys are unknown, a place before and one behind all others.
        arrived: when its newest row was committed, in seconds since 1970.
        tier_bytes, locality_bytes: bytes that have been rewritten for its rows so far, by size
            tiers and by locality.
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
        rows, size = self.rows / layout.target_rows, self.bytes / layout.target_bytes
        filled: npt.NDArray[Any] = np.maximum(rows, size)
        return filled

    def filled(self, places: Numbers, layout: Layout) -> float:
        """Size of one fragment of all these over that of a full one."""
        rows, size = self.rows[places].sum(), self.bytes[places].sum()
        return float(max(rows / layout.target_rows, size / layout.target_bytes))

    def outputs(self, places: Numbers, layout: Layout) -> int:
        """Fragments that these make, merged."""
        return max(1, round(self.filled(places, layout)))

    def is_full(self, layout: Layout) -> npt.NDArray[np.bool_]:
        """Whether a fragment is large enough to be left alone by the size tiers."""
        full: npt.NDArray[np.bool_] = self.fullness(layout) >= FULL
        return full

    def rows_of(self, level: int, layout: Layout) -> int:
        """Rows that a level holds at most."""
        every = self.filled(np.arange(len(self)), layout)
        full = self.rows.sum() / every if every else layout.target_rows
        lowest = _LEVEL_0 * full if layout.level_rows is None else layout.level_rows
        return int(lowest * layout.growth**level)

    @property
    def since(self) -> float:
        """The last arrival, or the end of the bucket's time if that is later; seconds since
        1970."""
        last = float(self.arrived.max(initial=0.0))
        return max(last, self.ends or last)

    def age(self, now: float) -> float:
        """Seconds since then; 0 while the bucket's time lasts."""
        return max(0.0, now - self.since)

    def lateness(self) -> float:
        """Seconds by which the last arrival came after the end of the bucket's time."""
        if self.ends is None:
            return 0.0
        return max(0.0, float(self.arrived.max(initial=0.0)) - self.ends)


@dataclass(frozen=True)
class Group:
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
    def of(bucket: Bucket, reason: str, inputs: Numbers, level: int, layout: Layout) -> Group:
        inputs = np.sort(inputs)
        rows, size = int(bucket.rows[inputs].sum()), int(bucket.bytes[inputs].sum())
        # The first sorting of a fragment is a size tier's, whoever does it.
        ordered = int(bucket.bytes[inputs][bucket.level[inputs] != UNSORTED].sum())
        local = ordered if reason == LOCALITY else 0
        return Group(
            bucket=bucket.name,
            reason=reason,
            inputs=tuple(bucket.paths[place] for place in inputs),
            level=level,
            rows=rows,
            bytes=size,
            outputs=bucket.outputs(inputs, layout),
            arrived=float(bucket.arrived[inputs].max()),
            tier_bytes=int(bucket.tier_bytes[inputs].sum())
            + (0 if reason == FINAL else size - local),
            locality_bytes=int(bucket.locality_bytes[inputs].sum()) + local,
        )


@dataclass(frozen=True)
class Relabel:
    """Fragments of one bucket that get a new level and stay as they are."""

    bucket: str
    inputs: tuple[str, ...]
    level: int

    @staticmethod
    def of(bucket: Bucket, inputs: Numbers, level: int) -> Relabel:
        return Relabel(bucket.name, tuple(bucket.paths[place] for place in inputs), level)
