"""Numbers and times in what is said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime


def counted(number: int, noun: str) -> str:
    ending = "es" if noun.endswith("ch") else "s"
    return f"{number:,} {noun}{'' if number == 1 else ending}"


def needs(lost: Sequence[str]) -> str:
    """What a message says of a version whose files are gone."""
    return f"needs {counted(len(lost), 'file')} that VACUUM deleted, such as {lost[0]}"


def listed(names: Sequence[str], most: int) -> str:
    """The first of some names, such as `a, b and 3 more`."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def in_bytes(number: int) -> str:
    """A size in the unit that leaves few digits, such as `64.0 MiB`."""
    for unit, of in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20)):
        if number >= of:
            return f"{number / of:,.1f} {unit}"
    return f"{number / 2**10:,.1f} KiB"


def moment(time: datetime) -> str:
    """A time to the second, such as `2025-01-31 23:59:00 UTC`."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def span(seconds: float) -> str:
    """About how long, such as `40 seconds`, `3 hours` or `12 days`."""
    for unit, noun in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * unit:
            return counted(int(seconds // unit), noun)
    return counted(max(int(seconds), 0), "second")


def newest(time: datetime, noun: str = "event", now: datetime | None = None) -> str:
    """How fresh something is, such as `newest event 2025-01-31 23:59:00 UTC (3 days ago)`."""
    ago = ((now or datetime.now(UTC)) - time).total_seconds()
    return f"newest {noun} {moment(time)} ({span(ago)} ago)"
