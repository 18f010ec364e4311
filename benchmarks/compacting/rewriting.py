"""How often rows are rewritten: plans carried out on sort keys in memory. No Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from support.arrivals import LARGE, ORDERS, SIZES, arrive, settle, to_one, trickle
from support.playground import Keys, Playground, clashes, huffman

from alluvium.plan.compaction.bucket import FINAL, LOCALITY
from alluvium.plan.compaction.compaction_plan import plan
from alluvium.plan.compaction.overlap import depth
from alluvium.plan.layout.settings import Layout
from compacting import events

Result = dict[str, Any]
HOUR = 3600.0
# Of files: near the powers of `fan_in`, and far from them.
COUNTS = (64, 100, 300, 1000, 1025, 1100, 1200, 1500, 2000, 3000)
BAR_RATIO = 1.15


def naive_pairwise(sizes: Sequence[int] | Keys) -> int:
    """Rows rewritten if each file is merged with all that came before it."""
    return int(np.cumsum(sizes)[1:].sum())


def tier_cases(seeds: int) -> Iterator[Result]:
    """Size tiers alone on 1,000 files, beside the least that is possible.

    The bound is that of an F-ary Huffman tree over the sizes, F = fan_in, which knows all of them
    beforehand. Both end with one fragment.
    """
    for name, sizes_of in SIZES.items():
        draws = [sizes_of(np.random.default_rng(seed), 1000) for seed in range(seeds)]
        rows = np.array([sizes.sum() for sizes in draws])
        bounds = np.array([huffman(sizes, LARGE.fan_in) for sizes in draws])

        def figures(
            contender: str, rewritten: list[int], seconds: float, rows: Keys, bounds: Keys
        ) -> Result:
            ratios = np.array(rewritten) / bounds
            return {
                "contender": contender,
                "seconds": seconds / seeds,
                "rewrites_per_row": float(np.mean(np.array(rewritten) / rows)),
                "bound": float(np.mean(bounds / rows)),
                "ratio": float(ratios.mean()),
                "ratio_worst": float(ratios.max()),
                "bar_ratio": BAR_RATIO,
            }

        for order in ORDERS:
            rewritten, most, started = [], 0, time.perf_counter()
            for sizes in draws:
                for bucket in arrive(sizes, order):
                    most = max(most, len(bucket.fragments))
                rewritten.append(to_one(bucket))
            seconds = time.perf_counter() - started
            yield {
                "case": f"1,000 files, {name}",
                **figures(f"size tiers, {order}", rewritten, seconds, rows, bounds),
                "live_fragments_max": most,
                "live_limit": LARGE.most_small,
            }
        pairwise = [naive_pairwise(sizes) for sizes in draws]
        yield {
            "case": f"1,000 files, {name}",
            **figures("pairwise (computed)", pairwise, 0.0, rows, bounds),
        }


def count_cases(seeds: int) -> Iterator[Result]:
    """Size tiers alone on other numbers of files, in the order in which they were drawn, a run
    after 10: the bound knows the number, the tiers do not. All have more files than a merge takes.

    rewrites_tiers: a row, before what they leave is merged into one fragment.
    ratio_left: of that to the least which leaves as many fragments.
    """
    for name in ("all equal", "uniform", "lognormal"):
        for count in COUNTS:
            started = time.perf_counter()
            ends = [_drawn(name, seed, count) for seed in range(seeds)]
            seconds = (time.perf_counter() - started) / seeds
            yield {
                "case": f"counts of files, {name}",
                "contender": f"size tiers, {count:,} files",
                "seconds": seconds,
                **_over(ends),
            }
        every: list[Result] = []
        bucket = Playground(LARGE)
        sizes: list[int] = []
        started = time.perf_counter()
        for size in SIZES[name](np.random.default_rng(0), COUNTS[-1]):
            bucket.land(np.arange(size))
            sizes.append(int(size))
            if len(sizes) % 10:
                continue
            settle(bucket)
            if len(sizes) > LARGE.fan_in:
                every.append(_over([(bucket, sizes)]))
        ratios, left = (np.array([one[of] for one in every]) for of in ("ratio", "ratio_left"))
        yield {
            "case": f"counts of files, {name}",
            "contender": f"size tiers, every tenth number from 40 to {COUNTS[-1]:,}",
            "seconds": time.perf_counter() - started,
            "ratio_median": float(np.median(ratios)),
            "ratio_worst": float(ratios.max()),
            "bar_ratio": BAR_RATIO,
            "share_within_bar": float((ratios <= BAR_RATIO).mean()),
            "ratio_left_median": float(np.median(left)),
            "ratio_left_worst": float(left.max()),
        }


def _drawn(name: str, seed: int, count: int) -> tuple[Playground, Sequence[int]]:
    """A bucket when so many files have come, and their sizes."""
    sizes = SIZES[name](np.random.default_rng(seed), count)
    bucket = list(arrive(sizes, "drawn, a run after 10"))[-1]
    return bucket, sizes


def _over(ends: Sequence[tuple[Playground, Sequence[int]]]) -> Result:
    """What was rewritten over the least, on average and in the worst of these."""
    found = []
    for bucket, sizes in ends:
        rows, tiers, one = sum(sizes), bucket.rewritten.total(), to_one(bucket)
        left = len(bucket.fragments)
        bound = huffman(sizes, LARGE.fan_in)
        least = huffman(sizes, LARGE.fan_in, left)
        found.append((tiers / rows, one / rows, bound / rows, one / bound, tiers / least))
    figures = np.array(found)
    tiers, one, bound, ratio, ratio_left = figures.mean(axis=0).tolist()
    return {
        "rewrites_tiers": tiers,
        "rewrites_per_row": one,
        "bound": bound,
        "ratio": ratio,
        "ratio_worst": float(figures[:, 3].max()),
        "bar_ratio": BAR_RATIO,
        "ratio_left": ratio_left,
        "ratio_left_worst": float(figures[:, 4].max()),
        "fragments_left": float(np.mean([len(bucket.fragments) for bucket, _ in ends])),
    }


def trickle_cases(seeds: int) -> Iterator[Result]:
    """Size tiers alone with a clock that moves: the longer nothing comes the fewer are enough."""
    for gap in (0.1, 0.25, 0.5, 0.6, 0.75, 0.9, 1.0):
        ends, most, started = [], 0, time.perf_counter()
        for seed in range(seeds):
            sizes = SIZES["uniform"](np.random.default_rng(seed), 1000)
            for bucket in trickle(sizes, gap):
                most = max(most, len(bucket.fragments))
            ends.append((bucket, sizes))
        yield {
            "case": "1,000 files, uniform, of which each comes when a share of the cooling is over",
            "contender": f"size tiers, {gap:.0%}",
            "seconds": (time.perf_counter() - started) / seeds,
            **_over(ends),
            "live_fragments_max": most,
        }


Draw = Callable[[int, int], Keys]


def _uniform(file: int, rows: int) -> Keys:
    return np.random.default_rng((5, file)).integers(0, 2**40 - 1, rows)


def _in_time(file: int, rows: int) -> Keys:
    """Near to now, and two of a hundred of any time before."""
    rng = np.random.default_rng((6, file))
    at = 1000 * file + rng.integers(0, 1500, rows)
    return np.where(rng.random(rows) < 0.02, rng.integers(0, 1000 * file + 1, rows), at)


def _log_events(file: int, rows: int) -> Keys:
    return events.key_numbers(1, file, rows)


KEYS: dict[str, Draw] = {
    "log events": _log_events, "uniform keys": _uniform, "keys in time": _in_time,
}  # fmt: skip


def level_cases(files: int, rows_per_file: int, target_rows: int) -> Iterator[Result]:
    """All of it on one bucket: what order costs beside the tiers, while open and at the end."""
    layout = layout_of(target_rows)
    for name, keys in KEYS.items():
        bucket = Playground(layout)
        rows, small_most, live_most, deepest, seconds = 0, 0, 0, 0, 0.0
        for file in range(files):
            count = events.file_rows(1, file, rows_per_file)
            bucket.land(keys(file, count), now=events.arrived_at(file))
            rows += count
            live_most = max(live_most, len(bucket.fragments))
            small_most = max(small_most, bucket.small())
            if file % 10 == 9:
                seconds += _run(bucket, events.arrived_at(file))
                deepest = max(
                    deepest, *(clashes(bucket.at(n)) for n in bucket.levels() - {0, -1}), 0
                )
        open_depth = depth(bucket.bucket(), np.arange(len(bucket.fragments)))
        tiers = (bucket.rewritten.total() - bucket.rewritten[LOCALITY]) / rows
        common = {
            "case": f"{files:,} files of {rows_per_file:,} rows, target {target_rows:,}, {name}",
            "rows": rows,
        }
        live = len(bucket.fragments)
        yield common | {
            "contender": "alluvium, open",
            "seconds": seconds,
            "rewrites_per_row": bucket.rewritten.total() / rows,
            "rewrites_tiers": tiers,
            "rewrites_locality": bucket.rewritten[LOCALITY] / rows,
            "locality_to_tiers": sum(one.locality_bytes for one in bucket.fragments.values())
            / sum(one.tier_bytes for one in bucket.fragments.values()),
            "bar_locality_to_tiers": 1.0,
            "live_fragments": live,
            "live_fragments_max": live_most,
            "small_max": small_most,
            "live_limit": layout.most_small,
            "overlap_depth": open_depth,
            "overlaps_within_levels": deepest,
            "levels": levels(bucket),
        }
        before = bucket.rewritten.total()
        seconds = _run(bucket, events.arrived_at(files) + 2 * layout.quiet_time(0.0))
        yield common | {
            "contender": "alluvium, final",
            "seconds": seconds,
            "rewrites_per_row": (bucket.rewritten.total() - before) / rows,
            "rewrites_final": bucket.rewritten[FINAL] / rows,
            "bar_rewrites_final": 1.0,
            "live_fragments": len(bucket.fragments),
            "overlaps": clashes(bucket.fragments.values()),
            "overlap_depth": depth(bucket.bucket(), np.arange(len(bucket.fragments))),
        }


def layout_of(target_rows: int, sort_by: tuple[str, ...] = events.SORT_BY) -> Layout:
    """The defaults, at another size of a full fragment."""
    share = target_rows / Layout.target_rows
    return Layout(
        sort_by,
        target_rows=target_rows,
        target_bytes=round(Layout.target_bytes * max(1.0, share)),
        quiet_after=6 * HOUR,
    )


def levels(bucket: Playground) -> list[Result]:
    """Of each level: fragments, and the mean share of all rows that lie within one's keys."""
    every = bucket.rows()
    found = []
    for level in sorted(bucket.levels()):
        at = bucket.at(level)
        ends = np.array([(one.keys[0], one.keys[-1]) for one in at])
        width = np.searchsorted(every, ends[:, 1], "right") - np.searchsorted(every, ends[:, 0])
        found.append(
            {
                "level": level,
                "fragments": len(at),
                "rows": sum(len(one.keys) for one in at),
                "key_width": float(width.mean() / len(every)),
            }
        )
    return found


def _run(bucket: Playground, now: float) -> float:
    """As a run does, until nothing is left to do; gives the seconds of planning."""
    seconds = 0.0
    while True:
        table = bucket.table()
        started = time.perf_counter()
        found = plan(table, bucket.layout, now)
        seconds += time.perf_counter() - started
        if not found:
            return seconds
        bucket.apply(found.tasks, found.relabels)
