"""Columns of the adapter: Spark's own type names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from dbt.adapters.base.column import Column
from dbt.adapters.spark.column import SparkColumn
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from alluvium.delta.log.log import BOUNDED_TEXT
from alluvium.names import quoted

_UNBOUNDED = 2**31 - 1
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass
class AlluviumColumn(SparkColumn):
    """A column whose type is told by Spark's name for it (`int`, `decimal(10,2)`, `string`).

    dbt's own test knows other databases' names, so that to dbt-spark an `int` is not a number and a
    `string` not a text.

    comment: its description in the catalog; None for none.
    """

    comment: str | None = None

    @property
    def quoted(self) -> str:
        return quoted(self.column)

    @property
    def _base_type(self) -> str:
        return self.dtype.split("(", 1)[0].strip().lower()

    def is_string(self) -> bool:
        return self._base_type in ("string", "varchar", "char")

    def is_integer(self) -> bool:
        return self._base_type in (
            *("tinyint", "byte", "smallint", "short"),
            *("int", "integer", "bigint", "long"),
        )

    def is_float(self) -> bool:
        return self._base_type in ("float", "real", "double")

    def is_numeric(self) -> bool:
        return self._base_type in ("decimal", "dec", "numeric")

    def string_size(self) -> int:
        """Characters that fit; a `string` has no bound."""
        bound = self.dtype.partition("(")[2].rstrip(") ")
        return int(bound) if bound.isdigit() else _UNBOUNDED

    @classmethod
    def string_type(cls, size: int) -> str:
        return "string" if size >= _UNBOUNDED else f"varchar({size})"

    def can_expand_to(self, other_column: Column) -> bool:
        """True if `other_column` holds longer texts than this one; dbt then alters the type."""
        return (
            self.is_string()
            and other_column.is_string()
            and other_column.string_size() > self.string_size()
        )


def columns(fields: Iterable[StructField], *, keeps_bounds: bool) -> list[AlluviumColumn]:
    """The columns of a relation with these fields.

    keeps_bounds: whether `char(n)` and `varchar(n)` are its types, as Spark says them. Of a Delta
        table it says string.
    """
    return [
        AlluviumColumn(
            column=field.name,
            dtype=(field.metadata.get(BOUNDED_TEXT) if keeps_bounds else None)
            or _type(field.dataType),
            column_index=place,
            comment=field.metadata.get("comment") or None,
        )
        for place, field in enumerate(fields)
    ]


def has_bounds(fields: Iterable[StructField]) -> bool:
    return any(BOUNDED_TEXT in field.metadata for field in fields)


def _type(type_: DataType) -> str:
    """Spark's name of a type, as SQL can read it: fields of a struct may be called anything."""
    if isinstance(type_, StructType):
        fields = (
            f"{f.name if _WORD.fullmatch(f.name) else quoted(f.name)}:{_type(f.dataType)}"
            for f in type_
        )
        return f"struct<{','.join(fields)}>"
    if isinstance(type_, ArrayType):
        return f"array<{_type(type_.elementType)}>"
    if isinstance(type_, MapType):
        return f"map<{_type(type_.keyType)},{_type(type_.valueType)}>"
    return type_.simpleString()
