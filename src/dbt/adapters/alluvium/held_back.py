"""What is said behind a run of a candidate that failed its audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alluvium.plan.commands import operation
from alluvium.plan.graph import name_of
from alluvium.plan.status.table import FailedAudit
from alluvium.wording import counted, moment, span

# The test whose one row says how many rows there are, and how many readers see.
_ROWS_KEPT = ("alluvium", "rows_kept")


@dataclass(frozen=True)
class PublishedHead:
    """What readers see of a published table.

    version: of the candidate; None before the first publish.
    since: when it was published, if that is known.
    is_of_candidate: whether the candidate's table is still the one of that version.
    """

    name: str
    version: int | None = None
    since: datetime | None = None
    is_of_candidate: bool = False


def compares_with_readers(test: Any) -> bool:
    """Whether a failure of a test is of no use without the figures in its row."""
    known = getattr(test, "test_metadata", None)
    return known is not None and (known.namespace, known.name) == _ROWS_KEPT


def figures(test: Any, failures: Any, row: Mapping[str, Any] | None = None) -> str:
    """How a test failed.

    failures: what its `fail_calc` gave.
    row: the first one of its query; None where nobody looked.
    """
    if row is not None:
        own, theirs = (int(row[name]) for name in ("row_count", "published_row_count"))
        return f"{counted(own, 'row')}, readers see {theirs:,}"
    calc = test.config.fail_calc
    return counted(failures, "row") if calc == "count(*)" else f"{calc} is {failures:,}"


@dataclass
class HeldBack:
    """A candidate that failed its audit in this invocation.

    candidate: its node.
    audit: what all threads have noted of it.
    shown: of each published table that this invocation might have moved.
    """

    candidate: Any
    audit: FailedAudit
    shown: Sequence[PublishedHead]

    def lines(self, now: datetime) -> Iterator[str]:
        name = name_of(self.candidate)
        held = self.audit
        yield f"{name} is held back: {held.count} of its version {held.version:,} failed"
        yield from (f"  {test}: {how}" for test, how in sorted(held.failed.items()))
        for one in self.shown:
            yield f"  {one.name}: {_seen(one, now)}"
        back = next((one.version for one in self.shown if one.is_of_candidate), None)
        if back is not None:
            yield f"  what changed: {operation('diff', model=name, **{'from': back})}"
        if back is not None and "alluvium_merge" in (self.candidate.config.meta or {}):
            yield f"  to undo it: {operation('restore', model=name, version=back, dry_run=True)}"
        else:
            yield f"  when it is mended: dbt build -s {name}+"


def _seen(shown: PublishedHead, now: datetime) -> str:
    if shown.version is None:
        return "readers see nothing yet"
    keep = f"readers keep version {shown.version:,}"
    if shown.since is None:
        return keep
    ago = span((now - shown.since).total_seconds())
    return f"{keep}, published {moment(shown.since)} ({ago} ago)"
