"""A commit as its file in the log has it, parsed as far as somebody asks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from alluvium.plan.versions.commit import Commit, commit_of, noted


@dataclass(frozen=True)
class WrittenCommit:
    """A commit as its file has it: what it says of itself, and its lines."""

    version: int
    lines: tuple[str, ...]

    @cached_property
    def _heads(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for action in map(json.loads, (one for one in self.lines if not is_of_file(one))):
            if info := action.get("commitInfo"):
                found["info"] = info
            if txn := action.get("txn"):
                found.setdefault("transactions", {})[txn["appId"]] = int(txn["version"])
        return found

    @property
    def info(self) -> Mapping[str, Any]:
        """Its `commitInfo`."""
        return self._heads.get("info") or {}

    @cached_property
    def commit(self) -> Commit:
        return commit_of(self.version, self._heads)

    def note(self, key: str) -> dict[str, Any] | None:
        """What we noted in it under a key of `marks`; None for nothing."""
        return noted(self.info, key)

    def files(self, kind: str) -> Iterator[dict[str, Any]]:
        """What it says of data files, one at a time; kind: `add` or `remove`."""
        start = f'{{"{kind}"'
        for line in self.lines:
            if line.startswith(start) or not is_of_file(line):
                action = json.loads(line).get(kind)
                if action is not None:
                    yield action


def is_of_file(line: str) -> bool:
    """Whether a line is about a data file, as engines write it; else it may still be."""
    return line.startswith(('{"add"', '{"remove"', '{"cdc"'))
