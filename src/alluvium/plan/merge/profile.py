"""The figures of a batch, as one query of it gives them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class BatchProfile:
    """What a batch holds; counts are of events that the merge takes, if not said otherwise.

    Attributes:
        key_count: Their keys.
        deletes: Keys whose newest event deletes.
        delete_events: Events that delete.
        tied: Keys whose newest events tie, while only some of them delete.
        blurred: Events whose order the table stores otherwise.
        lacking: Events without a value in the range column.
        outside: Events that lie in no planned range.
        null_keys: Events with NULL in their key.
        rejects: Events that have a reason against them.
        incomplete: Events that say which columns they lack, with those of `null_keys`.
        through, after: Of all events, the newest event batch, and the one that they come after;
            None where the batch does not say.
        bounds: Bounds of columns and the newest event's time, as texts of SQL.
    """

    events: int = 0
    key_count: int = 0
    deletes: int = 0
    delete_events: int = 0
    tied: int = 0
    blurred: int = 0
    lacking: int = 0
    outside: int = 0
    null_keys: int = 0
    rejects: int = 0
    incomplete: int = 0
    through: int | None = None
    after: int | None = None
    bounds: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def read(rows: Iterable[Sequence[str]]) -> BatchProfile:
        """From rows of a fate (`merged`, `null_key`, `rejected`) and its figures as JSON."""
        found: dict[str, dict[str, Any]] = {row[0]: json.loads(row[1]) for row in rows}
        merged = found.get("merged", {})
        through, after = (
            [one[name] for one in found.values() if one.get(name) is not None]
            for name in ("_batch_through", "_batch_after")
        )
        others = {
            "null_keys": found.get("null_key", {}).get("events") or 0,
            "rejects": found.get("rejected", {}).get("events") or 0,
            "incomplete": sum(
                found.get(fate, {}).get("incomplete") or 0 for fate in ("merged", "null_key")
            ),
        }
        return BatchProfile(
            **{name: merged.get(name) or 0 for name in _COUNTS} | others,
            through=max(through, default=None),
            after=min(after, default=None),
            bounds={
                name: value
                for name, value in merged.items()
                if name not in (*_COUNTS, "_batch_through", "_batch_after")
            },
        )

    def as_mapping(self) -> dict[str, Any]:
        """As the package's macros read it."""
        return {**self.bounds, **{name: getattr(self, name) for name in _COUNTS}}


_COUNTS = [one.name for one in fields(BatchProfile) if one.default == 0]
