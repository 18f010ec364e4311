"""The ranges that leave the fewest bytes of a table to read."""

import numpy as np

from alluvium.ranges.fragments import Located, Places


def cover_cuts(located: Located, k: int) -> Places:
    """Indices of the values that open a new range, rising; at most `k` - 1.

    A fragment can be skipped exactly if it lies within a gap between two neighbouring values, and
    then within one only. So the `k` - 1 gaps with the most bytes are the best choice of `k` ranges,
    whatever the ranges: an exchange of one gap for another never gains. Gaps without a fragment
    gain nothing and stay closed.
    """
    inner = located.gap_bytes()[1:-1]
    # Stable, so that equal gaps are chosen in the order of the values.
    widest = np.argsort(-inner, kind="stable")[: k - 1]
    return np.sort(widest[inner[widest] > 0]) + 1
