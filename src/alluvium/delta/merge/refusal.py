"""What the one-commit merge does not do, decided from facts alone. `MERGE INTO` does it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields


def _speaks(words: str) -> bool:
    """A fact that is False unless it is said, and its words."""
    fact: bool = field(default=False, metadata={"words": words})
    return fact


@dataclass(frozen=True)
class Facts:
    """What a statement and its target are; each True one speaks against the one-commit merge."""

    other_command: bool = _speaks("the statement is not a MERGE INTO a Delta table")
    by_source: bool = _speaks(
        "a WHEN NOT MATCHED BY SOURCE clause looks at every row of the target"
    )
    widens_schema: bool = _speaks("the statement may change the table's schema")
    no_vectors: bool = _speaks("the table has no deletion vectors (delta.enableDeletionVectors)")
    change_feed: bool = _speaks("the table keeps a change data feed (delta.enableChangeDataFeed)")
    row_tracking: bool = _speaks("the table tracks rows (delta.enableRowTracking)")
    identity: bool = _speaks("the table has an identity column")
    uniform: bool = _speaks(
        "the table is read as Iceberg or Hudi too (delta.universalFormat.enabledFormats)"
    )
    redefined: bool = _speaks("the table's definition changed while the statement was analysed")
    no_statistics: bool = _speaks(
        "writes collect no statistics (spark.databricks.delta.stats.collect)"
    )
    subquery: bool = _speaks("a clause holds a subquery")
    python_function: bool = _speaks("a clause calls a Python function")
    nondeterministic: bool = _speaks("a clause gives another value each time it is computed")


def reason(facts: Facts) -> str | None:
    """The first fact that speaks against the one-commit merge, in words; None for none."""
    return next((one.metadata["words"] for one in fields(facts) if getattr(facts, one.name)), None)
