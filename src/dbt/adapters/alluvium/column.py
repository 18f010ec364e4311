"""Columns of the adapter: Spark's own type names."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.base.column import Column
from dbt.adapters.spark.column import SparkColumn

_UNBOUNDED = 2**31 - 1


@dataclass
class AlluviumColumn(SparkColumn):
    """A column whose type is told by Spark's name for it (`int`, `decimal(10,2)`, `string`).

    dbt's own test knows other databases' names, so that to dbt-spark an `int` is no number and a
    `string` no text.
    """

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
