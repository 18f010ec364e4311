"""Which versions a restore undid."""

from __future__ import annotations

import pytest

from alluvium.plan.versions.heads import is_undone


@pytest.mark.parametrize(
    ("version", "newest", "restores", "undone"),
    [
        (5, 5, {}, False),
        (5, 9, {}, False),
        # Restored to 3 by version 6: 4 and 5 are undone, 3 and 6 are not.
        (5, 6, {6: 3}, True),
        (4, 8, {6: 3}, True),
        (3, 6, {6: 3}, False),
        (6, 8, {6: 3}, False),
        # A restore from before says nothing of it.
        (7, 8, {6: 3}, False),
        # Back again: 5 is there once more, 6 is not.
        (5, 8, {6: 3, 8: 5}, False),
        (6, 8, {6: 3, 8: 5}, True),
        # A restore to nobody knows where.
        (5, 6, {6: None}, None),
        (5, 9, {9: 8, 7: None}, None),
        (6, 7, {6: None}, False),
    ],
)
def test_what_a_restore_undid(
    version: int, newest: int, restores: dict[int, int | None], undone: bool | None
) -> None:
    assert is_undone(version, newest, restores) is undone
