"""What a table asks of each row, held against rows that are not in it yet."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.merge.refusal import Facts, reason
from alluvium.merge import execute
from alluvium.names import quoted
from alluvium.plan.versions.properties import IDENTITY

_CHECK = "delta.constraints."


def broken(table: TableSnapshot, rows: DataFrame) -> dict[str, int]:
    """How many rows break a constraint, by its name and text; only of those that some break.

    rows: with the table's columns.
    """
    asked = {
        f"the constraint {key.removeprefix(_CHECK)} ({text})": text
        for key, text in table.properties.items()
        if key.startswith(_CHECK)
    } | {
        f"{field.name} not null": f"{quoted(field.name)} is not null"
        for field in table.schema
        if not field.nullable
    }
    if not asked:
        return {}
    # To Delta what is NULL breaks a constraint too.
    keeps = [F.coalesce(F.expr(text), F.lit(False)) for text in asked.values()]
    numbers = rows.agg(*(F.count_if(~one) for one in keeps)).collect()[0]
    return {name: int(n) for name, n in zip(asked, numbers, strict=True) if n}


def check_identity(name: str, table: TableSnapshot, rows: DataFrame) -> None:
    """Raises ValueError where the table numbers its rows, and there are any to write.

    Spark analyses no statement that sets an identity, so no other check comes first.

    name: of the table, for the message.
    """
    if any(IDENTITY in field.metadata for field in table.schema) and not rows.isEmpty():
        raise execute.needs_merge_into(name, str(reason(Facts(identity=True))))
