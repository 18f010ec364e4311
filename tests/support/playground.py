"""A bucket that keeps its rows in memory, is merged as planned, and counts what is rewritten."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from alluvium.plan.compaction.bucket import UNSORTED, Bucket, MergeTask, Numbers, Relabel
from alluvium.plan.compaction.overlap import in_key_order
from alluvium.plan.compaction.tags import Tag
from alluvium.plan.fragment import FRAGMENT_SCHEMA
from alluvium.plan.layout.settings import Layout

Keys = npt.NDArray[np.int64]
ROW_BYTES = 100
# Keys lie between; what the log knows no keys of reaches from one to the other.
BEFORE, BEHIND = -1, 2**40


@dataclass(frozen=True)
class Fragment:
    """Sort keys in their order, and what the log says of the fragment."""

    keys: Keys
    level: int = UNSORTED
    arrived: float = 0.0
    tier_bytes: int = 0
    locality_bytes: int = 0

    @property
    def bytes(self) -> int:
        return len(self.keys) * ROW_BYTES

    @property
    def bounds(self) -> tuple[int, int]:
        """As the log has them: none of a fragment that no compaction has written."""
        if self.level == UNSORTED:
            return BEFORE, BEHIND
        return int(self.keys[0]), int(self.keys[-1])


@dataclass
class Playground:
    """The fragments of a bucket by path, and the rows rewritten for each reason."""

    layout: Layout
    name: str = ""
    ends: float | None = None
    fragments: dict[str, Fragment] = field(default_factory=dict)
    rewritten: Counter[str] = field(default_factory=Counter)
    written: int = 0
    # The fragments whose tag has been written, with its text: a plan reads all of them again.
    _tagged: dict[str, tuple[Fragment, str | None]] = field(
        default_factory=dict, init=False, repr=False
    )

    def add(self, fragment: Fragment) -> str:
        path = f"{self.name}/{self.written:06}"
        self.fragments[path] = fragment
        self.written += 1
        return path

    def land(self, keys: Iterable[int] | Keys, now: float = 0.0) -> str:
        """A writer's file, of which nothing is known."""
        return self.add(Fragment(np.sort(np.asarray(keys, dtype=np.int64)), arrived=now))

    def put(self, keys: Iterable[int], level: int) -> str:
        """A fragment as a compaction leaves it, rewritten once."""
        ordered = np.sort(np.asarray(keys, dtype=np.int64))
        return self.add(Fragment(ordered, level, 0.0, len(ordered) * ROW_BYTES))

    def rows(self) -> Keys:
        """All of them, in order."""
        return np.sort(np.concatenate([one.keys for one in self.fragments.values()]))

    def small(self) -> int:
        """Fragments of less than half the target."""
        return sum(len(one.keys) < self.layout.target_rows / 2 for one in self.fragments.values())

    def at(self, level: int) -> list[Fragment]:
        return [one for one in self.fragments.values() if one.level == level]

    def levels(self) -> set[int]:
        return {one.level for one in self.fragments.values()}

    def bucket(self) -> Bucket:
        every = list(self.fragments.values())

        def whole(values: list[int]) -> Keys:
            return np.array(values, dtype=np.int64)

        bounds = np.array([one.bounds for one in every], dtype=np.int64).reshape(-1, 2)
        return Bucket(
            name=self.name,
            paths=list(self.fragments),
            rows=whole([len(one.keys) for one in every]),
            bytes=whole([one.bytes for one in every]),
            deleted=np.zeros(len(every), dtype=np.int64),
            level=whole([one.level for one in every]),
            lo=bounds[:, 0].copy(),
            hi=bounds[:, 1].copy(),
            arrived=np.array([one.arrived for one in every], dtype=float),
            tier_bytes=whole([one.tier_bytes for one in every]),
            locality_bytes=whole([one.locality_bytes for one in every]),
            stuck=np.zeros(len(every), dtype=bool),
            ends=self.ends,
        )

    def table(self) -> pa.Table:
        """The fragments as the log gives them."""
        every, count = self.fragments.values(), len(self.fragments)
        columns = {
            "path": list(self.fragments),
            "bucket": [self.name] * count,
            "ends": [self.ends] * count,
            "bytes": [one.bytes for one in every],
            "rows": [len(one.keys) for one in every],
            "deleted": [0] * count,
            "written": [one.arrived for one in every],
            "tag": [self._tag(path, one) for path, one in self.fragments.items()],
        }
        none = [None] * count
        return pa.table(
            [pa.array(columns.get(one.name, none), one.type) for one in FRAGMENT_SCHEMA],
            schema=FRAGMENT_SCHEMA,
        )

    def _tag(self, path: str, one: Fragment) -> str | None:
        known, text = self._tagged.get(path, (None, None))
        if known is not one:
            text = None if one.level == UNSORTED else self._tag_of(one).text()
            self._tagged[path] = one, text
        return text

    def _tag_of(self, one: Fragment) -> Tag:
        lo, hi = (f"{key:016x}" for key in one.bounds)
        cost = one.tier_bytes, one.locality_bytes
        return Tag(self.layout.sort_key, one.level, lo, hi, one.arrived, *cost)

    def relabel(self, relabels: Iterable[Relabel]) -> None:
        for relabel in relabels:
            assert relabel.bucket == self.name
            for path in relabel.inputs:
                self.fragments[path] = replace(self.fragments[path], level=relabel.level)

    def merge(self, group: MergeTask) -> None:
        """Its inputs have to be there still, and to hold what it says."""
        assert group.bucket == self.name
        inputs = [self.fragments.pop(path) for path in group.inputs]
        keys = np.sort(np.concatenate([one.keys for one in inputs]))
        assert group.rows == len(keys)
        assert group.bytes == sum(one.bytes for one in inputs)
        assert group.arrived == max(one.arrived for one in inputs)
        self.rewritten[group.reason] += len(keys)
        for part in np.array_split(keys, group.outputs):
            share = len(part) / len(keys)
            self.add(
                Fragment(
                    part,
                    group.level,
                    group.arrived,
                    round(group.tier_bytes * share),
                    round(group.locality_bytes * share),
                )
            )

    def apply(self, groups: Iterable[MergeTask], relabels: Iterable[Relabel] = ()) -> int:
        """Carry a plan out; gives the rows that were rewritten."""
        before = self.rewritten.total()
        self.relabel(relabels)
        for group in groups:
            self.merge(group)
        return self.rewritten.total() - before


def overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def clashes(fragments: Iterable[Fragment]) -> int:
    """Pairs of fragments that overlap, each pair looked at."""
    bounds = np.array([one.bounds for one in fragments], dtype=np.int64).reshape(-1, 2)
    lo, hi = bounds[:, 0], bounds[:, 1]
    # Both ways, and each with itself, in parts that need little memory.
    found = sum(
        int(((lo[part, None] < hi) & (lo < hi[part, None])).sum())
        for part in (slice(start, start + 256) for start in range(0, len(bounds), 256))
    )
    return (found - int((lo < hi).sum())) // 2


def huffman(sizes: Iterable[int], fan_in: int, left: int = 1) -> int:
    """Rows that merging the fragments into so many rewrites at least, `fan_in` at a time."""
    heap = [int(size) for size in sizes]
    heapq.heapify(heap)
    # The first merge takes as many as leave the others whole.
    take = (len(heap) - left - 1) % (fan_in - 1) + 2
    rewritten = 0
    while len(heap) > left:
        merged = sum(heapq.heappop(heap) for _ in range(min(take, len(heap))))
        rewritten += merged
        heapq.heappush(heap, merged)
        take = fan_in
    return rewritten


def components(bucket: Bucket, places: Numbers) -> list[Numbers]:
    """The parts of `places` that do not overlap, in the order of their keys."""
    if not len(places):
        return []
    places, starts, _ = in_key_order(bucket, places)
    return np.split(places, starts[1:])
