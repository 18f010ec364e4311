"""Which merges of a plan one Spark job does: a task each, or several tasks a large one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

from alluvium.plan.compaction.bucket import FULL, MergeTask
from alluvium.plan.layout.settings import MIB, Layout

# Small merges that one job takes at most for each core: all cores have work, and the first merges
# of a table of thousands of files are committed soon.
_SMALL_PER_CORE = 16
# And whatever the number of cores: Spark plans all of a job's merges together, and a job that fails
# has done nothing.
_MOST = 256
# The last file of a merge has at least this share of the rows of its others.
_EVEN = 0.75
# The least that a task takes of a merge that is shared, in bytes, and in files that it makes: its
# last one then is a full one, though how many rows its range has is an estimate.
_SHARE, _FILES = 512 * MIB, 4
# Cores that there are for each merge that is shared: the shuffle costs 1.5 times as much CPU time,
# and with two of them nothing is gained.
_CORES = 4

# The least and the most rows of a file with which a group makes the files it should.
Limits = tuple[int, int, MergeTask]


@dataclass(frozen=True)
class Job:
    """Merges that run together.

    rows_per_file: most rows of a new file; Spark has one limit for a whole job.
    tasks: that do each of the merges.
    """

    groups: tuple[MergeTask, ...]
    rows_per_file: int
    tasks: int = 1

    def parts(self, suspect: Set[str]) -> list[Job]:
        """Smaller ones, where this one failed: merges that take suspect fragments each alone, and
        the others together; halves where there is no suspect."""
        half = len(self.groups) // 2
        parts = [self.groups[:half], self.groups[half:]]
        alone = [group for group in self.groups if not suspect.isdisjoint(group.inputs)]
        if alone:
            others = tuple(group for group in self.groups if group not in alone)
            parts = [*((group,) for group in alone), *([others] if others else [])]
        return [replace(self, groups=part) for part in parts]


def jobs(groups: Sequence[MergeTask], layout: Layout, cores: int) -> Iterator[Job]:
    """All of the groups, each in one job; first those that make one file each.

    Merges that make several files share a job where one limit gives each of them the files that
    were planned, and even ones. They are alike in size and no more than there are cores, for
    nothing of a job is committed before its last task is done. A large one is
    shared by several tasks, in a job of its own, where cores would be idle.
    """
    single = [group for group in groups if group.outputs == 1]
    most = min(_SMALL_PER_CORE * cores, _MOST)
    for first in range(0, len(single), most):
        together = tuple(single[first : first + most])
        # A row count that the log does not say is estimated, and must not cut a file.
        yield Job(together, max(layout.target_rows, *(group.rows for group in together)))
    several = [group for group in groups if group.outputs > 1]
    large = [group for group in several if _shares(group) > 1]
    if _CORES * len(large) > cores:
        large = []
    else:
        several = [group for group in several if _shares(group) == 1]
    # Of those that take like times.
    for _, band in groupby(sorted(several, key=_magnitude), key=_magnitude):
        limits = sorted((_limits(group, layout) for group in band), key=itemgetter(0))
        while limits:
            fit = list(_with_one_limit(limits[: min(cores, _MOST)]))
            del limits[: len(fit)]
            yield Job(tuple(group for _, _, group in fit), fit[-1][0])
    for group in large:
        tasks = _shares(group)
        # The last file of each has room for what a range has more, and is full where it has less.
        each = math.ceil(group.outputs / tasks) - (1 - _EVEN)
        yield Job((group,), math.ceil(group.rows / tasks / each), tasks)


def _shares(group: MergeTask) -> int:
    """Tasks that a merge has work for."""
    files = max(_FILES, math.ceil(_SHARE * group.outputs / max(1, group.bytes)))
    return max(1, min(group.outputs // files, _MOST))


def _magnitude(group: MergeTask) -> int:
    """The same for numbers of files of which none is four times another."""
    return group.outputs.bit_length() // 2


def _with_one_limit(found: Iterable[Limits]) -> Iterator[Limits]:
    """The first of these, sorted, that have a limit in common; the last one's least is one."""
    highest = math.inf
    for low, high, group in found:
        highest = min(highest, high)
        if low > highest:
            return
        yield low, high, group


def _limits(group: MergeTask, layout: Layout) -> Limits:
    rows, others = group.rows, group.outputs - 1
    least = math.ceil(rows / group.outputs) or layout.target_rows
    most = rows / (others + _EVEN)
    # Where all would be full if they were even, the last one is.
    full = math.ceil(FULL * layout.target_rows)
    if least >= full:
        most = min(most, (rows - full) / others)
    return least, max(least, math.floor(most)), group
