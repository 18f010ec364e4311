"""Publish a version of a candidate: its files become those of the published table."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.delta import log
from alluvium.delta.concurrency_errors import OTHER_ROWS, OTHER_TABLE
from alluvium.delta.heads import head_of
from alluvium.delta.published import Moved, Publisher, mistakes_of
from alluvium.plan.versions import properties
from alluvium.wording import counted


@dataclass(frozen=True)
class Published:
    """What a publish did.

    Attributes:
        source_version: of the candidate, that is published now.
        version: of the published table, that shows it.
        files_added, files_removed: of the published table; both 0 where it showed the same rows.
        seconds: from the look at both tables to the commit.
        tested: the version of the candidate that was to be published: an older one, where another
            run was faster, or where a checkout holds the table.
        is_held: whether a checkout holds it.
        ends_hold: whether a checkout held it until now.
        is_dry_run: whether it is only what would be done.
    """

    source_version: int
    version: int
    files_added: int
    files_removed: int
    seconds: float
    tested: int
    is_held: bool = False
    ends_hold: bool = False
    is_dry_run: bool = False

    def line(self, name: str, candidate: str, tests: int) -> str:
        """The line of the console."""
        did = "nothing to change"
        if self.files_added or self.files_removed:
            did = f"{counted(self.files_added, 'file')} in, {self.files_removed:,} out"
        passed = f"{counted(tests, 'test')} passed" if tests else "not audited"
        will = "would be published" if self.is_dry_run else "published"
        shown = f"version {self.tested:,} of {candidate} {will}, {did}"
        if self.is_held:
            shown = (
                f"version {self.tested:,} of {candidate} is not published, for a checkout holds"
                f" version {self.source_version:,}"
            )
        elif self.tested < self.source_version:
            shown = (
                f"version {self.tested:,} of {candidate} is not published,"
                f" for version {self.source_version:,} is already"
            )
        ends = "; what a checkout held is let go" if self.ends_hold else ""
        return f"{name}: {passed} → {shown} in {self.seconds:.1f} s{ends}"


def publish(
    session: SparkSession,
    source: str,
    target: str,
    version: int | None,
    note: Mapping[str, Any],
    own: Mapping[str, str],
    hides: bool = True,
    *,
    ends_hold: bool = False,
    dry_run: bool = False,
) -> Published:
    """Make the table `target` show a version of `source`.

    The first time `target` is made.

    Args:
        source: name of the candidate, a Delta table.
        target: name of the published table.
        version: of the candidate; None for the newest.
        note: JSON for the commit.
        own: properties of the published table.
        hides: whether rows that are marked `_deleted` are left out.
        ends_hold: whether a version that a checkout holds is moved on; else it stays.
        dry_run: tells what would be done, and does nothing.

    Raises:
        ValueError: the candidate cannot be published, or the target has rows of another origin.
            Nothing was written.
        RuntimeError: somebody else published meanwhile; what they published stays.
    """
    started = time.monotonic()
    # Before the table is made.
    if mistakes := [*mistakes_of(session, source), *properties.own_mistakes(own)]:
        raise ValueError(f"{source} cannot be published: " + "; ".join(mistakes))
    if dry_run and not session.catalog.tableExists(target):
        now = log.snapshot_of(session, source)
        shows, files = int(now.version()) if version is None else version, int(now.numOfFiles())
        return Published(shows, 0, files, 0, time.monotonic() - started, shows, is_dry_run=True)
    if not dry_run:
        make_empty(session, source, target)
    publisher = Publisher(session, source, target, version, own, hides)
    if publisher.is_foreign:
        raise ValueError(
            f"{target} is there with rows that no publish brought. Nothing was changed."
            " Accepted: to rename or drop that table, or another alias"
        )
    if mistakes := publisher.mistakes():
        raise ValueError(f"{source} cannot be published: " + "; ".join(mistakes))
    before = publisher.head
    shows, moved = publisher.version, Moved(publisher.shown, 0, 0)
    is_newer = before is not None and before.version > shows and publisher.is_of_source(before)
    is_held = publisher.is_held and not ends_hold
    if before is not None and (is_held or is_newer):
        shows = before.version
    elif dry_run:
        moved = publisher.planned()
    else:
        with _alone(session, target):
            moved = publisher.publish(note, False if ends_hold else None)
    return Published(
        shows,
        moved.version,
        moved.files_added,
        moved.files_removed,
        time.monotonic() - started,
        publisher.version,
        is_held,
        publisher.is_held and ends_hold,
        dry_run,
    )


@contextmanager
def _alone(session: SparkSession, target: str) -> Iterator[None]:
    """Tell of another run that was faster."""
    try:
        yield
    except (*OTHER_ROWS, *OTHER_TABLE) as error:
        now = head(session, target)
        shows = f"version {now.version} of the candidate" if now else "what it showed before"
        raise RuntimeError(
            f"{target}: another run published meanwhile, and it shows {shows};"
            " the next build publishes what is newer"
        ) from error


def checkout(
    session: SparkSession,
    source: str,
    target: str,
    version: int,
    *,
    hold: bool,
    hides: bool = True,
    dry_run: bool = False,
) -> Moved:
    """Make a published table show any version of its candidate that is still there.

    Args:
        version: of the candidate.
        hold: whether it stays there when later versions pass their tests.
        hides: whether rows that are marked `_deleted` are left out.
        dry_run: tells what would be done, and does nothing.

    Raises:
        ValueError: nothing was published yet, or that version is not there. Nothing was changed.
        RuntimeError: somebody else published meanwhile; what they published stays.
    """
    if head(session, target) is None:
        raise ValueError(f"{target}: nothing is published yet; accepted: a published model")
    newest = log.version(session, source)
    if version > newest:
        raise ValueError(f"{source} has no version {version}; its newest one is {newest}")
    try:
        publisher = Publisher(session, source, target, version, hides=hides)
    except (Py4JJavaError, PySparkException) as error:
        raise ValueError(
            f"{source}: the log has version {version} no more; its newest one is {newest}"
        ) from error
    if mistakes := publisher.mistakes():
        raise ValueError(f"{source} cannot be published: " + "; ".join(mistakes))
    if missing := publisher.missing():
        raise ValueError(
            f"{source}: version {version} needs {counted(len(missing), 'file')} that"
            f" VACUUM deleted, such as {missing[0]}; accepted: a newer version"
        )
    if dry_run:
        return publisher.planned()
    with _alone(session, target):
        return publisher.publish({"checkout": True}, hold)


def make_empty(session: SparkSession, source: str, target: str) -> None:
    """Make a table of the candidate's columns and features without a row, where there is none."""
    if not session.catalog.tableExists(target):
        session.sql(f"create table if not exists {target} like {source}")


def head(session: SparkSession, target: str) -> log.TableVersion | None:
    """What a published table shows; None where there is none, or nothing was published yet."""
    if not session.catalog.tableExists(target):
        return None
    return head_of(log.snapshot_of(session, target))
