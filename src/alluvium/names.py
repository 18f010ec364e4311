"""Names in SQL."""

from __future__ import annotations

from collections.abc import Iterable


def quoted(name: str) -> str:
    """A name as an identifier, whatever it holds."""
    return f"`{name.replace('`', '``')}`"


def in_catalog(name: str) -> str:
    """A schema's or a table's name as Spark's catalog keeps it; it finds any case of it."""
    return name.lower()


def among(name: str, names: Iterable[str]) -> bool:
    """Whether a column's name is one of these, as Spark compares them: whatever their case."""
    return name.lower() in (one.lower() for one in names)
