"""Events, whatever the source: the same system columns, the value as it came.

``_key, _value, _headers, _source_partition, _source_offset, _source_timestamp``. A value (or key)
that is not valid UTF-8 is shown with U+FFFD in place of the bad bytes. So every engine can read the
table. Its exact bytes are kept in ``_headers`` under ``_value`` (or ``_key``).
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.names import quoted

HEADERS = "array<struct<key:string,value:binary>>"
COLUMNS = {
    "_key": "string",
    "_value": "string",
    "_headers": HEADERS,
    "_source_partition": "string",
    "_source_offset": "bigint",
    "_source_timestamp": "timestamp",
}
# The columns that name an event's place.
PLACE = ("_source_partition", "_source_offset")


@dataclass(frozen=True)
class Trigger:
    """The events of one micro-batch, and what they were read from.

    Attributes:
        events: The events, lazily.
        files: Files read; 0 for sources without files.
        bytes: Their size in bytes, as stored.
        raw_bytes: Estimate of their size in bytes once decompressed.
        most: No more events than these, for sources without files.
    """

    events: DataFrame
    files: int
    bytes: int
    raw_bytes: int
    most: int = 0


def event_columns(
    key: Column,
    value: Column,
    headers: Column,
    partition: Column,
    offset: Column,
    timestamp: Column,
) -> list[Column]:
    """The system columns from raw parts; key and value are text or binary.

    A wrong byte is rare, and a backlog has millions of events. So what repairs one stands behind
    one look at each part, and no higher-order function keeps Spark from compiling the whole.
    """
    parts = {"_key": key, "_value": value}
    texts = {name: part.cast("string") for name, part in parts.items()}
    is_good = {name: F.coalesce(F.is_valid_utf8(text), F.lit(True)) for name, text in texts.items()}
    raw = {
        name: F.struct(F.lit(name).alias("key"), part.cast("binary").alias("value"))
        for name, part in parts.items()
    }
    bad = (
        F.when(is_good["_key"], F.array(raw["_value"]))
        .when(is_good["_value"], F.array(raw["_key"]))
        .otherwise(F.array(*raw.values()))
    )
    headers = F.when(is_good["_key"] & is_good["_value"], headers).otherwise(
        F.concat(F.coalesce(headers, F.array().cast(HEADERS)), bad.cast(HEADERS))
    )
    return [
        *(
            F.when(is_good[name], text).otherwise(F.make_valid_utf8(text)).alias(name)
            for name, text in texts.items()
        ),
        headers.alias("_headers"),
        partition.alias("_source_partition"),
        offset.cast("bigint").alias("_source_offset"),
        timestamp.cast("timestamp").alias("_source_timestamp"),
    ]


def lacking(events: DataFrame, table: DataFrame) -> DataFrame:
    """The events whose places a table does not hold."""
    places = table.select(*PLACE)
    return events.join(places, list(PLACE), "left_anti").select(*map(quoted, events.columns))


def register_view(session: SparkSession, frame: DataFrame, view: str) -> None:
    """Register a frame, of whatever session, as a temp view of this one."""
    shared = f"alluvium_{uuid.uuid4().hex}"
    frame.createGlobalTempView(shared)
    try:
        session.table(f"global_temp.{shared}").createOrReplaceTempView(quoted(view))
    finally:
        session.catalog.dropGlobalTempView(shared)
