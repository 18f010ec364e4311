"""The ledger of a landing folder: the files that a streaming table has read, by name.

It lies in ``<checkpoint>/files``: ``<epoch>`` has the files of one commit, ``<epoch>.all`` all
those before it, ``<epoch>.planned`` those of a commit that may have failed. Only the table's log
tells whether it did: what was planned and not committed was not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from alluvium.stream.files import Files
from alluvium.stream.landing import Landed, Stamp

_ENTRY = re.compile(r"(\d+)(\.all|\.planned|)")
_PLANNED = ".planned"
_ALL = ".all"
# So many commits are noted apart before all are noted in one file.
_APART = 10


@dataclass
class Ledger:
    """What is known of the files.

    Attributes:
        folder: Where it lies.
        read: The files that were read, by name.
        held: Names that the table holds events of, without having read them since it began.
        epoch: Of the next commit.
        planned: Whether that commit was planned and may have been made.
    """

    folder: str
    read: dict[str, Stamp] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    epoch: int = 0
    planned: bool = False

    def plan(self, files: Files, some: Iterable[Landed]) -> None:
        """Note the files that the next commit will have."""
        files.replace(self._path(_PLANNED), _text({f.name: f.stamp for f in some}))
        self.planned = True

    def finish(self, files: Files) -> None:
        """The planned commit was made: its files were read."""
        self._add(files, _PLANNED)
        files.rename(self._path(_PLANNED), self._path())
        self.epoch += 1
        self.planned = False
        if self.epoch % _APART == 0:
            self.save(files)

    def forget(self, files: Files) -> None:
        """The planned commit was not made: its files were not read."""
        files.delete(self._path(_PLANNED))
        self.planned = False

    def note(self, files: Files, read: dict[str, Stamp], held: set[str]) -> None:
        """Note files apart from any commit."""
        self.read |= read
        self.held = (self.held | held) - self.read.keys()
        self.save(files)

    def save(self, files: Files) -> None:
        """Write everything into one file, and delete those that it replaces."""
        files.replace(self._path(_ALL), _text(self.read, self.held))
        for name in files.names(self.folder):
            entry = _ENTRY.fullmatch(name)
            if entry and int(entry[1]) < self.epoch:
                files.delete(f"{self.folder}/{name}")

    def _add(self, files: Files, kind: str = "") -> None:
        noted = json.loads(files.read(self._path(kind)) or "{}")
        self.read |= {name: stamp and tuple(stamp) for name, stamp in noted["read"].items()}
        self.held = (self.held | set(noted["held"])) - self.read.keys()

    def _path(self, kind: str = "") -> str:
        return f"{self.folder}/{self.epoch}{kind}"


def folder_of(checkpoint: str) -> str:
    """The folder of the ledger in a checkpoint's."""
    return f"{checkpoint}/files"


def last_epoch(files: Files, checkpoint: str) -> int:
    """Highest epoch that was committed or planned; -1 for none."""
    return max(
        (epoch - (kind == _ALL) for epoch, kind in _entries(files, folder_of(checkpoint))),
        default=-1,
    )


def exists(files: Files, checkpoint: str) -> bool:
    """Whether the checkpoint has a ledger."""
    return any(kind == _ALL for _, kind in _entries(files, folder_of(checkpoint)))


def load(files: Files, checkpoint: str) -> Ledger:
    """The ledger as it was left."""
    ledger = Ledger(folder_of(checkpoint))
    entries = _entries(files, ledger.folder)
    ledger.epoch = max((epoch for epoch, kind in entries if kind == _ALL), default=0)
    if (ledger.epoch, _ALL) in entries:
        ledger._add(files, _ALL)
    while (ledger.epoch, "") in entries:
        ledger._add(files)
        ledger.epoch += 1
    ledger.planned = (ledger.epoch, _PLANNED) in entries
    return ledger


def _entries(files: Files, folder: str) -> set[tuple[int, str]]:
    found = (_ENTRY.fullmatch(name) for name in files.names(folder))
    return {(int(entry[1]), entry[2]) for entry in found if entry}


def _text(read: dict[str, Stamp], held: Iterable[str] = ()) -> str:
    return json.dumps({"read": read, "held": sorted(held)})
