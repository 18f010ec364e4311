"""Whether a published table shows a version of its candidate, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.delta.published.published import Publisher
from alluvium.delta.refs.needed_files import NeededFiles
from alluvium.plan.recovery.findings import RECOVER, Finding
from alluvium.plan.versions.batches import is_foreign, published_of
from alluvium.recovery.tables import Table


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
    if publisher.touched() or _others_wrote(publisher):
        return Finding(
            "somebody else wrote to it",
            f"readers see rows that are not those of version {head.version} of {candidate.name}",
            f"the next publish, or {RECOVER}",
        )
    note = next(_publishes(publisher), None)
    if note is not None and publisher.has_head(note) is False:
        return Finding(
            f"it shows version {head.version} of {candidate.name}, which is another one now",
            f"{candidate.name} lost what readers see, for example by a backup",
            f"the next publish, or {RECOVER}",
        )
    return None


def tested(session: SparkSession, table: Table, candidate: Table, last: int) -> int | None:
    """The newest version of the candidate that readers saw, and that is whole; None without one.

    last: no later version counts.
    """
    publisher = Publisher(session, candidate.by_path, table.by_path, hides=table.hides)
    for note in _publishes(publisher):
        version = int(note["version"])
        if version > last or not publisher.has_head(note) or publisher.undid(version) is not False:
            continue
        try:
            if not NeededFiles(session, candidate.place, version).unusable():
                return version
        except (PySparkException, Py4JError):  # the log has that version no more
            return None
    return None


def _publishes(publisher: Publisher) -> Iterator[Mapping[str, Any]]:
    """What publishes noted in the log of a published table, newest first."""
    return filter(None, map(published_of, publisher.commits()))


def _others_wrote(publisher: Publisher) -> bool:
    """Whether a commit other than a publish added or took files since the newest publish."""
    since = takewhile(lambda commit: not published_of(commit), publisher.commits())
    return any(map(is_foreign, since))
