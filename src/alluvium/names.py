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


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """The end of a message about a name that nobody knows; empty where none of `names` is near."""
    found = nearest(name, names)
    return f"; did you mean {found}?" if found else ""


def nearest(name: object, names: Iterable[str]) -> str | None:
    """The one of `names` that a name was probably meant to be; None where none is near.

    Near is what at most two edits make the same, of a third of its letters. Case does not count.
    """
    given, found, fewest = str(name).lower(), None, 3
    for one in names:
        if abs(len(one) - len(given)) < 3 and len(given) > 2:
            edits = _edits(given, one.lower())
            if edits < fewest and edits * 3 <= len(one):
                found, fewest = one, edits
    return found


def _edits(one: str, other: str) -> int:
    """Letters to add, drop, change or swap with a neighbour until one text is the other."""
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(one):
        row = [i + 1]
        for j, wanted in enumerate(other):
            edits = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (letter != wanted))
            if i and j and letter == other[j - 1] and one[i - 1] == wanted:
                edits = min(edits, rows[i - 1][j - 1] + 1)
            row.append(edits)
        rows.append(row)
    return rows[-1][-1]
