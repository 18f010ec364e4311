"""What a published table shows, by its `txn` actions, and which versions a table goes back to."""

from __future__ import annotations

from collections.abc import Mapping

from alluvium import marks


def is_held(transactions: Mapping[str, int]) -> bool:
    """Whether a published table stays at the version that a person chose."""
    return transactions.get(marks.HOLD) == 1


def head_of(transactions: Mapping[str, int]) -> tuple[str, int] | None:
    """The id of the table that a published one shows, and the version; None for none."""
    for app, version in transactions.items():
        if app.startswith(marks.PUBLISHED) and version >= 0:
            return app[len(marks.PUBLISHED) :], version
    return None


def is_undone(version: int, newest: int, restores: Mapping[int, int | None]) -> bool | None:
    """Whether a table was restored to a version before this one, and never back again.

    None where nobody can tell: whoever is to show the version takes that for yes, and whoever is to
    take it from readers for no.

    Args:
        restores: by the version that a restore made, the one that it went back to; None where
            that is not known.
    """
    at = newest
    while at > version:
        before = restores.get(at, at - 1)
        if before is None:
            return None
        at = before
    return at < version
