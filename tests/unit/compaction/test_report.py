"""What a dry run and a run print."""

from __future__ import annotations

import pytest

from alluvium.compact.index import IndexDone
from alluvium.compact.outcome import Compacted
from alluvium.compact.report import done_line, index_line, plan_lines
from alluvium.plan.compaction.bucket import COUNT, FINAL, MergeTask, Relabel
from alluvium.plan.compaction.compaction_plan import CompactionPlan

MIB = 2**20


def group(bucket: str, reason: str, number: int, *, inputs: int, outputs: int) -> MergeTask:
    paths = tuple(f"part-{number}-{place}" for place in range(inputs))
    rows = 40_000 * inputs
    return MergeTask(bucket, reason, paths, 0, rows, 2 * inputs * MIB, outputs, 0.0, 0, 0)


def test_a_plan_is_a_table() -> None:
    merges = [group("day=2024-03-02", COUNT, n, inputs=32, outputs=1) for n in range(7)]
    merges.append(group("day=2024-03-01", FINAL, 7, inputs=520, outputs=21))
    labels = (Relabel("", ("part-a", "part-b"), 2),)
    assert list(plan_lines("logs", CompactionPlan(labels, tuple(merges), waiting=3), 1746)) == [
        "logs: would compact (dry run), 1,746 fragments",
        "  bucket          reason    level  inputs      MiB        rows  outputs",
        *["  day=2024-03-02  count         0      32     64.0   1,280,000        1"] * 5,
        "                  … 2 more",
        "  day=2024-03-01  final         0     520  1,040.0  20,800,000       21",
        "  -               relabel       2       2      0.0",
        "  8 merges of 744 fragments, 1.5 GiB to read, 2 new labels, 3 merges over the budget",
    ]


def test_a_plan_of_nothing_is_a_line() -> None:
    assert list(plan_lines("logs", CompactionPlan(), 1)) == ["logs: nothing to compact, 1 fragment"]
    assert list(plan_lines("logs", CompactionPlan(waiting=1), 2)) == [
        "logs: nothing to compact, 2 fragments; 1 merge over the budget"
    ]


@pytest.mark.parametrize(
    ("open_until", "line"),
    [
        ([], None),  # every bucket is quiet
        ([float("inf")], "  no final form: the layout has neither bucket_by nor quiet_after"),
        (
            [1738367999.0],
            "  1 bucket is open; the next final form is due at 2025-01-31 23:59:59 UTC, if no row"
            " comes before",
        ),
        (
            [1738281540.0, 1738367999.0],
            "  2 buckets are open; the next final form is due at 2025-01-30 23:59:00 UTC, if no row"
            " comes before",
        ),
        # The month after the last that a timestamp can name.
        (
            [253402300800.0],
            "  1 bucket is open; the next final form is due at 9999-12-31 23:59:59 UTC, if no row"
            " comes before",
        ),
    ],
)
def test_a_dry_run_says_when_open_buckets_get_their_final_form(
    open_until: list[float], line: str | None
) -> None:
    merge = group("day=2024-03-02", COUNT, 1, inputs=32, outputs=1)
    for plan in (CompactionPlan(), CompactionPlan((), (merge,))):
        said = list(plan_lines("logs", plan, 33))
        assert list(plan_lines("logs", plan, 33, open_until)) == said + ([line] if line else [])


@pytest.mark.parametrize(
    ("done", "line"),
    [
        (Compacted(), ""),
        (Compacted(waiting=2), "logs: nothing compacted, 2 merges over the budget"),
        (
            Compacted(1, 32, 1, 64 * MIB, 60 * MIB, 1000, seconds=1.25),
            "logs: compacted 32 fragments → 1 (64.0 MiB) in 1.2 s",
        ),
        (
            Compacted(3, 12, 3, 30_000, 20_000, 1000, seconds=0.5),
            "logs: compacted 12 fragments → 3 (29.3 KiB) in 0.5 s",
        ),
        (
            Compacted(relabelled=4, conflicts=1, seconds=0.5),
            "logs: compacted 4 new labels, 1 conflict with other writers in 0.5 s",
        ),
    ],
)
def test_a_run_says_what_it_did(done: Compacted, line: str) -> None:
    assert done_line("logs", done) == line


def test_an_index_says_what_other_writers_left_no_time_for() -> None:
    done = IndexDone(("v",), 3, bytes=2048, left=2, conflicts=10, seconds=1.5)
    assert index_line("logs", done, dry_run=False) == (
        "logs: indexed 3 files by v (2.0 KiB), 10 conflicts with other writers,"
        " 2 files left for the next run in 1.5 s"
    )
