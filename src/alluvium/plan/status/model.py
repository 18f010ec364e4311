"""One model's table whole, in lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from alluvium import marks
from alluvium.plan.layout.settings import Layout
from alluvium.plan.status.fragments import fragments
from alluvium.plan.status.table import SeenTable
from alluvium.plan.versions import history
from alluvium.plan.versions.snapshots import ACTIONS
from alluvium.plan.versions.written import WrittenCommit
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
    found: dict[int, list[str]] = {}
    for name, version in shown.items():
        found.setdefault(version, []).append(f"HEAD of {name}")
    if not found and table.snapshot is not None:
        found[table.snapshot.version] = ["HEAD"]
    for kind, refs in (("branch", table.branches), ("tag", table.tags)):
        for name, version in sorted(refs.items()):
            found.setdefault(version, []).append(f"{kind} {name}")
    return found


def bucket_states(
    table: SeenTable, layout: Layout | None, now: datetime, states: Any
) -> Counter[str]:
    """Buckets by their state; empty for a table without a layout.

    states: gives the rows of buckets, columns as `compact.storage.BUCKET_ROWS`.
    """
    if table.snapshot is None or layout is None:
        return Counter()
    resolved, files = fragments(table.snapshot, layout)
    return Counter(states(files, resolved, now.timestamp())["state"].to_pylist())


def lines(
    table: SeenTable,
    buckets: Mapping[str, int],
    pointed: Mapping[int, Sequence[str]],
    keeps_tombstones: bool,
) -> Iterator[str]:
    """A model's table: where it lies, its files, buckets, index and commits."""
    yield f"{table.name}: {table.place}"
    if table.snapshot is None:
        yield f"  {table.problem or 'not built from this home'}"
        return
    found = table.snapshot
    rows = pc.sum(pc.subtract(found.rows, found.files["deleted"]), skip_nulls=False).as_py()
    count = "rows unknown" if found.files.num_rows and rows is None else counted(rows or 0, "row")
    files = counted(found.files.num_rows, "file")
    yield f"  version {found.version:,}, {count} in {files}, {in_bytes(found.bytes)}"
    for name, (number, size) in sizes(found.files).items():
        yield f"  files of {name}: {number:,}, {in_bytes(size)}"
    for state, number in sorted(buckets.items()):
        yield f"  buckets that are {state}: {number:,}"
    indexed = pc.map_lookup(found.files["tags"], marks.AUTOMATA_TAG, "first")
    if indexed.null_count < len(indexed):
        yield f"  files with an index: {len(indexed) - indexed.null_count:,} of {len(indexed):,}"
    for version in sorted(pointed, reverse=True):
        yield f"  {', '.join(pointed[version])}: version {version:,}"
    yield "  commits:"
    some = list(islice(table.commits(), LIMIT))
    yield from (f"    {line}" for line in told(table.name, some, pointed, keeps_tombstones))
    if some and some[-1].version > 0:
        yield f"    … {counted(some[-1].version, 'older version')}"


def told(
    model: str,
    newest_first: Sequence[WrittenCommit],
    pointed: Mapping[int, Sequence[str]],
    keeps_tombstones: bool,
) -> Iterator[str]:
    """Commits in lines, as `alluvium.commits` has them; model: the name of the table's."""
    for one in reversed(history.told(*_commits(newest_first), keeps_tombstones)):
        yield history.line(model, one, pointed)
        yield from history.message(one.commit)


def _commits(newest_first: Sequence[WrittenCommit]) -> tuple[list[Any], pa.Table]:
    """Commits in order, and their actions on data files, as `history.told` takes them."""
    rows = [
        {
            "version": one.version,
            "path": file["path"],
            "is_add": kind == "add",
            "rows": _rows(file),
            "deleted": int((file.get("deletionVector") or {}).get("cardinality") or 0),
            "bytes": file.get("size"),
            "is_change": bool(file.get("dataChange")),
            "is_older": False,
        }
        for one in reversed(newest_first)
        for kind in ("remove", "add")
        for file in one.files(kind)
    ]
    actions = pa.Table.from_pylist(rows, schema=ACTIONS)
    return [one.commit for one in reversed(newest_first)], actions


def _rows(file: Mapping[str, Any]) -> int | None:
    try:
        found = json.loads(file.get("stats") or "{}").get("numRecords")
    except ValueError:
        return None
    return found if isinstance(found, int) else None
