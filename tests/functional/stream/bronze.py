"""A landing folder, a table and an oracle that reads the files with plain Python.

The table is read with delta-rs.
"""

from __future__ import annotations

import bz2
import gzip
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from functional.delta_rs import by_query, folder_of
from pyspark.sql import SparkSession

from alluvium import ingest as stream

VIEW = "landing__feed"


def read_lines(folder: Path) -> dict[tuple[str, int], bytes]:
    """Every line of every file: (name below the folder, line from 0) to its bytes."""
    lines = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name[0] not in "._"):
        opener = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix, open)
        with opener(path, "rb") as file:
            content = file.read().removeprefix(b"\xef\xbb\xbf")
        parts = content.split(b"\n")
        if parts[-1] == b"":
            parts.pop()
        for number, line in enumerate(parts):
            lines[path.relative_to(folder).as_posix(), number] = line.removesuffix(b"\r")
    return lines


@dataclass
class Bronze:
    """A source folder and the table that it feeds."""

    root: Path
    session: SparkSession
    name: str
    block: dict[str, Any] = field(default_factory=dict)
    sql: str = f"select * from `{VIEW}`"
    target: dict[str, Any] = field(default_factory=dict)

    @property
    def landing(self) -> Path:
        return self.root / "landing"

    @property
    def checkpoint(self) -> Path:
        return self.root / "checkpoints" / self.name

    @property
    def feed(self) -> stream.Feed:
        block = {"format": "text", "path": "landing", **self.block}
        return stream.parse_spec("landing.feed", block).resolve(self.root, None)

    def land(self, name: str, content: bytes) -> None:
        path = self.landing / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def run(self, **options: Any) -> stream.StreamFigures:
        target = stream.Target(self.name, str(self.checkpoint), **self.target)
        # Batches are numbered from 1 at the beginning of time.
        options = {"now": lambda: 0.0} | options
        return stream.append(self.session, self.feed, self.sql, VIEW, target, **options)

    @property
    def home(self) -> Path:
        warehouse = str(self.session.conf.get("spark.sql.warehouse.dir"))
        return Path(warehouse.removeprefix("file:")).parent

    @property
    def table(self) -> DeltaTable:
        """The newest version."""
        managed = folder_of(self.home, *self.name.split("."))
        return DeltaTable(self.target.get("location", managed))

    def rows(self) -> list[dict[str, Any]]:
        return by_query(self.table).to_pylist()

    def batches(self) -> list[int]:
        return sorted({row["_batch_id"] for row in self.rows()})

    def versions(self) -> int:
        """How many commits the table's log has."""
        return self.table.version() + 1

    def check(self, rows: list[Any] | None = None) -> None:
        """The table, or these rows, hold each line of each file, exactly once, byte for byte."""
        expected = read_lines(self.landing)
        rows = self.rows() if rows is None else rows
        assert len(rows) == len(expected)
        for row in rows:
            raw = [h["value"] for h in row["_headers"] or [] if h["key"] == "_value"]
            value = bytes(raw[0]) if raw else row["_value"].encode()
            assert value == expected.pop((row["_source_partition"], row["_source_offset"]))

    def lose_checkpoint(self) -> None:
        shutil.rmtree(self.checkpoint)
