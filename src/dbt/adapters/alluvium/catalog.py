"""What `dbt docs generate` shows of a relation, from DESCRIBE EXTENDED."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dbt.adapters.base import BaseRelation

_STATISTICS = re.compile(r"(\d+) (bytes|rows)")
_LABELS = {"bytes": "Size in bytes", "rows": "Rows"}


def columns(relation: BaseRelation, described: Iterable[tuple[str, str, str]]) -> list[dict]:
    """One dict a column, as dbt's catalog takes them: table facts repeated on each.

    described: rows (name, type, comment) of DESCRIBE EXTENDED: the columns, then, after a heading
        that starts with '#', the table's properties.
    """
    rows = list(described)
    end = next(
        (place for place, row in enumerate(rows) if not row[0] or row[0].startswith("#")),
        len(rows),
    )
    properties = {name: value for name, value, _ in rows[end:]}
    table: dict[str, Any] = {
        "table_database": None,
        "table_schema": relation.schema,
        "table_name": relation.identifier,
        "table_type": relation.type,
        "table_comment": properties.get("Comment") or None,
        "table_owner": properties.get("Owner") or None,
    }
    for number, key in _STATISTICS.findall(properties.get("Statistics") or ""):
        table |= {
            f"stats:{key}:label": _LABELS[key],
            f"stats:{key}:value": int(number),
            f"stats:{key}:description": "As the metastore knows it",
            f"stats:{key}:include": True,
        }
    return [
        {
            **table,
            "column_name": name,
            "column_index": place,
            "column_type": type_,
            "column_comment": comment or None,
        }
        for place, (name, type_, comment) in enumerate(rows[:end])
    ]
