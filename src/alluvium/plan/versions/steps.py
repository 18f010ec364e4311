"""How to get from one state of a table's files to another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A data file of a state.

    Attributes:
        path: absolute.
        vector: names the deletion vector that it is read with; empty for none.
        label: stands for its tags and statistics, which change no row.
    """

    path: str
    vector: str
    label: str


@dataclass(frozen=True)
class Steps:
    """What makes one state of another: paths, each list in order.

    Attributes:
        goes, comes: a file whose vector changes is in both.
        relabelled: files that stay, with other tags or statistics.
    """

    goes: tuple[str, ...]
    comes: tuple[str, ...]
    relabelled: tuple[str, ...]

    @property
    def moves(self) -> bool:
        """Whether rows may change."""
        return bool(self.goes or self.comes)


def steps(before: Iterable[Entry], after: Iterable[Entry]) -> Steps:
    """The steps from `before` to `after`.

    Files that both have in the same way may be left out of both.
    """
    old = {entry.path: entry for entry in before}
    new = {entry.path: entry for entry in after}

    def differs(one: Entry, other: Entry | None) -> bool:
        return other is None or one.vector != other.vector

    goes = (path for path, entry in old.items() if differs(entry, new.get(path)))
    comes = (path for path, entry in new.items() if differs(entry, old.get(path)))
    relabelled = (
        path
        for path, entry in new.items()
        if not differs(entry, old.get(path)) and entry.label != old[path].label
    )
    return Steps(tuple(sorted(goes)), tuple(sorted(comes)), tuple(sorted(relabelled)))
