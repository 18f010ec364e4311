"""Where the files of a home that was moved or copied lie in the new place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from alluvium.delta.dependents import LOG
from alluvium.engine.files import Files


def new_places(files: Files, homes: Sequence[str], folders: Iterable[str]) -> dict[str, str | None]:
    """By the folder of a table outside of the homes, that of the same table in them; None without.

    Args:
        homes: folders of the project's tables, as plain URIs (`file:/a b`).
        folders: those that files lie in, as plain URIs.
    """
    found: dict[str, str | None] = {}
    for folder in folders:
        if not any(f"{folder}/".startswith(f"{home}/") for home in homes):
            old, new = _same_table(files, homes, folder)
            found[old] = new
    return found


def _same_table(files: Files, homes: Sequence[str], folder: str) -> tuple[str, str | None]:
    """A folder's table in its old place and in a home: the longest end of a path they share."""
    parts = folder.split("/")
    for first in range(1, len(parts)):
        for last in range(len(parts), first, -1):
            for home in homes:
                new = "/".join([home, *parts[first:last]])
                if files.is_there(f"{new}/{LOG}"):
                    return "/".join(parts[:last]), new
    return folder, None
