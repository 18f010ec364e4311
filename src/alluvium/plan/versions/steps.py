"""How to get from one state of a table's files to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
class Move:
    """What one compaction did: the same rows, in other files.

    Attributes:
        removed, added: by path, the names of the files' deletion vectors. A file without a row to
            show, which no state has, is left out of `removed`.
    """

    removed: Mapping[str, str]
    added: Mapping[str, str]


@dataclass(frozen=True)
class Steps:
    """What makes one state of another: paths, each list in order.

    Attributes:
        goes, comes: a file whose vector changes is in both.
        moved_out, moved_in: what compactions put in the place of what; no row changes.
        relabelled: files that stay, with other tags or statistics.
    """

    goes: tuple[str, ...]
    comes: tuple[str, ...]
    moved_out: tuple[str, ...]
    moved_in: tuple[str, ...]
    relabelled: tuple[str, ...]


def steps(before: Iterable[Entry], after: Iterable[Entry], moves: Iterable[Move] = ()) -> Steps:
    """The steps from `before` to `after`.

    Files that both have in the same way may be left out of both.

    Args:
        moves: compactions that lie between. One counts where it read files of `before` as they are
            there, and `after` has what it wrote as it was written: then it changed no row, whatever
            else happened.
    """
    old = {entry.path: entry for entry in before}
    new = {entry.path: entry for entry in after}

    def differs(one: Entry, other: Entry | None) -> bool:
        return other is None or one.vector != other.vector

    goes = {path for path, entry in old.items() if differs(entry, new.get(path))}
    comes = {path for path, entry in new.items() if differs(entry, old.get(path))}
    relabelled = {
        path for path, entry in new.items() if path not in comes and entry.label != old[path].label
    }
    moved_out, moved_in = set[str](), set[str]()
    for move in moves:
        reads = all(
            path in goes and old[path].vector == vector for path, vector in move.removed.items()
        )
        wrote = all(
            path in comes and new[path].vector == vector for path, vector in move.added.items()
        )
        if reads and wrote:
            moved_out |= move.removed.keys()
            moved_in |= move.added.keys()
    return Steps(
        *(
            tuple(sorted(paths))
            for paths in (goes - moved_out, comes - moved_in, moved_out, moved_in, relabelled)
        )
    )
