"""Which fragments of a bucket overlap in sort keys.

Two fragments that have no more than one sort key in common, at an end of one of them, do not
overlap: rows of one key may fill any number of fragments.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from alluvium.plan.compaction.bucket import Bucket, Numbers


def in_key_order(bucket: Bucket, places: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """`places` in the order of their keys, divided into clusters that do not overlap.

    Within a cluster every fragment is connected with every other through fragments that overlap. Of
    those with the same keys small ones are last. So what comes late with a bucket's last key is its
    last fragment. No full one is behind it that would be merged with it.

    Returns:
        The places; where in them each cluster starts; and for each place where in the order of keys
        those up to it end.
    """
    places = places[np.lexsort((-bucket.rows[places], bucket.hi[places], bucket.lo[places]))]
    reach = np.maximum.accumulate(bucket.hi[places])
    apart = np.ones(len(places), dtype=bool)
    apart[1:] = bucket.lo[places][1:] >= reach[:-1]
    return places, np.flatnonzero(apart), reach


def meets(bucket: Bucket, places: Numbers, lo: Numbers, hi: Numbers) -> npt.NDArray[np.bool_]:
    """Whether each range of keys, from `lo` to `hi`, overlaps one of `places` at least."""
    met = np.zeros(len(lo), dtype=bool)
    if not len(places):
        return met
    places, starts, reach = in_key_order(bucket, places)
    # A cluster has no hole: what lies between its ends overlaps one of its fragments.
    cluster_lo, cluster_hi = (
        bucket.lo[places[starts]],
        reach[np.append(starts[1:], len(places)) - 1],
    )
    # The first cluster that ends behind the start of each range.
    first = np.searchsorted(cluster_hi, lo, side="right")
    within = first < len(starts)
    met[within] = cluster_lo[first[within]] < hi[within]
    return met


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
