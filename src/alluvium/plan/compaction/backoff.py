"""How long a table in which nothing is due may be left alone, so that most hooks need no look.

Putting the state of a large table together takes Delta a second. The few files that have landed
since are in commits; these are read in milliseconds. See docs/decisions/0017.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from alluvium.marks import ZORDER_CUTS
from alluvium.plan.compaction.bucket import FULL, UNSORTED, Bucket, filled_by
from alluvium.plan.compaction.compaction_plan import buckets, is_quiet
from alluvium.plan.compaction.quiet_bucket import MANY_DELETED
from alluvium.plan.compaction.size_classes import COOLING, fewest, least_size
from alluvium.plan.layout.settings import Layout
from alluvium.plan.versions.commit import NOTES, OF_FILES, Commit

# Fragments from which a look takes longer than the commit that saves the next ones.
WORTH = 1_000
# Files, and seconds, for which a commit of its own is worth it.
_FEW, _BRIEF = 3, 600.0

# What tells of files, and nothing else of how they are to lie.
_READ = NOTES | OF_FILES | {"cdc"}


@dataclass(frozen=True)
class Backoff:
    """No merge of small fragments and no final form becomes due before this is over.

    Attributes:
        files: small data files that may land, or lose rows, meanwhile.
        until: seconds since 1970, a day from now at most.
    """

    files: int
    until: float

    def is_over(self, commits: Iterable[Commit], layout: Layout, now: float) -> bool:
        """Whether a look is due, after what these commits did to files, or anything else."""
        # Not a moment that a clock far ahead has noted either.
        if not now < self.until <= now + COOLING:
            return True
        landed = 0
        try:
            for commit in commits:
                for is_new, file in _changed(commit):
                    landed += 1
                    if landed > self.files or not _is_harmless(file, is_new, layout):
                        return True
                    # By a clock of its own: it may have been written long before.
                    written = file["modificationTime"] / 1000
                    if is_new and now >= written + _patience(self.files, layout):
                        return True
        except (ValueError, TypeError, KeyError, AttributeError):
            return True  # what cannot be read may be anything
        return False


def compaction_backoff(fragments: pa.Table, layout: Layout, now: float) -> Backoff | None:
    """The backoff from a table for which the plan is empty; None where it would be too short.

    Half of the files that could land before a size class may be due, wherever these land. Order
    (locality) may wait meanwhile: it is best effort.

    Args:
        fragments: a row each, columns as `plan.fragment.FRAGMENT_SCHEMA`.
        layout: with what the table has of it.
        now: seconds since 1970.
    """
    every = list(buckets(fragments, layout))
    most = min((room(bucket, layout) for bucket in every), default=layout.fan_in - 1)
    files = most // 2
    if files < _FEW:
        return None
    until = now + COOLING
    for bucket in every:
        if not is_quiet(bucket, layout, now):
            quiet = layout.quiet_time(bucket.lateness())
            until = min(until, bucket.since + min(quiet, _cool(bucket, layout, files)))
    return Backoff(files, until) if until >= now + _BRIEF else None


def room(bucket: Bucket, layout: Layout) -> int:
    """Small files that may land in a hot bucket, of whatever sizes, before any can be merged."""
    mixed, new, merged = _alike(bucket, layout)
    left = min(layout.fan_in_of_mixed - mixed, layout.fan_in - new, layout.fan_in - merged) - 1
    # Enough merged ones for a merge are not due where a new one lies among the first of them.
    return max(0, left)


def _cool(bucket: Bucket, layout: Layout, more: int) -> float:
    """Seconds since the last arrival. After them small fragments, with so many more of them, may be
    merged for the age of the bucket; see `size_classes.fragments_needed`."""
    mixed, new, merged = (count + more for count in _alike(bucket, layout))
    if mixed < fewest(layout):
        return math.inf
    heat = max(mixed / layout.fan_in_of_mixed, new / layout.fan_in, merged / layout.fan_in)
    return min(layout.quiet_time(bucket.lateness()), COOLING) * (1 - heat)


def _patience(files: int, layout: Layout) -> float:
    """Seconds since it was written for which a new file does not make its bucket due, where so
    many files again have room."""
    return min(layout.quiet_time(0.0), COOLING) * (files / layout.fan_in_of_mixed)


def _alike(bucket: Bucket, layout: Layout) -> tuple[int, int, int]:
    """The most small fragments of one size class: of all, of those that are new, of the others."""
    small = ~bucket.is_full(layout)
    sizes = np.maximum(bucket.fullness(layout), least_size(layout))
    new = bucket.level == UNSORTED
    kinds = (small, small & new, small & ~new)
    every, fresh, merged = (_most(np.sort(sizes[kind]), layout.span) for kind in kinds)
    return every, fresh, merged


def _most(sizes: npt.NDArray[Any], span: float) -> int:
    """The most of these, in their order, that lie within a factor."""
    ends = np.searchsorted(sizes, sizes * span, side="left")
    return int((ends - np.arange(len(sizes))).max(initial=0))


def _changed(commit: Commit) -> Iterator[tuple[bool, dict[str, Any]]]:
    """The files that a commit adds, and whether each is new, or comes back with fewer rows.

    Raises ValueError for a commit that does anything else.
    """
    cuts = (app.partition(":")[0] == ZORDER_CUTS for app in commit.transactions)
    if commit.is_gone or not commit.kinds <= _READ or any(cuts):
        raise ValueError(commit.version)
    removed = {file["path"] for file in commit.removed}
    for file in commit.added:
        yield file["path"] not in removed, file
        removed.discard(file["path"])
    if removed:
        raise ValueError(commit.version)


def _is_harmless(file: dict[str, Any], is_new: bool, layout: Layout) -> bool:
    """Whether it is a small one, or one that has lost few rows and is as full as it was."""
    rows = json.loads(file.get("stats") or "{}").get("numRecords")
    fullness = float(filled_by(rows or 0, file["size"], layout))
    if is_new:
        return bool(fullness < FULL)
    if not rows:
        return False
    deleted = (file.get("deletionVector") or {}).get("cardinality", 0) / rows
    return bool(deleted <= MANY_DELETED) and (fullness < FULL) == (fullness * (1 - deleted) < FULL)
