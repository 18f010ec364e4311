"""What a table asks of each row, held against rows that are not in it yet."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from alluvium.delta import log
from alluvium.delta.states import metadata_action
from alluvium.names import quoted

_CHECK = "delta.constraints."


def broken(snapshot: Any, rows: DataFrame) -> dict[str, int]:
    """How many rows break a constraint, by its name and text; only of those that some break.

    snapshot: Delta's, of the table; rows: with its columns.
    """
    asked = {
        f"the constraint {key.removeprefix(_CHECK)} ({text})": text
        for key, text in metadata_action(snapshot)["configuration"].items()
        if key.startswith(_CHECK)
    } | {
        f"{field.name} not null": f"{quoted(field.name)} is not null"
        for field in log.schema_of(snapshot)
        if not field.nullable
    }
    if not asked:
        return {}
    # To Delta what is NULL breaks a constraint too.
    keeps = [F.coalesce(F.expr(text), F.lit(False)) for text in asked.values()]
    numbers = rows.agg(*(F.count_if(~one) for one in keeps)).collect()[0]
    return {name: int(n) for name, n in zip(asked, numbers, strict=True) if n}
