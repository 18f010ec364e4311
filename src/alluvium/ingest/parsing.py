"""The columns of a json or csv schema, behind the events that they are parsed from."""

from __future__ import annotations

from collections.abc import Mapping

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from alluvium.engine.causes import reason
from alluvium.engine.csv_records import names, parser_options
from alluvium.ingest.events import COLUMNS
from alluvium.ingest.headers import places, unnamed
from alluvium.ingest.options import HEADER, LISTING_OPTIONS
from alluvium.ingest.spec import Feed, SpecError, StreamSpec
from alluvium.names import quoted

# Formats whose schema is read out of the value; those of other files have columns themselves.
_PARSED = ("json", "csv")
# Of lines of csv: whether the line is a record, and no part of one.
WHOLE = "__alluvium_whole"
_NESTED = (ArrayType, MapType, StructType)
_CORRUPT = "columnNameOfCorruptRecord"
# An object with something behind it, which may be a part of what it stands in; what closes an array
# of lines, or goes on in it, is nothing.
_MORE, _NO_MORE = r"[}][\s,\]]*[^\s,\]]", r"[\s,\]]+$"


def check_schema(spec: StreamSpec) -> None:
    """Let Spark read the schema before anything else does; a context must be running.

    Raises:
        SpecError: The schema is not a list of columns, or has no column of corrupt records.
    """
    mistake = None if spec.schema is None else _mistake(spec, spec.schema)
    if mistake is not None:
        raise SpecError(spec.source, [mistake])


def _mistake(spec: StreamSpec, schema: str) -> str | None:
    try:
        columns = StructType.fromDDL(schema)
    except PySparkException as error:
        why = " ".join(str(error).partition("== SQL")[0].split())
        return f"schema: {schema!r}; accepted: columns and types ({why})"
    if not isinstance(columns, StructType):
        return f"schema: {schema!r}; accepted: columns and types, such as 'id bigint'"
    nested = [f.name for f in columns if isinstance(f.dataType, _NESTED)]
    if nested and spec.format == "csv":
        return (
            f"schema: {', '.join(nested)}: a field of csv has no parts; accepted: plain types, and"
            " `from_json` or `split` in the query"
        )
    corrupt = spec.options.get(_CORRUPT)
    if isinstance(corrupt, str) and corrupt not in columns.names:
        return (
            f"options.{_CORRUPT}: {corrupt!r}; accepted: a column of type string in the schema,"
            f" which has {', '.join(columns.names)}"
        )
    return None


def no_events(session: SparkSession, feed: Feed) -> DataFrame:
    """An empty static frame with the columns of the feed's events."""
    nulls = ", ".join(f"cast(null as {kind}) as {name}" for name, kind in COLUMNS.items())
    events = session.sql(f"select {nulls} where false")
    spec = feed.spec
    if spec.schema is None or spec.format in _PARSED:
        return with_schema(events, feed)
    typed = (F.lit(None).cast(f.dataType).alias(f.name) for f in columns_of(spec.schema))
    return events.select("*", *typed)


def with_schema(events: DataFrame, feed: Feed, header: str | None = None) -> DataFrame:
    """Events with the columns of a json or csv schema behind them.

    Args:
        events: Those of csv may have a column WHOLE, which goes.
        feed: Their source.
        header: The record that names the columns of the events' files, if one does.
    """
    spec = feed.spec
    if spec.schema is None or spec.format not in _PARSED:
        return events
    options = _parsed_by(feed)
    try:
        if spec.format == "json":
            return _json(events, spec.schema, options)
        return _csv(events, spec.schema, options, header)
    except (PySparkException, Py4JJavaError) as error:
        raise SpecError(
            spec.source, [f"schema, options: Spark does not take them: {reason(error)}"]
        ) from error


def _json(events: DataFrame, schema: str, options: dict[str, str]) -> DataFrame:
    """Lines of JSON with the schema's columns.

    Spark's parser takes the first value of a line, and does not look at what stands behind it: of
    two objects that a writer put into one line the second would be lost. Such a line is corrupt.
    """
    value = F.col("_value")
    # With a number behind it, on a line of its own: a comment ends with its line.
    in_array = F.concat(F.lit("["), F.regexp_replace(value, _NO_MORE, ""), F.lit("\n,0]"))
    parts = F.from_json(in_array, "array<string>", {**options, "mode": "PERMISSIVE"})
    is_more = value.rlike(_MORE) & ~F.size(parts).eqNullSafe(2)
    corrupt = _corrupt(events.sparkSession, options)
    text = F.when(F.col("is_more"), F.concat(F.lit("}"), value)).otherwise(value)
    parsed = F.from_json(text, schema, options)
    whole = F.when(F.col("is_more"), value).otherwise(F.col(f"with_schema.{quoted(corrupt)}"))
    return (
        events.withColumn("is_more", is_more)
        .withColumn("with_schema", parsed)
        .select(
            *events.columns,
            *(
                whole.alias(name) if name == corrupt else F.col(f"with_schema.{quoted(name)}")
                for name in columns_of(schema).names
            ),
        )
    )


def _csv(events: DataFrame, schema: str, options: dict[str, str], header: str | None) -> DataFrame:
    """Records of CSV files with one header or none, with the schema's columns in its order."""
    session = events.sparkSession
    columns = columns_of(schema)
    corrupt = _corrupt(session, options)
    read = columns
    if header is not None:
        wanted = [name for name in columns.names if name != corrupt]
        found = names(session, header, options)
        at = dict(zip(wanted, places(found, wanted), strict=True))
        given = {place: name for name, place in at.items() if place is not None}
        read = StructType()
        for place in range(len(found)):
            if place in given:
                read.add(columns[given[place]])
            else:
                # No name of the schema begins so; what the file has there stays in `_value`.
                read.add(f"__alluvium_{place}", "string")
        if corrupt in columns.names:
            read.add(columns[corrupt])
    parsed = F.from_csv(F.col("_value"), read.toDDL(), parser_options(options))
    if WHOLE in events.columns:
        broken = _broken(read, corrupt, options)
        parsed = F.when(F.col(WHOLE), parsed).otherwise(broken)
    return events.withColumn("with_schema", parsed).select(
        *(name for name in events.columns if name != WHOLE),
        *(
            F.col(f"with_schema.{quoted(field.name)}")
            if field.name in read.names
            else F.lit(None).cast(field.dataType).alias(field.name)
            for field in columns
        ),
    )


def columns_of(schema: str) -> StructType:
    """The columns of a schema that is known to be right."""
    columns = StructType.fromDDL(schema)
    assert isinstance(columns, StructType)  # check_schema has seen it
    return columns


def _parsed_by(feed: Feed) -> dict[str, str]:
    """The options of a feed that say how a record is parsed."""
    return {k: v for k, v in feed.options.items() if k not in (*LISTING_OPTIONS, HEADER)}


def _corrupt(session: SparkSession, options: Mapping[str, str]) -> str:
    """The name of the column that gets the text of records which are wrong."""
    default = session.conf.get("spark.sql.columnNameOfCorruptRecord") or ""
    return options.get(_CORRUPT, default)


def unnamed_columns(session: SparkSession, feed: Feed, header: str) -> list[str]:
    """The columns in a header of csv files that the schema does not name; none without a schema."""
    if feed.spec.schema is None:
        return []
    return unnamed(names(session, header, _parsed_by(feed)), columns_of(feed.spec.schema).names)


def _broken(columns: StructType, corrupt: str, options: dict[str, str]) -> Column:
    """What is read of a line that opens a quote and does not close it, or of any part behind it."""
    if options.get("mode", "").upper() == "FAILFAST":
        place = (F.col("_source_partition"), F.lit(", line "), F.col("_source_offset") + 1)
        why = ": it is a part of a record, or has a quote that does not close (mode: FAILFAST)"
        return F.raise_error(F.concat(*place, F.lit(why)))
    return F.struct(
        *(
            (F.col("_value") if field.name == corrupt else F.lit(None))
            .cast(field.dataType)
            .alias(field.name)
            for field in columns
        )
    )
