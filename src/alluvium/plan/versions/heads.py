"""What a published table shows, by its `txn` actions."""

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
