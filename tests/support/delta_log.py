"""Logs that are written by hand for the forms that few writers make."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ID = "00000000-0000-0000-0000-000000000001"
_TEXTS = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
# What Spark's checkpoints hold of it.
CHECKPOINT = pa.schema(
    [
        (
            "add",
            pa.struct(
                [
                    ("path", pa.string()),
                    ("partitionValues", _TEXTS),
                    ("size", pa.int64()),
                    ("modificationTime", pa.int64()),
                    ("dataChange", pa.bool_()),
                    ("stats", pa.string()),
                    ("tags", _TEXTS),
                    ("deletionVector", _VECTOR),
                ]
            ),
        ),
        ("remove", pa.struct([("path", pa.string())])),
        ("txn", pa.struct([("appId", pa.string()), ("version", pa.int64())])),
        (
            "metaData",
            pa.struct(
                [
                    ("id", pa.string()),
                    ("schemaString", pa.string()),
                    ("partitionColumns", pa.list_(pa.string())),
                    ("configuration", _TEXTS),
                ]
            ),
        ),
        (
            "protocol",
            pa.struct(
                [
                    ("minReaderVersion", pa.int32()),
                    ("minWriterVersion", pa.int32()),
                    ("readerFeatures", pa.list_(pa.string())),
                ]
            ),
        ),
    ]
)
SIDECARS = CHECKPOINT.append(pa.field("sidecar", pa.struct([("path", pa.string())])))


def column(name: str, kind: str = "long", **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def metadata(
    *columns: Mapping[str, Any], by: Iterable[str] = (), properties: Mapping[str, str] | None = None
) -> dict[str, Any]:
    schema = {"type": "struct", "fields": list(columns) or [column("id")]}
    return {
        "metaData": {
            "id": ID,
            "schemaString": json.dumps(schema),
            "partitionColumns": list(by),
            "configuration": dict(properties or {}),
        }
    }


def protocol(reader: int = 1, *features: str) -> dict[str, Any]:
    found: dict[str, Any] = {"minReaderVersion": reader, "minWriterVersion": 2}
    return {"protocol": found | ({"readerFeatures": list(features)} if features else {})}


def add(path: str, size: int = 10, rows: int | None = 3, **more: Any) -> dict[str, Any]:
    stats = None if rows is None else json.dumps({"numRecords": rows})
    return {
        "add": {
            "path": path,
            "partitionValues": {},
            "size": size,
            "modificationTime": 1_700_000_000_000,
            "dataChange": True,
            "stats": stats,
            **more,
        }
    }


def vector(name: str, cardinality: int, offset: int | None = 1) -> dict[str, Any]:
    return {
        "storageType": "u",
        "pathOrInlineDv": name,
        "offset": offset,
        "sizeInBytes": 9,
        "cardinality": cardinality,
    }


def remove(path: str, **more: Any) -> dict[str, Any]:
    return {"remove": {"path": path, "dataChange": True, "size": 10, **more}}


def txn(app: str, version: int) -> dict[str, Any]:
    return {"txn": {"appId": app, "version": version}}


def info(operation: str = "WRITE", at: int = 1_700_000_000_000, **more: Any) -> dict[str, Any]:
    return {"commitInfo": {"timestamp": at, "operation": operation, **more}}


def commit(folder: Path, version: int, *actions: Mapping[str, Any]) -> Path:
    path = folder / "_delta_log" / f"{version:020}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(one) for one in actions) + "\n")
    return path


def parquet(
    path: Path, actions: Iterable[Mapping[str, Any]], schema: pa.Schema = CHECKPOINT
) -> None:
    """A checkpoint's file, or a sidecar."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = []
    for action in actions:
        ((kind, value),) = action.items()
        maps = ("partitionValues", "tags", "configuration")
        pairs = {key: list(one.items()) for key, one in value.items() if key in maps and one}
        rows.append({kind: {**value, **pairs}})
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)


def checkpoint(folder: Path, version: int, *parts: Iterable[Mapping[str, Any]]) -> list[Path]:
    """A checkpoint of so many parts; classic where it is one."""
    log = folder / "_delta_log"
    if len(parts) == 1:
        names = [f"{version:020}.checkpoint.parquet"]
    else:
        names = [
            f"{version:020}.checkpoint.{number:010}.{len(parts):010}.parquet"
            for number in range(1, len(parts) + 1)
        ]
    for name, actions in zip(names, parts, strict=True):
        parquet(log / name, actions)
    return [log / name for name in names]


def with_sidecars(
    folder: Path, version: int, heads: Iterable[Mapping[str, Any]], *files: Any, kind: str
) -> None:
    """A checkpoint of the second form: the actions, and sidecars with files."""
    log, sidecars = folder / "_delta_log", []
    for number, actions in enumerate(files):
        name = f"{number:04}.parquet"
        parquet(log / "_sidecars" / name, actions)
        sidecars.append({"sidecar": {"path": name, "sizeInBytes": 1, "modificationTime": 1}})
    path = log / f"{version:020}.checkpoint.{uuid.UUID(int=version)}.{kind}"
    if kind == "parquet":
        parquet(path, [*heads, *sidecars], SIDECARS)
    else:
        path.write_text("\n".join(map(json.dumps, [*heads, *sidecars])))
