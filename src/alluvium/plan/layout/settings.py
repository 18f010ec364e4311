"""How the fragments of a table are to lie: what `meta.alluvium_layout` says, checked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alluvium import schema
from alluvium.names import bare
from alluvium.plan.layout import zorder
from alluvium.plan.layout.errors import LayoutError

MIB = 2**20
META = "alluvium_layout"
_HOUR, _DAY = 3600.0, 86400.0
LEXICAL, ZORDER = "lexical", "zorder"
WINDOWS = {"hour": _HOUR, "day": _DAY, "week": 7 * _DAY, "month": 30 * _DAY}
# Full fragments that a budget holds at least. A new one may have 1.5 times the target; two that do
# not fit in would never be merged.
_LEAST_FULL = 3
_DURATION = re.compile(r"([1-9][0-9]{0,5}) (minute|hour|day|week)s?")
_SECONDS = {"minute": 60.0, "hour": _HOUR, "day": _DAY, "week": 7 * _DAY}
_SIZE = re.compile(r"([1-9][0-9]{0,11})(?: ?(KiB|MiB|GiB|TiB))?")
_BYTES = {None: 1, "KiB": 2**10, "MiB": MIB, "GiB": 2**30, "TiB": 2**40}


@dataclass(frozen=True)
class Layout:
    """The wanted layout of a table.

    `tiers`, `growth` and `level_rows` are constants: no setting changes them, only tests do.

    Attributes:
        sort_by: columns of the sort key, in their order.
        bucket_column, window: the partition column that buckets are made by, or the timestamp that
            it is computed from. And how much time each of its values stands for, a key of
            `WINDOWS`; both None where the table is not divided by time.
        target_rows, target_bytes: size of a full fragment; whichever is reached first counts.
        fan_in: fragments that one merge of a size class takes, at most and, while the bucket is
            hot, at least.
        tiers: size classes of fragments that are not full. Each spans a factor of `span`; the
            lowest holds all that is smaller still.
        quiet_after: seconds without an arrival after which a bucket is quiet. None: by the lateness
            that the bucket has seen, and never where it does not stand for a time.
        growth: how many runs are merged into one, the largest of them less than as many times
            as large as the smallest.
        level_rows: rows that level 0 holds before it is ordered; None for as many as 16 full
            fragments have.
        budget: bytes that one run rewrites at most; None for any number.
        max_memory: bytes of a column chunk at most, encoded and not compressed.
        curve: how rows are ordered: LEXICAL, column by column, or ZORDER.
        partial_progress: whether each merge of a plan is a commit of its own; otherwise all of
            them are one, or none is.
        index: columns of which the log says the values of each file; None for those of the sort key
            that it can say them of.
        cuts: of the Z-order. Nobody chooses them: they are in the table's log, once it has some.
        marks: what tells the columns of `sort_by` from others that had their names. Of the table,
            too.
    """

    sort_by: Sequence[str]
    bucket_column: str | None = None
    window: str | None = None
    target_rows: int = 1_000_000
    target_bytes: int = 128 * MIB
    fan_in: int = 32
    tiers: int = 8
    quiet_after: float | None = None
    growth: int = 8
    level_rows: int | None = None
    budget: int | None = None
    max_memory: int = 128 * MIB
    curve: str = LEXICAL
    partial_progress: bool = True
    index: Sequence[str] | None = None
    cuts: zorder.Cuts | None = None
    marks: str = ""

    @property
    def indexed(self) -> Sequence[str]:
        """Columns of which the log is to say the values of each file."""
        return self.sort_by if self.index is None else self.index

    @property
    def sort_key(self) -> str:
        """What tells apart sort keys that cannot be compared: the order, its columns and cuts."""
        cuts = self.cuts.name if self.cuts else ""
        return f"{self.curve}{json.dumps(list(self.sort_by))}{self.marks}{cuts}"

    @property
    def span(self) -> float:
        """The largest fragment of a size class over its smallest.

        Measured on 1,000 files with lognormal sizes: a class twice as wide costs up to 1.49 times
        the least rewriting, not 1.00. A narrower one only leaves more fragments.
        """
        return max(2.0, self.fan_in / 8)

    @property
    def fan_in_of_mixed(self) -> int:
        """Fragments that have to be there before the `fan_in` smallest are merged, where some are
        new and some have been merged already.

        Measured on 1,000 files, 2 % being 50 times as large as others: up to 1.15 times the least
        rewriting, and 1.27 without that wait.
        """
        return self.fan_in + -(-self.fan_in // 2)

    @property
    def most_small(self) -> int:
        """Fragments of a bucket that are not full, at most, once those of a size are merged."""
        return self.tiers * (self.fan_in_of_mixed - 1)

    def quiet_time(self, lateness: float) -> float:
        """Seconds without an arrival after which a bucket is quiet that saw data so late (in
        seconds). They are a quarter of its window, or twice the lateness if that is more, but a day
        at most."""
        if self.quiet_after is not None:
            return self.quiet_after
        if self.window is None:
            return float("inf")
        return min(_DAY, max(WINDOWS[self.window] / 4, 2 * lateness))


def parse_layout(model: str, block: Any) -> Layout:
    """Parse and check `meta.alluvium_layout`; docs/compaction.md describes its keys.

    Args:
        model: name of the model, for messages.
        block: the value.

    Raises:
        LayoutError: with every mistake: the key, the value and what is accepted.
    """
    given = _without_nulls(block)
    rule = schema.settings()["model"][META]
    mistakes = schema.mistakes(f"meta.{META}", given, rule)
    if isinstance(given, Mapping) and "sort_by" not in given:
        # Without an adapter a layout of buckets alone is one.
        mistakes.append(f"meta.{META}.sort_by: missing; accepted: a column, or a list of columns")
    if mistakes:
        raise LayoutError(model, mistakes)
    bucket = given.get("bucket_by", {})
    found: dict[str, Any] = {
        key: _READ.get(key, lambda value: value)(value)
        for key, value in given.items()
        if key not in ("bucket_by", "retain")  # which is read in SQL alone, by what drops buckets
    }
    if mistakes := [f"meta.{META}.{line}" for line in _across(given, found)]:
        raise LayoutError(model, mistakes)
    if bucket:
        found |= {"bucket_column": bare(bucket["column"]), "window": bucket["window"]}
    return Layout(**found)


def _without_nulls(block: Any) -> Any:
    """A key of YAML that says nothing is as if it were not there."""
    if not isinstance(block, Mapping):
        return block
    return {key: _without_nulls(value) for key, value in block.items() if value is not None}


def _across(given: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """Mistakes that no key makes by itself: `given` as it was written, `found` as it is read."""
    for key in ("sort_by", "index"):
        names = [name.lower() for name in found.get(key, ())]
        if len(set(names)) < len(names):
            yield f"{key}: {schema.shown(given[key])} is not accepted; accepted: each column once"
    if "retain" in given and "bucket_by" not in given:
        yield (
            f"retain: {given['retain']!r}: whole buckets are dropped, and without bucket_by there"
            " is one; accepted: with bucket_by"
        )
    if found.get("max_memory", MIB) < MIB:
        yield (
            f"max_memory: {schema.shown(given['max_memory'])} is not accepted; accepted: at least"
            " 1 MiB"
        )
    count = len(found["sort_by"])
    if found.get("curve") == ZORDER and not zorder.FEWEST <= count <= zorder.MOST:
        yield (
            f"curve: 'zorder' with {count} in sort_by; accepted: zorder with {zorder.FEWEST} to"
            f" {zorder.MOST} columns, or lexical"
        )
    fits = max(found.get("fan_in", Layout.fan_in), 2 * _LEAST_FULL)
    least = fits * found.get("target_bytes", Layout.target_bytes) // 2
    if found.get("budget", least) < least:
        # So that every merge of small fragments fits in.
        yield (
            f"budget: {given['budget']!r}; accepted: at least {_in_bytes(least)}, which are fan_in"
            f" / 2 full fragments by target_bytes, and at least {_LEAST_FULL}"
        )


def _columns(value: Any) -> tuple[str, ...]:
    return tuple(map(bare, [value] if isinstance(value, str) else value or ()))


def size_of(value: Any) -> int:
    """Bytes."""
    match = None if isinstance(value, bool) else _SIZE.fullmatch(str(value))
    if not match:
        raise ValueError("bytes, such as 134217728, 128 MiB or 1 GiB")
    return int(match[1]) * _BYTES[match[2]]


def _in_bytes(size: int) -> str:
    """A size as `size_of` reads it, in the largest unit that leaves nothing over."""
    units = [unit for unit, of in _BYTES.items() if unit and size % of == 0]
    return f"{size // _BYTES[units[-1]]} {units[-1]}" if units else f"{size} bytes"


def duration(value: Any) -> float:
    """Seconds."""
    match = _DURATION.fullmatch(str(value))
    if not match:
        raise ValueError("a number of minutes, hours, days or weeks, such as 6 hours")
    return int(match[1]) * _SECONDS[match[2]]


# How the values of keys are read; the others are as they are.
_READ: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("sort_by", "index"), _columns),
    **dict.fromkeys(("target_bytes", "budget", "max_memory"), size_of),
    "quiet_after": lambda value: None if value == "auto" else duration(value),
}
