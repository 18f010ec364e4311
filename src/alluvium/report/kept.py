"""What is kept of the commits that were seen, in a table with a row for each commit and block."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta import footers, log
from alluvium.marks import ACTIONS_SEEN
from alluvium.plan.versions.commit import commit_info, noted
from alluvium.plan.versions.snapshots import BLOCKS, SIZES, State, Totals

_INSTANT = pa.timestamp("us", tz="UTC")
# Commits of the newest that are looked at for a note.
_LOOKED_AT = 20
# Operations of commits that leave the rows as they are.
_KEEPS_ROWS = {"OPTIMIZE", "SET TBLPROPERTIES", "CHANGE COLUMN", "VACUUM START", "VACUUM END"}
# So many values are compared one by one.
_LITERALS = 1000
_MOVES = [f"{what}_{way}" for what in ("blocks", "rows", "bytes") for way in ("added", "removed")]
COMMIT = pa.struct(
    [
        ("snapshot_id", pa.string()),
        ("previous_snapshot_id", pa.string()),
        ("committed_at", _INSTANT),
        ("operation", pa.string()),
        ("message", pa.string()),
        ("feed", pa.string()),
        ("batch", pa.int64()),
        ("author", pa.string()),
        *((name, pa.int64()) for name in [*asdict(Totals()), *_MOVES]),
    ]
)
BLOCK = pa.struct(
    [
        ("file_id", pa.int64()),
        ("path", pa.string()),
        ("location", pa.string()),
        ("segment", pa.int64()),
        ("blocks", pa.int64()),
        ("row_count", pa.int64()),
        ("deleted_rows", pa.int64()),
        ("bytes", pa.int64()),
        ("bytes_uncompressed", pa.int64()),
        ("footer", footers.FOOTER),
    ]
)
FOOTERS = pa.schema([("location", pa.string()), ("footer", footers.FOOTER)])
# What is read of what became of blocks.
_OF_BLOCK = pa.schema(
    [
        ("version", pa.int64()),
        *(
            BLOCK.field(name)
            for name in (
                *("path", "segment", "blocks"),
                *("row_count", "deleted_rows", "bytes", "bytes_uncompressed"),
            )
        ),
    ]
)
# A row for each commit, and one for each block that it changed: `block` or `commit` is NULL. What
# the numbers mean says `plan.versions.snapshots`. Only a block that came has location and footer.
ACTION_ROWS = pa.schema(
    [
        ("model", pa.string()),
        ("table_name", pa.string()),
        ("table_id", pa.string()),
        ("version", pa.int64()),
        ("commit", COMMIT),
        ("block", BLOCK),
    ]
)


@dataclass(frozen=True)
class Seen:
    """The newest commit of a table that is kept.

    Attributes:
        table_id: the id of the table's metadata.
        id: of the commit.
    """

    version: int
    table_id: str
    id: str
    totals: Totals


@dataclass(frozen=True)
class Known:
    """What is kept of some files of a table.

    Attributes:
        state: the table as it was seen last, with the live ones of the files.
        sizes: of files that the table had, live or not, columns as SIZES.
        footers: of files that other tables have, columns as FOOTERS.
    """

    state: State
    sizes: pa.Table = field(default_factory=SIZES.empty_table)
    footers: pa.Table = field(default_factory=FOOTERS.empty_table)


class Kept:
    """A table with columns as ACTION_ROWS; or none, which keeps nothing.

    name: as SQL writes it; None for none.
    """

    def __init__(self, session: SparkSession, name: str | None) -> None:
        self._session, self._name = session, name

    def seen(self) -> dict[str, Seen]:
        """The newest commit of each table, by the table's name."""
        if self._name is None:
            return {}
        noted = self._noted()
        return self._searched() if noted is None else noted

    def _noted(self) -> dict[str, Seen] | None:
        """What the last run noted in its commit; None where others wrote since, who may delete."""
        assert self._name is not None
        for actions in islice(log.newest_first(self._session, self._name), _LOOKED_AT):
            info = commit_info(actions[0]) if actions else {}
            note = _seen(noted(info, ACTIONS_SEEN))
            if note is not None:
                return note
            if info.get("operation") not in _KEEPS_ROWS:
                return None
        return None

    def _searched(self) -> dict[str, Seen]:
        assert self._name is not None
        newest = (
            self._session.table(self._name)
            .where("commit is not null")
            .groupBy("table_name")
            .agg(F.expr("max_by(struct(version, table_id, commit), version) as last"))
        )
        return {
            one["table_name"]: Seen(
                one["last"]["version"],
                one["last"]["table_id"],
                one["last"]["commit"]["snapshot_id"],
                Totals(**{name: one["last"]["commit"][name] for name in asdict(Totals())}),
            )
            for one in newest.toArrow().to_pylist()
        }

    def known(self, table: str, last: Seen | None, files: Mapping[str, str] | None) -> Known:
        """What is kept of some files of a table, and of all that others have of them.

        Args:
            last: the newest commit of the table that is kept; None for none.
            files: location by path; None for all files of the table.
        """
        if self._name is None or (files is not None and not files):
            return Known(State() if last is None else State(last.totals))
        own, elsewhere = self._about(table, files)
        if files is not None:
            # Two files may have one number.
            own = own.filter(pc.is_in(own["path"], pa.array(list(files), pa.string())))
        opened = self._footers(elsewhere)
        if last is None:
            # What is kept under its name is of a table that is no more.
            return Known(State(), footers=opened)
        return Known(self._state(table, last, own), _sizes(own), opened)

    def _about(self, table: str, files: Mapping[str, str] | None) -> tuple[pa.Table, list[str]]:
        """The blocks of a table, or those that may be these files; locations that others may have.

        Of new files nothing is kept: that costs two narrow columns.
        """
        blocks, names = self._blocks(), _OF_BLOCK.names
        own = blocks.where(F.col("table_name") == table)
        if files is None:
            return own.select(*names).toArrow().cast(_OF_BLOCK), []
        numbers = {location: file_id(location) for location in files.values()}
        wanted = sorted(set(numbers.values()))
        met = self._numbered(blocks, wanted).select("table_name", "file_id").toArrow()
        is_own = pc.equal(met["table_name"], table)
        here = pc.unique(met.filter(is_own)["file_id"]).to_pylist()
        there = set(met.filter(pc.invert(is_own))["file_id"].to_pylist())
        elsewhere = [location for location, number in numbers.items() if number in there]
        if not here:
            return _OF_BLOCK.empty_table(), elsewhere
        found = self._numbered(own, here).select(*names).toArrow()
        return found.cast(_OF_BLOCK), elsewhere

    def _numbered(self, blocks: DataFrame, numbers: list[int]) -> DataFrame:
        """Those of files with these numbers."""
        if len(numbers) <= _LITERALS:
            # Without a join Spark takes a third of the time.
            return blocks.where(F.col("file_id").isin(numbers))
        wanted = self._session.createDataFrame(pa.table({"file_id": numbers}))
        return blocks.join(F.broadcast(wanted), "file_id", "left_semi")

    def _footers(self, locations: list[str]) -> pa.Table:
        """The footers of files: `location` and `footer`."""
        if not locations:
            return FOOTERS.empty_table()
        read = self._blocks().where("footer is not null").select(*FOOTERS.names)
        wanted = self._session.createDataFrame(pa.table({"location": locations}))
        found = read.join(F.broadcast(wanted), "location", "left_semi").toArrow().cast(FOOTERS)
        first = pc.index_in(pc.unique(found["location"]), found["location"].combine_chunks())
        return found.take(first)

    def _state(self, table: str, last: Seen, changes: pa.Table) -> State:
        live = _live(changes)
        if not live.num_rows:
            return State(last.totals)
        # Null, of blocks that are older than the log, equals no other value.
        wanted = pc.unique(live["segment"]).to_pylist()
        is_wanted = F.coalesce("segment", F.lit(-1)).isin(
            [-1 if one is None else one for one in wanted]
        )
        counts = (
            self._blocks()
            .where((F.col("table_name") == table) & is_wanted)
            .groupBy("segment")
            .agg(F.expr("sum(blocks) as n"))
        )
        segments = {one["segment"]: one["n"] for one in counts.toArrow().to_pylist()}
        return State(last.totals, live, segments)

    def _blocks(self) -> DataFrame:
        assert self._name is not None
        rows = self._session.table(self._name).where("block is not null")
        return rows.select("table_name", "version", "block.*")


def file_id(location: str) -> int:
    """A number that stands for a file: eight bytes are compared faster than its location."""
    return int.from_bytes(blake2b(location.encode(), digest_size=8).digest(), signed=True)


def note(seen: Mapping[str, Seen]) -> str:
    """What a run notes in its commit, so that the next one finds it without a search."""
    return json.dumps({ACTIONS_SEEN: {name: asdict(one) for name, one in seen.items()}})


def _seen(note: Mapping[str, Any] | None) -> dict[str, Seen] | None:
    if note is None:
        return None
    try:
        return {
            name: Seen(**one | {"totals": Totals(**one["totals"])}) for name, one in note.items()
        }
    except (TypeError, ValueError, LookupError):
        return None  # another writer may note what it likes


def _sizes(changes: pa.Table) -> pa.Table:
    """What is kept of each file that came, columns as SIZES."""
    came = changes.filter(pc.equal(changes["blocks"], 1))
    came = came.append_column("rows", pc.add(came["row_count"], came["deleted_rows"]))
    first = came.group_by("path").aggregate([("rows", "max"), ("bytes_uncompressed", "max")])
    columns = [first["path"], first["rows_max"], first["bytes_uncompressed_max"]]
    return pa.table(columns, SIZES.names).cast(SIZES)


def _live(changes: pa.Table) -> pa.Table:
    """The live ones of blocks, columns as BLOCKS, of all that became of them."""
    in_order = [("path", "ascending"), ("version", "ascending")]
    latest = changes.sort_by(in_order)
    sums = latest.group_by("path", use_threads=False).aggregate(
        [
            ("segment", "last", pc.ScalarAggregateOptions(skip_nulls=False)),
            ("row_count", "sum", pc.ScalarAggregateOptions(skip_nulls=False)),
            ("deleted_rows", "sum"),
            ("bytes", "sum"),
            ("bytes_uncompressed", "sum", pc.ScalarAggregateOptions(skip_nulls=False)),
            ("blocks", "sum"),
        ]
    )
    live = sums.filter(pc.greater(sums["blocks_sum"], 0))
    columns = {
        "path": live["path"],
        "segment": live["segment_last"],
        "rows": pc.add(live["row_count_sum"], live["deleted_rows_sum"]),
        "deleted": live["deleted_rows_sum"],
        "bytes": live["bytes_sum"],
        "bytes_uncompressed": live["bytes_uncompressed_sum"],
    }
    return pa.table(columns).cast(BLOCKS)
