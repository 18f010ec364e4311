"""The most compact form of a quiet bucket: every row key in one fragment, and few of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from alluvium.compaction.allowance import Allowance
from alluvium.compaction.bucket import FINAL, FULL, UNSORTED, Bucket, Group, Numbers
from alluvium.compaction.layout import Layout
from alluvium.compaction.overlap import components

# Share of deleted rows above which a fragment is written anew without them.
MANY_DELETED = 0.1


def final_groups(bucket: Bucket, layout: Layout, allowance: Allowance) -> Iterator[Group]:
    """Merges after which no two fragments overlap and none but a last one is small.

    Each row is rewritten once at most; sorted, full fragments that overlap nothing stay as they
    are, but for one behind what would be a small one without it, where that helps. What is next to
    one another in the order of the keys, and needs a rewrite or is small, makes one merge. Of one
    that this run may not rewrite as a whole it does the beginning; its outputs and what is left are
    merged by later runs, as is what such a small one would take with it.
    """
    hollow = bucket.deleted > MANY_DELETED * (bucket.rows + bucket.deleted)
    anew = hollow | (bucket.level == UNSORTED)
    settled = bucket.is_full(layout) & ~anew
    heavy = allowance.heavy(bucket)
    # What is left out may overlap what is merged.
    level = 0 if heavy.any() else final_level(bucket, layout)
    for alone in np.flatnonzero(heavy & anew & ~bucket.stuck)[:, None]:
        # In pieces it can be merged; until then the others go on without it.
        if allowance.takes(bucket, alone):
            yield Group.of(bucket, FINAL, alone, 0, layout)
    run: list[Numbers] = []

    def close() -> Iterator[Group]:
        places = np.concatenate(run) if run else np.empty(0, dtype=np.int64)
        run.clear()
        # A single small fragment that is sorted is the last one of its bucket.
        if len(places) > 1 or anew[places].any():
            part = allowance.part(bucket, places)
            if allowance.takes(bucket, part):
                # What is left may overlap a part, and be of the same level already.
                whole = len(part) == len(places)
                yield Group.of(bucket, FINAL, part, level if whole else 0, layout)

    for component in components(bucket, np.flatnonzero(~heavy)):
        if len(component) == 1 and settled[component[0]]:
            small = run and bucket.filled(np.concatenate(run), layout) < FULL
            both = np.concatenate([*run, component])
            if small and _helps(bucket, both, layout) and allowance.holds(bucket, both):
                run.append(component)
            yield from close()
        else:
            run.append(component)
    yield from close()


def _helps(bucket: Bucket, places: Numbers, layout: Layout) -> bool:
    """Whether merging these makes fewer of them, or full ones for sure.

    Outputs have nearly as many rows as one another. Where bytes decide, one of them may be small
    again, and a next run would merge it again.
    """
    outputs = bucket.outputs(places, layout)
    rows = bucket.rows[places].sum() / outputs
    return outputs < len(places) or bool(rows >= FULL * layout.target_rows)


def final_level(bucket: Bucket, layout: Layout) -> int:
    """The lowest level above 0 that has room for all rows of the bucket."""
    level = 1
    while bucket.rows_of(level, layout) < bucket.rows.sum():
        level += 1
    return level
