"""The fragments of a table by its log alone, as compaction asks for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from alluvium import marks
from alluvium.plan.compaction import tags
from alluvium.plan.fragment import FRAGMENT_SCHEMA
from alluvium.plan.layout import sort_key, zorder
from alluvium.plan.layout.generated import bucket_partition, with_time
from alluvium.plan.layout.of_table import key_columns, newest_cuts
from alluvium.plan.layout.settings import ZORDER, Layout
from alluvium.plan.ranges.column_type import parse_type
from alluvium.plan.ranges.errors import UnfitError
from alluvium.plan.snapshot import Field, Snapshot

# Statistics have no more of a time than its milliseconds.
_CUT_OFF = timedelta(milliseconds=1)
# Types that a sort key may have, and ranges not.
_NO_RANGES = {"boolean": pa.bool_(), "binary": pa.binary()}


def fragments(snapshot: Snapshot, layout: Layout | None) -> tuple[Layout | None, pa.Table]:
    """The layout with what the table has of it, and its files, columns as FRAGMENT_SCHEMA.

    Raises:
        ValueError: the table does not have a column of the layout.
    """
    first: Field | None = None
    if layout is not None:
        layout = with_time(layout, snapshot.partition_by)
        missing = [name for name in layout.sort_by if name.lower() not in snapshot.fields]
        if missing:
            raise ValueError(f"the table does not have the column {missing[0]} of sort_by")
        fields = [snapshot.fields[name.lower()] for name in layout.sort_by]
        sort_by, marked = key_columns(fields)
        layout = replace(layout, sort_by=sort_by, marks=marked)
        if layout.curve == ZORDER:
            # Bounds of one column do not bound a place on the curve.
            kinds = [(one.name, zorder.kind_of(one.type)) for one in fields]
            layout = replace(layout, cuts=newest_cuts(snapshot.transactions.items(), kinds))
        else:
            first = fields[0]
    files = snapshot.files
    tag = pc.map_lookup(files["tags"], marks.LAYOUT_TAG, "first")
    lo, hi = _bounds(snapshot, tag, first, layout.sort_key if layout else "")
    columns = {
        "path": files["path"],
        "bucket": _buckets(snapshot),
        "ends": _ends(snapshot, layout),
        "bytes": files["size"],
        "rows": snapshot.rows,
        "deleted": files["deleted"],
        "written": pc.divide(files["written"].cast(pa.float64()), 1000.0),
        "tag": tag,
        "lo": lo,
        "hi": hi,
    }
    return layout, pa.table(columns).cast(FRAGMENT_SCHEMA)


def _values(snapshot: Snapshot, name: str) -> list[str | None]:
    """The text of each file's value of a partition column; an empty one is NULL to Delta."""
    field = snapshot.fields[name.lower()]
    texts = pc.map_lookup(snapshot.files["partition_values"], field.physical, "first")
    return [one or None for one in texts.to_pylist()]


def _buckets(snapshot: Snapshot) -> pa.Array:
    """The partition, in one spelling: writers have several for a time."""
    if not snapshot.partition_by:
        return pa.array([""] * len(snapshot.files), pa.string())
    kinds = [snapshot.fields[name.lower()].type for name in snapshot.partition_by]

    @cache
    def said(*texts: str | None) -> str:
        values = (_spelled(text, kind) for text, kind in zip(texts, kinds, strict=True))
        named = dict(zip(snapshot.partition_by, values, strict=True))
        return json.dumps(named, separators=(",", ":"), ensure_ascii=False)

    rows = zip(*(_values(snapshot, name) for name in snapshot.partition_by), strict=True)
    return pa.array((said(*row) for row in rows), pa.string())


def _spelled(text: str | None, kind: str) -> str | None:
    moment = _moment(text) if kind.startswith("timestamp") else None
    if moment is None:
        return text
    fraction = f"{moment:.%f}".rstrip("0").rstrip(".")
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction}"


def _ends(snapshot: Snapshot, layout: Layout | None) -> pa.Array:
    """When the time is over that each file's partition stands for, seconds since 1970."""
    if layout is None or layout.bucket_column is None or layout.window is None:
        return pa.nulls(len(snapshot.files), pa.float64())
    window = layout.window
    name = bucket_partition(layout.bucket_column, window, snapshot.partition_by)

    @cache
    def end(text: str | None) -> float | None:
        begins = _moment(text)
        if begins is None:
            return None
        if window == "month":
            month = begins.year * 12 + begins.month
            return begins.replace(year=month // 12, month=month % 12 + 1).timestamp()
        hours = {"hour": 1, "day": 24, "week": 7 * 24}[window]
        return (begins + timedelta(hours=hours)).timestamp()

    return pa.array(map(end, _values(snapshot, name)), pa.float64())


def _moment(text: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def _bounds(
    snapshot: Snapshot, tag: pa.ChunkedArray, first: Field | None, key: str
) -> tuple[pa.Array, pa.Array]:
    """Sort keys between which those of each file lie that no tag of the sort key tells."""
    nothing = pa.nulls(len(snapshot.files), pa.string())
    kind = first and _arrow(first.type)
    if first is None or kind is None:
        return nothing, nothing
    untold = pc.invert(tags.are_of(tag, key)).combine_chunks()
    files = snapshot.files.filter(untold)
    found = pa.table(
        list(map(list, zip(*_first(snapshot, files, first), strict=True))) or [[]] * 4,
        schema=pa.schema([("lo", kind), ("hi", kind), ("nulls", pa.int64()), ("rows", pa.int64())]),
    )
    columns = [one.combine_chunks() for one in found.columns]
    lo, hi = (
        pc.replace_with_mask(nothing, untold, pa.array(ends, pa.string()))
        for ends in sort_key.bounds_by_first(*columns)
    )
    return lo, hi


def _first(snapshot: Snapshot, files: pa.Table, field: Field) -> Iterator[tuple[Any, ...]]:
    for stats in snapshot.statistics(files):
        rows = stats.get("numRecords")
        nulls, lo, hi = (
            one.get(field.physical) if isinstance(one := stats.get(name), dict) else None
            for name in ("nullCount", "minValues", "maxValues")
        )
        # Delta trusts bounds only where both counts are known.
        if not isinstance(rows, int) or not isinstance(nulls, int):
            yield None, None, None, None
        else:
            hi = _value(hi, field.type)
            if isinstance(hi, datetime):
                hi += _CUT_OFF
            yield _value(lo, field.type), hi, nulls, rows


def _value(given: Any, kind: str) -> Any:
    """A bound as Arrow takes it; None for one that is not of the type."""
    try:
        if given is None or kind == "string":
            return given
        if kind == "date":
            return date.fromisoformat(given)
        if kind.startswith("timestamp"):
            found = datetime.fromisoformat(given)
            return found if kind == "timestamp" else found.replace(tzinfo=None)
        if kind.startswith("decimal"):
            return Decimal(str(given))
        return float(given) if kind in ("float", "double") else given
    except (ValueError, TypeError):
        return None


def _arrow(kind: str) -> pa.DataType | None:
    try:
        return _NO_RANGES.get(kind) or parse_type(kind)
    except UnfitError:
        return None
