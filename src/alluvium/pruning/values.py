"""The values of one table as conditions on another, which prune it."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, DecimalType, IntegralType, StructType

from alluvium.names import quoted
from alluvium.plan.ranges.column_type import is_decimal, is_integral, spark_type
from alluvium.plan.ranges.literal import canonical_texts, told, typed_literal

# From more values on a list costs the planner more than it saves.
_MOST = 1000


def values_of(
    session: SparkSession, rows: StructType, wanted: str, columns: Sequence[str]
) -> list[str]:
    """Conditions that every row has which has a partner among others, as SQL.

    Args:
        rows: what these rows are.
        wanted: the others, a table or a query in brackets.
        columns: names that rows and partners share.

    Returns:
        `column in (…)` for each column of texts or exact numbers with at most 1,000 values. Not
        where one side has texts and the other numbers: IN compares these in another way than `=`.
        Not where statistics may show a value as another one: texts beyond ASCII, long decimals.
    """
    found = []
    partners = session.sql(f"select * from {wanted}").schema
    ours, theirs = ({one.name.lower(): one.dataType for one in both} for both in (rows, partners))
    for name in columns:
        if not _are_alike(ours.get(name.lower()), theirs.get(name.lower())):
            continue
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
        texts = canonical_texts(values)
        if any(told(text, text, kind) != (text, text) for text in texts):
            continue
        literals = [typed_literal(text, kind) for text in texts]
        found.append(f"{column} in ({', '.join(sorted(literals))})" if literals else "false")
    return found


def _are_alike(one: DataType | None, other: DataType | None) -> bool:
    """Whether values of both types are compared as they are, or as numbers."""
    exact = (IntegralType, DecimalType)
    return one == other or (isinstance(one, exact) and isinstance(other, exact))
