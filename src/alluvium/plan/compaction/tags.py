"""What a compaction writes to the tags of its fragments in the table's log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class Tag:
    """What the log says of a compacted fragment.

    Attributes:
        row_key: `Layout.sort_key` that it is sorted by. Tags have always called it so.
        level: of locality.
        lo, hi: bounds of its sort keys, as `sort_key.encode` writes them.
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
        return to_text(asdict(self))


_ARROW = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
_SCHEMA = pa.schema([(one.name, _ARROW[str(one.type)]) for one in fields(Tag)])

# Tags as `to_text` writes them, with numbers that fit for sure. Earlier ones end with CPU times.
_WHOLE = r"-?(?:0|[1-9]\d{0,17})"
_WRITTEN = (
    r'^\{"row_key":(?P<row_key>"(?:[^"\\]|\\.)*"),'
    rf'"level":(?P<level>{_WHOLE}),'
    r'"lo":"(?P<lo>[0-9a-f]*)","hi":"(?P<hi>[0-9a-f]*)",'
    r'"arrived":(?P<arrived>(?:0|[1-9]\d{0,14})(?:\.\d+)?),'
    rf'"tier_bytes":(?P<tier_bytes>{_WHOLE}),"locality_bytes":(?P<locality_bytes>{_WHOLE})'
    rf'(?:,"tier_cpu":{_WHOLE},"locality_cpu":{_WHOLE})?\}}$'
)


def to_text(values: Mapping[str, Any]) -> str:
    """A tag of these values: of `Tag`, and whatever else it is to hold."""
    return json.dumps(values, separators=(",", ":"))


def are_of(tags: pa.ChunkedArray, sort_key: str) -> pa.ChunkedArray:
    """Whether each begins as a tag of this sort key; it may still be none."""
    return pc.starts_with(tags, to_text({"row_key": sort_key})[:-1] + ",").fill_null(False)


def read(tags: pa.ChunkedArray) -> pa.Table:
    """The values of `Tag` for each tag's text; all NULL where there is none or it is not ours."""
    # A plan may read 100,000 tags, nearly all of them as they were written: those at once.
    written = pc.extract_regex(tags, _WRITTEN)
    columns = {field.name: pc.struct_field(written, field.name) for field in _SCHEMA}
    columns["row_key"] = _unquoted(columns["row_key"])
    found = pa.table(columns).cast(_SCHEMA)
    others = pc.and_(pc.is_valid(tags), pc.is_null(found["row_key"])).to_numpy()
    if not others.any():
        return found
    read_singly = [_values(text) for text in tags.filter(pa.array(others)).to_pylist()]
    places = np.arange(len(tags))
    places[others] = len(tags) + np.arange(len(read_singly))
    every = pa.concat_tables([found, pa.Table.from_pylist(read_singly, schema=_SCHEMA)])
    return every.take(places)


def _unquoted(texts: pa.ChunkedArray) -> pa.Array:
    """The texts that these are in JSON, mostly the same few; NULL for what is none."""
    encoded = texts.combine_chunks().dictionary_encode()
    values = []
    for one in encoded.dictionary.to_pylist():
        try:
            value = json.loads(one)
        except ValueError:
            value = None
        values.append(value if _is_text(value) else None)
    return pa.array(values, pa.string()).take(encoded.indices)


def _values(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return found if all(fits(found.get(name)) for name, fits in _CHECKS) else {}


def _is_text(value: Any) -> bool:
    # JSON can name halves of a character, which are not text.
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
