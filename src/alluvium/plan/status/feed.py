"""How a feed stands: what waits, what is late, what readers see, in one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from alluvium import marks
from alluvium.plan.status.table import FailedAudit, SeenTable
from alluvium.plan.versions import arrivals, left_out
from alluvium.plan.versions.batches import app_id, shown_since
from alluvium.plan.versions.commit import Commit
from alluvium.plan.versions.heads import head_of, is_held
from alluvium.wording import counted, span

# Commits of a table that a look reads at most: a month of one each hour.
MOST = 1_000
_DAY = timedelta(days=1)
# How bad a feed stands.
FINE, NOTICE, WRONG, UNKNOWN = "fine", "notice", "wrong", "unknown"
_WORST_FIRST = (UNKNOWN, WRONG, NOTICE, FINE)


@dataclass(frozen=True)
class Waiting:
    """Events that are in bronze and not merged.

    Attributes:
        of: the name of the streaming table.
        since: when the oldest of them came; None where the log does not say.
        is_all: whether the log goes back far enough to count them all.
    """

    of: str
    events: int
    batches: int
    since: datetime | None
    is_all: bool

    def seconds(self, now: datetime) -> float | None:
        """For how long the oldest of them waits; None where the log does not say."""
        return None if self.since is None else (now - self.since).total_seconds()


@dataclass(frozen=True)
class Readers:
    """What readers of a published table see.

    Attributes:
        version: of the candidate; None before the first publish.
        since: when it was published; None where the log does not say.
        newest: version of the candidate that is there.
        is_checked_out: whether a checkout holds it there.
    """

    version: int | None
    since: datetime | None
    newest: int | None
    is_checked_out: bool


@dataclass(frozen=True)
class FeedStatus:
    """How a feed stands.

    Attributes:
        name: of the model that readers ask for.
        problems: why a part of it could not be looked at.
        newest: time of the newest arrival.
        looked: when the stream last looked for events.
        slo: seconds that an event may wait.
        rejected: events that merges kept aside in the last day; None where nothing merges.
        held_back: what the audit holds back.
        failed: when its last run failed.
        merged: when its newest batch was merged.
    """

    name: str
    problems: tuple[str, ...] = ()
    is_damaged: bool = False
    newest: datetime | None = None
    looked: datetime | None = None
    slo: float | None = None
    waiting: Waiting | None = None
    rejected: int | None = None
    readers: Readers | None = None
    held_back: FailedAudit | None = None
    failed: datetime | None = None
    is_late: bool = False

    @property
    def state(self) -> str:
        """`unknown`, `wrong`, `notice` or `fine`."""
        if self.is_damaged:
            return UNKNOWN
        if self.is_late or self.held_back:
            return WRONG
        held = self.readers is not None and self.readers.is_checked_out
        return NOTICE if held or self.failed or self.problems else FINE

    def line(self, now: datetime) -> str:
        """The feed in one line."""
        return f"{self.name}: {self.said(now)}"

    def said(self, now: datetime) -> str:
        """What its line says of it."""
        parts = [*self.problems]
        if self.newest is not None:
            slo = f" (slo {span(self.slo)})" if self.slo is not None else ""
            late = ", late" if self.is_late else ""
            parts.append(f"newest arrival {ago(self.newest, now)}{slo}{late}")
        if self.waiting is not None:
            parts.append(waits(self.waiting))
            waited = self.waiting.seconds(now)
            if self.is_late and waited is not None:
                parts.append(f"the oldest for {span(waited)}")
        if self.looked is not None:
            parts.append(f"the stream looked {ago(self.looked, now)}")
        if self.rejected:
            parts.append(f"{self.rejected:,} rejected in the last day")
        if self.readers is not None:
            parts.append(_seen(self.readers, self.held_back, now))
        if self.failed is not None:
            parts.append(f"the last run failed {ago(self.failed, now)}")
        return ", ".join(parts) or "nothing is known of arrivals"


def feed(
    name: str,
    bronze: SeenTable | None,
    merged: SeenTable | None,
    published: SeenTable | None,
    slo: float | None,
    now: datetime,
) -> FeedStatus:
    """How a feed stands.

    Args:
        bronze: the streaming table; None where there is not one alone.
        merged: what is merged from it, or else the candidate; None for a stream alone.
        published: what shows `merged`; None for none.
        slo: seconds that an event may wait in bronze.
    """
    tables = [one for one in (bronze, merged, published) if one is not None]
    waiting, newest = _waiting(bronze, merged)
    readers = _readers(merged, published)
    runs = [one.note for one in tables if one.note is not None and one.note.outcome == "error"]
    return FeedStatus(
        name=name,
        problems=tuple(_problems(tables, name)),
        is_damaged=any(one.problem is not None and one.is_built for one in tables),
        newest=newest,
        looked=bronze.note.at if bronze is not None and bronze.note is not None else None,
        slo=slo,
        waiting=waiting,
        rejected=_rejected(merged, now),
        readers=readers,
        held_back=_held_back(merged, readers),
        failed=max((one.at for one in runs), default=None),
        is_late=_is_late(waiting, slo, now),
    )


def worst_first(one: FeedStatus) -> tuple[int, float, str]:
    """The place of a feed: what cannot be looked at, what is wrong, what asks for a look, then the
    rest; of each the one whose events wait longest first."""
    since = one.waiting.since if one.waiting is not None else None
    return (
        _WORST_FIRST.index(one.state),
        float("inf") if since is None else since.timestamp(),
        one.name,
    )


def _is_late(waiting: Waiting | None, slo: float | None, now: datetime) -> bool:
    waited = None if waiting is None else waiting.seconds(now)
    return waited is not None and slo is not None and waited > slo


def _problems(tables: Iterable[SeenTable], feed: str) -> Iterator[str]:
    """Why tables of a feed could not be looked at: those that are not there as one."""
    missing = [one.name for one in tables if not one.is_built]
    if missing:
        names = "" if missing == [feed] else f"{', '.join(missing)} "
        yield f"{names}not built from this home"
    for one in tables:
        whose = "" if one.name == feed else f"{one.name}: "
        if one.problem is not None and one.is_built:
            yield f"{whose}{one.problem}"
        elif one.unfinished is not None:
            yield f"{whose}version {one.unfinished:,} is being written"


def _waiting(
    bronze: SeenTable | None, merged: SeenTable | None
) -> tuple[Waiting | None, datetime | None]:
    """What waits, and when the newest event arrived."""
    if bronze is None or bronze.snapshot is None:
        return None, None
    time = bronze.snapshot.fields.get(arrivals.TIME)
    earliest: list[int] = []
    batches = arrivals.arrivals(
        _commits(bronze, earliest), arrivals.TIME if time is None else time.physical
    )
    through = _progress(merged)
    if through is None:
        first = next(batches, None)
        return None, None if first is None else first.newest
    found = arrivals.freshness(batches, through, _left_out(merged))
    if found is None:
        return None, None
    waiting = None
    if found.batches:
        # Where the commits ended before the batch that is merged, more may wait.
        is_all = not earliest or earliest == [0]
        waiting = Waiting(bronze.name, found.events, found.batches, found.since, is_all)
    return waiting, found.newest


def _progress(merged: SeenTable | None) -> int | None:
    """The newest batch that is merged, -1 before the first; None where that is not known."""
    if merged is None:
        return None
    if merged.snapshot is None:
        return None if merged.is_built else -1
    app = app_id(merged.unique_id, merged.snapshot.id)
    return merged.snapshot.transactions.get(app, -1)


def _left_out(merged: SeenTable | None) -> list[int]:
    if merged is None or merged.snapshot is None:
        return []
    return left_out.batches(left_out.left_out(merged.snapshot.transactions, merged.unique_id))


def _commits(table: SeenTable, earliest: list[int]) -> Iterator[Commit]:
    """Those that `arrivals` looks at; earliest: gets the version of the last one, if it gets so
    far."""
    version = -1
    for one in islice(table.commits(), MOST):
        version = one.version
        yield one
    earliest.append(version)


def _rejected(merged: SeenTable | None, now: datetime) -> int | None:
    if merged is None or merged.snapshot is None:
        return None
    found = 0
    for one in islice(merged.commits(), MOST):
        if one.at is not None and one.at < now - _DAY:
            break
        found += int((one.note(marks.MERGE_FIGURES) or {}).get("rejected") or 0)
    return found


def _readers(candidate: SeenTable | None, published: SeenTable | None) -> Readers | None:
    if published is None or (published.snapshot is None and published.is_built):
        return None
    newest = candidate.snapshot if candidate is not None else None
    head = head_of(published.snapshot.transactions) if published.snapshot is not None else None
    held = published.snapshot is not None and is_held(published.snapshot.transactions)
    since = shown_since(islice(published.commits(), MOST))
    # A candidate that was made again counts from 0: its versions are not those that readers see.
    is_same = head is None or newest is None or newest.id == head[0]
    return Readers(
        version=None if head is None else head[1],
        since=since,
        newest=newest.version if newest is not None and is_same else None,
        is_checked_out=held,
    )


def _held_back(candidate: SeenTable | None, readers: Readers | None) -> FailedAudit | None:
    """What the audit holds back still: readers may have got a later version since."""
    note = candidate.note.held_back if candidate is not None and candidate.note else None
    if note is None or readers is None or candidate is None or candidate.snapshot is None:
        return None
    if note.table_id != candidate.snapshot.id:
        return None
    moved_on = readers.newest is not None and (readers.version or -1) >= note.version
    return None if moved_on else note


def waits(waiting: Waiting, named: bool = True) -> str:
    """What waits; named: with the name of the streaming table."""
    least = "" if waiting.is_all else "at least "
    wait = "waits" if waiting.events == 1 else "wait"
    of = f" of {waiting.of}" if named else ""
    return f"{least}{counted(waiting.events, 'event')}{of} {wait}"


def _seen(readers: Readers, held_back: FailedAudit | None, now: datetime) -> str:
    if readers.version is None:
        said = "readers see nothing yet"
    else:
        said = f"readers see version {readers.version:,}"
        if readers.since is not None:
            said += f" of {ago(readers.since, now)}"
    if held_back is not None:
        many = counted(len(held_back.failed), "test")
        return f"{said}: {many} of version {held_back.version:,} failed since"
    if readers.is_checked_out:
        return f"{said}, where a checkout holds them"
    if readers.newest is not None and readers.newest > (readers.version or -1):
        return f"{said}, version {readers.newest:,} is there"
    return said


def ago(time: datetime, now: datetime) -> str:
    """How long it is since, such as `4 minutes ago`."""
    return f"{span((now - time).total_seconds())} ago"
