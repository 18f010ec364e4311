"""The header of a CSV file: which of its columns each column of the schema is. Pure."""

from __future__ import annotations

from collections.abc import Sequence

# None or blank for a column without a name.
Names = Sequence[str | None]


class HeaderError(ValueError):
    """The columns of a header cannot be told to be those of the schema."""


def places(header: Names, schema: Sequence[str]) -> list[int | None]:
    """The place of each of the schema's columns in a header; None where it is not there.

    Names are compared as Spark compares columns, whatever their case, and without the blanks around
    them. Columns of the header that the schema does not name are left alone. So is a column of the
    schema that is not in the header, as in a file that is older than the column. But a header
    without one name and with an unknown one may have renamed it. It is refused.

    Args:
        header: Names in the file.
        schema: Names of the schema's columns.

    Raises:
        HeaderError: The header names a column twice, has none of the schema's columns, or has
            unknown names in place of some of them.
    """
    names = [_plain(name) for name in header]
    wanted = [_plain(name) for name in schema]
    twice = [name for name, plain in zip(schema, wanted, strict=True) if names.count(plain) > 1]
    if twice:
        raise HeaderError(f"it names {', '.join(twice)} twice; accepted: once")
    found = [names.index(plain) if plain in names else None for plain in wanted]
    absent = [name for name, place in zip(schema, found, strict=True) if place is None]
    if len(absent) == len(schema):
        raise HeaderError(
            f"it has none of the schema's columns; accepted: {', '.join(schema)}. "
            "Check the first line of the file and the option sep"
        )
    others = unnamed(header, schema)
    if absent and others:
        raise HeaderError(
            f"it does not have {', '.join(absent)} and has {', '.join(others)}, which the schema "
            "does not name. Where a column was renamed, write both names in the schema, and take "
            "the one that is not NULL in the query. Where it is another, write it in the schema too"
        )
    return found


def unnamed(header: Names, schema: Names) -> list[str]:
    """The columns of a header that the schema, or another header, does not name."""
    wanted = [_plain(name) for name in schema]
    return [str(name).strip() for name in header if _plain(name) not in ("", *wanted)]


def _plain(name: str | None) -> str:
    return (name or "").strip().lower()
