"""The tables that are looked at: what the project says of each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table of the project.

    Attributes:
        name: of its model, for what is said.
        relation: as SQL writes it.
        place: its folder, a path or URI.
        model: the unique id of its model.
        is_registered: whether the metastore has it.
        is_managed: whether dropping it deletes its files.
        shows: the name of the candidate that it publishes; None for a table of its own.
        hides: whether what it publishes leaves out rows that are marked `_deleted`.
        checkpoint: folder of its stream's pointer; None for what reads no stream.
        events: names of the streaming tables whose events are merged into it.
    """

    name: str
    relation: str
    place: str
    model: str
    is_registered: bool
    is_managed: bool = True
    shows: str | None = None
    hides: bool = True
    checkpoint: str | None = None
    events: tuple[str, ...] = ()
