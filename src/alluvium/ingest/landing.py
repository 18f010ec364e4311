"""Which files of a landing folder are read next, and which are not what they were. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from itertools import takewhile

from alluvium.paths import folder_of

# The size in bytes and the time in ms of a file as it was read; None where only its name is known.
Stamp = tuple[int, int] | None
_WILDCARD = re.compile(r"[*?\[\\]")
_CLASS = re.compile(r"\[[^]]*\]|\\.")


@dataclass(frozen=True)
class Landed:
    """A file that lies in the landing folder.

    Attributes:
        name: Its path below the source's folder, which is the events' `_source_partition`.
        path: Its path as Spark writes it.
        size: In bytes, as stored.
        time: When it was last written, in ms since 1970.
    """

    name: str
    path: str
    size: int
    time: int

    @property
    def stamp(self) -> tuple[int, int]:
        """What tells it from other content under its name."""
        return self.size, self.time


def unread(landed: Iterable[Landed], read: Mapping[str, Stamp]) -> list[Landed]:
    """The files that were not read yet, the oldest first."""
    new = (file for file in landed if file.name not in read)
    return sorted(new, key=lambda file: (file.time, file.name))


def replaced(landed: Iterable[Landed], read: Mapping[str, Stamp]) -> list[Landed]:
    """The files that have another size or time than when they were read."""
    stamps = ((file, read.get(file.name)) for file in landed)
    return [file for file, stamp in stamps if stamp is not None and file.stamp != stamp]


def triggers(
    files: list[Landed], max_files: int | None, max_bytes: int | None
) -> Iterator[list[Landed]]:
    """The files of one commit after another; each has one at least."""
    some: list[Landed] = []
    size = 0
    for file in files:
        too_large = max_bytes is not None and size + file.size > max_bytes
        if some and (len(some) == max_files or too_large):
            yield some
            some, size = [], 0
        some.append(file)
        size += file.size
    if some:
        yield some


def before_wildcards(pattern: str) -> str:
    """The folder of a glob that lies before its wildcards; a path without any is that itself."""
    for wildcard in "*?[{":
        if wildcard in pattern:
            pattern = folder_of(pattern[: pattern.index(wildcard)])
    return pattern


def may_be_listed(one: str, other: str) -> bool:
    """Whether files below a folder or glob can be among those of another path or glob."""
    return all(map(_may_be_equal, _known_parts(one), _known_parts(other)))


def _known_parts(path: str) -> Iterator[str]:
    """The parts of a path before one with alternatives, which may have parts of their own.

    To refuse too much is the safe side.
    """
    return takewhile(lambda part: "{" not in part, path.rstrip("/").split("/"))


def _may_be_equal(one: str, other: str) -> bool:
    if one == other:
        return True
    if not _WILDCARD.search(one) and "\\" not in other:
        # `[^a]` is Hadoop's too, and Python's fnmatch knows `[!a]` alone.
        return fnmatchcase(one, other.replace("[^", "[!"))
    return _may_meet(_CLASS.sub("?", one), _CLASS.sub("?", other))


@cache
def _may_meet(one: str, other: str) -> bool:
    """Whether two patterns of `*`, `?` and characters have a name in common."""
    if one.startswith("*") or other.startswith("*"):
        some, rest = (one, other) if one.startswith("*") else (other, one)
        return _may_meet(some[1:], rest) or (rest != "" and _may_meet(some, rest[1:]))
    if not one or not other:
        return one == other
    return (one[0] == other[0] or "?" in (one[0], other[0])) and _may_meet(one[1:], other[1:])
