"""The most compact form of a quiet bucket: every sort key in one fragment, and few of them."""

from __future__ import annotations

import numpy as np

from alluvium.plan.compaction.bucket import (
    FINAL,
    FULL,
    UNSORTED,
    Bucket,
    MergeTask,
    Numbers,
    filled_by,
    outputs_of,
)
from alluvium.plan.compaction.budget import RewriteBudget
from alluvium.plan.compaction.overlap_clusters import OverlapClusters, sums
from alluvium.plan.layout.settings import Layout

# Share of deleted rows above which a fragment is written again without them.
MANY_DELETED = 0.1


def quiet_bucket_merges(bucket: Bucket, layout: Layout, budget: RewriteBudget) -> list[MergeTask]:
    """Merges after which no two fragments overlap and none but a last one is small.

    Each row is rewritten once at most. Sorted, full fragments that overlap nothing stay as they
    are. One behind what would be a small one without it is merged with that where it helps. What is
    next to one another in the order of the keys, and needs a rewrite or is small, makes one merge.
    Of one that this run may not rewrite as a whole it does the beginning. Later runs merge its
    outputs with what is left, and with what such a small one would take with it.
    """
    hollow = bucket.deleted > MANY_DELETED * (bucket.rows + bucket.deleted)
    anew = hollow | (bucket.level == UNSORTED)
    if len(bucket) == 1 and not anew[0]:
        return []
    settled = bucket.is_full(layout) & ~anew
    heavy = budget.heavy(bucket)
    merges: list[Numbers] = []
    are_whole: list[bool] = []
    in_pieces = np.flatnonzero(heavy & anew & ~bucket.stuck)
    ordered = bucket.level[in_pieces] != UNSORTED
    for place, size, is_ordered in zip(
        in_pieces, bucket.bytes[in_pieces].tolist(), ordered.tolist(), strict=True
    ):
        # In pieces it can be merged; until then the others go on without it.
        if budget.takes(size, size * is_ordered):
            merges.append(np.array([place]))
            are_whole.append(False)
    clusters = OverlapClusters(bucket, np.flatnonzero(~heavy))
    needed = sums(anew[clusters.places])
    stays = settled[clusters.places].tolist()
    count = len(stays)
    # Where in `clusters.places` the merge starts that is being put together.
    first = 0
    for start, end in [*clusters, (count, count)]:
        if end - start > 1 or (start < count and not stays[start]):
            continue
        last = start
        helps = first < start < count and _helps(clusters, first, end, layout)
        if helps and budget.holds(*clusters.size(first, end)):
            last = end
        # A single small fragment that is sorted is the last one of its bucket.
        if last - first > 1 or needed[last] > needed[first]:
            fitting = clusters.fitting(budget, first, last)
            if budget.takes(*clusters.size(first, fitting)):
                merges.append(clusters.places[first:fitting])
                are_whole.append(fitting == last)
        first = end
    if not merges:
        return []
    # What is left out may overlap what is merged; and what is left may overlap a part, and be of
    # the same level already.
    highest = 0 if heavy.any() else 1
    levels = [highest if is_whole else 0 for is_whole in are_whole]
    return MergeTask.each(bucket, FINAL, merges, levels, layout)


def _helps(clusters: OverlapClusters, first: int, end: int, layout: Layout) -> bool:
    """Whether a settled fragment, the last of these, is merged with those before it. Alone they
    would make a small one; with it they make fewer fragments, or full ones for sure.

    Outputs have nearly as many rows as one another. Where bytes decide, one of them may be small
    again, and a next run would merge it again.
    """
    if filled_by(*clusters.rows_and_bytes(first, end - 1), layout) >= FULL:
        return False
    rows, size = clusters.rows_and_bytes(first, end)
    outputs = outputs_of(rows, size, layout)
    return bool(outputs < end - first or rows / outputs >= FULL * layout.target_rows)
