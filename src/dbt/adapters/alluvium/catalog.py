"""What `dbt docs generate` shows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import dropwhile, takewhile
from typing import Any

from dbt.adapters.base import BaseRelation

from alluvium.names import in_catalog
from dbt.adapters.alluvium.column import AlluviumColumn

_STATISTICS = re.compile(r"(\d+) (bytes|rows)")
_PROPERTIES = "# Detailed Table Information"
_LABELS = {"bytes": "Size in bytes", "rows": "Rows"}


def columns(
    relation: BaseRelation,
    found: Iterable[AlluviumColumn],
    described: Sequence[tuple[str, str, str]],
) -> list[dict]:
    """One dict a column, as dbt's catalog takes them: table facts repeated on each.

    found: the columns.
    described: rows (name, value, comment) of DESCRIBE EXTENDED. First are the columns, which may be
        called anything. Behind a heading are the properties of the table, up to an empty row.
    """
    columns = list(found)
    behind = dropwhile(lambda row: row[0] != _PROPERTIES, described[len(columns) :])
    properties = {name: value for name, value, _ in takewhile(lambda row: row[0], behind)}
    table: dict[str, Any] = {
        "table_database": None,
        # dbt looks for its nodes in lower case.
        "table_schema": in_catalog(str(relation.schema)),
        "table_name": in_catalog(str(relation.identifier)),
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
            "column_name": column.name,
            "column_index": place,
            "column_type": column.dtype,
            "column_comment": column.comment,
        }
        for place, column in enumerate(columns, start=1)
    ]
