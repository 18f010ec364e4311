"""Names and texts in SQL."""

from __future__ import annotations

from collections.abc import Iterable


def quoted(name: str) -> str:
    """A name as an identifier, whatever it holds."""
    return f"`{name.replace('`', '``')}`"


def in_catalog(name: str) -> str:
    """A schema's or a table's name as Spark's catalog keeps it; it finds any case of it."""
    return name.lower()


def literal(text: str) -> str:
    """A text as a literal, which Spark's DDL reads as it was written, whatever it holds.

    Spark joins literals that stand side by side. So `${…}` is taken apart, which a session that
    replaces variables would take for one. In an expression such a literal keeps its backslashes
    twice where `spark.sql.parser.escapedStringLiterals` is true.
    """
    inside = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + inside.replace("${", "$' '{") + "'"


def bare(name: str) -> str:
    """A column's name as it is stored: a user may have written it in backticks."""
    if len(name) > 2 and name[0] == name[-1] == "`":
        return name[1:-1].replace("``", "`")
    return name


def among(name: str, names: Iterable[str]) -> bool:
    """Whether a column's name is one of these, as Spark compares them: whatever their case."""
    return name.lower() in (one.lower() for one in names)
