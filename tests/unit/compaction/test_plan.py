"""What a plan holds: of which buckets, for which reasons, and within which budget."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawn import examples
from support.playground import ROW_BYTES, Fragment, Playground, clashes

from alluvium.plan.compaction.bucket import AGE, COUNT, FINAL, LOCALITY, UNSORTED, Bucket
from alluvium.plan.compaction.compaction_plan import CompactionPlan, buckets, plan, quiet_from
from alluvium.plan.compaction.quiet_bucket import quiet_bucket_merges
from alluvium.plan.compaction.tags import Tag
from alluvium.plan.fragment import FRAGMENT_SCHEMA
from alluvium.plan.layout import sort_key
from alluvium.plan.layout.settings import Layout, parse_layout

HOUR, DAY = 3600.0, 86400.0
NOW = 100 * DAY
LAYOUT = Layout(
    ("a",), bucket_column="day", window="day", target_rows=20, target_bytes=10**12, fan_in=3,
    growth=2, level_rows=60,
)  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> list[Playground]:
    """Buckets of some days, the last of them open."""
    found = []
    for day in range(draw(st.integers(1, 4))):
        bucket = Playground(LAYOUT, f"day={day}", ends=NOW - day * DAY)
        for _ in range(draw(st.integers(1, 12))):
            keys = np.sort(np.random.default_rng(draw(st.integers(0, 99))).integers(0, 300, 40))
            start, size = draw(st.integers(0, 20)), draw(st.sampled_from([1, 3, 12, 20]))
            level = draw(st.integers(UNSORTED, 3))
            paid = 0 if level == UNSORTED else size * ROW_BYTES
            arrived = NOW - day * DAY - draw(st.sampled_from([0.0, 5 * HOUR]))
            bucket.add(Fragment(keys[start : start + size], level, arrived, paid))
        found.append(bucket)
    return found


def table(bucket_list: list[Playground]) -> pa.Table:
    return pa.concat_tables([bucket.table() for bucket in bucket_list])


@given(bucket_list=tables(), shuffle=st.randoms(use_true_random=False), chunk=st.integers(1, 9))
@examples(25)
def test_equal_for_equal_fragments_in_any_order(
    bucket_list: list[Playground], shuffle: random.Random, chunk: int
) -> None:
    one = table(bucket_list)
    found = plan(one, LAYOUT, NOW)
    assert plan(one, LAYOUT, NOW) == found
    rows = one.to_pylist()
    shuffle.shuffle(rows)
    parts = [rows[n : n + chunk] for n in range(0, len(rows), chunk)]
    other = pa.concat_tables([pa.Table.from_pylist(part, schema=FRAGMENT_SCHEMA) for part in parts])
    assert plan(other, LAYOUT, NOW) == found


@given(bucket_list=tables(), targets=st.integers(1, 12))
@examples(25)
def test_buckets_never_mix_and_the_budget_is_kept(
    bucket_list: list[Playground], targets: int
) -> None:
    budget = targets * LAYOUT.target_rows * ROW_BYTES
    whole = plan(table(bucket_list), LAYOUT, NOW)
    found = plan(table(bucket_list), replace(LAYOUT, budget=budget), NOW)
    assert found.bytes == sum(group.bytes for group in found.tasks) <= budget
    # What waits is what would be merged otherwise.
    assert whole.waiting == 0
    assert (found.waiting > 0) == (set(found.tasks) != set(whole.tasks))
    for one in (whole, found):
        paths = [path for part in (*one.relabels, *one.tasks) for path in part.inputs]
        assert len(paths) == len(set(paths))
        for part in (*one.relabels, *one.tasks):
            assert {path.split("/")[0] for path in part.inputs} == {part.bucket}
        by_name = {bucket.name: bucket for bucket in bucket_list}
        for name, bucket in by_name.items():
            copied = replace(bucket, fragments=dict(bucket.fragments), rewritten=Counter())
            copied.apply(
                [group for group in one.tasks if group.bucket == name],
                [label for label in one.relabels if label.bucket == name],
            )
            assert copied.rows().tolist() == bucket.rows().tolist()


def test_files_of_one_size_are_chosen_whatever_the_log_lists_first() -> None:
    bucket = Playground(replace(LAYOUT, window=None))
    for _ in range(5):
        bucket.land([1], NOW)
    one = bucket.table()
    [group] = plan(one, bucket.layout, NOW).tasks
    assert len(group.inputs) == 3
    for order in ([4, 3, 2, 1, 0], [2, 4, 1, 3, 0]):
        assert plan(one.take(order), bucket.layout, NOW).tasks == (group,)


def row(path: str, **values: Any) -> dict[str, Any]:
    """A fragment of 1,000 rows and 100,000 bytes that nothing is known of."""
    bare = {"bucket": "", "ends": None, "bytes": 100_000, "rows": 1000, "deleted": 0, "tag": None}
    return {**bare, "path": path, "written": NOW, **values}


def read(rows: list[dict[str, Any]], layout: Layout = LAYOUT) -> list[Bucket]:
    return list(buckets(pa.Table.from_pylist(rows, schema=FRAGMENT_SCHEMA), layout))


def test_a_tag_counts_for_its_own_sort_key() -> None:
    tag = Tag('lexical["a"]', 2, "05", "09", 7.5, 30, 20)
    [bucket] = read(
        [
            row("ours", tag=tag.text()),
            row("wider", tag=replace(tag, lo="01", hi="05ff").text()),
            row("none"),
            row("other column", tag=replace(tag, row_key='lexical["b"]').text()),
            row("more columns", tag=replace(tag, row_key='lexical["a", "b"]').text()),
            row("other curve", tag=replace(tag, row_key='hilbert["a"]').text()),
            row("garbage", tag="{"),
            row("no level", tag=replace(tag, level=-7).text()),
            row("too high a level", tag=replace(tag, level=10_001).text()),
            row("far too high a level", tag=replace(tag, level=2**62).text()),
            row("no bounds", tag='{"row_key": "lexical[\\"a\\"]", "level": 2}'),
        ]
    )
    known = {path: n for n, path in enumerate(bucket.paths)}
    ours, wider = known.pop("ours"), known.pop("wider")
    assert bucket.lo[wider] < bucket.lo[ours] < bucket.hi[wider] < bucket.hi[ours]
    assert (bucket.level[ours], bucket.arrived[ours]) == (2, 7.5)
    assert (bucket.tier_bytes[ours], bucket.locality_bytes[ours]) == (30, 20)
    for n in known.values():
        assert (bucket.level[n], bucket.arrived[n]) == (UNSORTED, NOW)
        assert (bucket.tier_bytes[n], bucket.locality_bytes[n]) == (0, 0)
        # It may hold anything.
        assert bucket.lo[n] < min(bucket.lo[ours], bucket.lo[wider])
        assert bucket.hi[n] > max(bucket.hi[ours], bucket.hi[wider])


@pytest.mark.parametrize("level", [342, 9000, 10_000])
@pytest.mark.parametrize("quiet_after", [None, HOUR])
def test_a_level_may_be_of_any_height(level: int, quiet_after: float | None) -> None:
    layout = Layout(("a",), target_rows=20, growth=1000, level_rows=1, quiet_after=quiet_after)
    bucket = Playground(layout)
    for height in (level, 0, 0, UNSORTED):
        bucket.put(range(20), height)
    found = plan(bucket.table(), layout, DAY)
    assert [(len(group.inputs), group.level) for group in found.tasks] == [
        (3, 1) if quiet_after is None else (4, 1)
    ]


def test_fragments_are_of_their_bucket_in_whatever_order() -> None:
    rows = [
        row(path, bucket=name, ends=ends)
        for path, name, ends in [("b", "2", 9.0), ("a", "1", 5.0), ("d", "1", 5.0), ("c", "2", 9.0)]
    ]
    found = {bucket.name: (sorted(bucket.paths), bucket.ends) for bucket in read(rows)}
    assert found == {"1": (["a", "d"], 5.0), "2": (["b", "c"], 9.0)}


def test_deleted_rows_count_as_gone() -> None:
    [bucket] = read(
        [
            row("whole"),
            row("half", deleted=500),
            row("empty", deleted=1000),
            row("unknown", deleted=None),
        ]
    )
    found = {path: n for n, path in enumerate(bucket.paths)}
    figures = {path: (int(bucket.rows[n]), int(bucket.bytes[n])) for path, n in found.items()}
    assert figures == {
        "whole": (1000, 100_000), "half": (500, 50_000), "empty": (0, 0),
        "unknown": (1000, 100_000),
    }  # fmt: skip


def test_what_deletions_have_hollowed_out_is_merged_as_small() -> None:
    layout = replace(LAYOUT, target_rows=1000, level_rows=10**6)
    full = [row(f"full {n}", deleted=500) for n in range(4)]
    hollow = [row(f"hollow {n}", deleted=600) for n in range(3)]
    [group] = plan(pa.Table.from_pylist(full + hollow, schema=FRAGMENT_SCHEMA), layout, NOW).tasks
    assert set(group.inputs) == {"hollow 0", "hollow 1", "hollow 2"}
    assert (group.rows, group.bytes, group.outputs) == (1200, 120_000, 1)


def test_no_fragments() -> None:
    found = plan(FRAGMENT_SCHEMA.empty_table(), LAYOUT, NOW)
    assert (found, bool(found), found.bytes) == (CompactionPlan(), False, 0)


def test_a_log_that_knows_no_rows_is_planned_by_bytes() -> None:
    layout = Layout(("a",), target_rows=10, target_bytes=1000, fan_in=4, level_rows=1)
    sizes = [100] * 3 + [499] + [500] * 2
    nulls = {"rows": None, "deleted": None}
    rows = [row(f"{n}", bytes=size, **nulls) for n, size in enumerate(sizes)]
    # Written a while ago, too: the last without a time.
    rows.append(row("6", bytes=100, written=None, **nulls))
    found = plan(pa.Table.from_pylist(rows, schema=FRAGMENT_SCHEMA), layout, NOW)
    # A byte stands for a hundredth of a row, so level 0 is over its limit as well.
    group, order = found.tasks
    assert (set(order.inputs), order.rows) == ({"4", "5"}, 10)
    assert (set(group.inputs), group.rows, group.bytes) == ({"0", "1", "2", "6"}, 4, 400)
    quiet = plan(
        pa.Table.from_pylist(rows, schema=FRAGMENT_SCHEMA),
        replace(layout, quiet_after=HOUR),
        NOW + DAY,
    )
    [group] = quiet.tasks
    assert (group.reason, len(group.inputs), group.bytes, group.outputs) == (FINAL, 7, 1899, 2)


def test_files_are_placed_by_their_statistics_until_they_are_tagged() -> None:
    layout = Layout(("a",), target_rows=10, level_rows=1, quiet_after=HOUR)
    rows = [
        row(f"{n}", rows=10, lo=lo, hi=hi)
        for n, (lo, hi) in enumerate([("01", "03"), ("02", "04"), ("05", "07"), ("06", "09")])
    ]
    for now in (NOW, NOW + DAY):
        found = plan(pa.Table.from_pylist(rows, schema=FRAGMENT_SCHEMA), layout, now)
        merged = sorted(group.inputs for group in found.tasks)
        # The final form is one merge all the same: each of the fragments needs it.
        assert merged == ([("0", "1"), ("2", "3")] if now == NOW else [("0", "1", "2", "3")])
    # A tag knows better; and what is sorted waits until the size tiers have paid for its order.
    for paid, merged in ((0, [("0",), ("2", "3")]), (10**6, [("0", "1", "2", "3")])):
        tag = Tag(layout.sort_key, 0, "01", "09", NOW, paid, 0).text()
        rows[1] = row("1", rows=10, lo="02", hi="04", tag=tag)
        found = plan(pa.Table.from_pylist(rows, schema=FRAGMENT_SCHEMA), layout, NOW)
        assert [group.inputs for group in found.tasks] == merged


@pytest.mark.parametrize("length", [10, 254, 400])
def test_sorted_files_whose_keys_begin_alike_for_long_are_in_their_final_form(length: int) -> None:
    layout = Layout(("url",), target_rows=10, quiet_after=HOUR)
    rows = []
    for place in range(4):
        ends = (f"{'x' * length}{10 * place + end:06}" for end in (0, 9))
        lo, hi = (sort_key.encode([pa.array([end])])[0] for end in ends)
        tag = Tag(layout.sort_key, 1, lo, hi, NOW - DAY, 1000, 0).text()
        rows.append(row(str(place), rows=10, tag=tag))
    assert not plan(pa.Table.from_pylist(rows, schema=FRAGMENT_SCHEMA), layout, NOW)


def full_bucket(name: str, ends: float, arrived: float, overlapping: int) -> Playground:
    """Sorted full fragments of level 0 that overlap."""
    bucket = Playground(LAYOUT, name, ends)
    for _ in range(overlapping):
        paid = LAYOUT.target_rows * ROW_BYTES
        bucket.add(Fragment(np.arange(20), 0, arrived, paid))
    return bucket


def test_quiet_buckets_get_their_final_form_and_open_ones_tiers_and_levels() -> None:
    quiet = full_bucket("quiet", NOW - DAY, NOW - DAY, 4)
    open_one = full_bucket("open", NOW + HOUR, NOW, 4)
    for bucket in (quiet, open_one):
        for _ in range(3):
            bucket.add(
                Fragment(np.arange(2), UNSORTED, bucket.fragments[f"{bucket.name}/000000"].arrived)
            )
    found = plan(table([quiet, open_one]), LAYOUT, NOW)
    reasons = Counter((group.bucket, group.reason, len(group.inputs)) for group in found.tasks)
    assert reasons == Counter([("quiet", FINAL, 7), ("open", COUNT, 3), ("open", LOCALITY, 4)])


@pytest.mark.parametrize(
    ("idle", "reasons"),
    [(0.0, {COUNT}), (4 * HOUR, {AGE}), (6 * HOUR - 1, {AGE}), (6 * HOUR, {FINAL}), (DAY, {FINAL})],
)
def test_a_bucket_is_quiet_a_quarter_of_its_window_after_its_end(
    idle: float, reasons: set[str]
) -> None:
    bucket = Playground(LAYOUT, "day", ends=NOW)
    for _ in range(3):
        bucket.land([1, 2, 3], NOW - HOUR)
    assert {group.reason for group in plan(table([bucket]), LAYOUT, NOW + idle).tasks} == reasons
    # Late data opens it again, for twice its lateness.
    bucket.land([1, 2, 3], NOW + 5 * HOUR)
    later = {group.reason for group in plan(table([bucket]), LAYOUT, NOW + 15 * HOUR - 1).tasks}
    assert later == {AGE}
    assert {g.reason for g in plan(table([bucket]), LAYOUT, NOW + 15 * HOUR).tasks} == {FINAL}


def test_an_open_bucket_says_when_it_becomes_quiet() -> None:
    early, late, over = (
        Playground(LAYOUT, name, ends=NOW - day * DAY)
        for name, day in (("early", 0), ("late", 1), ("over", 2))
    )
    early.land([1, 2], NOW - HOUR)
    late.land([3, 4], NOW - 8 * HOUR)  # 16 hours late
    over.land([5, 6], NOW - 2 * DAY)
    every = table([early, late, over])
    assert quiet_from(every, LAYOUT, NOW) == [NOW + 6 * HOUR, NOW + 16 * HOUR]
    assert quiet_from(every, LAYOUT, NOW + 16 * HOUR) == []
    # Without windows the table is one bucket, which waits for what `quiet_after` says alone.
    whole = Playground(Layout(("a",)))
    whole.land([1, 2], NOW)
    assert quiet_from(whole.table(), Layout(("a",)), NOW) == [math.inf]
    assert quiet_from(whole.table(), Layout(("a",), quiet_after=HOUR), NOW) == [NOW + HOUR]
    assert quiet_from(FRAGMENT_SCHEMA.empty_table(), LAYOUT, NOW) == []


def test_a_budget_goes_to_tiers_first_then_to_the_oldest_quiet_bucket_then_to_order() -> None:
    open_one = full_bucket("open", NOW + HOUR, NOW, 4)
    for _ in range(3):
        open_one.land([5, 6], NOW)
    old, older = (full_bucket(f"{d} days", NOW - d * DAY, NOW - d * DAY, 2) for d in (2, 3))
    full = LAYOUT.target_rows * ROW_BYTES
    tiers = 6 * ROW_BYTES
    names = []
    for budget in (tiers - 1, tiers, tiers + 2 * full, tiers + 4 * full, tiers + 8 * full):
        found = plan(table([open_one, old, older]), replace(LAYOUT, budget=budget), NOW)
        names.append([(group.bucket, group.reason) for group in found.tasks])
        assert (len(found.tasks), found.waiting) == (len(names) - 1, 5 - len(names))
    assert names[-1] == [
        ("open", COUNT), ("3 days", FINAL), ("2 days", FINAL), ("open", LOCALITY),
    ]  # fmt: skip
    assert all(one == names[-1][: len(one)] for one in names)


def test_what_fits_into_the_budget_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = []

    def counting(*given: Any) -> Any:
        planned.append(given)
        return quiet_bucket_merges(*given)

    monkeypatch.setattr("alluvium.plan.compaction.compaction_plan.quiet_bucket_merges", counting)
    bucket = full_bucket("old", NOW - DAY, NOW - DAY, 4)
    size = 4 * LAYOUT.target_rows * ROW_BYTES
    for budget, waiting in ((size, 0), (size - 1, 1)):
        planned.clear()
        found = plan(bucket.table(), replace(LAYOUT, budget=budget), NOW)
        assert (found.waiting, len(planned)) == (waiting, 1 + waiting)


def test_sorting_costs_nothing_of_what_order_may_cost() -> None:
    # More was spent on order than on tiers: a writer has replaced fragments that had paid for it.
    bucket = Playground(replace(LAYOUT, window=None))
    size = LAYOUT.target_rows * ROW_BYTES
    bucket.add(Fragment(np.arange(20), 1, NOW, size, 2 * size))
    for _ in range(4):
        bucket.land(range(100, 120), NOW)
    [group] = plan(bucket.table(), bucket.layout, NOW).tasks
    assert (len(group.inputs), group.reason) == (4, LOCALITY)


def test_what_is_left_of_a_budget_is_not_spent_on_files_one_by_one() -> None:
    size = LAYOUT.target_rows * ROW_BYTES
    bucket = Playground(replace(LAYOUT, budget=8 * size), "old", NOW - DAY)
    for _ in range(4):
        bucket.land(range(LAYOUT.target_rows), NOW - DAY)
    assert plan(bucket.table(), bucket.layout, NOW).bytes == 4 * size
    found = plan(bucket.table(), bucket.layout, NOW, spent=7 * size)
    assert (found.tasks, found.waiting) == ((), 1)


@given(
    fan_in=st.integers(2, 6),
    tiers=st.integers(1, 3),
    target=st.sampled_from([8, 100]),
    arrivals=st.lists(st.lists(st.floats(0, 1.2), min_size=1, max_size=40), max_size=5),
    seed=st.integers(0, 99),
    has_budget=st.booleans(),
)
@examples(25)
def test_no_moment_of_any_run_sees_more_fragments_than_is_stated(
    fan_in: int, tiers: int, target: int, arrivals: list[list[float]], seed: int, has_budget: bool
) -> None:
    """Of tiers, levels and the final form; with the smallest budget, what waits comes on top."""
    size = target * ROW_BYTES
    layout = Layout(
        ("a",), target_rows=target, target_bytes=size, fan_in=fan_in, tiers=tiers, growth=2,
        level_rows=2 * target, quiet_after=HOUR,
        budget=max(2, -(-fan_in // 2)) * size if has_budget else None,
    )  # fmt: skip
    budget = float("inf") if layout.budget is None else layout.budget
    rng, bucket, now = np.random.default_rng(seed), Playground(layout), NOW

    def excess() -> float:
        full = 2 * sum(len(one.keys) for one in bucket.fragments.values()) / target
        return max(0.0, len(bucket.fragments) - layout.most_small - full)

    def whole_run() -> int:
        spent, most = 0, excess()
        while found := plan(bucket.table(), layout, now, spent):
            bucket.relabel(found.relabels)
            for group in found.tasks:
                bucket.merge(group)
                assert excess() <= most
            spent += found.bytes
            assert spent <= budget
        free = plan(bucket.table(), replace(layout, budget=None), now)
        waiting = [group for group in free.tasks if group.reason in (COUNT, AGE)]
        assert excess() <= sum(len(group.inputs) for group in waiting)
        # Tiers have the budget first.
        assert all(group.bytes > budget - spent for group in waiting)
        return spent

    for batch in arrivals:
        before = excess()
        for exponent in batch:
            bucket.land(rng.integers(0, 1000, max(1, round(target**exponent))), now)
        assert excess() <= before + len(batch)
        whole_run()
        now += HOUR / 4
    for _ in range(2):
        while whole_run():
            pass
        assert excess() == 0
        now += HOUR


def run(bucket: Playground, now: float) -> int:
    """As a run carries plans out, until the budget is used up; gives its bytes."""
    budget = bucket.layout.budget
    assert budget is not None
    spent = 0
    for _ in range(20):
        found = plan(bucket.table(), bucket.layout, now, spent)
        if not found:
            break
        spent += ROW_BYTES * bucket.apply(found.tasks, found.relabels)
        if spent >= budget:
            break
    return spent


@pytest.mark.parametrize("fan_in", [2, 3, 4, 5, 6, 7, 8, 32])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_the_least_budget_is_enough_for_the_final_form(fan_in: int, seed: int) -> None:
    target = 100 * ROW_BYTES
    block = {
        "sort_by": "a",
        "target_rows": 100,
        "target_bytes": target,
        "fan_in": fan_in,
        "quiet_after": "1 minute",
        "budget": max(fan_in * target // 2, 3 * target),
    }
    rng = np.random.default_rng(seed)
    bucket = Playground(parse_layout("logs", block))
    for rows in rng.integers(20, 150, 20):
        bucket.land(rng.integers(0, 10**6, rows))
    runs = 0
    while run(bucket, NOW):
        runs += 1
        assert runs < 100
    assert clashes(bucket.fragments.values()) == 0
    assert UNSORTED not in bucket.levels()
    assert plan(bucket.table(), bucket.layout, NOW).waiting == 0


@pytest.mark.parametrize(
    ("rows", "quiet", "budget", "runs", "rewrites"),
    [
        # Full files are sorted once, and once more for order at most; of some 1,250 a run.
        pytest.param(8, False, 10**6, 15, 2.0, marks=pytest.mark.slow),
        # 10,000 small ones are merged into 1,250 full ones by their tier, all in one run.
        (1, False, 10**6, 2, 2.0),
        # The least budget that a layout may have is 16 full files.
        pytest.param(1, False, 12_800, 157, 2.0, marks=pytest.mark.slow),
        # The final form, of a budget that holds it in two parts and of one that holds it.
        pytest.param(1, True, 600_000, 4, 2.6, marks=pytest.mark.slow),
        (1, True, 10**6, 1, 1.0),
    ],
)
def test_a_table_of_many_files_is_adopted_run_by_run(
    rows: int, quiet: bool, budget: int, runs: int, rewrites: float
) -> None:
    layout = Layout(
        ("a",), target_rows=8, target_bytes=10**12, budget=budget,
        quiet_after=HOUR if quiet else None,
    )  # fmt: skip
    bucket = Playground(layout)
    rng = np.random.default_rng(7)
    for _ in range(10_000):
        bucket.land(rng.integers(0, 10**6, rows), NOW - DAY)
    before = bucket.rows()
    spent = []
    while new := run(bucket, NOW if quiet else NOW - DAY):
        spent.append(new)
        assert new <= budget
    assert len(spent) <= runs
    assert sum(spent) <= rewrites * len(before) * ROW_BYTES
    assert bucket.rows().tolist() == before.tolist()
    if quiet:
        assert clashes(bucket.fragments.values()) == 0
    else:
        # The last full files stay in level 0, which may hold an eighth of what is above it.
        above = sum(len(one.keys) for one in bucket.fragments.values() if one.level > 0)
        full = sum(len(one.keys) for one in bucket.fragments.values() if 2 * len(one.keys) >= 8)
        assert full - above <= max(above / layout.growth, 16 * 8)
    for level in bucket.levels() - {0, UNSORTED}:
        assert clashes(bucket.at(level)) == 0
    assert plan(bucket.table(), layout, NOW if quiet else NOW - DAY) == CompactionPlan()


@pytest.mark.parametrize(
    ("fits", "most"),
    [
        (200, 5),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in [(1000, 2), (80, 11)]),
    ],
)
def test_how_much_order_a_small_budget_brings(fits: int, most: float) -> None:
    # Full fragments of a bucket's whole range; measured: sorted ones that hold a key, on average.
    layout = Layout(("a",), target_rows=8, target_bytes=10**12, budget=fits * 8 * ROW_BYTES)
    bucket = Playground(layout)
    rng = np.random.default_rng(7)
    for _ in range(2000):
        bucket.land(rng.integers(0, 10**6, 8), NOW)
    while run(bucket, NOW):
        pass
    sorted_ones = [one.bounds for one in bucket.fragments.values() if one.level != UNSORTED]
    keys = rng.integers(0, 10**6, 1000)
    assert sum(((lo <= keys) & (keys <= hi)).mean() for lo, hi in sorted_ones) <= most
