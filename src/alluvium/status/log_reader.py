"""Delta's log read by Python and Arrow: commits, and checkpoints of each form.

What is read may change meanwhile: commits come, and a cleanup takes files away. Then the log is
looked at again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from alluvium.paths import Place
from alluvium.plan import log_names
from alluvium.plan.snapshot import FILES, Snapshot, live
from alluvium.plan.versions.commit import OF_FILES, Commit, is_whole
from alluvium.status.stores import Folder
from alluvium.wording import listed

LOG = "_delta_log"
# Features that change what a log says, and that this reader knows. `catalogManaged` is not one:
# there the newest commits lie elsewhere.
_KNOWN = {
    *("columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"),
    *("typeWidening", "typeWidening-preview", "variantType", "variantType-preview"),
    *("variantShredding", "variantShredding-preview"),
}
_READER = 3
# Lines of a commit that become Arrow at a time, looks at a log, and seconds between two of them.
_LINES, _LOOKS, _WAIT = 4_096, 4, 0.05
# Characters of a commit that is kept for the next one who asks.
_SMALL = 2**16
_OF_FILE = ("path", "partitionValues", "size", "modificationTime", "stats", "stats_parsed", "tags")
_OF_VECTOR = ("storageType", "pathOrInlineDv", "offset", "cardinality")
_COLUMNS = [
    *(f"add.{name}" for name in _OF_FILE),
    *(f"add.deletionVector.{name}" for name in _OF_VECTOR),
    *("txn", "metaData", "protocol", "sidecar"),
]
# What is said of the table, beside its files.
_OF_TABLE = ("metaData", "protocol", "txn")
_ACTIONS = pa.schema([*FILES, ("key", pa.string()), ("is_add", pa.bool_())])
# What comes of a log that another has damaged.
DAMAGES = (ValueError, KeyError, TypeError, AttributeError)


class LogError(ValueError):
    """A log that cannot be read; the message says why, and names no table."""


class _UnfinishedError(Exception):
    """The file of a commit that has no end yet; of that version."""

    def __init__(self, path: Folder) -> None:
        super().__init__(f"{path.name} has no end")
        number = path.name.partition(".")[0]
        self.version = int(number) if number.isdecimal() else None


@dataclass(frozen=True)
class LogFiles:
    """The files of a log as one look found them.

    Attributes:
        folder: of the table.
        commits: paths of the commits' files by version.
        checkpoint: paths of the files of the newest whole one; empty for none.
        checkpointed: its version; -1 for none.
        unfinished: version of a newest commit that is being written; None for none.
    """

    folder: Folder
    commits: Mapping[int, Folder]
    checkpoint: tuple[Folder, ...]
    checkpointed: int
    unfinished: int | None = None
    _kept: dict[int, Commit] = field(default_factory=dict, repr=False)

    def commit(self, version: int) -> Commit:
        """A commit by its file; small ones are read once."""
        found = self._kept.get(version)
        if found is None:
            found = Commit(version, _lines(self.commits[version]))
            if sum(map(len, found.lines)) <= _SMALL:
                self._kept[version] = found
        return found

    @property
    def version(self) -> int:
        return max(self.checkpointed, max(self.commits, default=-1))

    def newest_first(self) -> Iterator[Commit]:
        """The commits as far back as the log has their files whole; read one at a time."""
        for version in range(self.version, -1, -1):
            if version not in self.commits:
                return
            try:
                yield self.commit(version)
            except (FileNotFoundError, _UnfinishedError):  # a cleanup takes the oldest ones
                return


def read(folder: Folder) -> tuple[LogFiles, Snapshot]:
    """The log of a table, and its newest version; looked at again where it changes meanwhile.

    Raises:
        LogError: the log cannot be read.
    """
    unfinished: int | None = None
    for left in reversed(range(_LOOKS)):
        try:
            log = _listed(folder, unfinished)
            return log, _snapshot(log)
        except LogError:
            raise
        except (FileNotFoundError, _UnfinishedError) as error:
            if not left:
                raise LogError(f"its log changes while it is read ({error})") from error
            # One that is still unfinished at the last look is left out, and said to be.
            if left == 1 and isinstance(error, _UnfinishedError):
                unfinished = error.version
            time.sleep(_WAIT)
        except (pa.ArrowException, OSError, *DAMAGES) as error:
            raise LogError(f"its log cannot be read: {in_short(error)}") from error
    raise AssertionError


def first_commit(folder: Folder) -> Commit | None:
    """The commit that made the table in a folder; None where the log has its file no more."""
    try:
        return Commit(0, _lines(folder / LOG / f"{0:020}.json"))
    except (OSError, _UnfinishedError):
        return None


def _listed(folder: Folder, unfinished: int | None) -> LogFiles:
    log = folder / LOG
    try:
        names = sorted(one.name for one in log.iterdir())
    except FileNotFoundError as error:
        kind = "not a Delta table: no log in" if folder.is_dir() else "no such folder:"
        raise LogError(f"{kind} {folder}") from error
    commits = {one: log / name for one, name in log_names.commits(names).items()}
    if unfinished is not None and unfinished == max(commits, default=-1):
        del commits[unfinished]
    whole = {one.version: one.names for one in log_names.checkpoints(names) if one.is_whole}
    checkpointed = max(whole, default=-1)
    found = LogFiles(
        folder,
        commits,
        tuple(log / name for name in whole.get(checkpointed, ())),
        checkpointed,
        unfinished,
    )
    if found.version < 0:
        raise LogError(f"not a Delta table: no commit in {log}")
    missing = set(range(checkpointed + 1, found.version + 1)) - commits.keys()
    if missing:
        raise LogError(f"its log does not have version {min(missing)}")
    return found


def _snapshot(log: LogFiles) -> Snapshot:
    heads: dict[str, Any] = {}
    transactions: dict[str, int] = {}
    tables = list(_checkpointed(log, heads, transactions))
    due: list[tuple[str, Mapping[str, Any]]] = []
    for version in range(log.checkpointed + 1, log.version + 1):
        for kind, action in log.commit(version).actions(*OF_FILES, *_OF_TABLE):
            if kind in OF_FILES:
                due.append((kind, action))
            else:
                _take(kind, action, heads, transactions)
            if len(due) == _LINES:
                tables.append(_actions(due))
                due.clear()
    tables.append(_actions(due))
    if "metaData" not in heads or "protocol" not in heads:
        raise LogError("its log says neither columns nor protocol")
    _check_protocol(heads["protocol"])
    files = pa.concat_tables(tables)
    meta = heads["metaData"]
    return Snapshot(
        id=str(meta["id"]),
        version=log.version,
        schema=meta["schemaString"],
        partition_by=tuple(meta.get("partitionColumns") or ()),
        properties=dict(meta.get("configuration") or {}),
        transactions=transactions,
        files=files.take(live(files)).select(FILES.names),
    )


def _take(
    kind: str, action: Mapping[str, Any], heads: dict[str, Any], transactions: dict[str, int]
) -> None:
    if kind == "txn":
        transactions[action["appId"]] = int(action["version"])
    else:
        heads[kind] = action


def _check_protocol(protocol: Mapping[str, Any]) -> None:
    reader = int(protocol["minReaderVersion"])
    if reader > _READER:
        raise LogError(f"its log asks for reader version {reader}; known are 1 to {_READER}")
    unknown = sorted(set(protocol.get("readerFeatures") or ()) - _KNOWN)
    if unknown:
        raise LogError(f"its log has a reader feature that is not known: {listed(unknown, 3)}")


def _checkpointed(
    log: LogFiles, heads: dict[str, Any], transactions: dict[str, int]
) -> Iterator[pa.Table]:
    """What a checkpoint says of files, columns as _ACTIONS; the rest goes into the others."""
    due = list(log.checkpoint)
    while due:
        path = due.pop(0)
        if path.suffix == ".json":
            found = Commit(log.checkpointed, _lines(path))
            for kind, action in found.actions(*_OF_TABLE):
                _take(kind, action, heads, transactions)
            yield _actions(found.actions("add"))
            due += [_sidecar(log, one["path"]) for _, one in found.actions("sidecar")]
            continue
        with pq.ParquetFile(path if isinstance(path, Path) else path.open()) as file:
            for batch in file.iter_batches(columns=_COLUMNS, batch_size=16 * _LINES):
                found = pa.Table.from_batches([batch])
                for name in {*_OF_TABLE, "sidecar"}.intersection(found.column_names):
                    for value in found[name].drop_null().to_pylist():
                        if name == "sidecar":
                            due.append(_sidecar(log, value["path"]))
                        else:
                            _take(name, _plain(value), heads, transactions)
                if "add" in found.column_names:
                    yield _added(found["add"].combine_chunks())


def _sidecar(log: LogFiles, path: str) -> Folder:
    return log.folder / LOG / "_sidecars" / Place.of_uri(path, Place.of("/")).name


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """A struct with its maps, which Arrow gives as pairs, as they are in JSON."""
    return {key: dict(one or ()) if key == "configuration" else one for key, one in value.items()}


def _added(add: pa.StructArray) -> pa.Table:
    """Files of a checkpoint; columns as _ACTIONS."""
    names = {field.name for field in add.type}
    add = add.filter(pc.is_valid(pc.struct_field(add, "path"))) if "path" in names else add[:0]
    vector = pc.struct_field(add, "deletionVector") if "deletionVector" in names else None

    def column(name: str, kind: pa.DataType) -> pa.Array:
        if name not in names:
            return pa.nulls(len(add), kind)
        return pc.struct_field(add, name).cast(kind)

    if "stats" not in names and "stats_parsed" in names:
        parsed = pc.struct_field(add, "stats_parsed").to_pylist()
        stats = pa.array(
            [None if one is None else json.dumps(one, default=str) for one in parsed], pa.string()
        )
    else:
        stats = column("stats", pa.string())
    path = column("path", pa.string())
    texts, deleted = ["", "", ""], pa.array([0] * len(add), pa.int64())
    if vector is not None:
        parts = [pc.struct_field(vector, name) for name in _OF_VECTOR]
        texts = [pc.fill_null(one.cast(pa.string()), "") for one in parts[:3]]
        deleted = pc.fill_null(parts[3].cast(pa.int64()), 0)
    maps = FILES.field("tags").type
    return pa.table(
        {
            "path": path,
            "partition_values": column("partitionValues", maps),
            "size": column("size", pa.int64()),
            "written": column("modificationTime", pa.int64()),
            "stats": stats,
            "deleted": deleted,
            "tags": column("tags", maps),
            "key": pc.binary_join_element_wise(path, *texts, "\n"),
            "is_add": pa.array([True] * len(add), pa.bool_()),
        }
    ).cast(_ACTIONS)


def _actions(actions: Iterable[tuple[str, Mapping[str, Any]]]) -> pa.Table:
    """What actions say of files; columns as _ACTIONS."""
    found = [*actions]
    files = [file for _, file in found]
    vectors = [one.get("deletionVector") or {} for one in files]
    columns = {
        "path": [one["path"] for one in files],
        "partition_values": [_pairs(one.get("partitionValues")) for one in files],
        "size": [one.get("size") for one in files],
        "written": [one.get("modificationTime") for one in files],
        "stats": [one.get("stats") for one in files],
        "deleted": [int(one.get("cardinality") or 0) for one in vectors],
        "tags": [_pairs(one.get("tags")) for one in files],
        "key": [
            "\n".join([file["path"], *(_text(one.get(name)) for name in _OF_VECTOR[:3])])
            for file, one in zip(files, vectors, strict=True)
        ],
        "is_add": [kind == "add" for kind, _ in found],
    }
    return pa.table(columns, schema=_ACTIONS)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _pairs(values: Mapping[str, Any] | None) -> list[tuple[str, Any]]:
    return list((values or {}).items())


def _lines(path: Folder) -> tuple[str, ...]:
    """The lines of a commit; raises _UnfinishedError where the last one is not whole."""
    # A text may hold whatever else ends a line to Python.
    lines = tuple(one for one in path.read_bytes().decode().split("\n") if one.strip())
    if not lines or not is_whole(lines[-1]):
        raise _UnfinishedError(path)
    return lines


def in_short(error: Exception) -> str:
    """What an error says, in one line."""
    said = (str(error).splitlines() or [""])[0][:200]
    return said or type(error).__name__
