"""What the log says of how a table lies in files: a row for each fragment, and for each bucket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alluvium.plan.compaction import overlap, tags
from alluvium.plan.compaction.bucket import UNSORTED, Bucket, Numbers
from alluvium.plan.compaction.budget import RewriteBudget
from alluvium.plan.compaction.compaction_plan import buckets, is_quiet
from alluvium.plan.compaction.quiet_bucket import quiet_bucket_merges
from alluvium.plan.layout import sort_key
from alluvium.plan.layout.settings import Layout

# States of a bucket: still open, with unsorted fragments or without; quiet, and due for its final
# compaction; in its final form.
DIRTY, OPEN, QUIET, FINAL = "dirty", "open", "quiet", "final"

_INSTANT = pa.timestamp("us", tz="UTC")
FRAGMENT_ROWS = pa.schema(
    [
        ("path", pa.string()),
        ("bucket", pa.string()),
        ("bytes", pa.int64()),
        ("row_count", pa.int64()),  # that readers see; NULL where the log does not say
        ("deleted_rows", pa.int64()),
        ("is_sorted", pa.bool_()),
        ("level", pa.int64()),  # NULL where it is not sorted
        ("lo", pa.string()),
        ("hi", pa.string()),
        ("is_full", pa.bool_()),
        ("arrived_at", _INSTANT),
        ("tier_bytes", pa.int64()),
        ("locality_bytes", pa.int64()),
    ]
)
BUCKET_ROWS = pa.schema(
    [
        ("bucket", pa.string()),
        ("state", pa.string()),
        ("ends_at", _INSTANT),
        ("arrived_at", _INSTANT),
        ("dirty_since", _INSTANT),
        ("overlap_depth", pa.int64()),
        ("fragments", pa.int64()),
        ("small_fragments", pa.int64()),
        ("unsorted_fragments", pa.int64()),
        ("bytes", pa.int64()),
        ("row_count", pa.int64()),
        ("deleted_rows", pa.int64()),
        ("tier_bytes", pa.int64()),
        ("locality_bytes", pa.int64()),
    ]
)
# Stands for the layout of a table that has none: no fragment is sorted by it.
_NONE = Layout(sort_by=())


def fragment_rows(
    fragments: pa.Table, layout: Layout | None, types: Sequence[pa.DataType]
) -> pa.Table:
    """A row for each fragment, columns as FRAGMENT_ROWS.

    Args:
        fragments: as the log has them, columns as `plan.fragment.FRAGMENT_SCHEMA`.
        layout: of the table; None leaves what depends on it NULL.
        types: of the sort key's columns.
    """
    found = [
        pa.table(
            {
                "path": pa.array(bucket.paths, pa.string()),
                "level": bucket.level,
                "is_full": bucket.is_full(layout or _NONE),
                "arrived": bucket.arrived,
                "tier_bytes": bucket.tier_bytes,
                "locality_bytes": bucket.locality_bytes,
            }
        )
        for bucket in buckets(fragments, layout or _NONE)
    ]
    if not found:
        return FRAGMENT_ROWS.empty_table()
    known = pa.concat_tables(found)
    log = fragments.take(pc.index_in(known["path"], fragments["path"].combine_chunks()))
    is_sorted = pc.not_equal(known["level"], UNSORTED)
    keys = tags.read(pc.if_else(is_sorted, log["tag"], None))
    lacks = pa.nulls(log.num_rows, pa.bool_())
    columns = {
        "path": known["path"],
        "bucket": log["bucket"],
        "bytes": log["bytes"],
        "row_count": pc.subtract(log["rows"], log["deleted"]),
        "deleted_rows": log["deleted"],
        "is_sorted": is_sorted if layout else lacks,
        "level": pc.if_else(is_sorted, known["level"], None),
        "lo": _readable(keys["lo"], layout, types),
        "hi": _readable(keys["hi"], layout, types),
        "is_full": known["is_full"] if layout else lacks,
        "arrived_at": pa.array(_micros(known["arrived"].to_numpy()), _INSTANT),
        "tier_bytes": known["tier_bytes"],
        "locality_bytes": known["locality_bytes"],
    }
    return pa.table(columns).cast(FRAGMENT_ROWS)


def bucket_rows(fragments: pa.Table, layout: Layout | None, now: float) -> pa.Table:
    """A row for each bucket, columns as BUCKET_ROWS.

    Args:
        fragments: as the log has them, columns as `plan.fragment.FRAGMENT_SCHEMA`.
        layout: of the table; None leaves what depends on it NULL.
        now: seconds since 1970.
    """
    live = pc.subtract(fragments["rows"], fragments["deleted"])
    unless_unknown = pc.ScalarAggregateOptions(skip_nulls=False)
    sums = (
        fragments.append_column("live", live)
        .group_by("bucket")
        .aggregate([("bytes", "sum"), ("live", "sum", unless_unknown), ("deleted", "sum")])
    )
    size = {one.pop("bucket"): one for one in sums.to_pylist()}
    rows = []
    for bucket in buckets(fragments, layout or _NONE):
        unsorted = bucket.level == UNSORTED
        row = {
            "bucket": bucket.name,
            "ends_at": None if bucket.ends is None else _micros(bucket.ends).item(),
            "arrived_at": _micros(bucket.arrived.max()).item(),
            "fragments": len(bucket),
            "bytes": size[bucket.name]["bytes_sum"],
            "row_count": size[bucket.name]["live_sum"],
            "deleted_rows": size[bucket.name]["deleted_sum"],
            "tier_bytes": bucket.tier_bytes.sum(),
            "locality_bytes": bucket.locality_bytes.sum(),
        }
        if layout is not None:
            row |= {
                "state": state(bucket, layout, now),
                "dirty_since": _micros(bucket.arrived[unsorted].min()).item()
                if unsorted.any()
                else None,
                "overlap_depth": overlap.depth(bucket, np.arange(len(bucket))),
                "small_fragments": np.count_nonzero(~bucket.is_full(layout)),
                "unsorted_fragments": np.count_nonzero(unsorted),
            }
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=BUCKET_ROWS)


def state(bucket: Bucket, layout: Layout, now: float) -> str:
    """What a bucket waits for."""
    if not is_quiet(bucket, layout, now):
        return DIRTY if (bucket.level == UNSORTED).any() else OPEN
    return QUIET if quiet_bucket_merges(bucket, layout, RewriteBudget()) else FINAL


def _readable(
    keys: pa.ChunkedArray, layout: Layout | None, types: Sequence[pa.DataType]
) -> pa.Array:
    """Sort keys for people; one that cannot be read, such as that of a retyped column, as it is."""

    def text(key: str | None) -> str | None:
        if key is None:
            return None
        try:
            return sort_key.decode(key, types)
        except ValueError:
            return key

    return pa.array([text(key) for key in keys.to_pylist()], pa.string())


def _micros(seconds: Any) -> Numbers:
    """Seconds since 1970, one or an array, as Arrow counts; a tag may name any number."""
    return np.asarray(np.clip(seconds, -9e12, 9e12) * 1e6).astype(np.int64)
