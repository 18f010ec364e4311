"""What a published table shows, and what its source has undone, as their logs say."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from alluvium.delta import log, marks
from alluvium.delta.log import TableVersion
from alluvium.engine import jvm
from alluvium.plan.versions import lineage


def is_held(snapshot: Any) -> bool:
    """Whether a published table stays at the version that a person chose."""
    actions = jvm.items(snapshot.setTransactions())
    return any(one.appId() == marks.HOLD and one.version() == 1 for one in actions)


def head_of(snapshot: Any) -> TableVersion | None:
    """What a version of a published table shows; None before its first publish."""
    for action in jvm.items(snapshot.setTransactions()):
        if action.appId().startswith(marks.PUBLISHED) and action.version() >= 0:
            return TableVersion(action.appId()[len(marks.PUBLISHED) :], int(action.version()))
    return None


def is_undone(session: SparkSession, newest: Any, version: int) -> bool:
    """Whether a table was restored to a version before this one, and never back again.

    Where the log does not say it, it counts as undone.

    newest: the snapshot of the newest version.
    """
    restores: dict[int, int | None] = {}
    last = int(newest.version())
    commits = log.commits_of(session, newest, version)
    for number, lines in zip(range(last, version, -1), commits, strict=False):
        info = {} if lines is None else log.commit_info(lines[0])
        if lines is None or info.get("operation") == "RESTORE":
            # NULL of a restore that was asked for by a time.
            to = str((info.get("operationParameters") or {}).get("version"))
            restores[number] = int(to) if to.isdecimal() else None
    return lineage.is_undone(version, last, restores)
