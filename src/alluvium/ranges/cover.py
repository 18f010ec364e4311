"""The ranges that leave the fewest bytes of a table to read, and how many are worth their cost.

A fragment can be skipped exactly if it lies within a gap between two neighbouring values of the
batch, and then within one only. So what each gap saves does not depend on the other gaps, and the
best choice of gaps is that of the best gaps: an exchange of one for another never gains.
"""

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from alluvium.ranges.cost import CostModel
from alluvium.ranges.fragments import Fragments, Located
from alluvium.ranges.intervals import Places


def cover_cuts(located: Located, k: int) -> Places:
    """Indices of the ranges that open a new one of at most `k` that keep the fewest bytes; rising.

    Gaps without a fragment gain nothing and stay closed.
    """
    return _best(located.gap_sums(located.sizes)[1:-1], k - 1, 0)


def auto_cuts(located: Located, most: int, cost: CostModel) -> Places | None:
    """The cuts of the cheapest of all choices of at most `most` ranges; None if it is no range.

    Costs are linear, so a gap is worth opening exactly if it saves more seconds than one range
    costs. With the first range the fragments before the first value and behind the last are saved.
    """
    saved = located.gap_sums(cost.weights(located.sizes))
    one = cost.one_range(len(located.sizes))
    cuts = _best(saved[1:-1], most - 1, one)
    gain = saved[0] + saved[-1] + saved[cuts].sum() - (1 + len(cuts)) * one
    return cuts if located.ranges and gain > 0 else None


def worth_a_look(fragments: Fragments, or_null: bool, cost: CostModel) -> bool:
    """Whether any ranges at all may save more than it costs to learn a batch's values."""
    known = np.asarray(pc.and_(fragments.lo.is_valid(), fragments.hi.is_valid()))
    may_go = known | ~fragments.has_value
    if or_null:
        may_go &= ~fragments.has_null
    most = cost.weights(fragments.sizes[may_go]).sum()
    return bool(most > cost.planning + cost.one_range(len(fragments)))


def _best(inner: npt.NDArray[np.int64 | np.float64], most: int, above: float) -> Places:
    # Stable, so that equal gaps are chosen in the order of the values.
    widest = np.argsort(-inner, kind="stable")[:most]
    return np.sort(widest[inner[widest] > above]) + 1
