"""What the commits of a table did, read from the JSON files of its log: the same for everybody."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Ledger:
    """Live fragments, and what has been rewritten so far.

    A commit that removes files rewrites them; one that adds files and removes none lands them, or
    gives live ones new tags.

    Attributes:
        folder: of the table.
        live: `add` actions by path, statistics parsed.
        commits: that rewrote something.
        written: files made by it.
        rows, bytes, bytes_written: of these files.
    """

    folder: Path
    live: dict[str, dict[str, Any]] = field(default_factory=dict)
    commits: int = 0
    written: int = 0
    rows: int = 0
    bytes: int = 0
    bytes_written: int = 0
    _next: int = 0

    def follow(self) -> None:
        """Read the commits that are new."""
        while (path := self.folder / "_delta_log" / f"{self._next:020}.json").exists():
            self._apply([json.loads(line) for line in path.read_text().splitlines()])
            self._next += 1

    def _apply(self, actions: list[dict[str, Any]]) -> None:
        removed = [one["remove"]["path"] for one in actions if one.get("remove")]
        added = [one["add"] for one in actions if one.get("add")]
        for path in removed:
            old = self.live.pop(path)
            self.rows += old["stats"]["numRecords"]
            self.bytes += old["size"]
        if removed:
            self.commits += 1
            self.written += len(added)
            self.bytes_written += sum(one["size"] for one in added)
        for one in added:
            self.live[one["path"]] = one | {"stats": json.loads(one["stats"])}
