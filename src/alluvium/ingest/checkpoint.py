"""The checkpoint of a streaming table: Spark's own folder, and a pointer that says whose it is.

``<root>/current.json`` names the folder ``<root>/<id>`` that Structured Streaming writes. A new id
starts from the source again. So a full refresh swaps one small file, and a lost folder is never
mistaken for a fresh one. ``_batch_id`` of epoch ``e`` is ``base + e + 1``, whoever replays it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from alluvium import marks
from alluvium.engine.files import Files

POINTER = "current.json"


@dataclass(frozen=True)
class Checkpoint:
    """A stream's place in its source.

    Attributes:
        root: Folder of the pointer.
        id: Name of Spark's checkpoint folder, and part of the Delta txn's appId.
        base: Highest ``_batch_id`` of the table when this checkpoint began.
        table_id: Id of the Delta table it belongs to.
        replaces: The first epoch replaces the table's content (a full refresh under way).
        skips_known: Events that the table already holds are left out (a rebuild under way).
        version: Of the table, up to which the ledger of a landing folder has all names that the
            table holds; None where nobody looked.
    """

    root: str
    id: str
    base: int
    table_id: str
    replaces: bool = False
    skips_known: bool = False
    version: int | None = None

    @property
    def location(self) -> str:
        """Spark's checkpoint folder."""
        return f"{self.root}/{self.id}"

    @property
    def app_id(self) -> str:
        """The appId under which this checkpoint's epochs are recorded in the Delta log."""
        return f"{marks.STREAM_EPOCH}{self.id}"

    def batch_id(self, epoch: int) -> int:
        """The ``_batch_id`` of a micro-batch."""
        return self.base + epoch + 1

    def settled(self) -> Checkpoint:
        """The same place once everything the source held at its start has been read."""
        return replace(self, replaces=False, skips_known=False)


def load(files: Files, root: str) -> Checkpoint | None:
    """The checkpoint that the pointer names; None where it is absent or unreadable."""
    text = files.read(f"{root}/{POINTER}")
    try:
        return None if text is None else Checkpoint(root=root, **json.loads(text))
    except (TypeError, ValueError):
        return None


def save(files: Files, checkpoint: Checkpoint) -> None:
    """Make this the table's checkpoint and delete every other one's folder."""
    pointer = {k: v for k, v in asdict(checkpoint).items() if k != "root"}
    files.replace(f"{checkpoint.root}/{POINTER}", json.dumps(pointer))
    for name in files.names(checkpoint.root):
        if name not in (POINTER, checkpoint.id):
            files.delete(f"{checkpoint.root}/{name}")


def last_epoch(files: Files, checkpoint: Checkpoint, log: str = "offsets") -> int:
    """Highest epoch in Spark's log (``offsets`` planned, ``commits`` finished); -1 for none."""
    names = files.names(f"{checkpoint.location}/{log}")
    return max((int(name) for name in names if name.isdigit()), default=-1)


def is_idle(files: Files, checkpoint: Checkpoint) -> bool:
    """Whether Spark has begun and no planned epoch waits for its commit."""
    planned = last_epoch(files, checkpoint)
    return planned >= 0 and planned == last_epoch(files, checkpoint, "commits")
