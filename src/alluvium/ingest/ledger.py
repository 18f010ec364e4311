"""The ledger of a landing folder: the files that a streaming table has read, by name.

It lies in ``<checkpoint>/files``: ``<epoch>`` has the files of one commit, ``<epoch>.all`` all
those before it, ``<epoch>.planned`` those of a commit that may have failed. Only the table's log
tells whether it did: what was planned and not committed was not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JJavaError

from alluvium.engine.files import Files
from alluvium.ingest.headers import Names, unnamed
from alluvium.ingest.landing import Landed, Stamp
from alluvium.ingest.spec import StreamError

_ENTRY = re.compile(r"(\d+)(\.all|\.planned|)")
_PLANNED = ".planned"
_ALL = ".all"
# What else `.all` has.
_REST = ("base", "root", "unnamed", "absent")
# So many commits are noted apart before all are noted in one file: those of a run, and of runs.
_APART_IN_A_RUN = 100
_APART = 10


@dataclass
class Ledger:
    """What is known of the files.

    Attributes:
        folder: Where it lies.
        read: The files that were read, by name.
        held: Files that the table holds events of, without having read them since it began: when
            each was written, in ms since 1970; -1 for unknown.
        epoch: Of the next commit.
        planned: The files of that commit, if it was planned and may have been made.
        base: The place where the names begin; None in a ledger of an earlier version.
        root: The place of the checkpoint when that was noted.
        is_new: Whether nothing of it was written yet.
        unnamed: The columns in headers that the schema did not name; None before a file was read.
        absent: The columns that a header missed; None before that was looked at.
    """

    folder: str
    read: dict[str, Stamp] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    epoch: int = 0
    planned: dict[str, Stamp] | None = None
    base: str | None = None
    root: str | None = None
    unnamed: list[str] | None = None
    absent: list[str] | None = None
    is_new: bool = True

    def begin_at(self, files: Files, base: str, root: str) -> None:
        """Note where the names begin, and where the checkpoint lies."""
        if (self.base, self.root) != (base, root):
            self.base, self.root = base, root
            self.save(files)

    def changed_columns(
        self, files: Files, headers: Sequence[tuple[str, Names]], schema: Sequence[str]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Note the columns that headers have and `schema` does not name, and those that they miss.

        headers: of csv files, each with a file.

        Returns:
            Those that come or go for the first time, each with a file; none of the first headers.
        """
        known, absent = self.unnamed or [], self.absent or []
        is_start = self.absent is None
        new = {one: at for at, names in headers for one in unnamed(names, [*schema, *known])}
        wanted = schema or [*known, *new]
        gone = {one: at for at, names in headers for one in unnamed(wanted, [*names, *absent])}
        if new or gone or is_start:
            self.unnamed, self.absent = sorted({*known, *new}), sorted({*absent, *gone})
            self.save(files)
        if is_start:
            return {}, {}
        return new, {one: at for one, at in gone.items() if one not in new}

    def plan(self, files: Files, some: Iterable[Landed]) -> None:
        """Note the files that the next commit will have."""
        self.planned = {file.name: file.stamp for file in some}
        files.replace(self._path(_PLANNED), _text(self.planned))

    def finish(self, files: Files) -> None:
        """The planned commit was made: its files were read."""
        assert self.planned is not None
        # Written, not renamed: another process may have put its own plan there meanwhile.
        files.replace(self._path(), _text(self.planned))
        files.delete(self._path(_PLANNED))
        self._know(self.planned)
        self.epoch += 1
        self.planned = None
        if self.epoch % _APART_IN_A_RUN == 0:
            self.save(files)

    def forget(self, files: Files) -> None:
        """The planned commit was not made: its files were not read."""
        files.delete(self._path(_PLANNED))
        self.planned = None

    def note(self, files: Files, read: Mapping[str, Stamp], held: Mapping[str, int]) -> None:
        """Note files apart from any commit."""
        self._know(read, held)
        self.save(files)

    def save(self, files: Files) -> None:
        """Write everything into one file, and delete those that it replaces."""
        rest = {name: getattr(self, name) for name in _REST}
        files.replace(self._path(_ALL), _text(self.read, self.held, **rest))
        self.is_new = False
        for name in files.names(self.folder):
            entry = _ENTRY.fullmatch(name)
            if entry and int(entry[1]) < self.epoch:
                files.delete(f"{self.folder}/{name}")

    def _know(self, read: Mapping[str, Stamp], held: Mapping[str, int] | None = None) -> None:
        self.read.update(read)
        known = {**self.held, **(held or {})}
        self.held = {name: time for name, time in known.items() if name not in self.read}

    def _noted(self, files: Files, kind: str = "") -> dict[str, Any]:
        """What one of its files says: `read`, the files that were read, and in `.all` the rest."""
        path = self._path(kind)
        try:
            noted = json.loads(files.read(path) or "")
            read = {name: stamp and tuple(stamp) for name, stamp in noted["read"].items()}
            # An earlier version noted names alone.
            held = noted["held"]
            times = held if isinstance(held, dict) else dict.fromkeys(held, -1)
            return {**noted, "read": read, "held": times}
        except (TypeError, ValueError, KeyError, Py4JJavaError) as error:
            raise self._damaged(path) from error

    def _damaged(self, path: str) -> StreamError:
        return StreamError(
            f"{path} is missing, or is not as it was written. Delete the folder "
            f"{self.folder.removesuffix('/files')}: the next run then reads what the table does "
            "not have"
        )

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


def load(files: Files, checkpoint: str, *, tidy: bool = True) -> Ledger:
    """The ledger as it was left.

    tidy: whether many small files of it may be put together.
    """
    ledger = Ledger(folder_of(checkpoint))
    entries = _entries(files, ledger.folder)
    ledger.epoch = whole = max((epoch for epoch, kind in entries if kind == _ALL), default=0)
    if (ledger.epoch, _ALL) in entries:
        ledger.is_new = False
        noted = ledger._noted(files, _ALL)
        ledger._know(noted["read"], noted["held"])
        for name in _REST:
            setattr(ledger, name, noted.get(name))
    while (ledger.epoch, "") in entries:
        ledger._know(ledger._noted(files)["read"])
        ledger.epoch += 1
    if (ledger.epoch, _PLANNED) in entries:
        ledger.planned = ledger._noted(files, _PLANNED)["read"]
    if any(epoch > ledger.epoch for epoch, _ in entries):
        raise ledger._damaged(ledger._path())
    if tidy and ledger.epoch >= whole + _APART:
        ledger.save(files)
    return ledger


def _entries(files: Files, folder: str) -> set[tuple[int, str]]:
    found = (_ENTRY.fullmatch(name) for name in files.names(folder))
    return {(int(entry[1]), entry[2]) for entry in found if entry}


def _text(read: dict[str, Stamp], held: dict[str, int] | None = None, **rest: Any) -> str:
    return json.dumps({"read": read, "held": held or {}, **rest})
