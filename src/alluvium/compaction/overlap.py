"""Which fragments of a bucket overlap in row keys.

Two fragments that have no more than one row key in common, at an end of one of them, do not
overlap: rows of one key may fill any number of fragments.
"""

from __future__ import annotations

import numpy as np

from alluvium.compaction.bucket import Bucket, Numbers


def components(bucket: Bucket, places: Numbers) -> list[Numbers]:
    """`places` in groups that do not overlap, in the order of their keys.

    Within a group every fragment is connected with every other through fragments that overlap.
    """
    if not len(places):
        return []
    places = places[np.lexsort((bucket.hi[places], bucket.lo[places]))]
    reach = np.maximum.accumulate(bucket.hi[places])
    starts = np.flatnonzero(bucket.lo[places][1:] >= reach[:-1]) + 1
    return np.split(places, starts)


def overlapping(bucket: Bucket, places: Numbers, others: Numbers) -> Numbers:
    """Those of `others` that overlap one of `places` at least."""
    if not len(places) or not len(others):
        return others[:0]
    runs = components(bucket, places)
    # A run has no hole: what lies between its ends overlaps one of its fragments.
    ends = np.array([bucket.hi[run].max() for run in runs])
    starts = np.array([bucket.lo[run[0]] for run in runs])
    # The first run that ends behind the start of each fragment.
    first = np.searchsorted(ends, bucket.lo[others], side="right")
    within = first < len(runs)
    within[within] = starts[first[within]] < bucket.hi[others][within]
    return others[within]


def depth(bucket: Bucket, places: Numbers) -> int:
    """The most fragments of `places` of which each overlaps each other."""
    if not len(places):
        return 0
    lo, hi = bucket.lo[places], bucket.hi[places]
    points = lo[lo == hi]
    starts, ends = np.sort(lo[lo < hi]), np.sort(hi[lo < hi])
    # Begun at or before a start, and not ended by then; a point has to lie inside.
    open_at = np.searchsorted(starts, starts, side="right") - np.searchsorted(
        ends, starts, side="right"
    )
    around = np.searchsorted(starts, points, side="left") - np.searchsorted(
        ends, points, side="right"
    )
    return int(max(open_at.max(initial=0), around.max(initial=-1) + 1))
