"""OverlapClusters, and what fits of them: against sums that are made one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.playground import Fragment, Playground, components

from alluvium.plan.compaction.bucket import UNSORTED
from alluvium.plan.compaction.budget import RewriteBudget
from alluvium.plan.compaction.overlap_clusters import OverlapClusters
from alluvium.plan.layout.settings import Layout

FRAGMENT = st.builds(
    lambda first, rows, level: Fragment(np.arange(first, first + rows), level),
    st.integers(0, 60),
    st.integers(1, 8),
    st.sampled_from([UNSORTED, 0, 1]),
)
BYTES = st.integers(0, 3000) | st.just(float("inf"))


@given(fragments=st.lists(FRAGMENT, max_size=12), run=BYTES, ordered=BYTES)
def test_of_each_part_the_first_fragments_fit(
    fragments: list[Fragment], run: float, ordered: float
) -> None:
    bucket = Playground(Layout(("a",)))
    for fragment in fragments:
        bucket.add(fragment)
    known = bucket.bucket()
    parts = OverlapClusters(known, np.arange(len(known)))
    expected = components(known, np.arange(len(known)))
    assert [parts.places[start:end].tolist() for start, end in parts] == [
        part.tolist() for part in expected
    ]
    assert parts.alone().tolist() == [part[0] for part in expected if len(part) == 1]
    found = [parts.places[start:end] for start, end in parts]
    assert [min(known.lo[part]) for part in found] == [min(known.lo[part]) for part in expected]
    assert [known.lo[part[0]] for part in found] == [min(known.lo[part]) for part in expected]
    assert [max(known.hi[part]) for part in found] == [max(known.hi[part]) for part in expected]
    for part, (start, end) in zip(expected, parts, strict=True):
        every = of_sorted = 0
        fitting = 0
        for place in part:
            size = fragments[place].bytes
            every += size
            of_sorted += 0 if fragments[place].level == UNSORTED else size
            if every > run or of_sorted > ordered:
                break
            fitting += 1
        assert parts.rows_and_bytes(start, end)[0] == sum(len(fragments[at].keys) for at in part)
        fit = parts.fitting(RewriteBudget(this_run=run, ordered=ordered), start, end) - start
        assert fit == max(fitting, min(2, len(part)))
