"""A Delta table whose log is written by hand: many commits, or many files, in seconds."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = pa.schema([("id", pa.int64()), ("service", pa.string()), ("amount", pa.float64())])
_STARTED = 1_700_000_000_000
# As Spark writes it.
_TYPES = {"id": "long", "service": "string", "amount": "double"}


class WrittenLog:
    """A table in a folder; each commit is one more file of its log.

    Attributes:
        live: paths of the live files.
    """

    def __init__(self, folder: Path, rows: int = 3) -> None:
        self.folder, self.live = folder, dict[str, None]()
        self._rows, self._version, self._files = rows, 0, 0
        (folder / "_delta_log").mkdir(parents=True)
        values = [range(rows), ["reader"] * rows, [0.5] * rows]
        pq.write_table(pa.table(dict(zip(SCHEMA.names, values, strict=True)), SCHEMA), folder / "_")
        self._parquet = (folder / "_").read_bytes()
        (folder / "_").unlink()
        fields = [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in _TYPES.items()
        ]
        schema = json.dumps({"type": "struct", "fields": fields})
        self._write(
            "CREATE TABLE",
            {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
            {
                "metaData": {
                    "id": str(uuid.UUID(int=rows)),
                    "format": {"provider": "parquet", "options": {}},
                    "schemaString": schema,
                    "partitionColumns": [],
                    "configuration": {"delta.enableExpiredLogCleanup": "false"},
                    "createdTime": _STARTED,
                }
            },
        )

    def commit(self, adds: int, removes: int = 0) -> None:
        """Bring so many files, and take as many of the oldest."""
        gone = [path for path, _ in zip(self.live, range(removes), strict=False)]
        came = [self._file() for _ in range(adds)]
        for path in gone:
            del self.live[path]
        self.live |= dict.fromkeys(came)
        self._write("WRITE", *self._adds(came), *self._removes(gone))

    def bring_back(self, path: str) -> None:
        """Bring a file that was taken, as a restore does."""
        self.live[path] = None
        self._write("RESTORE", *self._adds([path]))

    def _file(self) -> str:
        path = f"part-{self._files % 1000:05}-{uuid.UUID(int=self._files)}.c000.snappy.parquet"
        self._files += 1
        (self.folder / path).write_bytes(self._parquet)
        return path

    def _adds(self, paths: Sequence[str]) -> Iterator[dict[str, Any]]:
        stats = json.dumps(
            {
                "numRecords": self._rows,
                "minValues": {"id": 0, "service": "reader", "amount": 0.5},
                "maxValues": {"id": self._rows - 1, "service": "reader", "amount": 0.5},
                "nullCount": {"id": 0, "service": 0, "amount": 0},
            }
        )
        for path in paths:
            yield {"add": self._of_file(path) | {"modificationTime": _STARTED, "stats": stats}}

    def _removes(self, paths: Sequence[str]) -> Iterator[dict[str, Any]]:
        for path in paths:
            yield {"remove": self._of_file(path) | {"deletionTimestamp": _STARTED}}

    def _of_file(self, path: str) -> dict[str, Any]:
        size = len(self._parquet)
        return {"path": path, "partitionValues": {}, "size": size, "dataChange": True}

    def _write(self, operation: str, *actions: dict[str, Any]) -> None:
        info = {
            "timestamp": _STARTED + 1000 * self._version,
            "operation": operation,
            "engineInfo": "by hand",
            "txnId": str(uuid.UUID(int=(self._rows << 64) + self._version)),
        }
        lines = [json.dumps(one) for one in ({"commitInfo": info}, *actions)]
        log = self.folder / "_delta_log" / f"{self._version:020}.json"
        log.write_text("\n".join(lines) + "\n")
        self._version += 1
