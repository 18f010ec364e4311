"""How the fragments of a table are to lie: what `meta.alluvium_layout` says, checked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alluvium.names import bare, did_you_mean
from alluvium.plan.layout import zorder
from alluvium.plan.layout.errors import LayoutError

MIB = 2**20
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
    mistakes: list[str] = []
    rules = {
        "sort_by": _columns,
        "target_rows": _whole(1),
        "target_bytes": size_of,
        "fan_in": _whole(2, 1000),
        "quiet_after": _quiet_after,
        "retain": duration,
        "budget": size_of,
        "max_memory": _memory,
        "curve": _one_of((LEXICAL, ZORDER)),
        "partial_progress": _flag,
        "index": _no_or_columns,
    }
    found = _mapping("", block, {**rules, "bucket_by": None}, mistakes)
    of_bucket = {"column": _column, "window": _one_of(WINDOWS)}
    if isinstance(block, Mapping):
        if block.get("bucket_by") is not None:
            bucket = _mapping("bucket_by.", block["bucket_by"], of_bucket, mistakes)
            found |= {"bucket_column": bucket.get("column"), "window": bucket.get("window")}
        if block.get("sort_by") is None:
            mistakes.append("sort_by: missing; accepted: a column, or a list of columns")
        if "retain" in found and block.get("bucket_by") is None:
            mistakes.append(
                f"retain: {block['retain']!r}: whole buckets are dropped, and without bucket_by"
                " there is one; accepted: with bucket_by"
            )
        if isinstance(block.get("bucket_by"), Mapping):
            missing = [key for key in of_bucket if block["bucket_by"].get(key) is None]
            said = {"column": "a timestamp or partition column", "window": ", ".join(WINDOWS)}
            mistakes += [f"bucket_by.{key}: missing; accepted: {said[key]}" for key in missing]
    if found.get("curve") == ZORDER and "sort_by" in found:
        count = len(found["sort_by"])
        if not zorder.FEWEST <= count <= zorder.MOST:
            mistakes.append(
                f"curve: 'zorder' with {count} in sort_by; accepted: zorder with"
                f" {zorder.FEWEST} to {zorder.MOST} columns, or lexical"
            )
    fits = max(found.get("fan_in", Layout.fan_in), 2 * _LEAST_FULL)
    least = fits * found.get("target_bytes", Layout.target_bytes) // 2
    if found.get("budget", least) < least:
        # So that every merge of small fragments fits in.
        mistakes.append(
            f"budget: {block['budget']!r}; accepted: at least {_in_bytes(least)}, which are fan_in"
            f" / 2 full fragments by target_bytes, and at least {_LEAST_FULL}"
        )
    if mistakes:
        raise LayoutError(model, mistakes)
    found.pop("retain", None)  # read in SQL alone, by the operation that drops old buckets
    return Layout(**found)


def _mapping(
    where: str, given: Any, rules: Mapping[str, Any], mistakes: list[str]
) -> dict[str, Any]:
    """The values by their rules; a key without a rule is left to the caller."""
    accepted = ", ".join(rules)
    if not isinstance(given, Mapping):
        of = f"{where.removesuffix('.')}: " if where else ""
        mistakes.append(f"{of}{given!r} is not a mapping; accepted keys: {accepted}")
        return {}
    found = {}
    for key, value in given.items():
        if key not in rules:
            mistakes.append(
                f"{where}{key}: unknown key; accepted: {accepted}{did_you_mean(key, rules)}"
            )
        elif rules[key] is not None and value is not None:
            try:
                found[key] = rules[key](value)
            except ValueError as error:
                mistakes.append(f"{where}{key}: {value!r}; accepted: {error}")
    return found


def _column(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a column")
    return bare(value)


def _columns(value: Any) -> tuple[str, ...]:
    columns = [value] if isinstance(value, str) else value
    if not isinstance(columns, Sequence) or not columns:
        raise ValueError("a column, or a list of columns")
    if not all(isinstance(column, str) and column.strip() for column in columns):
        raise ValueError("a column, or a list of columns")
    names = tuple(bare(column) for column in columns)
    if len({name.lower() for name in names}) < len(names):
        raise ValueError("each column once")
    return names


def _no_or_columns(value: Any) -> tuple[str, ...]:
    if value is False:
        return ()
    try:
        return _columns(value)
    except ValueError as error:
        raise ValueError(f"false, {error}") from error


def _one_of(values: Sequence[str] | Mapping[str, Any]) -> Any:
    def rule(value: Any) -> str:
        if not isinstance(value, str) or value not in values:
            raise ValueError(", ".join(values))
        return str(value)

    return rule


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true, false")
    return value


def _whole(least: int, most: int = 2**53) -> Any:
    limits = f"from {least} to {most}"

    def rule(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise ValueError(f"a whole number {limits}")
        return value

    return rule


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


def _memory(value: Any) -> int:
    size = size_of(value)
    if size < MIB:
        raise ValueError("at least 1 MiB")
    return size


def _quiet_after(value: Any) -> float | None:
    if value == "auto":
        return None
    try:
        return duration(value)
    except ValueError as error:
        raise ValueError(f"auto, or {error}") from error


def duration(value: Any) -> float:
    """Seconds."""
    match = _DURATION.fullmatch(str(value))
    if not match:
        raise ValueError("a number of minutes, hours, days or weeks, such as 6 hours")
    return int(match[1]) * _SECONDS[match[2]]
