"""Sources as events: whatever the source, the same system columns, the value as it came.

``_key, _value, _headers, _source_partition, _source_offset, _source_timestamp``. A value (or key)
that is not valid UTF-8 is shown with U+FFFD in place of the bad bytes, so that every engine can
read the table, and its exact bytes are kept in ``_headers`` under ``_value`` (or ``_key``).
"""

from __future__ import annotations

import os
import re
import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, Protocol

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from alluvium.engine.causes import reason
from alluvium.engine.whole_files import LARGEST, WHOLE_FILES
from alluvium.ingest.files import Files
from alluvium.ingest.headers import HeaderError, places
from alluvium.ingest.landing import Landed
from alluvium.ingest.options import HEADER, LINE_FORMATS, LISTING_OPTIONS
from alluvium.ingest.spec import Feed, SpecError, StreamSpec
from alluvium.names import quoted

EVENT_DDL = (
    "_key string, _value string, _headers array<struct<key:string,value:binary>>, "
    "_source_partition string, _source_offset bigint, _source_timestamp timestamp"
)
# The columns that name an event's place.
PLACE = ("_source_partition", "_source_offset")
_HEADERS = "array<struct<key:string,value:binary>>"
_COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4", ".deflate")
# The raw line that names a file's columns, among the headers of each of its events.
_HEADER_LINE = "_header"
# The scheme and host of a URL.
_SCHEME = r"^[a-zA-Z][a-zA-Z0-9+.\-]*:(//[^/]*)?"
# Hadoop's local file system without checksums, for one scan; others have their own.
_UNCHECKED = {
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
_SHOWN = 200
_NESTED = (ArrayType, MapType, StructType)
_CORRUPT = "columnNameOfCorruptRecord"
# A partition id fills the upper bits of monotonically_increasing_id, the row in it the lower 33.
_ROW_IN_PARTITION = (1 << 33) - 1


@dataclass(frozen=True)
class Trigger:
    """The events of one micro-batch, and what they were read from.

    Attributes:
        events: The events, lazily.
        files: Files read; 0 for sources without files.
        bytes: Their size in bytes, as stored.
        raw_bytes: Estimate of their size in bytes once decompressed.
    """

    events: DataFrame
    files: int
    bytes: int
    raw_bytes: int


class Source(Protocol):
    """What the batch views ask of a source."""

    feed: Feed

    def batch(self, session: SparkSession) -> DataFrame:
        """Every event the source holds now, as a static frame."""


def open_source(feed: Feed) -> FileSource | KafkaSource:
    """The source that a feed describes."""
    if feed.spec.format == "kafka":
        return KafkaSource(feed)
    return FileSource(feed)


def no_events(session: SparkSession, feed: Feed) -> DataFrame:
    """An empty static frame with the columns of the feed's events."""
    return _parsed(session.createDataFrame([], EVENT_DDL), feed)


def list_in_few_tasks(session: SparkSession) -> None:
    """Keep Spark from running a task for every file when it lists them."""
    cores = session.sparkContext.defaultParallelism
    session.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", str(cores))


def _whole_files(session: SparkSession) -> SparkSession:
    """A new session whose scans give one partition to each file.

    So the row number in a partition is the row number in the file.
    A scan keeps the settings of the session it was made in, wherever its frame is used.
    """
    scan = session.newSession()
    for name, value in WHOLE_FILES.items():
        scan.conf.set(name, value)
    scan.conf.unset("spark.sql.files.maxPartitionNum")
    # A file is read whole or not at all.
    scan.conf.set("spark.sql.files.ignoreCorruptFiles", "false")
    scan.conf.set("spark.sql.files.ignoreMissingFiles", "false")
    list_in_few_tasks(scan)
    return scan


def register_view(session: SparkSession, frame: DataFrame, view: str) -> None:
    """Register a frame, of whatever session, as a temp view of this one."""
    shared = f"alluvium_{uuid.uuid4().hex}"
    frame.createGlobalTempView(shared)
    try:
        session.table(f"global_temp.{shared}").createOrReplaceTempView(quoted(view))
    finally:
        session.catalog.dropGlobalTempView(shared)


def _event(
    key: Column,
    value: Column,
    headers: Column,
    partition: Column,
    offset: Column,
    timestamp: Column,
) -> list[Column]:
    """The system columns from raw parts; key and value are binary."""
    parts = {"_key": key, "_value": value}
    raw = F.filter(
        F.array(
            *(
                F.when(
                    ~F.is_valid_utf8(part.cast("string")),
                    F.struct(F.lit(name).alias("key"), part.alias("value")),
                )
                for name, part in parts.items()
            )
        ).cast(_HEADERS),
        lambda header: header.isNotNull(),
    )
    empty = F.array().cast(_HEADERS)
    headers = F.when(F.size(raw) == 0, headers).otherwise(F.concat(F.coalesce(headers, empty), raw))
    return [
        *(F.make_valid_utf8(part.cast("string")).alias(name) for name, part in parts.items()),
        headers.alias("_headers"),
        partition.alias("_source_partition"),
        offset.cast("bigint").alias("_source_offset"),
        timestamp.cast("timestamp").alias("_source_timestamp"),
    ]


def check_schema(spec: StreamSpec) -> None:
    """Let Spark read the schema before anything else does; a context must be running.

    Raises:
        SpecError: The schema is no list of columns, or lacks the column of corrupt records.
    """
    if spec.schema is not None:
        try:
            columns = StructType.fromDDL(spec.schema)
        except PySparkException as error:
            why = " ".join(str(error).partition("== SQL")[0].split())
            raise SpecError(
                spec.source, [f"schema: {spec.schema!r}; accepted: columns and types ({why})"]
            ) from error
        if not isinstance(columns, StructType):
            raise SpecError(
                spec.source,
                [f"schema: {spec.schema!r}; accepted: columns and types, such as 'id bigint'"],
            )
        nested = [f.name for f in columns if isinstance(f.dataType, _NESTED)]
        if nested and spec.format == "csv":
            raise SpecError(
                spec.source,
                [
                    f"schema: {', '.join(nested)}: a field of csv has no parts; accepted: plain "
                    "types, and `from_json` or `split` in the query"
                ],
            )
        corrupt = spec.options.get(_CORRUPT)
        if isinstance(corrupt, str) and corrupt not in columns.names:
            raise SpecError(
                spec.source,
                [
                    f"options.{_CORRUPT}: {corrupt!r}; accepted: a column of type string in the "
                    f"schema, which has {', '.join(columns.names)}"
                ],
            )


def _parsed(events: DataFrame, feed: Feed, header: str | None = None) -> DataFrame:
    """Events with the columns of a json or csv schema behind them.

    header: the line that names the columns of the events' files, if one does.
    """
    spec = feed.spec
    if spec.schema is None or spec.format not in ("json", "csv"):
        return events
    options = {k: v for k, v in feed.options.items() if k not in (*LISTING_OPTIONS, HEADER)}
    try:
        if header is not None:
            return _parsed_by_name(events, spec.schema, options, header)
        parse = F.from_json if spec.format == "json" else F.from_csv
        parsed = parse(F.col("_value"), spec.schema, options)
        return events.withColumn("_parsed", parsed).select(*events.columns, "_parsed.*")
    except (PySparkException, Py4JJavaError) as error:
        raise SpecError(
            spec.source, [f"schema, options: Spark does not take them: {reason(error)}"]
        ) from error


def _parsed_by_name(
    events: DataFrame, schema: str, options: dict[str, str], header: str
) -> DataFrame:
    """Lines of CSV files with one header, with the schema's columns in the schema's order."""
    session = events.sparkSession
    columns = StructType.fromDDL(schema)
    assert isinstance(columns, StructType)  # check_schema has seen it
    default = session.conf.get("spark.sql.columnNameOfCorruptRecord")
    corrupt = options.get(_CORRUPT, default)
    wanted = [name for name in columns.names if name != corrupt]
    names = _names(session, header, options)
    at = dict(zip(wanted, places(names, wanted), strict=True))
    given = {place: name for name, place in at.items() if place is not None}
    read = StructType()
    for place in range(len(names)):
        if place in given:
            read.add(columns[given[place]])
        else:
            # No name of the schema begins so; what the file has there stays in `_value`.
            read.add(f"__alluvium_{place}", "string")
    if corrupt in columns.names:
        read.add(columns[corrupt])
    parsed = F.from_csv(F.col("_value"), read.toDDL(), options)
    return events.withColumn("_parsed", parsed).select(
        *events.columns,
        *(
            F.col(f"_parsed.{quoted(field.name)}")
            if field.name in read.names
            else F.lit(None).cast(field.dataType).alias(field.name)
            for field in columns
        ),
    )


def _names(session: SparkSession, header: str, options: dict[str, str]) -> list[str | None]:
    """The names in a header, as Spark's own parser splits it, without the blanks around them."""
    jvm: Any = session._jvm
    trim = {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"}
    others = {k: v for k, v in options.items() if k not in trim}
    given = jvm.PythonUtils.toScalaMap({**others, **trim})
    csv = jvm.org.apache.spark.sql.catalyst.csv.CSVOptions(given, False, "UTC")
    parser = jvm.com.univocity.parsers.csv.CsvParser(csv.asParserSettings())
    return list(parser.parseLine(header) or [])


class _Header(NamedTuple):
    """The line that names a file's columns, and its number in the file."""

    line: bytes
    place: int


class FileSource:
    """A folder of files: a line (or a row of parquet or orc) is an event.

    Files are listed by name, time and size. What is chosen of them is read whole, which gives exact
    lines.
    """

    def __init__(self, feed: Feed):
        assert feed.path is not None
        self.feed = feed
        self.path = feed.path

    def exists(self, session: SparkSession) -> bool:
        """Whether there is anything to open: an absent folder is an ordinary case."""
        return Files(session).exists(self.path)

    def landed(self, session: SparkSession) -> list[Landed]:
        """The files with content that lie there; the source must exist."""
        self._check_names(session)
        found = self._list(session).select("name", "path", "size", "time")
        return [Landed(*row) for row in found.collect()]

    def trigger(self, session: SparkSession, some: list[Landed]) -> Trigger:
        """The events of these files."""
        raw = sum(f.size * (8 if f.path.endswith(_COMPRESSED) else 1) for f in some)
        events = self._events(session, sorted(file.path for file in some))
        return Trigger(events, len(some), sum(file.size for file in some), raw)

    def batch(self, session: SparkSession) -> DataFrame:
        if not self.exists(session):
            return no_events(session, self.feed)
        found = self._list(session).select("path").collect()
        return self._events(session, sorted(row.path for row in found))

    def folder(self, files: Files) -> str:
        """The folder that names of files start below: of a glob what is before the wildcard."""
        folder = files.uri_path(self.path)
        for wildcard in "" if files.is_literal(self.path) else "*?[{":
            if wildcard in folder:
                folder = folder[: folder.index(wildcard)].rpartition("/")[0]
        return folder

    def _list(self, session: SparkSession) -> DataFrame:
        # Only names, times and sizes are asked for, of many files in a task.
        scan = session.newSession()
        scan.conf.set("spark.sql.files.maxPartitionBytes", LARGEST)
        scan.conf.set("spark.sql.files.openCostInBytes", "0")
        list_in_few_tasks(scan)
        reader = scan.read.format("binaryFile").option("recursiveFileLookup", "true")
        options = {k: v for k, v in self.feed.options.items() if k in LISTING_OPTIONS}
        return (
            reader.options(**options)
            .load(self._glob(session))
            .select(
                self._name(Files(session), F.col("_metadata.file_path")).alias("name"),
                "path",
                F.col("_metadata.file_size").alias("size"),
                F.unix_millis(F.col("_metadata.file_modification_time")).alias("time"),
            )
        )

    def _check_names(self, session: SparkSession) -> None:
        """Raise for a file whose name Java cannot read: its listings leave such out in silence."""
        jvm: Any = session._jvm
        if re.match(_SCHEME, self.path):
            return
        encoding = jvm.java.lang.System.getProperty("sun.jnu.encoding")
        for folder, _, names in os.walk(os.fsencode(self.path)):
            for name in names:
                try:
                    name.decode(encoding)
                except UnicodeDecodeError as error:
                    if name[:1] in b"._":
                        continue
                    where = os.fsdecode(folder).encode("utf-8", "replace").decode()
                    raise SpecError(
                        self.feed.spec.source,
                        [
                            f"path: {where} has a file named {name!r}, which Java cannot read as "
                            f"{encoding}: rename it, or run with LC_ALL=C.UTF-8"
                        ],
                    ) from error

    def _glob(self, session: SparkSession) -> str:
        """The path as Spark reads it: a folder whose name has a wildcard's characters is itself."""
        if Files(session).is_literal(self.path):
            return re.sub(r"([\\{}\[\]*?])", r"\\\1", self.path)
        return self.path

    def _name(self, files: Files, url: Column) -> Column:
        """A file's path below the source's folder: it stays the same where the folder moves."""
        folder = self.folder(files)
        path = path_of(url)
        below = F.substring(path, F.lit(len(folder) + 2), F.length(path))
        last = F.element_at(F.split(path, "/"), -1)
        return F.when(path.startswith(folder + "/"), below).otherwise(last)

    def _events(self, session: SparkSession, paths: list[str]) -> DataFrame:
        """Events of exactly these files."""
        if not paths:
            return no_events(session, self.feed)
        session = _whole_files(session)
        parts = [
            self._events_of(session, some, header, unchecked)
            for some, unchecked in _by_file_system(paths)
            for header, some in self._by_header(session, some, unchecked)
        ]
        if not parts:
            return no_events(session, self.feed)
        return reduce(DataFrame.unionAll, parts)

    def _by_header(
        self, session: SparkSession, paths: list[str], unchecked: bool
    ) -> Iterator[tuple[_Header | None, list[str]]]:
        """The files by their header, where they have one; files without lines are left out."""
        if not self.feed.header:
            yield None, paths
            return
        lines = self._rows(session, paths, unchecked)
        url = F.col("_metadata.file_path")
        lines = lines.select(path_of(url).alias("path"), _line(), _place().alias("place"))
        records = lines.where(self._is_record(F.col("line").cast("string")))
        first = _first_of_each_partition(records)
        headers = {
            row["path"]: _Header(bytes(row["line"]), row["place"]) for row in first.collect()
        }
        files = defaultdict(list)
        for path in paths:
            if (plain := _path_in(path)) in headers:
                files[headers[plain]].append(path)
        yield from files.items()

    def _is_record(self, line: Column) -> Column:
        """Whether Spark's own reader of CSV would not pass a line over."""
        found = F.trim(line) != ""
        comment = next((v for k, v in self.feed.options.items() if k.lower() == "comment"), "")
        return found & ~line.startswith(comment) if comment else found

    def _rows(self, session: SparkSession, paths: list[str], unchecked: bool) -> DataFrame:
        """Lines or rows of files, one file to a partition."""
        spec = self.feed.spec
        # A name may hold a wildcard's characters.
        reader = session.read.option("__globPaths__", "false").option("recursiveFileLookup", "true")
        if unchecked:
            reader = reader.options(**_UNCHECKED)
        if spec.format in LINE_FORMATS:
            return reader.option("lineSep", "\n").text(paths)
        options = {k: v for k, v in self.feed.options.items() if k not in LISTING_OPTIONS}
        reader = reader.options(**options).format(spec.format)
        # Without a schema the columns of all files, not those of the first one.
        reader = reader.schema(spec.schema) if spec.schema else reader
        return reader.option("mergeSchema", "true").load(paths)

    def _events_of(
        self, session: SparkSession, paths: list[str], header: _Header | None, unchecked: bool
    ) -> DataFrame:
        """Events of files that have one header, or none."""
        rows = self._rows(session, paths, unchecked)
        if self.feed.spec.format in LINE_FORMATS:
            value = _line()
        else:
            columns = [F.col(quoted(name)) for name in rows.columns]
            value = F.to_json(F.struct(*columns), {"ignoreNullFields": "false"}).cast("binary")
        headers = F.lit(None).cast(_HEADERS)
        if header is not None:
            line = F.struct(F.lit(_HEADER_LINE).alias("key"), F.lit(header.line).alias("value"))
            headers = F.array(line).cast(_HEADERS)
        events = rows.select(
            *_event(
                F.lit(None).cast("binary"),
                value,
                headers,
                self._name(Files(session), F.col("_metadata.file_path")),
                _place(),
                F.col("_metadata.file_modification_time"),
            )
        )
        if header is None:
            return _parsed(events, self.feed)
        events = events.where(F.col("_source_offset") > header.place)
        try:
            return _parsed(events, self.feed, header.line.decode("utf-8", "replace"))
        except HeaderError as error:
            names = sorted(_path_in(path).rpartition("/")[2] for path in paths)
            more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
            text = header.line.decode("utf-8", "replace")[:_SHOWN]
            raise SpecError(
                self.feed.spec.source,
                [f"schema: the header of {names[0]}{more} is {text!r}: {error}"],
            ) from error


def _line() -> Column:
    """A line of text as bytes; the carriage return of CRLF ends it as the newline does."""
    line = F.col("value").cast("binary")
    shorter = F.substring(line, F.lit(1), F.octet_length(line) - 1)
    return F.when(F.col("value").endswith("\r"), shorter).otherwise(line).alias("line")


def _by_file_system(paths: list[str]) -> Iterator[tuple[list[str], bool]]:
    """The paths, apart those that a file system with checksums cannot open, told by True.

    Hadoop's local file system asks for a file's checksum under `.<name>.crc`, and takes what is
    before a colon in that name for a scheme.
    """
    strange = [path for path in paths if ":" in path.rpartition("/")[2]]
    usual = [path for path in paths if ":" not in path.rpartition("/")[2]]
    if usual:
        yield usual, False
    if strange:
        yield strange, True


def _place() -> Column:
    """The number of a row in its file, from 0."""
    return F.monotonically_increasing_id().bitwiseAND(F.lit(_ROW_IN_PARTITION))


def _first_of_each_partition(frame: DataFrame) -> DataFrame:
    """The first row of each partition; no more is read."""
    session = frame.sparkSession
    # A limit is one of each partition, and then one of all: the first of the two is what is asked.
    plan: Any = frame.limit(1)._jdf.queryExecution().analyzed().child()
    jvm: Any = session._jvm
    dataset = jvm.org.apache.spark.sql.classic.Dataset
    return DataFrame(dataset.ofRows(session._jsparkSession, plan), session)


def path_of(url: Column) -> Column:
    """The path in a file's URL."""
    decoded = F.url_decode(F.replace(url, F.lit("+"), F.lit("%2B")))
    return F.regexp_replace(decoded, _SCHEME, "")


def lacking(events: DataFrame, table: DataFrame) -> DataFrame:
    """The events whose places a table does not hold."""
    places = table.select(*PLACE)
    return events.join(places, list(PLACE), "left_anti").select(*map(quoted, events.columns))


def _not_at_the_end(starting: str) -> str:
    """Kafka's `startingOffsets`, at the start where they are at the end."""
    if starting.lower() == "latest":
        return "earliest"
    return re.sub(r":\s*-1\b", ": -2", starting)


def _path_in(path: str) -> str:
    """The same of a path as Spark writes it, which is not encoded."""
    return re.sub(_SCHEME, "", path)


class KafkaSource:
    """Kafka topics; the partition is ``<topic>-<number>``, from the earliest event by default."""

    def __init__(self, feed: Feed):
        self.feed = feed

    def stream(self, session: SparkSession, *, again: bool = False) -> DataFrame:
        """The streaming frame whose micro-batches `trigger` turns into events.

        again: from the start once more, of what a table may have read already.
        """
        options = self._options(earliest=again)
        return session.readStream.format("kafka").options(**options).load()

    def trigger(self, batch: DataFrame, known: DataFrame | None) -> Trigger:
        """Events of a micro-batch that ``known`` (a bronze table) lacks."""
        events = self._events(batch)
        if known is not None:
            if self._options() != self._options(earliest=True):
                # The first run began somewhere; what it left out comes before all that is held.
                first = known.groupBy(PLACE[0]).agg(F.min(PLACE[1]).alias("first"))
                events = (
                    events.join(first, PLACE[0], "left")
                    .where(f"first is null or {PLACE[1]} >= first")
                    .select(*events.columns)
                )
            # The offsets of a micro-batch are few of the table's, and prune its files.
            ends = events.agg(F.min(PLACE[1]), F.max(PLACE[1])).collect()[0]
            events = lacking(events, known.where(F.col(PLACE[1]).between(*ends)))
        return Trigger(events, 0, 0, 0)

    def batch(self, session: SparkSession) -> DataFrame:
        return self._read(session)

    def waiting(self, session: SparkSession, checkpoint: str) -> DataFrame | None:
        """Events that no epoch of the checkpoint (Spark's folder) has taken; None if unknown."""
        files = Files(session)
        planned = [int(n) for n in files.names(f"{checkpoint}/offsets") if n.isdigit()]
        start = {}
        if planned:
            text = files.read(f"{checkpoint}/offsets/{max(planned)}") or ""
            start["startingOffsets"] = text.strip().splitlines()[-1]
        elif self._options() != self._options(earliest=True):
            return None
        events = self._read(session, **start)
        try:
            events.isEmpty()
        except (PySparkException, Py4JJavaError) as error:
            # A topic or a partition is new, and a batch must say where to begin in each.
            if "Partitions specified for Kafka start offsets" in str(error):
                return None
            raise
        return events

    def _read(self, session: SparkSession, **start: str) -> DataFrame:
        options = {**self._options(earliest=True), **start}
        options.pop("maxOffsetsPerTrigger", None)
        return self._events(session.read.format("kafka").options(**options).load())

    def _options(self, *, earliest: bool = False) -> dict[str, str]:
        """Of the reader.

        earliest: where it would begin at the end, it begins at the start. A batch cannot begin at
            the end, and a second start there would leave out what came since the first one.
        """
        # A topic that is named is an error where it is absent; one that matches may come later.
        topics = "|".join(re.escape(topic) for topic in self.feed.spec.topics)
        defaults = {"startingOffsets": "earliest"}
        ours = {"subscribePattern": topics, "includeHeaders": "true"}
        options = {**defaults, **self.feed.options, **ours}
        if earliest:
            options["startingOffsets"] = _not_at_the_end(options["startingOffsets"])
        return options

    def _events(self, rows: DataFrame) -> DataFrame:
        partition = F.concat_ws("-", F.col("topic"), F.col("partition").cast("string"))
        return rows.select(
            *_event(
                F.col("key"),
                F.col("value"),
                F.col("headers").cast(_HEADERS),
                partition,
                F.col("offset"),
                F.col("timestamp"),
            )
        )
