"""Snapshots, segments and blocks of a table: what its log tells, and the footers of its files.

A snapshot is a version of the table, a block a data file, a segment the blocks that one commit
brought, as far as they are live.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from alluvium.delta.files import footers
from alluvium.delta.log.commit_files import TableLog
from alluvium.plan.versions.batches import batch_of
from alluvium.plan.versions.commit import Commit
from alluvium.plan.versions.snapshots import ACTIONS, BLOCKS, SIZES, follow, live

_INSTANT = pa.timestamp("us", tz="UTC")
_MOVES = [f"{what}_{way}" for what in ("blocks", "rows", "bytes") for way in ("added", "removed")]
_COMMIT = [("snapshot_id", pa.string()), ("committed_at", _INSTANT), ("operation", pa.string())]
_BATCH = [("feed", pa.string()), ("batch", pa.int64())]
SNAPSHOT_ROWS = pa.schema(
    [
        ("version", pa.int64()),
        ("snapshot_id", pa.string()),
        ("previous_snapshot_id", pa.string()),
        ("is_head", pa.bool_()),
        *_COMMIT[1:],
        ("message", pa.string()),
        ("author", pa.string()),
        *_BATCH,
        *((name, pa.int64()) for name in ("segments", "blocks", "row_count")),
        *((name, pa.int64()) for name in ("bytes", "bytes_uncompressed", *_MOVES)),
    ]
)
_OF_BLOCKS = [
    (name, pa.int64()) for name in ("row_count", "deleted_rows", "bytes", "bytes_uncompressed")
]
SEGMENT_ROWS = pa.schema(
    [("segment", pa.int64()), *_COMMIT, *_BATCH, ("blocks", pa.int64()), *_OF_BLOCKS]
)
BLOCK_ROWS = pa.schema(
    [
        ("path", pa.string()),
        ("segment", pa.int64()),
        *_OF_BLOCKS,
        *(footers.FOOTER.field(name) for name in ("compression", "row_groups", "columns")),
    ]
)


def snapshots(session: SparkSession, table: str, model: str) -> pa.Table:
    """A row for each version that a table's log tells whole, columns as SNAPSHOT_ROWS.

    The footers of all files that these versions had are opened, as far as the files are there.

    Args:
        table: its name, as SQL writes it.
        model: the name of its model.

    Raises:
        ValueError: it is not a Delta table, or its log is damaged.
    """
    read = _Read(session, table)
    added = read.actions.filter(read.actions["is_add"])
    added = added.group_by("path").aggregate([("bytes", "max")])
    footer = read.footers(added["path"], added["bytes_max"])
    names = [name for name in SIZES.names if name != "path"]
    columns = [added["path"], *(pc.struct_field(footer, name) for name in names)]
    _, totals = read.follow(pa.table(columns, schema=SIZES))
    rows: list[dict[str, Any]] = []
    for one, sums in zip(read.commits, totals.to_pylist(), strict=True):
        row = sums | _said(one, model) | {"message": one.message, "author": one.author}
        row["previous_snapshot_id"] = rows[-1]["snapshot_id"] if rows else None
        row["is_head"] = one.version == read.log.version
        for name in ("rows_added", "rows_removed"):
            row[name] = one.without_copies(row[name])
        # What the log told of the version before it is gone.
        rows.append(row | dict.fromkeys(_MOVES if one.version == read.begun else ()))
    return pa.Table.from_pylist(rows, schema=SNAPSHOT_ROWS)


def segments(session: SparkSession, table: str, model: str, version: int | None = None) -> pa.Table:
    """A row for each commit some of whose blocks are live, columns as SEGMENT_ROWS.

    The arguments and errors are those of `blocks`; model: the name of the table's model.
    """
    read = _Read(session, table, version)
    found = _blocks(read)
    if_all = pc.ScalarAggregateOptions(skip_nulls=False)
    sums = found.group_by("segment").aggregate(
        [("path", "count"), *((name, "sum", if_all) for name, _ in _OF_BLOCKS)]
    )
    commits = {one.version: _said(one, model) for one in read.commits}
    rows = [
        {name.removesuffix("_sum"): value for name, value in row.items()}
        | {"blocks": row["path_count"]}
        | commits.get(row["segment"], {})
        for row in sums.to_pylist()
    ]
    return pa.Table.from_pylist(rows, schema=SEGMENT_ROWS)


def blocks(session: SparkSession, table: str, version: int | None = None) -> pa.Table:
    """A row for each live data file of a table with what its footer says, columns as BLOCK_ROWS.

    Args:
        table: its name, as SQL writes it.
        version: one that its log tells whole; None for the newest.

    Raises:
        ValueError: it is not a Delta table, or it has no such version, or its log is damaged.
    """
    return _blocks(_Read(session, table, version))


def _blocks(read: _Read) -> pa.Table:
    changes, _ = read.follow(SIZES.empty_table())
    found = live(changes)
    footer = read.footers(found["path"], found["bytes"])
    rows = pc.coalesce(found["rows"], pc.struct_field(footer, "rows"))
    own = {
        "path": found["path"],
        "segment": found["segment"],
        "row_count": pc.subtract(rows, found["deleted"]),
        "deleted_rows": found["deleted"],
        "bytes": found["bytes"],
    }
    names = [name for name in BLOCK_ROWS.names if name not in own]
    return pa.table(own | {name: pc.struct_field(footer, name) for name in names}).cast(BLOCK_ROWS)


def _said(commit: Commit, model: str) -> dict[str, Any]:
    """What a commit says of itself, for a row."""
    feed, batch = batch_of(model, commit)
    return {
        "snapshot_id": commit.id,
        "committed_at": commit.at,
        "operation": commit.operation,
        "feed": feed,
        "batch": batch,
    }


class _Read:
    """What the log of a table tells, from its first whole version up to one.

    Attributes:
        commits: of these versions, in order.
        actions: what became of files, columns as ACTIONS.
        begun: the first of the versions, where the commits before it are gone; else None.

    Raises:
        ValueError: it is not a Delta table, or its log does not tell that version.
    """

    def __init__(self, session: SparkSession, table: str, version: int | None = None) -> None:
        self._session, self.log = session, TableLog(session, table)
        first, newest = self.log.earliest(), self.log.version
        last = newest if version is None else version
        if isinstance(last, bool) or not isinstance(last, int) or not first <= last <= newest:
            raise ValueError(
                f"version is {version!r}; accepted: those of {table} that its log tells,"
                f" {first} to {newest}"
            )
        found = self.log.read(first, last)
        self.begun = first or None
        self.commits, self.actions = found.commits, found.actions
        if self.begun is not None:
            self.actions = self._begun(first, found.actions)

    def _begun(self, first: int, actions: pa.Table) -> pa.Table:
        """Actions with the files of the first version, which stand for what led to it."""
        own = actions.filter(pc.equal(actions["version"], first))
        brought = own.filter(own["is_add"])["path"]
        state = self.log.state(first)
        is_older = pc.invert(pc.is_in(state["path"], brought.combine_chunks()))
        state = state.set_column(ACTIONS.get_field_index("is_older"), "is_older", is_older)
        later = actions.filter(pc.greater(actions["version"], first))
        return pa.concat_tables([state, later])

    def follow(self, sizes: pa.Table) -> tuple[pa.Table, pa.Table]:
        """`plan.versions.snapshots.follow` of the commits; sizes: columns as SIZES.

        Raises:
            ValueError: Delta counts another number of files.
        """
        versions = [one.version for one in self.commits]
        changes, totals = follow(BLOCKS.empty_table(), versions, self.actions, sizes)
        told, counted = totals["blocks"][-1].as_py(), self.log.files()
        if versions[-1] == self.log.version and counted not in (None, told):
            raise ValueError(
                f"{self.log.name}: its commits tell {told} files, Delta {counted}; the log is"
                " damaged, or was written to by hand"
            )
        return changes, totals

    def footers(self, paths: pa.ChunkedArray, sizes: pa.ChunkedArray) -> pa.Array:
        """The footer of each file, a struct as `footers.FOOTER`; NULL where it cannot be read.

        Args:
            paths: of the files, as the log has them.
            sizes: their bytes.
        """
        if not len(paths):
            return pa.nulls(0, footers.FOOTER)
        places = pa.array(map(self.log.location, paths.to_pylist()), pa.string())
        opened = footers.of_many(self._session, pa.table({"location": places, "bytes": sizes}))
        place = pc.index_in(places, opened["location"].combine_chunks())
        return opened["footer"].combine_chunks().cast(footers.FOOTER).take(place)
