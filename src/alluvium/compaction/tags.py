"""What a compaction writes to the tags of its fragments in the table's log."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

# Name of the tag; its value is JSON.
TAG = "alluvium.layout"


@dataclass(frozen=True)
class Tag:
    """What the log says of a compacted fragment.

    Attributes:
        row_key: `Layout.row_key` that it is sorted by.
        level: of locality.
        lo, hi: bounds of its row keys, as `row_key.encode` writes them.
        arrived: when its newest row was committed, in seconds since 1970.
        tier_bytes, locality_bytes: bytes that were rewritten for its rows so far.
    """

    row_key: str
    level: int
    lo: str
    hi: str
    arrived: float
    tier_bytes: int
    locality_bytes: int

    def text(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))


_SCHEMA = pa.schema(
    [
        ("row_key", pa.string()),
        ("level", pa.int64()),
        ("lo", pa.string()),
        ("hi", pa.string()),
        ("arrived", pa.float64()),
        ("tier_bytes", pa.int64()),
        ("locality_bytes", pa.int64()),
    ]
)


def read(tags: pa.ChunkedArray) -> pa.Table:
    """The values of `Tag` for each tag's text; all NULL where there is none or it is not ours."""
    return pa.Table.from_pylist([_values(text) for text in tags.to_pylist()], schema=_SCHEMA)


def _values(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    # A loop over checks that are chosen beforehand: a plan may read 100,000 tags.
    for name, fits in _CHECKS:
        if not fits(found.get(name)):
            return {}
    return found


def _is_text(value: Any) -> bool:
    # JSON can name halves of a character, which are no text.
    return isinstance(value, str) and (
        value.isascii() or value.encode(errors="ignore").decode() == value
    )


def _is_double(value: Any) -> bool:
    # A double holds whole numbers up to 2**53.
    return type(value) in (int, float) and abs(value) <= 2**53


def _is_bigint(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


_CHECK = {pa.string(): _is_text, pa.float64(): _is_double, pa.int64(): _is_bigint}
_CHECKS = [(one.name, _CHECK[one.type]) for one in _SCHEMA]
