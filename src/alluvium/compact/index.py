"""Indexes for files that have none: commits that give them tags, and rewrite nothing."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.compact.conflicts import none_on_conflict
from alluvium.compact.written_merge import commit_metadata
from alluvium.delta.rewrite.layout_commits import LayoutCommits
from alluvium.delta.rewrite.table_files import TableFiles
from alluvium.plan.layout.errors import refusals
from alluvium.plan.layout.settings import Layout

# Files of one commit: of a run that is killed so many are done again.
_TOGETHER = 1000
# Commits that other writers are faster than, one after another, until a run gives up.
_TRIES = 10
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class IndexDone:
    """What a run did, or in a dry run would do.

    Attributes:
        columns: that are indexed.
        files: that had no tag, and got one.
        bytes: of these tags.
        left: files without a tag that other writers left no time for.
        later: files without a tag that other writers have added meanwhile.
        conflicts: commits that another writer was faster than.
        seconds: that it took.
    """

    columns: tuple[str, ...]
    files: int
    bytes: int = 0
    left: int = 0
    later: int = 0
    conflicts: int = 0
    seconds: float = 0.0


def add_indexes(
    session: SparkSession,
    table: str,
    layout: Layout,
    model: str,
    *,
    dry_run: bool = False,
    say: Callable[[str], None] = _log.info,
) -> IndexDone:
    """Give the files that have no index of a column one, in their tags. No file is written.

    Files that other writers add meanwhile are for the next run: so this one ends beside any writer.
    Killed at any point, the next run goes on behind the newest commit.

    Args:
        model: what the table is called in messages.
        say: takes a line of progress.

    Raises:
        LayoutError: the table cannot have these indexes.
    """
    started = time.monotonic()
    indexed = size = conflicts = failed = 0
    ahead: set[str] | None = None  # of the files that the first look has found
    while True:
        with refusals(model):
            files = TableFiles(session, table)
            files.check_rewritable()
            files.check_index(layout.index or ())
        commits = LayoutCommits(files)
        indexer = commits.indexer(layout.indexed)
        columns = indexer.columns if indexer else ()
        found = commits.without_index(indexer) if indexer else []
        ahead = set(found) if ahead is None else ahead
        due = [path for path in found if path in ahead]
        if dry_run or not due or indexer is None or failed == _TRIES:
            left, later = (0, 0) if dry_run else (len(due), len(found) - len(due))
            seconds = time.monotonic() - started
            return IndexDone(
                columns, len(due) if dry_run else indexed, size, left, later, conflicts, seconds
            )
        for begin in range(0, len(due), _TOGETHER):
            some = due[begin : begin + _TOGETHER]
            if indexed + begin:
                say(f"{model}: {indexed:,} files indexed, {len(due) - begin:,} ahead")
            tags = commits.index(indexer, some)
            figures = {"model": model, "reason": "index", "relabelled": len(some)}
            labels = {path: {marks.AUTOMATA_TAG: tag} for path, tag in tags.items()}
            relabel = partial(commits.relabel, labels, commit_metadata([figures]))
            if none_on_conflict(model, relabel) is not None:
                indexed, failed = indexed + len(some), 0
                size += sum(len(tag.encode()) for tag in tags.values())
                continue
            # The table is looked at once more: some of these files may be gone.
            conflicts, failed = conflicts + 1, failed + 1
            break
