"""What a table has of a layout: how it spells the sort key, and the cuts of its Z-order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from alluvium import marks
from alluvium.plan.layout import zorder
from alluvium.plan.snapshot import Field


def key_columns(fields: Iterable[Field]) -> tuple[tuple[str, ...], str]:
    """A sort key's columns as the table spells them, and what marks them.

    Keys of one column cannot be compared with those of another that had its name before. Where
    its type was widened, they cannot be compared with those made before.
    """
    names, found = [], []
    for field in fields:
        names.append(field.name)
        renamed = field.physical if field.physical != field.name else ""
        found.append([renamed, field.type if "delta.typeChanges" in field.metadata else ""])
    return tuple(names), json.dumps(found) if any(any(mark) for mark in found) else ""


def newest_cuts(
    transactions: Iterable[tuple[str, int]], kinds: Sequence[tuple[str, str]]
) -> zorder.Cuts | None:
    """The newest cuts for a Z-order that the `txn` actions of a table hold.

    Args:
        transactions: application and number of each.
        kinds: name and `zorder.kind_of` of its columns.
    """
    parts = ((number, *app.partition(":")[::2]) for app, number in transactions)
    texts = [(number, text) for number, app, text in parts if app == marks.ZORDER_CUTS and text]
    parsed = (zorder.parse(text) for _, text in sorted(texts, reverse=True))
    return next((one for one in parsed if one is not None and one.fit(kinds)), None)
