"""What a published table shows, and what its source has undone, as their logs say."""

from __future__ import annotations

from pyspark.sql import SparkSession

from alluvium.delta.handles import DeltaSnapshot
from alluvium.delta.log import log
from alluvium.delta.log.log import TableVersion
from alluvium.plan.versions import heads


def is_held(snapshot: DeltaSnapshot) -> bool:
    """Whether a published table stays at the version that a person chose."""
    return heads.is_held(log.numbers(snapshot)[1])


def head_of(snapshot: DeltaSnapshot) -> TableVersion | None:
    """What a version of a published table shows; None before its first publish."""
    found = heads.head_of(log.numbers(snapshot)[1])
    return None if found is None else TableVersion(*found)


def shown_by(session: SparkSession, table: str) -> TableVersion | None:
    """`head_of` the newest version."""
    return head_of(log.snapshot_of(session, table))


def shown_and_held(session: SparkSession, table: str) -> tuple[TableVersion | None, bool]:
    """`head_of` and `is_held` of the newest version."""
    snapshot = log.snapshot_of(session, table)
    return head_of(snapshot), is_held(snapshot)


def is_undone(session: SparkSession, newest: DeltaSnapshot, version: int) -> bool | None:
    """`heads.is_undone` of a table, by its log: of what the log has no more nobody can tell.

    newest: the snapshot of the newest version.
    """
    restores = {
        one.version: one.restored
        for one in log.commits_of(session, newest, version)
        if one.is_gone or one.operation == "RESTORE"
    }
    return heads.is_undone(version, int(newest.version()), restores)
