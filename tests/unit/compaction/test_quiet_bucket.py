"""The final form: no two fragments overlap, few are small, and each row is rewritten once."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.drawn import examples
from support.playground import ROW_BYTES, Fragment, Playground, clashes, overlap

from alluvium.plan.compaction.bucket import FINAL, UNSORTED, MergeTask
from alluvium.plan.compaction.budget import RewriteBudget
from alluvium.plan.compaction.quiet_bucket import quiet_bucket_merges
from alluvium.plan.layout.settings import Layout

LAYOUT = Layout(("a",), target_rows=20, target_bytes=10**12, level_rows=100, growth=2)
ROWS = st.integers(1, 30)
# Close together and far apart, and of one key alone.
SPREAD = st.sampled_from([0, 3, 30, 1000])


@st.composite
def fragments(draw: st.DrawFn, level: st.SearchStrategy[int]) -> Fragment:
    start, spread = draw(st.integers(0, 1000)), draw(SPREAD)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    keys = np.sort(rng.integers(start, start + spread + 1, draw(ROWS)))
    return Fragment(keys, draw(level), tier_bytes=len(keys) * ROW_BYTES)


@st.composite
def buckets(draw: st.DrawFn) -> Playground:
    """Sorted, unsorted, or both."""
    level = draw(st.sampled_from([st.just(UNSORTED), st.integers(0, 4), st.integers(UNSORTED, 4)]))
    bucket = Playground(LAYOUT)
    for one in draw(st.lists(fragments(level), min_size=1, max_size=12)):
        bucket.add(one)
    return bucket


def groups(bucket: Playground, budget: float = float("inf")) -> list[MergeTask]:
    return list(quiet_bucket_merges(bucket.bucket(), LAYOUT, RewriteBudget(budget, budget)))


def is_small(one: Fragment) -> bool:
    return 2 * len(one.keys) < LAYOUT.target_rows


def settled(bucket: Playground) -> set[str]:
    """Paths of what is full and sorted, and overlaps no other."""
    bounds = {path: one.bounds for path, one in bucket.fragments.items()}
    return {
        path
        for path, one in bucket.fragments.items()
        if one.level != UNSORTED
        and not is_small(one)
        and not any(overlap(bounds[path], bounds[p]) for p in bounds if p != path)
    }


@given(bucket=buckets())
@examples(100)
def test_nothing_overlaps_and_each_row_is_rewritten_once_at_most(bucket: Playground) -> None:
    rows, kept, at_first = bucket.rows(), settled(bucket), dict(bucket.fragments)
    found = groups(bucket)
    assert all(group.reason == FINAL for group in found)
    # No fragment is in two groups, or the second finds it gone.
    bucket.apply(found)
    assert bucket.rows().tolist() == rows.tolist()
    # One behind what would be small is merged with it, and no other that is settled.
    for group in found:
        taken = kept & set(group.inputs)
        assert len(taken) <= 1
        if taken:
            rest = [at_first[path] for path in set(group.inputs) - taken]
            assert 2 * sum(len(one.keys) for one in rest) < LAYOUT.target_rows
            assert all(one.keys[-1] <= at_first[path].keys[0] for path in taken for one in rest)
    assert clashes(bucket.fragments.values()) == 0
    assert UNSORTED not in bucket.levels()
    # Of those that hold one and the same key any may come last.
    in_order = sorted(bucket.fragments.values(), key=lambda one: (one.bounds, is_small(one)))
    small = [is_small(one) for one in in_order]
    assert not any(small[:-1])
    # Rewriting that is for no new rows counts for no budget of order.
    tier_bytes = sum(one.tier_bytes for one in bucket.fragments.values())
    assert tier_bytes == pytest.approx(len(rows) * ROW_BYTES, abs=len(bucket.fragments))
    assert sum(one.locality_bytes for one in bucket.fragments.values()) == 0
    assert groups(bucket) == []


@given(bucket=buckets(), shuffle=st.randoms(use_true_random=False))
@examples(50)
def test_what_no_merge_can_take_stays_and_stops_no_others(
    bucket: Playground, shuffle: random.Random
) -> None:
    rows, before = bucket.rows(), dict(bucket.fragments)
    stuck = {path for path in before if shuffle.random() < 0.3}
    known = bucket.bucket()
    marked = replace(known, stuck=np.array([path in stuck for path in known.paths]))
    bucket.apply(list(quiet_bucket_merges(marked, LAYOUT, RewriteBudget())))
    assert bucket.rows().tolist() == rows.tolist()
    assert {path: bucket.fragments[path] for path in stuck} == {
        path: before[path] for path in stuck
    }
    others = [one for path, one in bucket.fragments.items() if path not in stuck]
    assert clashes(others) == 0
    # What is written may overlap what is left out, which may be of any level.
    new = [one for path, one in bucket.fragments.items() if path not in before]
    assert not stuck or {one.level for one in new} <= {0}


def test_small_ones_between_settled_ones_are_merged_with_these() -> None:
    bucket = Playground(LAYOUT)
    for start in range(0, 100, 20):
        bucket.put(range(start, start + 15), level=1)
        bucket.put(range(start + 15, start + 20), level=1)
    bucket.apply(groups(bucket))
    # The first and the last stay: behind the one there is no small one, nothing behind the other.
    sizes = [len(one.keys) for one in bucket.fragments.values()]
    assert sorted(sizes) == [5, 15, 20, 20, 20, 20]
    assert groups(bucket) == []


@given(bucket=buckets(), targets=st.integers(3, 6))
@examples(50)
def test_small_budgets_lead_to_the_same_end(bucket: Playground, targets: int) -> None:
    """In two runs a fragment at most, if three of the largest fit into the budget."""
    rows, count = bucket.rows(), len(bucket.fragments)
    largest = max(LAYOUT.target_rows, *(len(one.keys) for one in bucket.fragments.values()))
    budget = targets * largest * ROW_BYTES
    for _ in range(2 * count):
        found = groups(bucket, budget)
        assert sum(group.bytes for group in found) <= budget
        bucket.apply(found)
    assert groups(bucket) == groups(bucket, budget) == []
    assert clashes(bucket.fragments.values()) == 0
    assert UNSORTED not in bucket.levels()
    assert bucket.rows().tolist() == rows.tolist()


def test_a_part_does_not_enter_the_level_of_what_it_overlaps() -> None:
    # The first two are merged now, the third with what they become by a later run. Late data may
    # open the bucket in between, and no two fragments of a level above 0 may overlap then.
    bucket = Playground(LAYOUT)
    bucket.put(range(0, 40, 2), level=0)
    bucket.put(range(1, 40, 2), level=0)
    bucket.put(range(20, 100, 4), level=1)
    bucket.put(range(100, 140, 2), level=1)
    for merged in (2, 2):
        [group] = groups(bucket, 2 * LAYOUT.target_rows * ROW_BYTES)
        assert len(group.inputs) == merged
        bucket.apply([group])
        assert clashes(bucket.at(1)) == 0
    assert clashes(bucket.fragments.values()) == 0


@pytest.mark.parametrize(("count", "fits", "runs"), [(40, 4, 38), (40, 8, 12), (40, 39, 2)])
def test_how_many_runs_a_small_budget_needs(count: int, fits: int, runs: int) -> None:
    # Measured: about (count / fits) squared over 2.6; full fragments of a bucket's whole range.
    rng = np.random.default_rng(0)
    bucket = Playground(LAYOUT)
    for _ in range(count):
        bucket.land(rng.integers(0, 10**6, LAYOUT.target_rows))
    taken = 0
    while found := groups(bucket, fits * LAYOUT.target_rows * ROW_BYTES):
        bucket.apply(found)
        taken += 1
    assert clashes(bucket.fragments.values()) == 0
    assert taken <= 1.2 * runs


def test_late_data_makes_a_bucket_due_again() -> None:
    bucket = Playground(LAYOUT)
    for start in range(4):
        bucket.land(range(start, 400, 4))
    bucket.apply(groups(bucket))
    assert groups(bucket) == []
    late = bucket.land([7, 200])
    [group] = groups(bucket)
    assert late in group.inputs
    bucket.apply([group])
    assert clashes(bucket.fragments.values()) == 0
    assert bucket.small() == 0
    assert groups(bucket) == []


def test_late_data_whose_keys_are_known_rewrites_what_it_overlaps() -> None:
    bucket = Playground(LAYOUT)
    full = [bucket.put(range(start, start + 20), level=2) for start in range(0, 200, 20)]
    late = bucket.put([45, 65], level=0)
    assert [set(group.inputs) for group in groups(bucket)] == [{full[2], full[3], late}]


@pytest.mark.parametrize(
    ("rows", "share", "written"),
    [(18, 0.0, 0), (18, 0.1, 0), (18, 0.11, 1), (18, 0.4, 1), (18, 0.9, 2), (5, 0.0, 2)],
)
def test_what_has_lost_many_rows_is_written_anew(rows: int, share: float, written: int) -> None:
    bucket = Playground(LAYOUT)
    bucket.put(range(20), level=1)
    hollow = bucket.put(range(20, 20 + rows), level=1)
    behind = bucket.put(range(40, 60), level=1)
    lost = np.array([0, round(rows * 100 * share), 0])
    with_rows = replace(bucket.bucket(), rows=bucket.bucket().rows * 100 - lost, deleted=lost)
    hundredfold = replace(LAYOUT, target_rows=100 * LAYOUT.target_rows)
    found = list(quiet_bucket_merges(with_rows, hundredfold, RewriteBudget()))
    # What has become small takes the next one with it.
    assert [group.inputs for group in found] == ([(hollow, behind)[:written]] if written else [])


@given(
    rows=st.lists(st.integers(1, 40), min_size=1, max_size=12),
    weights=st.lists(st.integers(1, 60), min_size=12, max_size=12),
)
@examples(100)
@example(rows=[4, 4], weights=[18, 140] * 6)
def test_what_is_in_order_is_merged_only_into_fewer(rows: list[int], weights: list[int]) -> None:
    """Bytes decide, and no row weighs as much as another."""
    layout = replace(LAYOUT, target_rows=1000, target_bytes=400)
    bucket = Playground(layout)
    for place, count in enumerate(rows):
        bucket.put(range(100 * place, 100 * place + count), level=1)
    sizes = np.array(rows) * np.array(weights[: len(rows)])
    heavy_rows = replace(bucket.bucket(), bytes=sizes)
    for group in quiet_bucket_merges(heavy_rows, layout, RewriteBudget()):
        assert group.outputs < len(group.inputs)


def test_files_of_which_no_two_fit_into_the_budget_stop_no_others() -> None:
    bucket = Playground(LAYOUT)
    rng = np.random.default_rng(0)
    for size in (60, 60, *[2] * 12):
        bucket.land(rng.integers(0, 1000, size))
    too_large = bucket.land(rng.integers(0, 1000, 120))
    budget, runs = 100 * ROW_BYTES, 0
    while found := groups(bucket, budget):
        assert sum(group.bytes for group in found) <= budget
        bucket.apply(found)
        runs += 1
        assert runs < 20
    untouched = bucket.fragments.pop(too_large)
    assert len(untouched.keys) == 120
    assert clashes(bucket.fragments.values()) == 0
    assert bucket.small() <= 1


def test_what_does_not_fit_in_with_its_neighbour_is_written_alone() -> None:
    bucket = Playground(LAYOUT)
    hollow = bucket.put(range(20), level=1)
    bucket.put(range(20, 40), level=1)
    lost = np.array([18, 0])
    rows = bucket.bucket().rows - lost
    without = replace(bucket.bucket(), rows=rows, bytes=rows * ROW_BYTES, deleted=lost)
    found = list(quiet_bucket_merges(without, LAYOUT, RewriteBudget(this_run=21 * ROW_BYTES)))
    assert [group.inputs for group in found] == [(hollow,)]


def test_what_is_final_is_a_run() -> None:
    bucket = Playground(LAYOUT)
    bucket.put(range(0, 200, 10), level=3)
    bucket.land(range(1600))
    assert [group.level for group in groups(bucket)] == [1]


@pytest.mark.parametrize("late", ["/", "z"])
def test_a_late_row_with_the_last_key_is_written_once(late: str) -> None:
    bucket = Playground(LAYOUT)
    for _ in range(2):
        bucket.put([7] * 20, level=1)
    bucket.put([7], level=1)
    paths = [*list(bucket.fragments)[:2], late]
    for level in (UNSORTED, 1):
        known = replace(bucket.bucket(), paths=paths, level=np.array([1, 1, level]))
        order = np.argsort(paths)
        named = replace(
            known, paths=[paths[n] for n in order], rows=known.rows[order],
            bytes=known.bytes[order], level=known.level[order],
        )  # fmt: skip
        found = quiet_bucket_merges(named, LAYOUT, RewriteBudget())
        assert [group.inputs for group in found] == ([(late,)] if level == UNSORTED else [])
