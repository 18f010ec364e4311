"""Locality: levels without overlaps, at a price that the size tiers set."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from support.playground import ROW_BYTES, Fragment, Keys, Playground, clashes

from alluvium.plan.compaction.bucket import LOCALITY, UNSORTED, MergeTask
from alluvium.plan.compaction.budget import RewriteBudget
from alluvium.plan.compaction.compaction_plan import plan
from alluvium.plan.compaction.levels import LevelPlan, plan_levels
from alluvium.plan.compaction.overlap import depth
from alluvium.plan.layout.settings import Layout

Draw = Callable[[np.random.Generator, int, int], Keys]


def uniform(rng: np.random.Generator, rows: int, at: int) -> Keys:
    return rng.integers(0, 10**6, rows)


def zipf(rng: np.random.Generator, rows: int, at: int) -> Keys:
    return np.minimum(rng.zipf(1.3, rows), 10**6)


def in_time(rng: np.random.Generator, rows: int, at: int) -> Keys:
    """Most near to now, some of any time before."""
    late = rng.random(rows) < 0.02
    return np.where(
        late, rng.integers(0, 1000 * at + 1, rows), 1000 * at + rng.integers(0, 1500, rows)
    )


def blocks(rng: np.random.Generator, rows: int, at: int) -> Keys:
    """Each file within one of a few ranges."""
    return rng.integers(0, 8) * 10**5 + rng.integers(0, 20_000, rows)


def any_of(rng: np.random.Generator, rows: int, at: int) -> Keys:
    draws: list[Draw] = [uniform, zipf, in_time, in_time, blocks]
    return draws[rng.integers(len(draws))](rng, rows, at)


def layout(growth: int, level_rows: int, budget: int | None = None, fan_in: int = 8) -> Layout:
    return Layout(
        ("a",), target_rows=100, target_bytes=10**12, fan_in=fan_in, growth=growth,
        level_rows=level_rows, budget=budget,
    )  # fmt: skip


LAYOUTS = {
    "growth 2": layout(2, 200),
    "growth 3": layout(3, 1000, fan_in=4),
    "growth 8": layout(8, 200),
    "a budget": layout(3, 200, budget=40_000),
}


def clashes_within_levels(bucket: Playground) -> int:
    return sum(clashes(bucket.at(level)) for level in bucket.levels() if level > 0)


def carry_out(bucket: Playground, found: LevelPlan) -> None:
    """As it is committed: the labels, then each merge; a run may end behind any of them."""
    labels = [path for relabel in found.relabels for path in relabel.inputs]
    merged = [path for group in found.tasks for path in group.inputs]
    assert len(labels + merged) == len({*labels, *merged})
    for relabel in found.relabels:
        assert all(bucket.fragments[path].level < relabel.level for path in relabel.inputs)
    bucket.relabel(found.relabels)
    assert clashes_within_levels(bucket) == 0
    for group in found.tasks:
        bucket.merge(group)
        assert clashes_within_levels(bucket) == 0


def cost(bucket: Playground, groups: Iterable[MergeTask]) -> int:
    """Bytes that are rewritten for order alone: of what a size tier has sorted before."""
    merged = [path for group in groups if group.reason == LOCALITY for path in group.inputs]
    inputs = [bucket.fragments[path] for path in merged]
    return sum(one.bytes for one in inputs if one.level != UNSORTED)


def spent(one: Fragment) -> tuple[int, int]:
    return one.tier_bytes, one.locality_bytes


# Each layout, and each kind of keys; then all with all.
PAIRS = [
    pytest.param(name, draw, marks=() if draw is any_of or name == "growth 2" else pytest.mark.slow)
    for name in LAYOUTS
    for draw in (uniform, zipf, in_time, blocks, any_of)
]


@pytest.mark.parametrize(("name", "draw"), PAIRS)
def test_levels_stay_without_overlaps_and_within_what_the_tiers_cost(name: str, draw: Draw) -> None:
    rng, landed, paid = np.random.default_rng(1), [], 0
    bucket = Playground(LAYOUTS[name])
    for at in range(120):
        landed.append(draw(rng, int(rng.integers(20, 160)), at))
        bucket.land(landed[-1])
        if at % 5:
            continue
        while found := plan(bucket.table(), bucket.layout, 0.0):
            paid += cost(bucket, found.tasks)
            carry_out(bucket, LevelPlan(list(found.relabels), list(found.tasks)))
            every = bucket.fragments.values()
            tiers, order = (sum(of) for of in zip(*map(spent, every), strict=True))
            # Each is rounded to bytes, at every merge.
            assert order <= tiers + len(every)
            assert order == pytest.approx(paid, rel=0.001)
            if bucket.layout.budget is not None:
                break
    assert bucket.rows().tolist() == sorted(np.concatenate(landed).tolist())
    assert bucket.rewritten[LOCALITY] > 1000
    assert max(bucket.levels()) > 2


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_no_merge_can_take_stays_and_stops_no_others(name: str) -> None:
    rng, landed = np.random.default_rng(5), []
    bucket = Playground(LAYOUTS[name])
    stuck: set[str] = set()
    for at in range(120):
        landed.append(any_of(rng, int(rng.integers(20, 160)), at))
        path = bucket.land(landed[-1])
        if at % 10 == 3:
            # One that has just come, and one that may have been merged a few times.
            stuck |= {path, list(bucket.fragments)[int(rng.integers(len(bucket.fragments)))]}
        for _ in range(5):
            found = plan(bucket.table(), bucket.layout, 0.0, stuck=stuck)
            assert stuck.isdisjoint(path for group in found.tasks for path in group.inputs)
            if not found:
                break  # the next plan would be the same
            carry_out(bucket, LevelPlan(list(found.relabels), list(found.tasks)))
    assert stuck <= set(bucket.fragments)
    assert bucket.rows().tolist() == sorted(np.concatenate(landed).tolist())
    assert bucket.rewritten[LOCALITY] > 1000


@pytest.mark.parametrize(
    ("fits", "growth"),
    [
        (3, 2),
        (8, 3),
        (20, 2),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in [(3, 3), (8, 2), (20, 3)]),
    ],
)
def test_runs_with_nothing_new_come_to_an_end(fits: int, growth: int) -> None:
    rng = np.random.default_rng(10 * fits + growth)
    bucket = Playground(layout(growth, 100, budget=fits * 100 * ROW_BYTES, fan_in=4))
    for at in range(120):
        bucket.land(any_of(rng, int(rng.integers(1, 250)), at // 4))
        if at % 3 == 0:
            found = plan(bucket.table(), bucket.layout, 0.0)
            carry_out(bucket, LevelPlan(list(found.relabels), list(found.tasks)))
    paths = list(bucket.fragments)
    stuck = {paths[place] for place in rng.integers(0, len(paths), 5)}
    labels_alone = plans = 0
    while found := plan(bucket.table(), bucket.layout, 0.0, stuck=stuck):
        carry_out(bucket, LevelPlan(list(found.relabels), list(found.tasks)))
        labels_alone = 0 if found.tasks else labels_alone + 1
        plans += 1
        assert labels_alone <= 3
        assert plans < 300


def found(bucket: Playground, ordered: float = float("inf")) -> LevelPlan:
    return plan_levels(bucket.bucket(), bucket.layout, RewriteBudget(ordered=ordered))


def rows_of(start: int, end: int) -> range:
    """Rows of a full fragment, evenly from one key to the other."""
    return range(start, end, (end - start) // 100)


def test_level_0_waits_for_its_limit() -> None:
    bucket = Playground(layout(2, 300))
    for _ in range(3):
        bucket.put(rows_of(0, 1000), level=0)
    assert found(bucket) == LevelPlan()
    bucket.put(rows_of(0, 1000), level=0)
    [group] = found(bucket).tasks
    assert (len(group.inputs), group.level, group.reason) == (4, 1, LOCALITY)


def test_level_0_waits_until_it_is_deeper_than_the_runs() -> None:
    bucket = Playground(layout(8, 1))
    for level in (1, 2, 4):
        bucket.put(rows_of(0, 1000), level)
    for _ in range(3):
        bucket.put(rows_of(0, 1000), level=0)
        # A level may hold any number of fragments that do not overlap.
        bucket.put(rows_of(2000, 3000), level=bucket.written)
        assert found(bucket) == LevelPlan()
    bucket.put(rows_of(0, 1000), level=0)
    assert [len(group.inputs) for group in found(bucket).tasks] == [4]


def test_what_is_sorted_and_overlaps_nothing_gets_a_label_and_is_not_rewritten() -> None:
    bucket = Playground(layout(8, 100))
    paths = [bucket.put(rows_of(start, start + 1000), level=0) for start in (0, 1000, 2000)]
    [label] = found(bucket).relabels
    assert (set(label.inputs), label.level, found(bucket).tasks) == (set(paths), 1, [])


def test_a_merge_goes_where_nothing_is_in_its_way() -> None:
    bucket = Playground(layout(8, 100))
    for _ in range(3):
        bucket.put(rows_of(0, 1000), level=0)
    for level in (1, 2, 4):
        bucket.put(rows_of(500 * level, 500 * level + 400), level)
    bucket.put(rows_of(1000, 2000), level=3)
    plan_of = found(bucket)
    assert [(len(group.inputs), group.level) for group in plan_of.tasks] == [(3, 2)]
    assert plan_of.relabels == []
    carry_out(bucket, plan_of)


def test_each_merge_has_the_lowest_level_that_it_can_have() -> None:
    # A fragment of level 1 reaches over two parts of level 0 that do not overlap each other.
    bucket = Playground(layout(8, 100))
    for start in (0, 2000, 4000):
        for _ in range(4):
            bucket.put(rows_of(start, start + 1000), level=0)
    bucket.put(rows_of(500, 2500), level=1)
    assert [group.level for group in found(bucket).tasks] == [2, 2, 1]
    carry_out(bucket, found(bucket))


@pytest.mark.parametrize("seed", range(60))
def test_levels_stay_without_overlaps_whichever_parts_do_not_fit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bucket = Playground(layout(2, 500))
    for start in range(0, 8000, 1000):
        for _ in range(rng.integers(1, 7)):
            first, last = np.sort(rng.integers(start, start + 900, 2))
            keys = np.linspace(first, last, rng.integers(50, 150), dtype=np.int64)
            bucket.add(Fragment(keys, int(rng.choice([UNSORTED, 0, 0]))))
    ends = np.sort(rng.choice(8000, 16, replace=False))
    for first, last in ends.reshape(-1, 2):
        bucket.put(np.linspace(first, last, 50, dtype=np.int64), level=1)
    known = bucket.bucket()
    # So that parts of the table are parts of level 0: the log knows where new files lie.
    for place, one in enumerate(bucket.fragments.values()):
        known.lo[place], known.hi[place] = one.keys[0], one.keys[-1]
    size = int(known.bytes.sum())
    run, ordered = rng.integers(0, size, 2).tolist()
    found = plan_levels(known, bucket.layout, RewriteBudget(size, run, ordered))
    assert sum(group.bytes for group in found.tasks) <= run
    assert cost(bucket, found.tasks) <= ordered
    carry_out(bucket, found)


def test_runs_alike_in_size_are_merged_and_others_not() -> None:
    bucket = Playground(layout(3, 10**6))
    for level in (1, 2, 3):
        bucket.put(rows_of(0, 1000), level)
        bucket.put(rows_of(1000, 2000), level)
    alone = bucket.put(rows_of(9000, 10_000), level=2)
    large = [bucket.put(rows_of(start, start + 1000), level=4) for start in range(0, 9000, 1000)]
    plan_of = found(bucket)
    # What overlaps nothing goes along by its label, up.
    assert [(len(group.inputs), group.level) for group in plan_of.tasks] == [(3, 1), (3, 1)]
    assert [(label.inputs, label.level) for label in plan_of.relabels] == [((alone,), 3)]
    carry_out(bucket, plan_of)
    assert all(bucket.fragments[path].level == 4 for path in large)
    assert found(bucket) == LevelPlan()


def test_what_waits_in_level_0_keeps_what_it_may_cost() -> None:
    bucket = Playground(layout(2, 150))
    for level in (0, 1, 2):
        bucket.put(rows_of(0, 1000), level)
    size = bucket.fragments["/000000"].bytes
    assert found(bucket, 3 * size - 1) == LevelPlan()
    assert [len(group.inputs) for group in found(bucket, 3 * size).tasks] == [2]


def test_labels_of_runs_mind_those_that_level_0_has_just_got() -> None:
    bucket = Playground(layout(2, 50))
    for start in (0, 0, 5000):
        bucket.put(rows_of(start, start + 1000), level=0)
    bucket.put(rows_of(5500, 6500), level=1)
    bucket.put(rows_of(8000, 9000), level=2)
    plan_of = found(bucket, 0)
    assert [(label.inputs, label.level) for label in plan_of.relabels] == [(("/000002",), 2)]
    carry_out(bucket, plan_of)


def test_order_costs_no_more_than_it_may() -> None:
    bucket = Playground(layout(2, 100))
    for _ in range(4):
        bucket.put(rows_of(0, 1000), level=0)
    size = bucket.fragments["/000000"].bytes
    assert [len(group.inputs) for group in found(bucket, 4 * size).tasks] == [4]
    assert [len(group.inputs) for group in found(bucket, 4 * size - 1).tasks] == [3]
    assert found(bucket, 2 * size - 1) == LevelPlan()
    # Sorting what is not sorted yet is the size tiers' part.
    unsorted = Playground(bucket.layout)
    for _ in range(4):
        unsorted.land(rows_of(0, 1000))
    [group] = found(unsorted, 0).tasks
    assert (len(group.inputs), group.locality_bytes, group.tier_bytes) == (4, 0, 4 * size)


def test_runs_that_do_not_overlap_become_one_by_their_labels() -> None:
    bucket = Playground(layout(2, 100))
    bucket.put(rows_of(2000, 3000), level=1)
    bucket.put(rows_of(0, 1000), level=5)
    bucket.put(range(0, 10_000, 10), level=7)
    plan_of = found(bucket, 0)
    assert [(label.inputs, label.level) for label in plan_of.relabels] == [(("/000000",), 5)]
    assert plan_of.tasks == []
    carry_out(bucket, plan_of)
    assert len(bucket.at(5)) == 2
    assert found(bucket, 0) == LevelPlan()


def test_files_of_which_no_two_fit_into_the_budget_stop_no_others() -> None:
    rng = np.random.default_rng(1)
    bucket = Playground(layout(2, 200, budget=100_000))
    for rows in (600, 600, 1200, 100, 100, 100, 100):
        bucket.land(uniform(rng, rows, 0))
    found = plan_levels(bucket.bucket(), bucket.layout, RewriteBudget(100_000, 100_000))
    assert sorted(len(group.inputs) for group in found.tasks) == [1, 4]
    assert sum(group.bytes for group in found.tasks) == 100_000
    assert [group.level for group in found.tasks if len(group.inputs) == 1] == [0]
    bucket.apply(found.tasks, found.relabels)
    assert clashes(bucket.at(1)) == 0


def test_a_sorted_file_that_is_too_heavy_is_no_reason_to_merge_others() -> None:
    bucket = Playground(layout(2, 500, budget=100_000))
    bucket.put(range(0, 6000, 10), level=0)
    for start in (1, 2):
        bucket.put(range(start, 1000, 10), level=0)
    assert not plan_levels(bucket.bucket(), bucket.layout, RewriteBudget(100_000, 100_000)).tasks
    bucket.put(range(3, 6200, 20), level=0)
    [group] = plan_levels(bucket.bucket(), bucket.layout, RewriteBudget(100_000, 100_000)).tasks
    assert len(group.inputs) == 3


def test_levels_that_no_budget_holds_are_merged_piece_by_piece() -> None:
    bucket = Playground(layout(2, 10_000, budget=40_000))
    # Each fragment of levels 2 and 4 overlaps two of the level below, so that each pair of levels
    # is one component, of 100,000 and of 40,000 bytes.
    for level, first, width in ((1, 0, 400), (2, 200, 400), (3, 0, 1000), (4, 500, 1000)):
        for start in range(first, first + 2000, width):
            bucket.put(range(start, start + width, width // 100), level)
    rows, before, plans = bucket.rows(), clashes(bucket.fragments.values()), 0
    while True:
        merged = plan_levels(bucket.bucket(), bucket.layout, RewriteBudget(40_000, 40_000))
        if merged == LevelPlan():
            break
        assert sum(group.bytes for group in merged.tasks) <= 40_000
        carry_out(bucket, merged)
        now = clashes(bucket.fragments.values())
        assert now < before or not merged.tasks
        before, plans = now, plans + 1
    assert bucket.rows().tolist() == rows.tolist()
    assert plans > 2
    sizes = [len(bucket.at(level)) for level in sorted(bucket.levels())]
    assert all(max(pair) >= 2 * min(pair) for pair in itertools.pairwise(sizes))


def test_a_sorted_file_that_is_too_heavy_keeps_no_levels_from_being_merged() -> None:
    bucket = Playground(layout(2, 10_000, budget=40_000))
    heavy = bucket.put(range(0, 2500, 10), level=2)
    for level in (1, 2):
        for start in (3000, 4000):
            bucket.put(rows_of(start, start + 1000), level)
    bucket.put(rows_of(0, 1000), level=1)
    merged = plan_levels(bucket.bucket(), bucket.layout, RewriteBudget(40_000, 40_000))
    assert [len(group.inputs) for group in merged.tasks] == [2, 2]
    carry_out(bucket, merged)
    assert heavy in bucket.fragments


def test_what_no_merge_can_take_is_not_moved_up_for_ever() -> None:
    bucket = Playground(layout(3, 10_000, budget=40_000))
    bucket.put(rows_of(0, 1000), level=1)
    bucket.put(range(0, 2500, 10), level=2)
    bucket.put(rows_of(5000, 6000), level=3)
    assert plan_levels(bucket.bucket(), bucket.layout, RewriteBudget(40_000, 40_000)) == LevelPlan()


@pytest.mark.parametrize("full", [{"target_rows": 100}, {"target_bytes": 100 * ROW_BYTES}])
def test_level_0_has_room_for_16_full_fragments_whatever_fills_them(full: dict[str, int]) -> None:
    bucket = Playground(Layout(("a",), **full))
    rng = np.random.default_rng(3)
    for landed in range(1, 126):
        bucket.land(rng.integers(0, 10**6, 100))
        while found := plan(bucket.table(), bucket.layout, 0.0):
            carry_out(bucket, LevelPlan(list(found.relabels), list(found.tasks)))
        assert depth(bucket.bucket(), np.arange(len(bucket.fragments))) <= min(landed, 24)


@pytest.mark.parametrize(
    ("values", "files"),
    [
        (10**6, 1),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in [(4, 32), (4, 1), (10**6, 32)]),
    ],
)
def test_levels_are_few_and_labels_rare(values: int, files: int) -> None:
    """All of full fragments that overlap; the tiers have paid one rewriting of each, or none."""
    bucket = Playground(Layout(("a",), target_rows=32))
    rng = np.random.default_rng(1)
    labels, depths = 0, []
    for _ in range(400):
        for _ in range(files):
            bucket.land(rng.integers(0, values, 32 // files))
        while found := plan(bucket.table(), bucket.layout, 0.0):
            labels += sum(len(label.inputs) for label in found.relabels)
            carry_out(bucket, LevelPlan(list(found.relabels), list(found.tasks)))
        depths.append(depth(bucket.bucket(), np.arange(len(bucket.fragments))))
        # Batches of 1, 2, 3, ... fragments are as few as can be where each row is merged once.
        assert len(bucket.levels()) <= 2 + np.sqrt(2 * len(bucket.fragments))
    assert labels <= len(bucket.fragments)
    assert max(depths) <= 2 * np.sqrt(2 * len(bucket.fragments))


def test_a_merge_that_never_commits_moves_nothing_for_ever() -> None:
    bucket = Playground(layout(3, 10_000, budget=30_000))
    bucket.put(rows_of(0, 1000), level=1)
    bucket.put(rows_of(0, 1000), level=2)
    bucket.put(range(0, 1000, 5), level=3)
    labels = 0
    while found := plan_levels(
        bucket.bucket(), bucket.layout, RewriteBudget(30_000, 30_000)
    ).relabels:
        bucket.relabel(found)
        labels += 1
        assert labels < 10
