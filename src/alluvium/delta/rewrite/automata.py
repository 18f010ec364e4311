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

from alluvium import marks
from alluvium.delta.files import column_values
from alluvium.delta.log import log
from alluvium.engine.handles import HadoopConf
from alluvium.names import among, did_you_mean
from alluvium.plan.automata import Index, budget, summarize
from alluvium.plan.automata.tags import to_text
from alluvium.plan.versions.properties import PHYSICAL

# Spark types whose values are read.
_TYPES = ("string", "tinyint", "smallint", "int", "bigint", "boolean", "date")
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
    fit = [known[name.lower()] for name in wanted if _why_not(name, known, partition) is None]
    return [
        Indexed(one.name, one.metadata.get(PHYSICAL, one.name), to_arrow_type(one.dataType))
        for one in fit
    ]


def check(wanted: Sequence[str], fields: Iterable[StructField], partition: Sequence[str]) -> None:
    """Raises ValueError unless files with these fields can have an index of each wanted column.

    partition: names of the columns that their table is partitioned by.
    """
    known = {field.name.lower(): field for field in fields}
    reasons = ((name, _why_not(name, known, partition)) for name in wanted)
    if mistakes := [f"{name}: {why}" for name, why in reasons if why is not None]:
        raise ValueError("index: " + "; ".join(mistakes))


def _why_not(name: str, known: Mapping[str, StructField], partition: Sequence[str]) -> str | None:
    """Why a column can have no index; None where it can."""
    field = known.get(name.lower())
    if field is None:
        names = [one.name for one in known.values()]
        return f"no such column; accepted: {', '.join(names)}{did_you_mean(name, names)}"
    if among(name, partition):
        return "Delta prunes by it as it is; accepted: other columns"
    kind = field.metadata.get(log.BOUNDED_TEXT, field.dataType.simpleString())
    # Texts of CHAR are padded when they are compared.
    if field.dataType.simpleString() in _TYPES and not kind.lower().startswith("char"):
        return None
    return f"{kind}; accepted: {', '.join(_TYPES)}"


class Indexer:
    """Makes indexes of files' columns; equal values are summarized once.

    Those of many values are made only where they are worth it: see `budget.Effort`.
    """

    def __init__(self, session: SparkSession, conf: HadoopConf, indexed: Sequence[Indexed]) -> None:
        self._session, self._conf, self._indexed = session, conf, indexed
        self._known: dict[Any, Index | None] = {}
        self._effort = budget.Effort()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the indexed columns, as the table has them."""
        return tuple(one.column for one in self._indexed)

    @property
    def names(self) -> tuple[str, ...]:
        """The same, as files and their tags have them."""
        return tuple(one.name for one in self._indexed)

    def tags(self, files: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
        """The tag of each file. It tells of each column that it was looked at, or its index.

        Args:
            files: the URI of each, and its action as the log has it.
        """
        wanted = [(one.name, one.type) for one in self._indexed]
        uris = [uri for uri, _ in files]
        read = column_values.distinct(self._session, self._conf, uris, wanted)
        size = log_bytes([action for _, action in files])
        self._effort.begin(len(files), size)
        found = [
            self._indexes(values, action) for values, (_, action) in zip(read, files, strict=True)
        ]
        none: dict[str, Index | None] = dict.fromkeys(self.names)
        return [to_text(none | indexes) for indexes in budget.within(found, len(wanted), size)]

    def _indexes(
        self, values: Sequence[pa.Array | None], action: Mapping[str, Any]
    ) -> dict[str, Index]:
        statistics = json.loads(action.get("stats") or "{}")
        lows, highs = statistics.get("minValues") or {}, statistics.get("maxValues") or {}
        made = self._made({one.name: of for one, of in zip(self._indexed, values, strict=True)})
        return {
            name: index
            for name, index in made.items()
            if index is not None and budget.says_more(index, lows.get(name), highs.get(name))
        }

    def _made(self, values: Mapping[str, pa.Array | None]) -> dict[str, Index | None]:
        """The index of each column, in the order of the columns."""
        found: dict[str, Index | None] = dict.fromkeys(values)
        many = {}
        for name, present in values.items():
            if present is None:
                continue
            if len(present) > budget.FEW_VALUES and pa.types.is_large_string(present.type):
                many[name] = present
            else:
                found[name] = self._summarized(name, present)
        for name in self._effort.next_file(many):
            key = _key(name, many[name])
            if key in self._known:
                found[name] = self._known[key]
            elif self._effort.pays(name):
                found[name] = self._summarized(name, many[name])
                self._effort.note(name, found[name])
        return found

    def _summarized(self, name: str, values: pa.Array) -> Index | None:
        room = budget.bytes_for(name, len(values))
        if len(values) > _FEW:
            return summarize(values, room)
        key = _key(name, values)
        if key not in self._known:
            while len(self._known) >= _KNOWN:
                del self._known[next(iter(self._known))]
            self._known[key] = summarize(values, room)
        return self._known[key]


def _key(name: str, values: pa.Array) -> tuple[str, frozenset[Any]] | None:
    """Of a column's values, if they are few."""
    if len(values) > _FEW:
        return None
    # Python has no dates beyond the year 9999.
    plain = values.cast(pa.int32()) if pa.types.is_date32(values.type) else values
    return name, frozenset(plain.to_pylist())


def log_bytes(actions: Sequence[Mapping[str, Any]]) -> int:
    """About as many bytes as a checkpoint has of the files, without their indexes."""
    texts = []
    for action in actions:
        tags = {k: v for k, v in (action.get("tags") or {}).items() if k != marks.AUTOMATA_TAG}
        texts.append(json.dumps({**action, "tags": tags}))
    return budget.compressed(texts)
