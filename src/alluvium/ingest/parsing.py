"""The columns of a json or csv schema, behind the events that they are parsed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from alluvium.engine.causes import reason
from alluvium.engine.csv_records import names, parser_options
from alluvium.ingest.events import COLUMNS
from alluvium.ingest.exact_numbers import exact, is_looked_at, mended_json, read_type
from alluvium.ingest.headers import places
from alluvium.ingest.options import HEADER, LISTING_OPTIONS
from alluvium.ingest.spec import Feed, SpecError, StreamSpec
from alluvium.names import quoted

# Formats whose schema is read out of the value; those of other files have columns themselves.
_PARSED = ("json", "csv")
# Of lines of csv: whether the line is a record, and no part of one.
WHOLE = "__alluvium_whole"
_NESTED = (ArrayType, MapType, StructType)
_CORRUPT = "columnNameOfCorruptRecord"
# So much of a record is shown in a message.
_SHOWN = 200
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
    names = [*COLUMNS, *map(str.lower, columns.names)]
    if taken := [name for name in columns.names if names.count(name.lower()) > 1]:
        return (
            f"schema: {', '.join(taken)}: the schema names it twice, or each event has a column of"
            " that name; accepted: other names"
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
    session, columns = events.sparkSession, columns_of(schema)
    mended = F.coalesce("mended", value)
    text = F.when(F.col("is_more"), F.concat(F.lit("}"), value)).otherwise(mended)
    read = _with_corrupt(columns, _corrupt(session, options), options)
    found = (
        events.withColumn("is_more", is_more)
        .withColumn("mended", mended_json(session, value, columns, options))
        .withColumn("with_schema", F.from_json(text, read, {**options, "mode": "PERMISSIVE"}))
    )
    return _checked(found, columns, options, {}, F.col("mended").isNotNull()).select(
        *events.columns, *(_parsed(name) for name in columns.names)
    )


def _csv(events: DataFrame, schema: str, options: dict[str, str], header: str | None) -> DataFrame:
    """Records of CSV files with one header or none, with the schema's columns in its order."""
    session = events.sparkSession
    columns = columns_of(schema)
    corrupt = _corrupt(session, options)
    given = columns
    if header is not None:
        given = _by_header(columns, names(session, header, options), corrupt)
    kinds = StructType([StructField(f.name, read_type(f.dataType)) for f in given])
    read = _with_corrupt(kinds, corrupt, options)
    by = {**parser_options(options), "mode": "PERMISSIVE"}
    parsed = F.from_csv(F.col("_value"), read.toDDL(), by)
    if WHOLE in events.columns:
        parsed = F.when(F.col(WHOLE), parsed).otherwise(_broken(read, corrupt, options))
    rows = events.withColumn("with_schema", parsed)
    values = {
        one.name: exact(session, _parsed(one.name), one.dataType, options)
        for one in given
        if is_looked_at(one.dataType)
    }
    if values:
        rows = rows.withColumn("exact", F.struct(*(v.alias(name) for name, v in values.items())))
    values = {name: F.col(f"exact.{quoted(name)}") for name in values}
    is_wrong = F.lit(False)
    for name, one in values.items():
        is_wrong = is_wrong | (one.isNull() != _parsed(name).isNull())
    return _checked(rows, given, options, values, is_wrong).select(
        *(name for name in events.columns if name != WHOLE),
        *(
            _parsed(one.name)
            if one.name in given.names
            else F.lit(None).cast(one.dataType).alias(one.name)
            for one in columns
        ),
    )


def _by_header(columns: StructType, found: Sequence[str | None], corrupt: str) -> StructType:
    """The columns of files with a header, in their order there."""
    wanted = [name for name in columns.names if name != corrupt]
    at = dict(zip(wanted, places(found, wanted), strict=True))
    by_place = {place: name for name, place in at.items() if place is not None}
    given = StructType()
    for place in range(len(found)):
        if place in by_place:
            given.add(columns[by_place[place]])
        else:
            # No name of the schema begins so; what the file has there stays in `_value`.
            given.add(f"__alluvium_{place}", "string")
    return given.add(columns[corrupt]) if corrupt in columns.names else given


def _parsed(name: str) -> Column:
    """A value of a record that Spark has parsed."""
    return F.col(f"with_schema.{quoted(name)}")


def _with_corrupt(read: StructType, corrupt: str, options: Mapping[str, str]) -> StructType:
    """The columns with the one that tells a wrong record, where that must be known."""
    more = [StructField(corrupt, StringType())] if _fails(options) else []
    return StructType([*read, *(one for one in more if corrupt not in read.names)])


def _checked(
    rows: DataFrame,
    columns: StructType,
    options: Mapping[str, str],
    values: Mapping[str, Column],
    is_wrong: Column,
) -> DataFrame:
    """Rows whose records in `with_schema` are as the options want them.

    Args:
        columns: Of the records.
        values: Those that take the place of what Spark has parsed.
        is_wrong: Whether a record has a value that its type does not hold, which Spark did not see.
    """
    corrupt = _corrupt(rows.sparkSession, options)
    parts = {name: values.get(name, _parsed(name)) for name in columns.names}
    if _fails(options) or corrupt in parts:
        is_wrong = is_wrong | _parsed(corrupt).isNotNull()
    if corrupt in parts:
        parts[corrupt] = F.when(is_wrong, F.col("_value"))
    record = F.struct(*(part.alias(name) for name, part in parts.items()))
    if _fails(options):
        text = F.substring("_value", 1, _SHOWN)
        record = F.when(is_wrong, _stop(text, F.lit(" does not fit the schema"))).otherwise(record)
    return rows.withColumn("with_schema", record)


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


def header_names(session: SparkSession, feed: Feed, header: str) -> list[str | None]:
    """The columns in a header of csv files."""
    return names(session, header, _parsed_by(feed))


def named_columns(session: SparkSession, feed: Feed) -> list[str]:
    """The columns of the schema that a csv file may have; none without a schema."""
    if feed.spec.schema is None:
        return []
    corrupt = _corrupt(session, _parsed_by(feed))
    return [name for name in columns_of(feed.spec.schema).names if name != corrupt]


def _fails(options: Mapping[str, str]) -> bool:
    """Whether a wrong record stops the run."""
    return options.get("mode", "").upper() == "FAILFAST"


def _stop(*why: Column) -> Column:
    """The error of a record, with its file and line."""
    place = (F.col("_source_partition"), F.lit(", line "), F.col("_source_offset") + 1)
    return F.raise_error(F.concat(*place, F.lit(": "), *why, F.lit(" (mode: FAILFAST)")))


def _broken(columns: StructType, corrupt: str, options: dict[str, str]) -> Column:
    """What is read of a line that opens a quote and does not close it, a part behind it, or
    one that is beyond a limit.
    """
    if _fails(options):
        why = "it is a part of a record, has a quote that does not close, or is beyond the options"
        return _stop(F.lit(f"{why} maxColumns and maxCharsPerColumn"))
    return F.struct(
        *(
            (F.col("_value") if one.name == corrupt else F.lit(None))
            .cast(one.dataType)
            .alias(one.name)
            for one in columns
        )
    )
