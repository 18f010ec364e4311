"""A version of a table as a value: what its log says of columns, properties and files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from alluvium.plan.versions.properties import PHYSICAL

_TEXTS = pa.map_(pa.string(), pa.string())
# The data files of a version, a row each.
FILES = pa.schema(
    [
        ("path", pa.string()),  # as the log writes it
        ("partition_values", _TEXTS),
        ("size", pa.int64()),
        ("written", pa.int64()),  # milliseconds since 1970
        ("stats", pa.string()),  # JSON; NULL for none
        ("deleted", pa.int64()),  # rows that a deletion vector hides
        ("tags", _TEXTS),
    ]
)
# How Delta's statistics begin.
_COUNT = r'^\{\s*"numRecords"\s*:\s*(?P<rows>0|[1-9]\d{0,17})\s*[,}]'
# As Spark names the types that Delta's log names otherwise.
_TYPES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}


@dataclass(frozen=True)
class Field:
    """A column; `type` as Spark's `simpleString` writes it, of nested ones their kind alone."""

    name: str
    type: str
    metadata: Mapping[str, Any]

    @property
    def physical(self) -> str:
        """The name that files and the log have it under."""
        return str(self.metadata.get(PHYSICAL, self.name))


@dataclass(frozen=True)
class Snapshot:
    """A version of a table.

    Attributes:
        id: of the table's metadata: every CREATE OR REPLACE and every clone gets a new one.
        schema: the columns, as JSON in the log.
        partition_by: names of the columns that it is partitioned by.
        properties: of the table.
        transactions: newest number of each application, of `txn` actions.
        files: columns as FILES.
    """

    id: str
    version: int
    schema: str
    partition_by: Sequence[str]
    properties: Mapping[str, str]
    transactions: Mapping[str, int]
    files: pa.Table

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        """The columns by their names in lower case."""
        return {
            one["name"].lower(): Field(one["name"], _type(one["type"]), one.get("metadata") or {})
            for one in json.loads(self.schema)["fields"]
        }

    @property
    def bytes(self) -> int:
        return pc.sum(self.files["size"]).as_py() or 0

    @cached_property
    def rows(self) -> pa.Array:
        """Rows of each file, with those that are deleted; NULL where the log does not say."""
        texts = self.files["stats"].combine_chunks()
        found = pc.struct_field(pc.extract_regex(texts, _COUNT), "rows").cast(pa.int64())
        others = pc.and_(pc.is_null(found), pc.is_valid(texts))
        if not pc.any(others).as_py():
            return found
        # Of other writers: the count stands elsewhere.
        counts = (one.get("numRecords") for one in self.statistics(self.files.filter(others)))
        singly = [one if isinstance(one, int) else None for one in counts]
        return pc.replace_with_mask(found, others, pa.array(singly, pa.int64()))

    def statistics(self, files: pa.Table | None = None) -> Iterator[dict[str, Any]]:
        """The statistics of each file, parsed one at a time; empty where there are none."""
        for chunk in (self.files if files is None else files)["stats"].chunks:
            for text in chunk:
                yield _parsed(text.as_py())


def live(actions: pa.Table) -> npt.NDArray[np.int64]:
    """Places of those actions that say of a file what is there after all of them, and that it is.

    actions: in their order, columns `key`, which names file and deletion vector, and `is_add`.
    """
    codes = actions["key"].combine_chunks().dictionary_encode().indices.to_numpy()
    _, from_end = np.unique(codes[::-1], return_index=True)
    last = np.sort(len(codes) - 1 - from_end)
    is_add = np.asarray(actions["is_add"].to_numpy(), bool)
    found: npt.NDArray[np.int64] = last[is_add[last]]
    return found


def _type(given: Any) -> str:
    if not isinstance(given, str):
        return str(given["type"])
    return _TYPES.get(given, given)


def _parsed(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}", parse_float=Decimal)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
