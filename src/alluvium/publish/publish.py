"""Publish a version of a candidate: its files become those of the published table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.log import log
from alluvium.delta.log.concurrency_errors import OTHER_ROWS, OTHER_TABLE
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.published.published import Moved, Publisher, mistakes_of
from alluvium.plan.planned import Planned
from alluvium.plan.versions import properties
from alluvium.plan.versions.audit import RESTORED, Audit
from alluvium.wording import counted, needs


@dataclass(frozen=True)
class Published:
    """What a publish did.

    Attributes:
        source_version: of the candidate, that is published now.
        version: of the published table, that shows it.
        files_added, files_removed: of the published table; both 0 where it showed the same rows.
        seconds: from the look at both tables to the commit.
        tested: the version of the candidate that was to be published.
        stays: why it was not, so that the table shows what it showed; empty where it was.
        ends_hold: whether a checkout held it until now.
        is_dry_run: whether it is only what would be done.
    """

    source_version: int
    version: int
    files_added: int
    files_removed: int
    seconds: float
    tested: int
    stays: str = ""
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
        if self.stays:
            shown = f"version {self.tested:,} of {candidate} is not published, for {self.stays}"
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
    table_id: str | None = None,
    description: str | None = None,
    ends_hold: bool = False,
    dry_run: bool = False,
) -> Published:
    """Make the table `target` show a version of `source`.

    The first time `target` is made.

    Args:
        source: name of the candidate, a Delta table.
        target: name of the published table.
        version: of the candidate; None for the newest.
        note: JSON for the commit. Of a `candidate`, a model's unique id, its newest merged batch
            is added.
        own: properties of the published table.
        hides: whether rows that are marked `_deleted` are left out.
        table_id: of the candidate at that version, where it is known. A table that was dropped and
            made again has other rows in a version of the same number.
        description: of `target`, which readers see with that version; None leaves the one it has.
        ends_hold: whether a version that a checkout holds is moved on; else it stays.
        dry_run: tells what would be done, and does nothing.

    Raises:
        ValueError: the candidate cannot be published, or the target has rows of another origin.
            Nothing was written.
        RuntimeError: somebody else published meanwhile, or changed the candidate so that this
            version is not to be shown. Nothing was shown before; what is there stays.
    """
    started = time.monotonic()
    is_there = session.catalog.tableExists(target)
    # Before the table is made. Where it is there, the publisher tells what stops the source.
    of_source = [] if is_there else mistakes_of(session, source)
    if mistakes := [*of_source, *properties.own_mistakes(own)]:
        raise ValueError(f"{source} cannot be published: " + "; ".join(mistakes))
    if dry_run and not is_there:
        now = TableSnapshot.of(session, source)
        shows, seconds = now.version if version is None else version, time.monotonic() - started
        return Published(shows, 0, now.files, 0, seconds, shows, is_dry_run=True)
    if not is_there:
        make_empty(session, source, target)
    at = partial(_publisher, session, source, target, own=own, hides=hides, description=description)
    publisher = at(version)
    seen = _audited(publisher.audit(table_id), source, target)
    note = _with_batch(publisher, note)
    shows, moved = publisher.source.version, Moved(publisher.shown, 0, 0)
    if stays := next(seen.stays(ends_hold=ends_hold), ""):
        if seen.head is None:
            raise RuntimeError(
                f"{source}: version {shows} is not published, for {stays};"
                " the next build publishes what it is now"
            )
        shows = seen.head
    elif dry_run:
        moved = publisher.planned()
    else:
        showed = moved.version
        with _alone(session, target):
            moved = publisher.publish(note, False if ends_hold else None)
        # A restore beside this one looked at what was shown before.
        if moved.version != showed and publisher.undid(shows, by_now=True) is not False:
            stays = f"{RESTORED} meanwhile"
            shows, moved = _take_back(publisher, at, target, note, moved)
    return Published(
        shows,
        moved.version,
        moved.files_added,
        moved.files_removed,
        time.monotonic() - started,
        publisher.source.version,
        stays,
        seen.is_held and ends_hold,
        dry_run,
    )


def _audited(audit: Audit, source: str, target: str) -> Audit:
    if refusals := audit.refusals(source, target):
        raise ValueError("\n".join(refusals))
    return audit


def _with_batch(publisher: Publisher, note: Mapping[str, Any]) -> Mapping[str, Any]:
    """The note, with the newest merged batch of its `candidate`."""
    of_source, numbers = publisher.source.numbers
    batch = numbers.get(f"{marks.MERGED_THROUGH}{note.get('candidate')}/{of_source}")
    return note if batch is None else {**note, "batch": batch}


def _take_back(
    publisher: Publisher,
    at: Callable[[int | None], Publisher],
    target: str,
    note: Mapping[str, Any],
    moved: Moved,
) -> tuple[int, Moved]:
    """Take back a publish of what a restore undid meanwhile; what is shown then, and what was done.

    The table shows what it showed before, or what the candidate is now where that was undone too.

    Args:
        publisher: that has published.
        at: gives one of another version of the candidate.
        moved: what the publish did.
    """
    before, back = publisher.head, None
    if before is not None and publisher.source.has(before):
        # Readers saw it: it stays unless it is known to be undone.
        back = None if publisher.undid(before.version) else before.version
    last = at(back)
    if last.head != log.TableVersion(publisher.source.table_id, publisher.source.version):
        # Others have published since, who look at this too.
        return (last.head or last.source).version, moved
    with _alone(publisher.source.session, target):
        return last.source.version, last.publish(note)


def _publisher(
    session: SparkSession,
    source: str,
    target: str,
    version: int | None,
    own: Mapping[str, str] | None,
    hides: bool,
    description: str | None = None,
) -> Publisher:
    """Raises ValueError where the candidate has no such version."""
    try:
        return Publisher(session, source, target, version, own, hides, description=description)
    except (Py4JJavaError, PySparkException) as error:
        newest = log.version(session, source)
        if version is None or version == newest:
            raise
        lost = f"has no version {version}"
        if version < newest:
            lost = f"lost the log of version {version}"
        raise ValueError(
            f"{source} {lost}; accepted: a version up to {newest} that its log has"
        ) from error


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
    hold: bool | None = None,
    hides: bool = True,
    instead_of: log.TableVersion | None = None,
) -> Planned[Moved]:
    """Make a published table show any version of its candidate that is still there.

    Args:
        version: of the candidate.
        hold: whether it stays there when later versions pass their tests; None leaves that.
        hides: whether rows that are marked `_deleted` are left out.
        instead_of: what it shows; where it shows something else by now, that stays.

    Raises:
        ValueError: nothing was published yet, or that version is not there. Nothing was changed.
            So does `apply`, of a version whose files a vacuum deletes meanwhile.
        RuntimeError: of `apply`: somebody else published meanwhile; what they published stays.
    """
    is_there = session.catalog.tableExists(target)
    publisher = _publisher(session, source, target, version, None, hides) if is_there else None
    before = None if publisher is None else publisher.head
    if publisher is None or before is None:
        raise ValueError(f"{target}: nothing is published yet; accepted: a published model")
    if instead_of not in (None, before):
        stays = Moved(publisher.shown, 0, 0)
        return Planned(stays, lambda: stays)
    seen = _audited(publisher.audit(of_newest=True), source, target)
    if seen.missing:
        raise ValueError(
            f"{source}: version {version} {needs(seen.missing)}; accepted: a newer version"
        )

    def apply() -> Moved:
        with _alone(session, target):
            moved = publisher.publish({"checkout": True}, hold)
        # Of the newest version nobody deletes a file.
        if not seen.is_newest and (why := publisher.endangered()):
            with _alone(session, target):
                back = Publisher(session, source, target, before.version, hides=hides)
                shows = "what others published since"
                if back.head == log.TableVersion(publisher.source.table_id, version):
                    back.publish({"checkout": True}, seen.is_held)
                    shows = f"version {before.version} again"
            raise ValueError(
                f"{source}: version {version}: {why}. {target} shows {shows};"
                " accepted: a newer version, or again when no vacuum goes on"
            )
        return moved

    return Planned(publisher.planned(), apply)


def make_empty(session: SparkSession, source: str, target: str) -> None:
    """Make a table of the candidate's columns and features without a row, where there is none."""
    if not session.catalog.tableExists(target):
        session.sql(f"create table if not exists {target} like {source}")


def head(session: SparkSession, target: str) -> log.TableVersion | None:
    """What a published table shows; None where there is none, or nothing was published yet."""
    if not session.catalog.tableExists(target):
        return None
    return TableSnapshot.of(session, target).head
