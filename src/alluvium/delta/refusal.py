"""What the one-commit merge does not do, decided from facts alone. `MERGE INTO` does it."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Facts:
    """What a statement and its target are; each True one speaks against the one-commit merge."""

    other_command: bool = False
    by_source: bool = False
    widens_schema: bool = False
    no_vectors: bool = False
    change_feed: bool = False
    row_tracking: bool = False
    identity: bool = False
    uniform: bool = False
    redefined: bool = False
    no_statistics: bool = False
    subquery: bool = False
    python_function: bool = False
    nondeterministic: bool = False


_REASONS = {
    "other_command": "the statement is not a MERGE INTO a Delta table",
    "by_source": "a WHEN NOT MATCHED BY SOURCE clause looks at every row of the target",
    "widens_schema": "the statement may change the table's schema",
    "no_vectors": "the table has no deletion vectors (delta.enableDeletionVectors)",
    "change_feed": "the table keeps a change data feed (delta.enableChangeDataFeed)",
    "row_tracking": "the table tracks rows (delta.enableRowTracking)",
    "identity": "the table has an identity column",
    "uniform": "the table is read as Iceberg or Hudi too (delta.universalFormat.enabledFormats)",
    "redefined": "the table's definition changed while the statement was analysed",
    "no_statistics": "writes collect no statistics (spark.databricks.delta.stats.collect)",
    "subquery": "a clause holds a subquery",
    "python_function": "a clause calls a Python function",
    "nondeterministic": "a clause gives another value each time it is computed",
}


def reason(facts: Facts) -> str | None:
    """The first fact that speaks against the one-commit merge, in words; None for none."""
    for field in fields(facts):
        if getattr(facts, field.name):
            return _REASONS[field.name]
    return None
