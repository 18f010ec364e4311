"""Indexes of data files' columns, made from the files, for their tags: see `plan.automata`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructField

from alluvium.delta import column_values, marks
from alluvium.names import among
from alluvium.plan.automata import Index, budget, summarize
from alluvium.plan.automata.tags import to_text

# Spark types whose values are read.
_TYPES = ("string", "tinyint", "smallint", "int", "bigint", "boolean", "date")
# Metadata of a column whose texts are padded when they are compared.
_PADDED = "__CHAR_VARCHAR_TYPE_STRING"
# Values of which equal ones are looked for: files of a sorted table share them.
_FEW = 256
_KNOWN = 4096


@dataclass(frozen=True)
class Indexed:
    """A column that has an index.

    Attributes:
        column: its name in the table.
        name: in files and in the log.
    """

    column: str
    name: str
    type: pa.DataType


def columns(
    wanted: Sequence[str], fields: Iterable[StructField], partition: Sequence[str]
) -> list[Indexed]:
    """Those of the wanted columns that can have an index."""
    known = {field.name.lower(): field for field in fields}
    found = []
    for name in wanted:
        field = known.get(name.lower())
        if field is None or among(name, partition) or not _has_values(field):
            continue
        physical = field.metadata.get("delta.columnMapping.physicalName", field.name)
        found.append(Indexed(field.name, physical, to_arrow_type(field.dataType)))
    return found


def check(wanted: Sequence[str], fields: Iterable[StructField], partition: Sequence[str]) -> None:
    """Raises ValueError unless files with these fields can have an index of each wanted column.

    partition: names of the columns that their table is partitioned by.
    """
    known = {field.name.lower(): field for field in fields}
    mistakes = []
    for name in wanted:
        field = known.get(name.lower())
        if field is None:
            names = ", ".join(one.name for one in known.values())
            mistakes.append(f"{name}: no such column; accepted: {names}")
        elif among(name, partition):
            mistakes.append(f"{name}: Delta prunes by it as it is; accepted: other columns")
        elif not _has_values(field):
            kind = field.metadata.get(_PADDED, field.dataType.simpleString())
            mistakes.append(f"{name}: {kind}; accepted: {', '.join(_TYPES)}")
    if mistakes:
        raise ValueError("index: " + "; ".join(mistakes))


def _has_values(field: StructField) -> bool:
    """Whether the column's values are read, and compared as they are stored."""
    is_padded = str(field.metadata.get(_PADDED, "")).lower().startswith("char")
    return field.dataType.simpleString() in _TYPES and not is_padded


class Indexer:
    """Makes indexes of files' columns; equal values are summarized once."""

    def __init__(self, session: SparkSession, conf: Any, indexed: Sequence[Indexed]) -> None:
        self._session, self._conf, self._indexed = session, conf, indexed
        self._known: dict[Any, Index | None] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the indexed columns, as the table has them."""
        return tuple(one.column for one in self._indexed)

    def tags(self, files: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
        """The tag of each file. One that has nothing to say tells that the file was looked at.

        Args:
            files: the URI of each, and its action as the log has it.
        """
        wanted = [(one.name, one.type) for one in self._indexed]
        uris = [uri for uri, _ in files]
        read = column_values.distinct(self._session, self._conf, uris, wanted)
        found = [
            self._indexes(values, action) for values, (_, action) in zip(read, files, strict=True)
        ]
        size = log_bytes([action for _, action in files])
        return [to_text(indexes) for indexes in budget.within(found, len(wanted), size)]

    def _indexes(
        self, values: Sequence[pa.Array | None], action: Mapping[str, Any]
    ) -> dict[str, Index]:
        statistics = json.loads(action.get("stats") or "{}")
        lows, highs = statistics.get("minValues") or {}, statistics.get("maxValues") or {}
        found = {}
        for column, present in zip(self._indexed, values, strict=True):
            index = None if present is None else self._summarized(column.name, present)
            if index is not None and budget.says_more(
                index, lows.get(column.name), highs.get(column.name)
            ):
                found[column.name] = index
        return found

    def _summarized(self, name: str, values: pa.Array) -> Index | None:
        room = budget.bytes_for(name, len(values))
        if len(values) > _FEW:
            return summarize(values, room)
        # Python has no dates beyond the year 9999.
        plain = values.cast(pa.int32()) if pa.types.is_date32(values.type) else values
        key = (name, frozenset(plain.to_pylist()))
        if key not in self._known:
            while len(self._known) >= _KNOWN:
                del self._known[next(iter(self._known))]
            self._known[key] = summarize(values, room)
        return self._known[key]


def log_bytes(actions: Sequence[Mapping[str, Any]]) -> int:
    """About as many bytes as a checkpoint has of the files, without their indexes."""
    texts = []
    for action in actions:
        tags = {k: v for k, v in (action.get("tags") or {}).items() if k != marks.AUTOMATA_TAG}
        texts.append(json.dumps({**action, "tags": tags}))
    return budget.compressed(texts)
