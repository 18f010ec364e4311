"""Names, texts and statements as Spark reads them."""

from __future__ import annotations

from typing import Any

from dbt.adapters.base import available

from alluvium.engine.statements import limited
from alluvium.names import bare, literal, quoted
from dbt.adapters.alluvium import named
from dbt.adapters.alluvium.column import AlluviumColumn
from dbt.adapters.alluvium.handle import mistakes, spark_errors
from dbt.adapters.alluvium.verbs.base import SessionAdapter


class Quoting(SessionAdapter):
    @available
    @classmethod
    def quote(cls, identifier: str) -> str:
        """A name, as it is stored, as an identifier."""
        return quoted(str(identifier))

    @available
    @classmethod
    def bare(cls, identifier: str) -> str:
        """A column's name as it is stored, of one that may stand in backticks."""
        return bare(identifier)

    @available
    @classmethod
    def identifiers(cls, names: str | list[str] | None, columns: list[AlluviumColumn]) -> list[str]:
        """Names in a setting as SQL finds them among columns, with backticks or without."""
        return named.identifiers(names, [column.name for column in columns])

    @available
    @classmethod
    def literal(cls, text: Any) -> str:
        """A text as a literal that Spark reads as it was written."""
        return literal(str(text))

    @available
    @classmethod
    def stored_names(cls, names: list[str], columns: list[AlluviumColumn]) -> list[str]:
        """Names, each as it is written among columns that have it in another case."""
        stored = {column.name.lower(): column.name for column in columns}
        return [stored.get(name.lower(), name) for name in names]

    @available.parse(lambda sql, *a, **k: sql)
    def limited(self, sql: str, limit: int | None) -> str:
        """A statement that gives at most `limit` rows, for `dbt show`."""
        with mistakes("dbt show"), spark_errors(sql):
            return limited(self._handle.session, sql, limit)
