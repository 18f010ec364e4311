"""The ranges that leave the fewest bytes of a table to read, and how many are worth their cost.

A fragment can be skipped exactly if it lies within a gap between two neighbouring values of the
batch, and then within one only. So what each gap saves does not depend on which others are open.
The best choice of so many gaps is that of the best ones: an exchange never gains. The ranges of any
other method are a choice of gaps too, and so never better.
"""

import numpy as np
import pyarrow.compute as pc

from alluvium.plan.fragment import Fragments
from alluvium.plan.ranges.cost import CostModel
from alluvium.plan.ranges.intervals import Places
from alluvium.plan.ranges.locate import Located


def cover_cuts(located: Located, k: int) -> Places:
    """Indices of the ranges that open a new one of at most `k` that keep the fewest bytes; rising.

    Gaps without a fragment gain nothing and stay closed.
    """
    inner = located.gap_sums(located.sizes)[1:-1]
    # Stable, so that equal gaps are chosen in the order of the values.
    widest = np.argsort(-inner, kind="stable")[: k - 1]
    return np.sort(widest[inner[widest] > 0]) + 1


def auto_cuts(located: Located, most: int, cost: CostModel) -> Places | None:
    """The cuts of the cheapest of all choices of at most `most` ranges; None if the cheapest is to
    use none.

    For each number of ranges the gaps that save most seconds are the best choice. So there is one
    candidate a number. Of equally cheap ones the fewest ranges are taken.
    """
    if not located.ranges:
        return None
    files, sizes = located.gap_sums(np.ones_like(located.sizes)), located.gap_sums(located.sizes)
    gaps = np.flatnonzero(files[1:-1]) + 1
    count, size = len(located.sizes), located.sizes.sum()
    best, chosen = cost.reading(count, size, 0), None
    for ranges in range(1, min(most, len(gaps) + 1) + 1):
        saved = cost.reading(files[gaps], sizes[gaps], ranges)
        taken = np.argsort(-saved, kind="stable")[: ranges - 1]
        # With any range at all, what lies before the first value and behind the last is saved.
        outer = cost.reading(files[0] + files[-1], sizes[0] + sizes[-1], ranges)
        kept = cost.reading(count, size, ranges) - outer - saved[taken].sum()
        price = cost.predicate(ranges, count) + kept
        if price < best:
            best, chosen = price, np.sort(gaps[taken])
    return chosen


def worth_a_look(fragments: Fragments, or_null: bool, cost: CostModel) -> bool:
    """Whether any ranges at all may save more than it costs to learn a batch's values."""
    known = np.asarray(pc.and_(fragments.lo.is_valid(), fragments.hi.is_valid()))
    may_go = known | ~fragments.has_value
    if or_null:
        may_go &= ~fragments.has_null
    most = cost.reading(int(may_go.sum()), fragments.sizes[may_go].sum(), 0)
    return bool(most > cost.planning + cost.predicate(1, len(fragments)))
