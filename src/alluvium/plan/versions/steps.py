"""How to get from one state of a table's files to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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


@dataclass(eq=False)
class _Chain:
    """Compactions of which one reads what another wrote, as one.

    Attributes:
        reads, wrote: by path, the names of vectors: of what no compaction of it wrote, and of what
            none of it read.
        is_whole: whether no file was read twice.
    """

    reads: dict[str, str]
    wrote: dict[str, str]
    is_whole: bool = True


def steps(
    before: Iterable[Entry],
    after: Iterable[Entry],
    moves: Iterable[Move] = (),
    undone: Iterable[Move] = (),
) -> Steps:
    """The steps from `before` to `after`.

    Files that both have in the same way may be left out of both.

    Args:
        moves: compactions that lie between, in their order. Some count as one where they read files
            of `before` as they are there, and `after` has what they wrote as it was written. Then
            they changed no row, whatever else happened.
        undone: compactions that lead the other way, in their order.
    """
    old = {entry.path: entry for entry in before}
    new = {entry.path: entry for entry in after}

    def differs(one: Entry, other: Entry | None) -> bool:
        return other is None or one.vector != other.vector

    goes = {path: one.vector for path, one in old.items() if differs(one, new.get(path))}
    comes = {path: one.vector for path, one in new.items() if differs(one, old.get(path))}
    relabelled = {
        path for path, entry in new.items() if path not in comes and entry.label != old[path].label
    }
    moved_out, moved_in = set[str](), set[str]()
    for reads, wrote in _moved(goes, comes, moves):
        moved_out |= reads
        moved_in |= wrote
    rest, others = (
        {path: vector for path, vector in files.items() if path not in moved}
        for files, moved in ((goes, moved_out), (comes, moved_in))
    )
    for reads, wrote in _moved(others, rest, undone):
        moved_out |= wrote
        moved_in |= reads
    return Steps(
        *(
            tuple(sorted(paths))
            for paths in (
                goes.keys() - moved_out,
                comes.keys() - moved_in,
                moved_out,
                moved_in,
                relabelled,
            )
        )
    )


def _moved(
    goes: Mapping[str, str], comes: Mapping[str, str], moves: Iterable[Move]
) -> Iterator[tuple[set[str], set[str]]]:
    """Files that go and files that come in their place, with the same rows.

    By path, the names of vectors.
    """
    found: list[_Chain] = []
    # The chain that wrote a file of the end, or that reads one which another move may have written.
    written, asked = dict[str, _Chain](), dict[str, _Chain]()
    # The last ones first: what they read, earlier ones wrote.
    for move in reversed(list(moves)):
        later: list[_Chain] = []
        ends: dict[str, str] = {}
        for path, vector in move.added.items():
            chain = asked.get(path)
            # Where it began with this file, it is of no use who wrote it.
            if chain is not None and chain.reads[path] == vector and goes.get(path) != vector:
                later.append(chain)
            elif comes.get(path) == vector and path not in written:
                ends[path] = vector
            else:
                break
        else:
            joined = _joined(later, move, ends, asked)
            found = [chain for chain in found if chain not in later] + [joined]
            asked.update(dict.fromkeys(joined.reads, joined))
            written.update(dict.fromkeys(joined.wrote, joined))
    used = set[str]()
    for chain in found:
        begins = all(goes.get(path) == vector for path, vector in chain.reads.items())
        if chain.is_whole and begins and not used & chain.reads.keys():
            used |= chain.reads.keys()
            yield set(chain.reads), set(chain.wrote)


def _joined(
    later: list[_Chain], move: Move, ends: Mapping[str, str], asked: dict[str, _Chain]
) -> _Chain:
    """A move with the chains that read what it wrote."""
    reads, wrote, is_whole = dict[str, str](), dict(ends), True
    for chain in later:
        reads |= chain.reads
        wrote |= chain.wrote
        is_whole &= chain.is_whole
    for path in move.added.keys() - ends.keys():
        del reads[path]
        del asked[path]
    is_whole &= not reads.keys() & move.removed.keys()
    return _Chain({**reads, **move.removed}, wrote, is_whole)
