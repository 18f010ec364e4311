"""Versions of tables, by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """A version of a table.

    Attributes:
        table: its name, as SQL writes it.
        version: None for the newest one.
    """

    table: str
    version: int | None = None
