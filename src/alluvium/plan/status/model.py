"""One model's table whole: as values, and in lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from alluvium import marks
from alluvium.plan.layout.settings import Layout
from alluvium.plan.status import figures
from alluvium.plan.status.figures import Batch, Writes
from alluvium.plan.status.fragments import fragments
from alluvium.plan.status.table import SeenTable
from alluvium.plan.versions import history
from alluvium.plan.versions.commit import OF_FILES, Commit
from alluvium.plan.versions.snapshots import ACTIONS
from alluvium.wording import counted, in_bytes

# Commits that are told.
LIMIT = 20
_MIB = 2**20
_SIZES = (
    ("below 1 MiB", 0),
    ("1 to 16 MiB", _MIB),
    ("16 to 128 MiB", 16 * _MIB),
    ("128 MiB and more", 128 * _MIB),
)


@dataclass(frozen=True)
class Buckets:
    """The buckets of a table with a layout.

    Attributes:
        states: how many are in each state.
        overlap_depth: the most fragments of a bucket of which each overlaps each other.
        small, unsorted: fragments of all buckets that are not full, and that are not sorted.
    """

    states: Mapping[str, int]
    overlap_depth: int
    small: int
    unsorted: int


@dataclass(frozen=True)
class ToldCommit:
    """A commit as `alluvium.commits` tells it.

    Attributes:
        parts: of its line: version with what points to it, time, operation, what it did.
        message: lines of a person's text.
    """

    version: int
    parts: tuple[str, ...]
    message: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        yield "  ".join(self.parts)
        yield from self.message


@dataclass(frozen=True)
class Past:
    """What commits of a table tell.

    Attributes:
        commits: the newest ones, newest first.
        older: versions before them.
        batches: the last ones, in order.
    """

    commits: tuple[ToldCommit, ...] = ()
    older: int = 0
    batches: tuple[Batch, ...] = ()
    writes: Writes = field(default_factory=lambda: Writes(0, 0, 0))


@dataclass(frozen=True)
class Whole:
    """A model's table; None for what is not known.

    Attributes:
        problems: why a part of it could not be looked at.
        rows: that readers of the table see.
        sizes: files and bytes by size class.
        indexed: files with an index.
        pointers: by version, what points to it.
    """

    name: str
    place: str
    problems: tuple[str, ...] = ()
    version: int | None = None
    rows: int | None = None
    files: int | None = None
    bytes: int | None = None
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    buckets: Buckets | None = None
    indexed: int = 0
    pointers: Mapping[int, Sequence[str]] = field(default_factory=dict)
    past: Past = field(default_factory=Past)


def sizes(files: pa.Table) -> dict[str, tuple[int, int]]:
    """Files and bytes by size class."""
    found = {}
    ends = [least for _, least in _SIZES[1:]] + [2**62]
    for (name, least), end in zip(_SIZES, ends, strict=True):
        is_in = pc.and_(pc.greater_equal(files["size"], least), pc.less(files["size"], end))
        within = files["size"].filter(is_in)
        if len(within):
            found[name] = (len(within), pc.sum(within).as_py())
    return found


def pointers(table: SeenTable, shown: Mapping[str, int]) -> dict[int, list[str]]:
    """What points to versions of a table.

    shown: by the name of each published table that shows it, the version.
    """
    newest = None if table.snapshot is None else table.snapshot.version
    return history.pointers(newest, shown, table.branches, table.tags)


def buckets_of(
    table: SeenTable, layout: Layout | None, now: datetime, rows_of: Callable[..., pa.Table]
) -> Buckets | None:
    """The buckets of a table; None for one without a layout.

    rows_of: gives the rows of buckets, columns as `compact.storage.BUCKET_ROWS`.

    Raises:
        ValueError: the table does not have a column of the layout.
    """
    if table.snapshot is None or layout is None:
        return None
    resolved, files = fragments(table.snapshot, layout)
    found = rows_of(files, resolved, now.timestamp())
    return Buckets(
        states=dict(Counter(found["state"].to_pylist())),
        overlap_depth=pc.max(found["overlap_depth"]).as_py() or 0,
        small=pc.sum(found["small_fragments"]).as_py() or 0,
        unsorted=pc.sum(found["unsorted_fragments"]).as_py() or 0,
    )


def whole(
    table: SeenTable,
    buckets: Buckets | None = None,
    pointed: Mapping[int, Sequence[str]] | None = None,
    past: Past | None = None,
    problems: Sequence[str] = (),
) -> Whole:
    """A table with what else was found of it."""
    if table.snapshot is None:
        problem = table.problem or "not built from this home"
        return Whole(table.name, table.place, (*problems, problem))
    found = table.snapshot
    rows = pc.sum(pc.subtract(found.rows, found.files["deleted"]), skip_nulls=False).as_py()
    indexed = pc.map_lookup(found.files["tags"], marks.AUTOMATA_TAG, "first")
    return Whole(
        name=table.name,
        place=table.place,
        problems=tuple(problems),
        version=found.version,
        rows=rows if found.files.num_rows else 0,
        files=found.files.num_rows,
        bytes=found.bytes,
        sizes=sizes(found.files),
        buckets=buckets,
        indexed=len(indexed) - indexed.null_count,
        pointers=pointed or {},
        past=past or Past(),
    )


def past(table: SeenTable, pointed: Mapping[int, Sequence[str]], keeps_tombstones: bool) -> Past:
    """What the commits of a table tell."""
    some = list(islice(table.commits(), LIMIT))
    return Past(
        commits=tuple(told(table.name, some, pointed, keeps_tombstones)),
        older=some[-1].version if some else 0,
        batches=figures.batches(table.commits()),
        writes=figures.writes(table.commits()),
    )


def lines(found: Whole) -> Iterator[str]:
    """A model's table: where it lies, its files, buckets, index and commits."""
    yield f"{found.name}: {found.place}"
    yield from (f"  {problem}" for problem in found.problems)
    if found.version is None or found.files is None or found.bytes is None:
        return
    count = "rows unknown" if found.rows is None else counted(found.rows, "row")
    files = counted(found.files, "file")
    yield f"  version {found.version:,}, {count} in {files}, {in_bytes(found.bytes)}"
    for name, (number, size) in found.sizes.items():
        yield f"  files of {name}: {number:,}, {in_bytes(size)}"
    if found.buckets is not None:
        for state, number in sorted(found.buckets.states.items()):
            yield f"  buckets that are {state}: {number:,}"
    if found.indexed:
        yield f"  files with an index: {found.indexed:,} of {found.files:,}"
    for version in sorted(found.pointers, reverse=True):
        yield f"  {', '.join(found.pointers[version])}: version {version:,}"
    yield "  commits:"
    yield from (f"    {line}" for one in found.past.commits for line in one.lines())
    if found.past.older:
        yield f"    … {counted(found.past.older, 'older version')}"


def told(
    model: str,
    newest_first: Sequence[Commit],
    pointed: Mapping[int, Sequence[str]],
    keeps_tombstones: bool,
) -> Iterator[ToldCommit]:
    """Commits as `alluvium.commits` tells them; model: the name of the table's."""
    for one in reversed(history.told(*_commits(newest_first), keeps_tombstones)):
        yield ToldCommit(
            one.commit.version,
            tuple(history.parts(model, one, pointed)),
            tuple(history.message(one.commit)),
        )


def _commits(newest_first: Sequence[Commit]) -> tuple[list[Commit], pa.Table]:
    """Commits in order, and their actions on data files, as `history.told` takes them."""
    rows = [
        {
            "version": one.version,
            "path": file["path"],
            "is_add": kind == "add",
            "rows": _rows(file),
            "deleted": int((vector := file.get("deletionVector") or {}).get("cardinality") or 0),
            "vector": repr(sorted(vector.items())) if vector else None,
            "bytes": file.get("size"),
            "is_change": bool(file.get("dataChange")),
            "is_older": False,
        }
        for one in reversed(newest_first)
        for kind, file in one.actions(*OF_FILES)
    ]
    actions = pa.Table.from_pylist(rows, schema=ACTIONS)
    return [*reversed(newest_first)], actions


def _rows(file: Mapping[str, Any]) -> int | None:
    try:
        found = json.loads(file.get("stats") or "{}").get("numRecords")
    except ValueError:
        return None
    return found if isinstance(found, int) else None
