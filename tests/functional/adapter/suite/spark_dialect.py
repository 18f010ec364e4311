"""The suite's own SQL is PostgreSQL's; Spark reads it after these few replacements."""

from __future__ import annotations

import re

_REPLACED = (
    (r"(\{database\}|\{\{target\.database\}\}|\bNone)\.", ""),  # Spark knows schemas only
    (r"\btimestamp\s+with(out)?\s+time\s+zone\b", "timestamp"),
    (r"\btext\b", "string"),
    (r"\b(add\s+column\s+\w+\s+[\w()]+)\s+default\s+('[^']*'|\w+)", r"\1"),
    (r'"(\w+)"', r"`\1`"),
)


def spark(sql: str) -> str:
    """`sql` in Spark's words: types, identifiers' quotes, no database before the schema."""
    for pattern, replacement in _REPLACED:
        sql = re.sub(pattern, replacement, sql, flags=re.IGNORECASE)
    return sql
