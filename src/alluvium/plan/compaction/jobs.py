"""Which merges of a plan one Spark job does: a Spark task each, or several a large one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

from alluvium.plan.compaction.bucket import FULL, MergeTask
from alluvium.plan.layout.settings import MIB, Layout

# Small merges that one job takes at most for each core. So all cores have work, and the first
# merges of a table of thousands of files are committed soon.
_SMALL_PER_CORE = 16
# And whatever the number of cores: Spark plans all of a job's merges together, and a job that fails
# has done nothing.
_MOST = 256
# The last file of a merge has at least this share of the rows of its others.
_EVEN = 0.75
# The least that a Spark task takes of a shared merge, in bytes, and in files that it makes. Its
# last file then is a full one, though the rows of its range are an estimate.
_SHARE, _FILES = 512 * MIB, 4
# Cores that there are for each shared merge. The shuffle costs 1.5 times as much CPU time, and with
# two of them nothing is gained.
_CORES = 4

# The least and the most rows of a file with which a task makes the files it should.
Limits = tuple[int, int, MergeTask]


@dataclass(frozen=True)
class Job:
    """Merges that run together.

    rows_per_file: most rows of a new file; Spark has one limit for a whole job.
    spark_tasks: how many do each of the merges.
    """

    tasks: tuple[MergeTask, ...]
    rows_per_file: int
    spark_tasks: int = 1

    def parts(self, suspect: Set[str]) -> list[Job]:
        """Smaller ones, where this one failed: merges that take suspect fragments each alone, and
        the others together; halves where there is no suspect."""
        half = len(self.tasks) // 2
        parts = [self.tasks[:half], self.tasks[half:]]
        alone = [task for task in self.tasks if not suspect.isdisjoint(task.inputs)]
        if alone:
            others = tuple(task for task in self.tasks if task not in alone)
            parts = [*((task,) for task in alone), *([others] if others else [])]
        return [replace(self, tasks=part) for part in parts]


def jobs(tasks: Sequence[MergeTask], layout: Layout, cores: int) -> Iterator[Job]:
    """All of the tasks, each in one job; first those that make one file each.

    Merges that make several files share a job where one limit gives each of them the files that
    were planned, and even ones. They are alike in size and no more than there are cores, for
    nothing of a job is committed before all of it is done. A large one is
    shared by several Spark tasks, in a job of its own, where cores would be idle.
    """
    single = [task for task in tasks if task.outputs == 1]
    most = min(_SMALL_PER_CORE * cores, _MOST)
    for first in range(0, len(single), most):
        together = tuple(single[first : first + most])
        # A row count that the log does not say is estimated, and must not cut a file.
        yield Job(together, max(layout.target_rows, *(task.rows for task in together)))
    several = [task for task in tasks if task.outputs > 1]
    large = [task for task in several if _shares(task) > 1]
    if _CORES * len(large) > cores:
        large = []
    else:
        several = [task for task in several if _shares(task) == 1]
    # Of those that take like times.
    for _, band in groupby(sorted(several, key=_magnitude), key=_magnitude):
        limits = sorted((_limits(task, layout) for task in band), key=itemgetter(0))
        while limits:
            fit = list(_with_one_limit(limits[: min(cores, _MOST)]))
            del limits[: len(fit)]
            yield Job(tuple(task for _, _, task in fit), fit[-1][0])
    for task in large:
        spark_tasks = _shares(task)
        # The last file of each has room for what a range has more, and is full where it has less.
        each = math.ceil(task.outputs / spark_tasks) - (1 - _EVEN)
        yield Job((task,), math.ceil(task.rows / spark_tasks / each), spark_tasks)


def _shares(task: MergeTask) -> int:
    """Spark tasks that a merge has work for."""
    files = max(_FILES, math.ceil(_SHARE * task.outputs / max(1, task.bytes)))
    return max(1, min(task.outputs // files, _MOST))


def _magnitude(task: MergeTask) -> int:
    """The same for numbers of files of which none is four times another."""
    return task.outputs.bit_length() // 2


def _with_one_limit(found: Iterable[Limits]) -> Iterator[Limits]:
    """The first of these, sorted, that have a limit in common; the last one's least is one."""
    highest = math.inf
    for low, high, task in found:
        highest = min(highest, high)
        if low > highest:
            return
        yield low, high, task


def _limits(task: MergeTask, layout: Layout) -> Limits:
    rows, others = task.rows, task.outputs - 1
    least = math.ceil(rows / task.outputs) or layout.target_rows
    most = rows / (others + _EVEN)
    # Where all would be full if they were even, the last one is.
    full = math.ceil(FULL * layout.target_rows)
    if least >= full:
        most = min(most, (rows - full) / others)
    return least, max(least, math.floor(most)), task
