"""How long compaction leaves a table alone, kept in the table's log as a `txn` action."""

from __future__ import annotations

import hashlib

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.log import checksums, log
from alluvium.plan.compaction.backoff import Backoff
from alluvium.plan.layout.settings import Layout

# The action has one number for the version that was looked at, and for the files.
_FILES = 1_000
# Commits that are read at most: behind more of them a look costs little more.
_COMMITS = 64


def is_backing_off(session: SparkSession, table: str, layout: Layout, now: float) -> bool:
    """Whether a backoff from the table is not over yet.

    Reads no more than the newest checksum of the log and the commits since it began: not
    the state of the table. Without a checksum, as behind some other writers, there is none.

    Args:
        layout: as the model declares it.
        now: seconds since 1970.
    """
    snapshot = log.snapshot_of(session, table)
    newest = int(snapshot.version())
    app = app_id(layout, snapshot.metadata().id())
    for action in checksums.transactions(snapshot) or ():
        if action.appId() != app or not action.lastUpdated().isDefined():
            continue
        version, files = divmod(int(action.version()), _FILES)
        found = Backoff(files, int(action.lastUpdated().get()) / 1000)
        if not version <= newest <= version + _COMMITS:
            return False
        try:
            commits = log.commits_of(session, snapshot, version, oldest_first=True)
            return not found.is_over(commits, layout, now)
        except Py4JJavaError:
            return False  # the log keeps its newest commits elsewhere
    return False


def keep(session: SparkSession, table: str, layout: Layout, version: int, found: Backoff) -> None:
    """Commit the backoff, which is of the state of the table at a version.

    Not where the log has no checksum of its newest version: nobody would find it.
    """
    snapshot = log.snapshot_of(session, table)
    if checksums.of(snapshot).isDefined():
        app = app_id(layout, snapshot.metadata().id())
        number = version * _FILES + min(found.files, _FILES - 1)
        log.commit_transactions(session, table, {app: number}, found.until)


def app_id(layout: Layout, table_id: str) -> str:
    """Application id of a table's backoffs under a layout: of any other they say nothing.

    table_id: of the table's metadata.
    """
    said = hashlib.sha256(f"{layout}{table_id}".encode()).hexdigest()
    return f"{marks.BACKOFF}:{said[:16]}"
