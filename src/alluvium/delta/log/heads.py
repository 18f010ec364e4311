"""What a published table shows, and what its source has undone, as their logs say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.handles import DeltaSnapshot
from alluvium.delta.log import log
from alluvium.delta.log.log import TableVersion
from alluvium.plan.versions import heads
from alluvium.plan.versions.commit import commit_info, noted, restored


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


def shown_since(session: SparkSession, snapshot: DeltaSnapshot) -> datetime | None:
    """When the newest publish of a table was; None where its log does not tell it."""
    for lines in log.commits_of(session, snapshot):
        info = commit_info(lines[0]) if lines else {}
        if "version" in (noted(info, marks.PUBLISH_NOTE) or {}):
            return datetime.fromtimestamp(info["timestamp"] / 1000, UTC)
    return None


class PublishedCommit(NamedTuple):
    """A commit of a published table.

    Attributes:
        note: what a publish noted in it; empty of anything else's. Only the last commit of a
            publish, which makes HEAD what it is, notes a `version`.
        is_foreign: whether somebody else added or removed files in it.
    """

    note: Mapping[str, Any]
    is_foreign: bool


def written(session: SparkSession, snapshot: DeltaSnapshot) -> Iterator[PublishedCommit]:
    """The commits up to a version of a published table, newest first, that its log still has."""
    for lines in log.commits_of(session, snapshot):
        actions = list(map(json.loads, lines or ()))
        infos = (one["commitInfo"] for one in actions if "commitInfo" in one)
        note = noted(next(infos, None), marks.PUBLISH_NOTE) or {}
        has_files = any("add" in one or "remove" in one for one in actions)
        yield PublishedCommit(note, has_files and not note)


def is_undone(session: SparkSession, newest: DeltaSnapshot, version: int) -> bool | None:
    """`heads.is_undone` of a table, by its log: of what the log has no more nobody can tell.

    newest: the snapshot of the newest version.
    """
    restores: dict[int, int | None] = {}
    last = int(newest.version())
    commits = log.commits_of(session, newest, version)
    for number, lines in zip(range(last, version, -1), commits, strict=False):
        info = {} if lines is None else commit_info(lines[0])
        if lines is None or info.get("operation") == "RESTORE":
            restores[number] = restored(info)
    return heads.is_undone(version, last, restores)
