"""Whether a published table shows a version of its candidate, and nothing else."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from alluvium.delta import log, marks
from alluvium.delta.published import Publisher
from alluvium.plan.recovery.findings import RECOVER, Finding
from alluvium.recovery.tables import Table

_FILES = ("add", "remove")


def of_head(session: SparkSession, table: Table, candidate: Table) -> Finding | None:
    """What is wrong with what a published table shows; None before its first publish.

    Raises Spark's and Delta's exceptions where one of the two cannot be read.
    """
    publisher = Publisher(session, candidate.by_path, table.by_path, hides=table.hides)
    head = publisher.head
    if head is None:
        return None
    newest = log.table_version(session, candidate.by_path)
    if head.table_id == newest.table_id and head.version > newest.version:
        return Finding(
            f"it shows version {head.version} of {candidate.name}, whose newest one is"
            f" {newest.version}",
            "no publish moves it before there are as many versions again",
            f"{RECOVER}, which lets it show version {newest.version}",
        )
    if publisher.touched() or _others_wrote(session, table):
        return Finding(
            "somebody else wrote to it",
            f"readers see rows that are not those of version {head.version} of {candidate.name}",
            f"the next publish, or {RECOVER}",
        )
    return None


def _others_wrote(session: SparkSession, table: Table) -> bool:
    """Whether a commit other than a publish added or took files since the newest publish."""
    for lines in log.commits_of(session, log.snapshot_of(session, table.by_path)):
        if lines is None:
            return False
        note = log.noted(log.commit_info(lines[0]), marks.PUBLISH_NOTE)
        if note is not None and "version" in note:
            return False
        if note is None and any(kind in json.loads(one) for one in lines for kind in _FILES):
            return True
    return False
