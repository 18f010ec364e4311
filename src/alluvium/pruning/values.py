"""The values of one table as conditions on another, which prune it."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from alluvium.names import quoted
from alluvium.plan.ranges import canonical_texts, typed_literal
from alluvium.plan.ranges.column_type import is_decimal, is_integral, spark_type

# From more values on a list costs the planner more than it saves.
_MOST = 1000


def values_of(session: SparkSession, wanted: str, columns: Sequence[str]) -> list[str]:
    """Conditions that every row has which has a partner among others, as SQL.

    Args:
        wanted: the others, a table or a query in brackets.
        columns: names that rows and partners share.

    Returns:
        `column in (…)` for each column of texts or exact numbers with at most 1,000 values.
    """
    found = []
    for name in columns:
        column = quoted(name)
        values = (
            session.sql(f"select distinct {column} from {wanted} where {column} is not null")
            .limit(_MOST + 1)
            .toArrow()[name]
            .combine_chunks()
        )
        kind = "string" if str(values.type) == "string" else None
        if is_integral(values.type) or is_decimal(values.type):
            kind = spark_type(values.type)
        if kind is None or len(values) > _MOST:
            continue
        literals = [typed_literal(text, kind) for text in canonical_texts(values)]
        found.append(f"{column} in ({', '.join(sorted(literals))})" if literals else "false")
    return found
