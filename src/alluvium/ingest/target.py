"""The table that a streaming table's events go to: its columns, checked, and its highest batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from delta.tables import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType, NullType, StructType

from alluvium.delta.log import arrivals, log
from alluvium.delta.rewrite import bucket_column
from alluvium.engine.causes import first_line
from alluvium.engine.data_types import is_hollow
from alluvium.engine.frames import check_appends
from alluvium.ingest.parsing import no_events
from alluvium.ingest.spec import Feed, StreamError
from alluvium.names import among, quoted
from alluvium.plan.layout.generated import GeneratedColumn

BATCH_ID = "_batch_id"


@dataclass(frozen=True)
class Target:
    """The Delta table that events are appended to.

    Attributes:
        name: Quoted name for SQL, such as ```bronze`.`flights_events` ``.
        checkpoint: Folder of its checkpoint, beside the table.
        file_format: Only ``delta`` is accepted.
        partition_by: Partition columns, among the query's columns.
        location: Path of an external table; None for a managed one.
        tblproperties: Table properties.
        bucket: Partition column that Delta computes from the query's, one of ``partition_by``.
        sort_by: Columns that each file is sorted by.
    """

    name: str
    checkpoint: str
    file_format: str = "delta"
    partition_by: tuple[str, ...] = ()
    location: str | None = None
    tblproperties: Mapping[str, str] = field(default_factory=dict)
    bucket: GeneratedColumn | None = None
    sort_by: tuple[str, ...] = ()


def query_columns(
    session: SparkSession, feed: Feed, sql: str, view: str, target: Target
) -> StructType:
    """The table's columns, after checking the query and the target."""
    if target.file_format != "delta":
        raise StreamError(f"{target.name}: file_format is {target.file_format!r}; accepted: delta")
    probe = session.newSession()
    probe.catalog.setCurrentDatabase(session.catalog.currentDatabase())
    # Analysed as a stream, so that Spark's own rules for streams judge the query.
    rate = probe.readStream.format("rate").load()
    schema = no_events(probe, feed).schema
    rate.select(
        *(F.lit(None).cast(f.dataType).alias(f.name) for f in schema)
    ).createOrReplaceTempView(quoted(view))
    result = probe.sql(sql)
    if not result.isStreaming:
        raise StreamError(f"{target.name}: the query does not read its stream {view}")
    try:
        check_appends(result)
    except (PySparkException, ValueError) as error:
        raise StreamError(
            f"{target.name}: the query cannot run on a stream, where each event is seen once and "
            f"alone (filters, expressions and joins with tables can): {first_line(error)}"
        ) from error
    if BATCH_ID in result.columns:
        raise StreamError(
            f"{target.name}: the query returns {BATCH_ID}, which is added to it; accepted: a query "
            "without it"
        )
    if hollow := [one for one in result.schema if is_hollow(one.dataType)]:
        columns = ", ".join(f"{one.name} ({one.dataType.simpleString()})" for one in hollow)
        raise StreamError(
            f"{target.name}: nothing tells the types in {columns}, and no table can hold that;"
            " accepted: types for NULL in the query, such as `cast(null as int)`"
        )
    made = None if target.bucket is None else target.bucket.name
    for setting, names, own in (
        ("partition_by", target.partition_by, made),
        ("sort_by", target.sort_by, BATCH_ID),
    ):
        missing = [name for name in names if not among(name, result.columns) and name != own]
        if missing:
            raise StreamError(
                f"{target.name}: {setting} names {', '.join(missing)}; "
                f"accepted: columns that the query returns: {', '.join(result.columns)}"
            )
    if target.bucket is not None:
        try:
            bucket_column.check_new(session, result.schema, target.bucket)
        except ValueError as error:
            raise StreamError(f"{target.name}: {error}") from error
    return StructType([*result.schema.fields]).add(BATCH_ID, LongType())


def spelt_as_stored(target: Target, columns: StructType) -> Target:
    """The target with its partition's columns in the case of the query's."""
    names = {name.lower(): name for name in columns.names}
    return replace(target, partition_by=tuple(names.get(c.lower(), c) for c in target.partition_by))


def create(session: SparkSession, target: Target, columns: StructType) -> None:
    builder = DeltaTable.createIfNotExists(session).tableName(target.name).addColumns(columns)
    if target.bucket is not None:
        made = target.bucket
        builder = builder.addColumn(made.name, made.type, generatedAlwaysAs=made.expression)
    if target.partition_by:
        builder = builder.partitionedBy(*target.partition_by)
    if target.location is not None:
        builder = builder.location(target.location)
    for key, value in target.tblproperties.items():
        builder = builder.property(key, value)
    builder.execute()


def check_columns(session: SparkSession, target: Target, columns: StructType) -> None:
    """New columns are added and absent ones are NULL, but a column keeps its type."""
    wanted = {f.name.lower(): f for f in columns}
    changed = [
        f"{f.name} is {f.dataType.simpleString()}, "
        f"the query returns {wanted[f.name.lower()].dataType.simpleString()}"
        for f in session.table(target.name).schema
        if f.name.lower() in wanted and not _takes(f.dataType, wanted[f.name.lower()].dataType)
    ]
    if changed:
        raise StreamError(
            f"{target.name}: a column's type cannot change: {'; '.join(changed)}. "
            "Cast it in the query, or run with --full-refresh"
        )
    try:
        # It may have such a column that the layout does not ask for any more.
        bucket_column.check_zone(session, target.name)
        if target.bucket is not None:
            bucket_column.check_table(session, target.name, target.bucket)
    except ValueError as error:
        raise StreamError(f"{target.name}: {error}") from error


def _takes(stored: DataType, given: DataType) -> bool:
    """Whether a column goes on in a type: what is of NULLs alone takes that of its first value."""
    if isinstance(stored, NullType) or stored == given:
        return True
    if not (isinstance(stored, StructType) and isinstance(given, StructType)):
        return False
    return stored.names == given.names and all(
        _takes(one.dataType, other.dataType)
        and (one.nullable == other.nullable or isinstance(one.dataType, NullType))
        for one, other in zip(stored, given, strict=True)
    )


def id_of(session: SparkSession, target: Target) -> str:
    found = log.table_version(session, target.name)
    if found.version < 0:
        raise StreamError(f"{target.name} exists and is not a Delta table")
    return found.table_id


def highest_batch(session: SparkSession, table: str) -> int:
    """The highest ``_batch_id`` that a streaming table ever had; 0 if nothing tells.

    Its rows may have been deleted since. Later batches lie above it.

    table: rendered name of a Delta table.
    """
    found = 0
    if BATCH_ID in session.table(table).columns:
        found = session.table(table).agg(F.max(BATCH_ID)).collect()[0][0] or 0
    return max(int(found), next(arrivals.batches(session, table), 0))
