"""What a published table shows, as its log says."""

from __future__ import annotations

from typing import Any

from alluvium.delta import marks
from alluvium.delta.log import TableVersion
from alluvium.engine import jvm


def is_held(snapshot: Any) -> bool:
    """Whether a published table stays at the version that a person chose."""
    actions = jvm.items(snapshot.setTransactions())
    return any(one.appId() == marks.HOLD and one.version() == 1 for one in actions)


def head_of(snapshot: Any) -> TableVersion | None:
    """What a version of a published table shows; None before its first publish."""
    for action in jvm.items(snapshot.setTransactions()):
        if action.appId().startswith(marks.PUBLISHED) and action.version() >= 0:
            return TableVersion(action.appId()[len(marks.PUBLISHED) :], int(action.version()))
    return None
