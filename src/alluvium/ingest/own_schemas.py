"""Rows of Parquet and ORC files, each file read by its own schema: writers differ in types."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    AtomicType,
    BinaryType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    NumericType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from alluvium.engine.causes import explain
from alluvium.engine.frames import of_each
from alluvium.ingest.parsing import columns_of
from alluvium.ingest.spec import Feed, SpecError, StreamError
from alluvium.names import quoted
from alluvium.paths import Place, name_of
from alluvium.wording import listed

_SCHEMAS = "alluvium.FileSchemas"
_FOUND = "schema string, unread map<string,string>, nanos map<string,boolean>, proleptic boolean"
# ORC's own name of the calendar of files that name none.
_CALENDAR = "orc.proleptic.gregorian.default"
# Whole numbers by the bits and decimal digits of the largest; bits that a fraction keeps.
_WHOLE: Mapping[type[DataType], tuple[int, int]] = {
    ByteType: (7, 3),
    ShortType: (15, 5),
    IntegerType: (31, 10),
    LongType: (63, 19),
}
_FRACTION: Mapping[type[DataType], int] = {FloatType: 24, DoubleType: 53}
_TIMES = (TimestampType, TimestampNTZType)
_TEXTS = (StringType, CharType, VarcharType, BinaryType)
# Beside numbers: what keeps each value of a type.
_KEPT: Mapping[type[DataType], tuple[type[DataType], ...]] = {
    NullType: (DataType,),
    **dict.fromkeys((DateType, *_TIMES), _TIMES),
    **dict.fromkeys(_TEXTS, _TEXTS),
}
_EPOCH, _MICROSECOND = "timestamp_ntz'1970-01-01 00:00:00'", "interval '0.000001' second"


@dataclass(frozen=True)
class Own:
    """What the footers of some files say.

    Attributes:
        paths: The files.
        schema: Theirs, as Spark reads it; times in nanoseconds are of type bigint. None for files
            that cannot be read.
        unread: The columns that Spark does not read, and their types.
        nanos: The columns of times in nanoseconds; true for those that are adjusted to UTC.
        is_proleptic: Whether old days are Gregorian, of ORC files that name no calendar.
    """

    paths: list[str]
    schema: StructType | None = None
    unread: Mapping[str, str] = field(default_factory=dict)
    nanos: Mapping[str, bool] = field(default_factory=dict)
    is_proleptic: bool = False

    @property
    def name(self) -> str:
        """For a message."""
        return listed(sorted(name_of(path) for path in self.paths), 1)


def own_schemas(
    session: SparkSession, feed: Feed, paths: list[str], conf: Mapping[str, str]
) -> list[Own]:
    """The schemas of files, with the files that have them.

    Args:
        session: Its settings say how files are read.
        feed: The source.
        paths: Of the files.
        conf: Hadoop's settings to open them with.
    """
    is_orc = feed.spec.format == "orc"
    found = of_each(session, paths, _SCHEMAS, columns_of(_FOUND), is_orc, conf=conf)
    alike: dict[str, Own] = {}
    for path in paths:
        own = Own([])
        if (row := found[path]) is not None:
            own = Own([], StructType.fromJson(json.loads(row[0])), *row[1:])
        alike.setdefault(json.dumps(row, sort_keys=True), own).paths.append(path)
    return list(alike.values())


def rows(
    session: SparkSession, reader: DataFrameReader, feed: Feed, files: list[Own]
) -> Iterator[tuple[DataFrame, Column]]:
    """The rows of files, and their columns as a struct, of those with one schema after another.

    The columns are those of the feed's schema, with its types. Without one they are those of all
    files: each with the type that it has in its file, and NULL where that does not have it. Names
    are spelt as in the schema, or as in the first file.

    Raises:
        SpecError: A file has a column that cannot be read, or not as the schema says.
    """
    is_exact = session.conf.get("spark.sql.caseSensitive") == "true"
    fold: Callable[[str], str] = str if is_exact else str.lower
    wanted: dict[str, tuple[str, DataType | None]] = {}
    if feed.spec.schema is not None:
        wanted = {fold(f.name): (f.name, f.dataType) for f in columns_of(feed.spec.schema)}
    for own in files if feed.spec.schema is None else ():
        for name in (*(own.schema or StructType()).names, *own.unread):
            wanted.setdefault(fold(name), (name, None))
    if mistakes := [one for own in files for one in _mistakes(own, wanted, fold)]:
        raise SpecError(feed.spec.source, mistakes)
    for own in files:
        if own.schema is None:
            yield _as_spark_reads(reader, feed, own)
            continue
        given = _given(own, wanted, fold)
        read = StructType()
        for key, one in given.items():
            kind = wanted[key][1]
            read.add(one.name, kind if _by_spark(own, one, kind) and kind else one.dataType)
        reader = reader.option(_CALENDAR, own.is_proleptic)
        frame = reader.schema(read if given else own.schema).load(own.paths)
        values = []
        for key, (name, kind) in wanted.items():
            if key not in given:
                value = F.lit(None) if kind is None else F.lit(None).cast(kind)
            else:
                value = _value(frame, own, given[key], kind)
            values.append(value.alias(name))
        yield frame, F.struct(*values)


def _as_spark_reads(reader: DataFrameReader, feed: Feed, own: Own) -> tuple[DataFrame, Column]:
    """`rows` of files whose footers tell nothing: Spark says what is wrong with them."""
    if feed.spec.schema is not None:
        reader = reader.schema(feed.spec.schema)
    try:
        frame = reader.option("mergeSchema", "true").load(own.paths)
    except (PySparkException, Py4JError) as error:
        # Of most ORC files that are cut off Spark says what it met, and not where.
        why = explain(error).text
        if any(name_of(path) in why for path in own.paths):
            raise
        raise StreamError(
            f"{Place.of(own.paths[0]).path} cannot be read: {why}. Deliver it as the source's"
            " `format` and its name say, or take it away, and run again"
        ) from error
    return frame, F.struct(*(F.col(quoted(name)) for name in frame.columns))


def _given(
    own: Own, wanted: Mapping[str, tuple[str, DataType | None]], fold: Callable[[str], str]
) -> dict[str, StructField]:
    """The columns of files that are wanted, each under the key of the wanted one."""
    columns = list(own.schema or ())
    if columns and all(re.fullmatch(r"_col\d+", one.name) for one in columns):
        # Hive's ORC files of old have no names: their columns go by their order, as in Spark.
        return dict(zip(wanted, columns, strict=False))
    return {fold(one.name): one for one in columns if fold(one.name) in wanted}


def _by_spark(own: Own, one: StructField, want: DataType | None) -> bool:
    """Whether Spark's own reader shall make the wanted type."""
    return want is not None and one.name not in own.nanos and way(one.dataType, want) == "spark"


def way(have: DataType, want: DataType) -> str:
    """How a column of a file is read as the schema says.

    Returns:
        ``cast``: it holds each value. ``checked``: a smaller whole number, or bytes as text; each
        value is looked at.
        ``lossy``: not at all, for it would change values. ``spark``: as Spark's own reader does.
    """
    if have == want:
        return "cast"
    if isinstance(want, StringType) and isinstance(have, AtomicType):
        return "checked" if isinstance(have, BinaryType) else "cast"
    if isinstance(have, (DateType, *_TIMES)) and isinstance(want, _TIMES):
        return "cast"
    if not isinstance(have, NumericType) or not isinstance(want, NumericType):
        return "spark" if _is_kept(have, want) else "lossy"
    bits, digits = _WHOLE.get(type(have), (0, 0))
    if bits and type(want) in _WHOLE:
        return "cast" if bits <= _WHOLE[type(want)][0] else "checked"
    if isinstance(want, DecimalType):
        scale, is_exact = 0, digits > 0
        if isinstance(have, DecimalType):
            digits, scale, is_exact = have.precision - have.scale, have.scale, True
        fits = is_exact and digits <= want.precision - want.scale and scale <= want.scale
    elif bits:
        fits = bits <= _FRACTION.get(type(want), 0)
    else:
        fits = isinstance(have, FloatType) and isinstance(want, DoubleType)
    return "cast" if fits else "lossy"


def _is_kept(have: DataType, want: DataType) -> bool:
    """Whether Spark's readers keep each value, or stop. ORC's makes NULL of what does not fit."""
    if isinstance(have, StructType) and isinstance(want, StructType):
        inside = {one.name.lower(): one.dataType for one in want.fields}
        pairs = [(f.dataType, inside[f.name.lower()]) for f in have if f.name.lower() in inside]
    elif isinstance(have, ArrayType) and isinstance(want, ArrayType):
        pairs = [(have.elementType, want.elementType)]
    elif isinstance(have, MapType) and isinstance(want, MapType):
        pairs = [(have.keyType, want.keyType), (have.valueType, want.valueType)]
    else:
        return isinstance(want, _KEPT.get(type(have), ()))
    return all(way(*pair) in ("cast", "spark") for pair in pairs)


def _mistakes(
    own: Own, wanted: Mapping[str, tuple[str, DataType | None]], fold: Callable[[str], str]
) -> Iterator[str]:
    if own.schema is not None and not (own.schema.names or own.unread):
        yield f"path: {own.name} has no columns; accepted: files with one at least"
    columns = [one for one in (own.schema or StructType()).fields if fold(one.name) in wanted]
    for name, other in _alike(StructType(columns), fold):
        yield (
            f"schema: {own.name} has the columns {name} and {other}; accepted: names that differ "
            "by more than their case"
        )
    for one in columns:
        kind = wanted[fold(one.name)][1]
        have = one.dataType.simpleString()
        if kind is None:
            continue
        if one.name in own.nanos:
            lossy = not isinstance(kind, (TimestampType, TimestampNTZType, StringType))
            have, better = "time in nanoseconds", "timestamp"
        else:
            lossy, better = way(one.dataType, kind) == "lossy", have
        if lossy:
            yield (
                f"schema: {own.name} has the column {one.name} of type {have}, and "
                f"{kind.simpleString()} does not hold that; accepted: `{one.name} {better}`, or "
                "files of the type in `schema`"
            )
    for name, stored in own.unread.items():
        if fold(name) in wanted:
            yield (
                f"schema: {own.name} has the column {name} of type {stored}, which Spark does not "
                "read; accepted: files that have it as text, or as times with microseconds, or a "
                "`schema` without it"
            )


def _alike(kind: DataType, fold: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Names that Spark cannot tell apart, of columns or of fields in one of them."""
    if isinstance(kind, StructType):
        seen: dict[str, str] = {}
        for one in kind.fields:
            if fold(one.name) in seen:
                yield seen[fold(one.name)], one.name
            seen[fold(one.name)] = one.name
            for names in _alike(one.dataType, fold):
                first, second = (f"{one.name}.{name}" for name in names)
                yield first, second
    elif isinstance(kind, ArrayType):
        yield from _alike(kind.elementType, fold)
    elif isinstance(kind, MapType):
        yield from _alike(kind.keyType, fold)
        yield from _alike(kind.valueType, fold)


def _value(frame: DataFrame, own: Own, one: StructField, want: DataType | None) -> Column:
    """A column as the wanted type, or its own for None."""
    column, have = F.col(quoted(one.name)), one.dataType
    if one.name in own.nanos:
        micros = F.call_function("div", column - F.pmod(column, F.lit(1000)), F.lit(1000))
        is_utc = own.nanos[one.name] and not isinstance(want, TimestampNTZType)
        if is_utc or isinstance(want, TimestampType):
            column = F.timestamp_micros(micros)
        else:
            column = F.expr(_EPOCH) + F.expr(_MICROSECOND) * micros
        return column if want is None else column.cast(want)
    if want is None or way(have, want) == "spark":
        return column
    is_text = isinstance(have, StringType)
    if way(have, want) == "cast" and not is_text:
        return column.cast(want)
    if is_text or isinstance(have, BinaryType):
        # A writer's text may be none, and then only Spark reads the table.
        holds, value = F.is_valid_utf8(column.cast("string")), F.lit("bytes that are no UTF-8")
    else:
        most = 2 ** _WHOLE[type(want)][0]
        holds, value = column.between(-most, most - 1), column.cast("string")
    why = f", and {want.simpleString()} does not hold that; write `{one.name} "
    why += f"{'binary' if is_text else have.simpleString()}` in `schema`"
    name = frame.metadataColumn("_metadata")["file_name"]
    parts = (name, F.lit(f": {one.name} is "), value, F.lit(why))
    return F.when(column.isNull() | holds, column.cast(want)).otherwise(
        F.raise_error(F.concat(*parts))
    )
