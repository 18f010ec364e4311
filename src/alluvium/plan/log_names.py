"""How the files of a Delta log are named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_DIGITS = 20
_COMMIT = re.compile(r"(\d{20})\.json")
# Of one file, of several parts, and the newer kind, whose name has an id.
_CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.[0-9a-fA-F-]{36})?\.(?:parquet|json)"
)


@dataclass(frozen=True)
class CheckpointParts:
    """The files of a checkpoint that are there: names in order, and how many it should have."""

    version: int
    names: tuple[str, ...]
    wanted: int

    @property
    def is_whole(self) -> bool:
        return len(self.names) == self.wanted


def commit_name(version: int) -> str:
    return f"{version:0{_DIGITS}}.json"


def commits(names: Iterable[str]) -> dict[int, str]:
    """The names of commits, by version."""
    return {int(match[1]): match[0] for name in names if (match := _COMMIT.fullmatch(name))}


def checkpoints(names: Iterable[str]) -> Iterator[CheckpointParts]:
    """The checkpoints of a log, the oldest first."""
    parts: dict[tuple[int, str], list[str]] = {}
    for name in names:
        if match := _CHECKPOINT.fullmatch(name):
            parts.setdefault((int(match[1]), match[3] or name), []).append(name)
    for (version, of), some in sorted(parts.items()):
        yield CheckpointParts(version, tuple(sorted(some)), int(of) if of.isdigit() else 1)


def versions_of(name: str) -> tuple[int, ...]:
    """The versions that a file of the log is about, by its name: none, one or two."""
    parts = name.split(".")[:2]
    return tuple(int(part) for part in parts if len(part) == _DIGITS and part.isdigit())
