"""What commits did to a table's blocks, and what each snapshot holds.

A snapshot is a commit, a block a data file, a segment the blocks that one commit brought.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.float64]
# What commits say of data files, a row for each action.
ACTIONS = pa.schema(
    [
        ("version", pa.int64()),
        ("path", pa.string()),
        ("is_add", pa.bool_()),
        ("rows", pa.int64()),  # with those that a deletion vector hides; NULL: the log does not say
        ("deleted", pa.int64()),
        ("vector", pa.string()),  # what its deletion vector is; NULL without one
        ("bytes", pa.int64()),
        ("is_change", pa.bool_()),  # of the table's rows
        ("is_older", pa.bool_()),  # of a checkpoint: an older commit brought the file
    ]
)
# Live blocks.
BLOCKS = pa.schema(
    [
        ("path", pa.string()),
        ("segment", pa.int64()),  # version of the commit that brought it; NULL: the log did not say
        ("rows", pa.int64()),
        ("deleted", pa.int64()),
        ("bytes", pa.int64()),
    ]
)
# What footers say of files.
SIZES = pa.schema([("path", pa.string()), ("rows", pa.int64()), ("bytes_uncompressed", pa.int64())])
# What a commit did to a block. Numbers are differences: 1 block for one that came, 0 for one whose
# deletion vector changed, -1 for one that went. Their sums up to a version are what it holds.
CHANGES = pa.schema(
    [
        ("version", pa.int64()),
        ("path", pa.string()),
        ("segment", pa.int64()),
        ("blocks", pa.int64()),
        ("row_count", pa.int64()),  # that readers see
        ("deleted_rows", pa.int64()),
        ("bytes", pa.int64()),
        ("bytes_uncompressed", pa.int64()),
    ]
)


def follow(
    before: pa.Table, versions: Sequence[int], actions: pa.Table, sizes: pa.Table
) -> tuple[pa.Table, pa.Table]:
    """What commits did to blocks, columns as CHANGES; and the totals of their snapshots.

    Columns of the totals are `version`; `segments`, `blocks`, `row_count`, `bytes` and
    `bytes_uncompressed` that the snapshot holds of what the commits tell; and what was added and
    removed of blocks, bytes and rows: `blocks_added`, `blocks_removed` and so on. What is not known
    of a block is NULL. Rows that came or went are 0 for a commit that only moved them. Where a
    commit wrote a file again, all rows of the old file go and all of the new one come.

    Args:
        before: blocks that were live before the first of them, columns as BLOCKS; totals are
            without them.
        versions: of the commits, rising; also those without actions.
        actions: columns as ACTIONS.
        sizes: columns as SIZES.
    """
    events = _events(before, actions, sizes)
    changes = pa.table(
        {name: pa.array(events[name], from_pandas=True) for name in CHANGES.names}
    ).cast(CHANGES)
    return changes, _totals(np.asarray(versions, np.int64), events)


def live(changes: pa.Table) -> pa.Table:
    """The blocks that are live after changes, columns as BLOCKS; changes: columns as CHANGES."""
    if_all = pc.ScalarAggregateOptions(skip_nulls=False)
    in_order = changes.sort_by([("path", "ascending"), ("version", "ascending")])
    sums = in_order.group_by("path", use_threads=False).aggregate(
        [
            ("segment", "last", if_all),
            ("row_count", "sum", if_all),
            *((name, "sum") for name in ("deleted_rows", "bytes", "blocks")),
        ]
    )
    sums = sums.filter(pc.greater(sums["blocks_sum"], 0))
    columns = {
        "path": sums["path"],
        "segment": sums["segment_last"],
        "rows": pc.add(sums["row_count_sum"], sums["deleted_rows_sum"]),
        "deleted": sums["deleted_rows_sum"],
        "bytes": sums["bytes_sum"],
    }
    return pa.table(columns).cast(BLOCKS)


def live_before(actions: pa.Table) -> pa.Table:
    """Blocks that were live before some commits, as these tell; columns as BLOCKS.

    A commit names what it takes with its size and rows. One that takes nothing, and whose files
    change no row, gives new labels to files that are there.
    """
    taking = actions.filter(pc.invert(actions["is_add"]))
    takes = pc.is_in(actions["version"], taking["version"].combine_chunks())
    labels = actions.filter(pc.invert(pc.or_(takes, actions["is_change"])))
    named = pa.concat_tables([taking, labels]).sort_by("version")
    first = named.group_by("path", use_threads=False).aggregate(
        [(name, "first") for name in ("version", "rows", "deleted", "bytes")]
    )
    added = actions.filter(actions["is_add"]).group_by("path").aggregate([("version", "min")])
    # But for those that one of these commits had brought before.
    place = pc.index_in(first["path"], added["path"].combine_chunks())
    brought = added["version_min"].take(place)
    first = first.filter(pc.invert(pc.fill_null(pc.less(brought, first["version_first"]), False)))
    columns = {
        "path": first["path"],
        "segment": pa.nulls(first.num_rows, pa.int64()),
        "rows": first["rows_first"],
        "deleted": first["deleted_first"],
        "bytes": first["bytes_first"],
    }
    return pa.table(columns).cast(BLOCKS)


def _events(before: pa.Table, actions: pa.Table, sizes: pa.Table) -> dict[str, Any]:
    """A row for each block that a commit changed, in the order of paths and versions."""
    known = before.num_rows
    encoded = pa.chunked_array(
        [*before["path"].chunks, *actions["path"].chunks, *sizes["path"].chunks], pa.string()
    )
    encoded = encoded.combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy()
    count = known + actions.num_rows
    code, of_size = codes[:count], codes[count:]

    def joined(name: str, more: pa.Table = actions) -> Numbers:
        return np.concatenate([_floats(before[name]), _floats(more[name])])

    versions = np.concatenate([np.full(known, -1), actions["version"].to_numpy()])
    is_add = np.concatenate([np.ones(known, bool), _flags(actions["is_add"])])
    # Of two actions of a commit on one path the removal comes first.
    order = np.lexsort((is_add, versions, code))
    order = order[~_of_others(code[order], is_add[order], _vectors(known, actions)[order])]
    code, versions, is_add = code[order], versions[order], is_add[order]
    files = len(encoded.dictionary)
    rows = _of_file(files, code, joined("rows")[order])
    size = _of_file(files, code, joined("bytes")[order])
    opened = _of_file(files, of_size, _floats(sizes["rows"]))
    rows = np.where(np.isnan(rows), opened, rows)
    uncompressed = _of_file(files, of_size, _floats(sizes["bytes_uncompressed"]))
    deleted = np.nan_to_num(joined("deleted")[order])
    segment = np.concatenate([_floats(before["segment"]), _brought_by(actions)])[order]
    is_change = np.concatenate([np.zeros(known, bool), _flags(actions["is_change"])])[order]

    # A path's last action in a commit says what is there after it.
    last = np.append((code[1:] != code[:-1]) | (versions[1:] != versions[:-1]), True)[: len(code)]
    code, versions, is_live = code[last], versions[last], is_add[last]
    deleted, segment, is_change = deleted[last] * is_live, segment[last], is_change[last]
    first = np.append(True, code[1:] != code[:-1])[: len(code)]
    was_live = np.where(first, False, np.roll(is_live, 1))
    was_deleted = np.where(first, 0, np.roll(deleted, 1))
    # A segment is the commit that brought the block, not one that changed it since.
    begins = first | ~was_live
    place = np.maximum.accumulate(np.where(begins, np.arange(len(code)), 0))
    segment = segment[place]

    blocks = is_live.astype(np.int64) - was_live
    # Not of blocks that were there before, nor of those that never were.
    shown = (versions >= 0) & (is_live | was_live)
    gone = np.where(blocks == 0, 0.0, blocks)
    deleted_rows = deleted - was_deleted
    return {
        "version": versions[shown],
        "path": encoded.dictionary.take(pa.array(code[shown])),
        "segment": pa.array(segment[shown], from_pandas=True),
        "blocks": blocks[shown],
        "row_count": _times(gone, rows[code])[shown] - deleted_rows[shown],
        "deleted_rows": deleted_rows[shown],
        "bytes": _times(gone, size[code])[shown],
        "bytes_uncompressed": _times(gone, uncompressed[code])[shown],
        "is_change": is_change[shown],
    }


def _vectors(known: int, actions: pa.Table) -> npt.NDArray[np.int64]:
    """Numbers of vectors: -1 for none, -2 for those of `known` blocks, which nobody says."""
    found = actions["vector"].combine_chunks().dictionary_encode().indices.fill_null(-1)
    return np.concatenate([np.full(known, -2), found.to_numpy()])


def _of_others(code: npt.NDArray[np.int64], is_add: Any, vectors: Any) -> npt.NDArray[np.bool_]:
    """Removals of a file beside a vector that it does not have: to Delta that is another file."""
    place = np.maximum.accumulate(np.where(is_add, np.arange(len(code)), -1))
    has = np.where((place >= 0) & (code[place] == code), vectors[place], -2)
    return np.asarray(~is_add & (has != -2) & (has != vectors))


def _brought_by(actions: pa.Table) -> Numbers:
    """The commit that an action is of; NaN where it stands for an older one."""
    return np.where(_flags(actions["is_older"]), np.nan, actions["version"].to_numpy())


def _totals(versions: npt.NDArray[np.int64], events: dict[str, Any]) -> pa.Table:
    at = np.searchsorted(versions, events["version"])
    blocks, rows, size = events["blocks"], events["row_count"], events["bytes"]

    def summed(values: Any) -> Numbers:
        return np.asarray(np.bincount(at, values, minlength=len(versions)), float)

    def held(values: Numbers) -> Numbers:
        """NaN as long as there is a block of which it is not known."""
        unknown = np.cumsum(summed(np.where(np.isnan(values), blocks, 0)))
        return np.where(unknown == 0, np.cumsum(summed(np.nan_to_num(values))), np.nan)

    columns = {
        "version": versions,
        "segments": np.cumsum(_segments(versions, events, at)),
        "blocks": np.cumsum(summed(blocks)),
        "row_count": held(rows),
        "bytes": np.cumsum(summed(np.nan_to_num(size))),
        "bytes_uncompressed": held(events["bytes_uncompressed"]),
    }
    moved = np.where(events["is_change"], rows, 0.0)
    for name, values in (("blocks", blocks), ("bytes", np.nan_to_num(size)), ("rows", moved)):
        # What is not known of a block that came is not known of what the commit brought.
        is_more = np.where(np.isnan(values), blocks, values) > 0
        columns[f"{name}_added"] = summed(np.where(is_more, values, 0))
        columns[f"{name}_removed"] = summed(np.where(is_more, 0, -values))
    return pa.table(
        {
            name: pa.array(values, from_pandas=True).cast(pa.int64())
            for name, values in columns.items()
        }
    )


def _segments(
    versions: npt.NDArray[np.int64], events: dict[str, Any], at: npt.NDArray[np.int64]
) -> Numbers:
    """By how many segments each commit left more than it found."""
    _, code = np.unique(_floats(events["segment"]), return_inverse=True)  # unknown ones are one
    # One row for each segment and commit that changed it.
    pairs, place = np.unique(code * len(versions) + at, return_inverse=True)
    change = np.bincount(place, events["blocks"], minlength=len(pairs)).astype(np.int64)
    segment, commit = pairs // max(len(versions), 1), pairs % max(len(versions), 1)
    first = np.append(True, segment[1:] != segment[:-1])[: len(segment)]
    total = np.cumsum(change)
    after = total - (total - change)[first][np.cumsum(first) - 1] if len(segment) else total
    crossed = (after > 0).astype(np.int64) - (after - change > 0)
    return np.asarray(np.bincount(commit, crossed, minlength=len(versions)), float)


def _times(blocks: Numbers, value: Numbers) -> Numbers:
    """0 where the number of blocks is the same, whatever the value."""
    return np.where(blocks == 0, 0.0, blocks * value)


def _of_file(files: int, code: npt.NDArray[np.int64], values: Numbers) -> Numbers:
    """What is known of each file; a Parquet file never changes, so any action may say it."""
    found = np.full(files, np.nan)
    np.fmax.at(found, code, values)
    return found


def _floats(values: Any) -> Numbers:
    """NaN for NULL."""
    return np.asarray(pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False))


def _flags(values: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    return np.asarray(values.to_numpy(), bool)
