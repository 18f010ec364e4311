"""Merges share jobs, or tasks a merge, and each makes the files that its plan says all the same."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from alluvium.plan.compaction.bucket import FINAL, MergeTask
from alluvium.plan.compaction.jobs import Job, jobs
from alluvium.plan.layout.settings import Layout

LAYOUT = Layout(("a",), target_rows=1000)


def group(number: int, rows: int, outputs: int) -> MergeTask:
    return MergeTask(
        str(number), FINAL, (f"{number}a", f"{number}b"), 1, rows, rows, outputs, 0, 0, 0
    )


@st.composite
def plans(draw: st.DrawFn) -> list[MergeTask]:
    sizes = draw(st.lists(st.tuples(st.integers(1, 30), st.floats(0.5, 1.5)), max_size=40))
    # As many outputs as by rows, or more because of their bytes.
    every = [
        (outputs, round(LAYOUT.target_rows * (outputs - 1 + share))) for outputs, share in sizes
    ]
    by_bytes = draw(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 3000)), max_size=5))
    return [group(place, rows, outputs) for place, (outputs, rows) in enumerate(every + by_bytes)]


def files(one: MergeTask, job: Job) -> list[int]:
    """Rows of the files that a task makes which cuts its rows at the limit."""
    full, last = divmod(one.rows, job.rows_per_file)
    return [job.rows_per_file] * full + [last] * (last > 0)


@given(plans(), st.integers(1, 8))
def test_each_merge_is_in_one_job_and_makes_its_files(plan: list[MergeTask], cores: int) -> None:
    found = list(jobs(plan, LAYOUT, cores))
    assert Counter(one for job in found for one in job.tasks) == Counter(plan)
    for job in found:
        assert len(job.tasks) <= (16 if job.tasks[0].outputs == 1 else 1) * cores
        assert len({one.outputs == 1 for one in job.tasks}) == 1
        for one in job.tasks:
            made = files(one, job)
            if one.rows >= one.outputs * one.outputs:  # rows enough to be spread
                assert len(made) == one.outputs
                # As even as rows can be, or nearly so.
                least = min(0.75 * made[0], made[0] - one.outputs)
                assert made[-1] >= least
                if one.outputs > 1 and one.rows / one.outputs >= 500:
                    assert made[-1] >= 500 - one.outputs


def test_final_forms_of_many_buckets_share_their_jobs() -> None:
    """Thirty days of 2 to 5 fragments each."""
    plan = [group(day, 2000 + 100 * day, round(2 + day / 10)) for day in range(30)]
    assert len(list(jobs(plan, LAYOUT, 64))) <= 5
    # What takes a hundred times as long is not waited for.
    assert len(list(jobs([group(0, 2000, 2), group(1, 200_000, 200)], LAYOUT, 64))) == 2
    # A task a core: none of them waits for a second one.
    assert [len(job.tasks) for job in jobs([group(0, 4000, 4)] * 5, LAYOUT, 2)] == [2, 2, 1]


@given(
    full=st.integers(5, 400),
    size=st.integers(2**16, 2**29),
    seed=st.integers(0, 2**32 - 1),
)
def test_tasks_that_share_a_merge_leave_full_files(full: int, size: int, seed: int) -> None:
    """Whatever ranges have more or less, by a few in a hundred, where a task makes few files."""
    one = replace(group(0, full * LAYOUT.target_rows, full), bytes=full * size)
    [job] = jobs([one], LAYOUT, 4)
    if job.spark_tasks == 1:
        assert one.bytes < 2 * 512 * 2**20 or full < 8
        return
    # About as many bytes to each, whatever there are in all.
    least = max(512 * 2**20, 4 * size)
    assert least <= one.bytes / job.spark_tasks <= 2 * (least + size)
    # Where others keep the cores busy it is no faster, and costs more.
    assert {job.spark_tasks for job in jobs([one, group(1, 4000, 4)], LAYOUT, 4)} == {
        1,
        job.spark_tasks,
    }
    assert {job.spark_tasks for job in jobs([one, replace(one, bucket="1")], LAYOUT, 4)} == {1}
    assert {job.spark_tasks for job in jobs([one], LAYOUT, 3)} == {1}
    off = np.random.default_rng(seed).uniform(0.96, 1.04, job.spark_tasks)
    made = [files(replace(one, rows=int(one.rows / job.spark_tasks * share)), job) for share in off]
    if math.ceil(full / job.spark_tasks) == 4:
        assert min(map(min, made)) >= 0.5 * LAYOUT.target_rows
    assert max(map(max, made)) <= 1.1 * LAYOUT.target_rows
    assert sum(map(len, made)) <= 1.2 * full + job.spark_tasks


@given(plans(), st.sets(st.integers(0, 10)))
def test_a_job_that_failed_is_done_again_without_what_is_suspect(
    plan: list[MergeTask], suspect: set[int]
) -> None:
    job = Job(tuple(plan), 1000)
    parts = job.parts({f"{number}b" for number in suspect})
    assert sorted(one.bucket for part in parts for one in part.tasks) == sorted(
        one.bucket for one in plan
    )
    if suspects := [one for one in plan if int(one.bucket) in suspect]:
        assert [part.tasks for part in parts[: len(suspects)]] == [(one,) for one in suspects]
        assert len(parts) <= len(suspects) + 1
    else:
        assert abs(len(parts[0].tasks) - len(parts[1].tasks)) <= 1
