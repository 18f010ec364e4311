"""Where the files of a home that was moved or copied lie in the new place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from alluvium.delta.refs.dependents import LOG
from alluvium.engine.files import Files
from alluvium.paths import Place


def new_places(files: Files, homes: Sequence[str], folders: Iterable[str]) -> dict[str, str | None]:
    """By the folder of a table outside of the homes, that of the same table in them; None without.

    Args:
        homes: folders of the project's tables, as `Place` writes them.
        folders: those that files lie in, too.
    """
    ours = list(map(Place.of, homes))
    away = (one for one in map(Place.of, folders) if all(one.inside(home) is None for home in ours))
    return dict(_same_table(files, ours, one) for one in away)


def _same_table(files: Files, homes: Sequence[Place], folder: Place) -> tuple[str, str | None]:
    """A folder's table in its old place and in a home: the longest end of a path they share."""
    steps = folder.steps
    for first in range(len(steps)):
        for last in range(len(steps), first, -1):
            for home in homes:
                new = home / "/".join(steps[first:last])
                if files.is_there(str(new / LOG)):
                    return f"{folder.system}/{'/'.join(steps[:last])}", str(new)
    return str(folder), None
