"""Types and fields inside columns follow the model as its columns do: by `on_schema_change`."""

from __future__ import annotations

from collections.abc import Sequence

from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from alluvium.delta.data_types import is_wider
from alluvium.engine import data_types
from alluvium.merge.fields import Change, are_moved, changes, fitted, retyped, untyped
from alluvium.plan.versions.properties import MAPPING

_WIDENING = "delta.enableTypeWidening"


def give_types(session: SparkSession, batch: DataFrame, table: str) -> None:
    """Give what has no type in a table (VOID) that of a batch: no value of it is stored.

    Raises:
        DbtRuntimeError: it is an array, a map or a struct.
    """
    for statement in _types(session, untyped(session.table(table).schema, batch.schema), table):
        session.sql(f"alter table {table} {statement}")


def sync(session: SparkSession, batch: DataFrame, table: str, on_schema_change: str) -> None:
    """Give a table the fields that a batch brings, and types where it has none (VOID).

    With `sync_all_columns` it gets all of the batch's fields, and its types.

    Raises:
        DbtRuntimeError: a field would have to go, or a type to change, and the table does not allow
            that. Nothing is changed then.
    """
    schema = session.table(table).schema
    statements = _types(session, untyped(schema, batch.schema), table)
    found = [
        change
        for change in changes(schema, batch.schema) + retyped(schema, batch.schema)
        # What is of NULLs alone on one side fits the other.
        if not (change.stored and change.given and change.is_untyped)
    ]
    added = [change for change in found if change.stored is None]
    lost = [change for change in found if change.given is None]
    others = [change for change in found if change.stored and change.given]
    if on_schema_change == "sync_all_columns" and (lost or others):
        _refuse(session, table, lost, others)
        # What Delta may still refuse comes first.
        statements = [_typed(session, change) for change in others] + statements
        statements += [f"drop column {change.name}" for change in lost]
    if added:
        columns = (f"{change.name} {_ddl(session, change.given)}" for change in added)
        statements.append(f"add columns ({', '.join(columns)})")
    for statement in statements:
        session.sql(f"alter table {table} {statement}")


def _refuse(
    session: SparkSession, table: str, lost: Sequence[Change], others: Sequence[Change]
) -> None:
    """Stop where a table does not let fields go, or change their types."""
    properties = session.sql(f"describe detail {table}").collect()[0]["properties"]
    if lost and properties.get(MAPPING) not in ("name", "id"):
        raise _refused(
            table,
            lost,
            f"Delta drops fields of tables with column mapping only: set `tblproperties: "
            f"{{{MAPPING}: name}}` on the node and build it with --full-refresh, or use "
            "`on_schema_change: append_new_columns`",
        )
    if odd := [one for one in others if not is_wider(session, one.given, one.stored)]:
        raise _refused(
            table,
            odd,
            "Delta changes a type only to a wider one, such as int to bigint. Accepted: a cast to"
            " the table's type in the query, or --full-refresh",
        )
    if others and properties.get(_WIDENING) != "true":
        raise _refused(
            table,
            others,
            "Delta widens a type where the table allows it. Accepted: `alter table"
            f" {table} set tblproperties ('{_WIDENING}' = 'true')`, a cast to the table's type in"
            " the query, or --full-refresh",
        )


def fit(
    session: SparkSession,
    batch: DataFrame,
    table: str,
    on_schema_change: str,
    *,
    inserts: bool = False,
) -> DataFrame | None:
    """The batch with the table's fields, for a MERGE takes no other; None where it has them.

    With `append_new_columns` a field that the batch no longer has is NULL, as a column is.

    inserts: whether it is for an INSERT, which casts values to the table's types.

    Raises:
        DbtRuntimeError: the batch brings new fields or misses some, and nothing says what to do, or
            a field's values cannot be of the table's type.
    """
    schema = session.table(table).schema
    found = changes(schema, batch.schema)
    unfit = [
        change
        for change in found
        if change.stored
        and change.given
        and not inserts
        and not data_types.is_assignable(session, change.given, change.stored)
    ]
    if unfit:
        takes = " (void takes a plain one, with `on_schema_change: append_new_columns`)"
        raise _refused(
            table,
            unfit,
            "accepted: a type that can become the table's"
            f"{takes if any(change.is_untyped for change in unfit) else ''}, or --full-refresh",
        )
    odd = [change for change in found if not (change.stored and change.given)]
    if odd and on_schema_change != "append_new_columns":
        raise _refused(
            table,
            odd,
            "accepted: on_schema_change: append_new_columns (new fields are added, those that are "
            "gone are NULL) or sync_all_columns, or the fields that the table has",
        )
    # Delta finds fields by name. But where it casts one in an array, it goes by their order.
    is_due = odd or (inserts and found) or are_moved(schema, batch.schema)
    return batch.to(fitted(schema, batch.schema)) if is_due else None


def _refused(table: str, found: Sequence[Change], why: str) -> DbtRuntimeError:
    return DbtRuntimeError(f"{table}: {'; '.join(map(str, found))}. {why[0].upper()}{why[1:]}.")


def _types(session: SparkSession, found: Sequence[Change], table: str) -> list[str]:
    # Spark's ALTER TABLE refuses them.
    if nested := [one for one in found if isinstance(one.given, (ArrayType, MapType, StructType))]:
        raise _refused(
            table,
            nested,
            "what has no type takes none but a plain one; accepted: --full-refresh, and a type for"
            " NULL in the query, such as `cast(null as array<int>)`",
        )
    return [_typed(session, change) for change in found]


def _typed(session: SparkSession, change: Change) -> str:
    return f"alter column {change.name} type {_ddl(session, change.given)}"


def _ddl(session: SparkSession, kind: DataType | None) -> str:
    assert kind is not None
    # An added field is NULL in the rows that are there, whatever the batch's own may be.
    return data_types.nullable_ddl(session, kind)
