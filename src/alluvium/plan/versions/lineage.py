"""Which versions of a table its newest one goes back to."""

from __future__ import annotations

from collections.abc import Mapping


def is_undone(version: int, newest: int, restores: Mapping[int, int | None]) -> bool:
    """Whether a table was restored to a version before this one, and never back again.

    Args:
        restores: by the version that a restore made, the one that it went back to; None where
            that is not known.
    """
    at = newest
    while at > version:
        before = restores.get(at, at - 1)
        if before is None:
            return True
        at = before
    return at < version
