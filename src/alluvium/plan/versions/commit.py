"""What a commit of a table's log says of itself, and what this package noted in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

# Rows that a commit wrote again as they were, by the names of its metrics.
_COPIED = ("numTargetRowsCopied", "numCopiedRows")
# Of a MERGE.
_CHANGED = ("numTargetRowsInserted", "numTargetRowsUpdated")
_REMOVED = "numTargetRowsDeleted"


@dataclass(frozen=True)
class Commit:
    """What a commit says of itself; None for what it does not say.

    Attributes:
        at: when, by the clock of who committed; in UTC.
        message: of who committed; a text, or JSON with figures.
        author: the user's name, or else the engine's.
        transactions: newest number of each application, of `txn` actions.
        copied: rows that it wrote again as they were.
        changed, removed: rows that a MERGE inserted or updated, and rows that it deleted.
        restored: of a restore, the version that it went back to.
    """

    version: int
    id: str
    at: datetime | None
    operation: str | None
    message: str | None
    author: str | None
    transactions: Mapping[str, int]
    copied: int
    restored: int | None = None
    changed: int = 0
    removed: int = 0

    def without_copies(self, rows: int | None) -> int | None:
        """Of the rows of the files that it brought, or took, those that it did not copy."""
        return None if rows is None else max(rows - self.copied, 0)


def commit_of(version: int, found: Mapping[str, Any]) -> Commit:
    """A commit by what its log says.

    found: its `info` and the numbers of its `transactions`, as far as it has them.
    """
    info = found.get("info") or {}
    metrics = dict(info.get("operationMetrics") or {})
    millis = info.get("inCommitTimestamp") or info.get("timestamp")
    return Commit(
        version=version,
        id=id_of(version, info),
        at=None if millis is None else datetime.fromtimestamp(millis / 1000, UTC),
        operation=info.get("operation"),
        message=info.get("userMetadata"),
        author=info.get("userName") or info.get("engineInfo"),
        transactions=found.get("transactions") or {},
        copied=next((int(metrics[name]) for name in _COPIED if metrics.get(name)), 0),
        restored=restored(info),
        changed=sum(int(metrics.get(name) or 0) for name in _CHANGED),
        removed=int(metrics.get(_REMOVED) or 0),
    )


def restored(info: Mapping[str, Any]) -> int | None:
    """The version that a RESTORE went back to; info: `commitInfo`.

    None of another commit, and of a restore that was asked for by a time.
    """
    to = str(dict(info.get("operationParameters") or {}).get("version"))
    return int(to) if info.get("operation") == "RESTORE" and to.isdecimal() else None


def id_of(version: int, info: Mapping[str, Any]) -> str:
    """Delta's own id of a commit; where another engine gave it none, one of what it says.

    info: its `commitInfo`.
    """
    if info.get("txnId"):
        return str(info["txnId"])
    said = [version, *(info.get(name) for name in ("timestamp", "operation", "engineInfo"))]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]


def commit_info(first: str) -> dict[str, Any]:
    """`commitInfo` of a commit, its first action: Delta's conflict detection reads it there too."""
    return dict(json.loads(first).get("commitInfo") or {})


def noted(info: Mapping[str, Any] | None, key: str) -> dict[str, Any] | None:
    """What we noted under a key of `marks` in the user's metadata of a commit; None for nothing.

    info: its `commitInfo`.
    """
    try:
        found = json.loads((info or {}).get("userMetadata") or "{}")
    except ValueError:
        return None
    note = found.get(key) if isinstance(found, dict) else None
    # Another writer may note what it likes.
    return note if isinstance(note, dict) else None
