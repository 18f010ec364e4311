"""A commit of a table's log, parsed as far as somebody asks: what it says, and what we noted."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

# Kinds of actions: of those that leave the table as it is, and of data files.
NOTES = frozenset({"commitInfo", "txn"})
OF_FILES = frozenset({"add", "remove"})
# How engines begin a line, which has one action: by its kind.
_BEGINS = re.compile(r'\{"(\w+)":\{')
# Rows that a commit wrote again as they were, by the names of its metrics.
_COPIED = ("numTargetRowsCopied", "numCopiedRows")
# Of a MERGE.
_CHANGED = ("numTargetRowsInserted", "numTargetRowsUpdated")
_DELETED = "numTargetRowsDeleted"
# Of a commit that names vectors of files that went earlier: when Delta drops the feature, and when
# we put vectors that stand in the log into files.
_OF_VECTORS = "Deletion Vector Tombstones"

Line = str | Mapping[str, Any]


@dataclass(frozen=True)
class Commit:
    """A commit. Of what it does not say, None is told; so of one that `is_gone`.

    Attributes:
        lines: its actions as its file has them, or as somebody has parsed them already.
    """

    version: int
    lines: Iterable[Line] = ()

    @property
    def is_gone(self) -> bool:
        """Whether the log has it no more, or not whole."""
        return not self.lines

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Of its actions: `commitInfo`, `add`, …"""
        return frozenset(
            kind for line in self.lines for kind in _begun(line) or self._parsed(line).keys()
        )

    def actions(self, *kinds: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Its actions of some kinds, one at a time, each with its kind."""
        for line in self.lines:
            begun = _begun(line)
            if not begun or begun[0] in kinds:
                for kind, action in self._parsed(line).items():
                    if kind in kinds and action is not None:
                        yield kind, action

    @property
    def added(self) -> Iterator[dict[str, Any]]:
        """What it says of each data file that it adds."""
        return (file for _, file in self.actions("add"))

    @property
    def removed(self) -> Iterator[dict[str, Any]]:
        """And of each that it removes."""
        return (file for _, file in self.actions("remove"))

    @cached_property
    def transactions(self) -> Mapping[str, int]:
        """Newest number of each application, of `txn` actions."""
        return {one["appId"]: int(one["version"]) for _, one in self.actions("txn")}

    @cached_property
    def info(self) -> Mapping[str, Any]:
        """Its `commitInfo`: Delta writes it first, other engines also behind the files."""
        return next((info for _, info in self.actions("commitInfo")), {})

    @property
    def id(self) -> str | None:
        """Delta's own id; where another engine gave it none, one of what it says."""
        if self.is_gone or self.info.get("txnId"):
            return self.info.get("txnId")
        said = [self.version, *map(self.info.get, ("timestamp", "operation", "engineInfo"))]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]

    @property
    def at(self) -> datetime | None:
        """When, by the clock of who committed; in UTC."""
        millis = self.info.get("inCommitTimestamp") or self.info.get("timestamp")
        return None if millis is None else datetime.fromtimestamp(millis / 1000, UTC)

    @property
    def operation(self) -> str | None:
        return self.info.get("operation")

    @property
    def message(self) -> str | None:
        """Of who committed; a text, or JSON with figures."""
        return self.info.get("userMetadata")

    @property
    def author(self) -> str | None:
        """The user's name, or else the engine's."""
        return self.info.get("userName") or self.info.get("engineInfo")

    @property
    def metrics(self) -> dict[str, Any]:
        """Delta's, of its operation; texts."""
        return dict(self.info.get("operationMetrics") or {})

    @property
    def parameters(self) -> dict[str, Any]:
        """Of its operation; texts."""
        return dict(self.info.get("operationParameters") or {})

    @property
    def restored(self) -> int | None:
        """Of a restore, the version that it went back to; None where a time was asked for."""
        to = str(self.parameters.get("version"))
        return int(to) if self.operation == "RESTORE" and to.isdecimal() else None

    @property
    def copied_rows(self) -> int:
        """Rows that it wrote again as they were."""
        metrics = self.metrics
        return next((int(metrics[name]) for name in _COPIED if metrics.get(name)), 0)

    @property
    def changed_rows(self) -> int:
        """That a MERGE inserted or updated."""
        return sum(int(self.metrics.get(name) or 0) for name in _CHANGED)

    @property
    def deleted_rows(self) -> int:
        """That a MERGE deleted."""
        return int(self.metrics.get(_DELETED) or 0)

    @property
    def takes_no_block(self) -> bool:
        """Whether what it removes went before: no block goes with it."""
        return self.operation == _OF_VECTORS

    def without_copies(self, rows: int | None) -> int | None:
        """Of the rows of the files that it brought, or took, those that it did not copy."""
        return None if rows is None else max(rows - self.copied_rows, 0)

    def note(self, key: str) -> dict[str, Any] | None:
        """What we noted in it under a key of `marks`; None for nothing."""
        try:
            found = json.loads(self.message or "{}")
        except ValueError:
            return None
        note = found.get(key) if isinstance(found, dict) else None
        # Another writer may note what it likes.
        return note if isinstance(note, dict) else None

    def _parsed(self, line: Line) -> Mapping[str, Any]:
        try:
            found: Mapping[str, Any] = json.loads(line) if isinstance(line, str) else line
        except ValueError as error:
            raise ValueError(damaged(self.version)) from error
        return found


def damaged(version: int) -> str:
    """What a message says of a commit that is not as somebody wrote it."""
    return f"the commit of version {version} is not whole ({version:020}.json)"


def is_whole(last: str) -> bool:
    """Whether the last line of a commit's file ends where its writer ended."""
    try:
        return isinstance(json.loads(last), dict)
    except ValueError:
        return False


def _begun(line: Line) -> tuple[str, ...]:
    """The kind of a line's action, where its text shows it."""
    found = _BEGINS.match(line) if isinstance(line, str) else None
    return () if found is None else (found[1],)
