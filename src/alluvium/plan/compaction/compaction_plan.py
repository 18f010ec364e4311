"""What to compact now: a value, equal for equal inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from alluvium.plan.compaction import tags
from alluvium.plan.compaction.bucket import UNSORTED, Bucket, MergeTask, Numbers, Relabel
from alluvium.plan.compaction.budget import RewriteBudget
from alluvium.plan.compaction.levels import plan_levels
from alluvium.plan.compaction.quiet_bucket import quiet_bucket_merges
from alluvium.plan.compaction.size_classes import size_class_merges
from alluvium.plan.layout.settings import Layout

# Level of a fragment that is taken for sorted. Nothing here gets as far: so many others would
# have to overlap it.
_HIGHEST = 10_000


@dataclass(frozen=True)
class CompactionPlan:
    """New labels, given first, and merges; no fragment is in two of them.

    waiting: merges that the budget leaves for later runs, as a whole or in part.
    """

    relabels: tuple[Relabel, ...] = ()
    tasks: tuple[MergeTask, ...] = ()
    waiting: int = 0

    @property
    def bytes(self) -> int:
        """That the merges read."""
        return sum(task.bytes for task in self.tasks)

    def __bool__(self) -> bool:
        return bool(self.relabels or self.tasks)


def plan(
    fragments: pa.Table,
    layout: Layout,
    now: float,
    spent: int = 0,
    stuck: Collection[str] = frozenset(),
) -> CompactionPlan:
    """What the fragments of a table need.

    Open buckets first: their size classes, which keep the number of fragments down. Then the final
    compaction of quiet ones, oldest first, and last the locality of the open ones.

    Args:
        fragments: a row each, columns as `plan.fragment.FRAGMENT_SCHEMA`.
        layout: the wanted one.
        now: seconds since 1970.
        spent: bytes of the budget that this run has used up.
        stuck: paths of fragments that no merge can take.
    """
    every = sorted(buckets(fragments, layout, stuck), key=lambda one: (one.ends or 0.0, one.name))
    quiet = [is_quiet(one, layout, now) for one in every]
    if layout.budget is None:
        return _plan(every, quiet, layout, now, RewriteBudget())
    budget = RewriteBudget(layout.budget, this_run=layout.budget - spent)
    found = _plan(every, quiet, layout, now, budget)
    if not budget.limits:
        return found
    whole = _plan(every, quiet, layout, now, RewriteBudget())
    return replace(found, waiting=len(set(whole.tasks) - set(found.tasks)))


def _plan(
    every: Sequence[Bucket],
    quiet: Sequence[bool],
    layout: Layout,
    now: float,
    budget: RewriteBudget,
) -> CompactionPlan:
    relabels: list[Relabel] = []
    tasks: list[MergeTask] = []
    still_open = [one for one, is_over in zip(every, quiet, strict=True) if not is_over]
    for bucket in still_open:
        tasks += [
            task for task in size_class_merges(bucket, layout, now) if budget.takes(task.bytes, 0)
        ]
    for bucket, is_over in zip(every, quiet, strict=True):
        if is_over:
            tasks += quiet_bucket_merges(bucket, layout, budget)
    for bucket in still_open:
        budget.ordered = bucket.left_for_order()
        found = plan_levels(bucket, layout, budget)
        relabels += found.relabels
        tasks += found.tasks
    return CompactionPlan(tuple(relabels), tuple(tasks))


def is_quiet(bucket: Bucket, layout: Layout, now: float) -> bool:
    return bucket.age(now) >= layout.quiet_time(bucket.lateness())


def quiet_from(fragments: pa.Table, layout: Layout, now: float) -> list[float]:
    """When each open bucket becomes quiet if no row comes before, in seconds since 1970; the
    earliest first, and infinity for never."""
    return sorted(
        one.since + layout.quiet_time(one.lateness())
        for one in buckets(fragments, layout)
        if not is_quiet(one, layout, now)
    )


def buckets(
    fragments: pa.Table, layout: Layout, stuck: Collection[str] = frozenset()
) -> Iterator[Bucket]:
    """The fragments by bucket, with what those tags say that are of the layout's sort key."""
    if not fragments.num_rows:
        return
    # Of fragments of one size the first are merged: not those that the log happens to list first.
    fragments = fragments.sort_by("path")
    known = tags.read(fragments["tag"])
    ours = pc.equal(known["row_key"], layout.sort_key).fill_null(False)
    ours = pc.and_(ours, pc.and_(pc.is_valid(known["lo"]), pc.is_valid(known["hi"])))
    ours = pc.and_(ours, pc.less_equal(known["level"], _HIGHEST).fill_null(False))
    ours = pc.and_(ours, pc.greater_equal(known["level"], 0).fill_null(False))

    def tagged(name: str, other: pa.ChunkedArray | int) -> npt.NDArray[Any]:
        values = pc.if_else(ours, known[name], other).fill_null(0)
        return np.asarray(values.to_numpy())

    deleted = fragments["deleted"].fill_null(0).to_numpy()
    size = fragments["bytes"].to_numpy()
    # Where the log does not say how many rows there are, as many as full fragments have.
    about = np.maximum(1, size * (layout.target_rows / layout.target_bytes)).astype(np.int64)
    physical = pc.coalesce(fragments["rows"], pa.array(about)).to_numpy()
    rows = np.maximum(physical - deleted, 0)
    # Deleted rows are not written again.
    size = (size * (rows / np.maximum(physical, 1))).astype(np.int64)
    lo, hi = _places(
        pc.if_else(ours, known["lo"], fragments["lo"]),
        pc.if_else(ours, known["hi"], fragments["hi"]),
    )
    columns = {
        "rows": rows,
        "bytes": size,
        "deleted": deleted,
        "level": tagged("level", UNSORTED),
        "lo": lo,
        "hi": hi,
        "arrived": tagged("arrived", fragments["written"]),
        "tier_bytes": tagged("tier_bytes", 0),
        "locality_bytes": tagged("locality_bytes", 0),
        "stuck": pc.is_in(fragments["path"], pa.array(sorted(stuck), pa.string())).to_numpy(),
    }
    names = fragments["bucket"].combine_chunks().dictionary_encode()
    codes = names.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    # Once for all: a table may have many buckets, of one fragment each.
    columns = {name: column[order] for name, column in columns.items()}
    codes = codes[order]
    paths, ends = (fragments[name].take(order).to_pylist() for name in ("path", "ends"))
    starts = np.flatnonzero(np.diff(codes, prepend=-1)).tolist()
    for start, end in pairwise([*starts, len(codes)]):
        yield Bucket(
            name=names.dictionary[int(codes[start])].as_py(),
            paths=paths[start:end],
            ends=ends[start],
            **{name: column[start:end] for name, column in columns.items()},
        )


def _places(lo: pa.ChunkedArray, hi: pa.ChunkedArray) -> tuple[Numbers, Numbers]:
    """The places of the keys among all of them; what has no key reaches over all others."""
    ends = pa.chunked_array([*lo.chunks, *hi.chunks])
    ranks = pc.rank(ends, tiebreaker="dense").to_numpy().astype(np.int64)
    low, high = ranks[: len(lo)], ranks[len(lo) :]
    unknown = pc.or_(pc.is_null(lo), pc.is_null(hi)).to_numpy()
    return np.where(unknown, -1, low), np.where(unknown, len(ends) + 1, high)
