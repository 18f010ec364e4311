"""Which merges of a plan one Spark job does, a task each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

from alluvium.compaction.bucket import FULL, Group
from alluvium.compaction.layout import Layout

# Small merges that one job takes at most for each core: all cores have work, and the first merges
# of a table of thousands of files are committed soon.
_SMALL_PER_CORE = 16
# And whatever the number of cores: Spark plans all of a job's merges together, and a job that fails
# has done nothing.
_MOST = 256
# The last file of a merge has at least this share of the rows of its others.
_EVEN = 0.75

# The least and the most rows of a file with which a group makes the files it should.
Limits = tuple[int, int, Group]


@dataclass(frozen=True)
class Job:
    """Merges that run together.

    rows_per_file: most rows of a new file; Spark has one limit for a whole job.
    """

    groups: tuple[Group, ...]
    rows_per_file: int

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


def jobs(groups: Sequence[Group], layout: Layout, cores: int) -> Iterator[Job]:
    """All of the groups, each in one job; first those that make one file each.

    Merges that make several files share a job where one limit gives each of them the files that
    were planned, and even ones. They are alike in size and no more than there are cores, for
    nothing of a job is committed before its last task is done.
    """
    single = [group for group in groups if group.outputs == 1]
    most = min(_SMALL_PER_CORE * cores, _MOST)
    for first in range(0, len(single), most):
        together = tuple(single[first : first + most])
        # A row count that the log does not say is estimated, and must not cut a file.
        yield Job(together, max(layout.target_rows, *(group.rows for group in together)))
    several = [group for group in groups if group.outputs > 1]
    # Of those that take like times.
    for _, band in groupby(sorted(several, key=_magnitude), key=_magnitude):
        limits = sorted((_limits(group, layout) for group in band), key=itemgetter(0))
        while limits:
            fit = list(_with_one_limit(limits[: min(cores, _MOST)]))
            del limits[: len(fit)]
            yield Job(tuple(group for _, _, group in fit), fit[-1][0])


def _magnitude(group: Group) -> int:
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


def _limits(group: Group, layout: Layout) -> Limits:
    rows, others = group.rows, group.outputs - 1
    least = math.ceil(rows / group.outputs) or layout.target_rows
    most = rows / (others + _EVEN)
    # Where all would be full if they were even, the last one is.
    full = math.ceil(FULL * layout.target_rows)
    if least >= full:
        most = min(most, (rows - full) / others)
    return least, max(least, math.floor(most)), group
