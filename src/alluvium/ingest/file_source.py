"""A folder of landed files as a source."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from alluvium.delta.files import paths as files_at
from alluvium.engine import many_files
from alluvium.engine.csv_records import records
from alluvium.engine.files import Files
from alluvium.engine.frames import first_of_each_partition, of_each
from alluvium.engine.row_json import IN_FULL
from alluvium.engine.whole_files import WHOLE_FILES
from alluvium.ingest.events import HEADERS, Trigger, event_columns
from alluvium.ingest.headers import HeaderError
from alluvium.ingest.landing import Landed, before_wildcards
from alluvium.ingest.local_folder import mistake
from alluvium.ingest.naming import SAME
from alluvium.ingest.options import LINE_FORMATS, LISTING_OPTIONS, MULTI_LINE
from alluvium.ingest.own_schemas import own_schemas
from alluvium.ingest.own_schemas import rows as own_schema_rows
from alluvium.ingest.parsing import WHOLE, no_events, with_schema
from alluvium.ingest.spec import Feed, SpecError, StreamError, real
from alluvium.paths import LOCAL, Place, name_of
from alluvium.wording import listed

_COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4", ".deflate")
# Of these Hadoop does not say that they are cut off.
_BLOCKS = (".snappy", ".lz4")
# Of rows that a schema types: its columns.
_TYPED = "typed"
# The raw line that names a file's columns, among the headers of each of its events.
_HEADER_LINE = "_header"
# Hadoop's local file system without checksums, for one scan; others have their own.
_UNCHECKED = {
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
_SHOWN = 200
# A partition id fills the upper bits of monotonically_increasing_id, the row in it the lower 33.
_ROW_IN_PARTITION = (1 << 33) - 1


class _Header(NamedTuple):
    """The line that names a file's columns, and its number in the file."""

    line: bytes
    place: int


# Names that Hadoop takes for patterns or URLs, and those that a JVM without UTF-8 cannot open.
_READ_OTHERWISE = re.compile(r"[^\x20-\x7e]|[][{}*?\\:]").search


class FileSource:
    """A folder of files: a line (or a row of parquet or orc) is an event.

    Files are listed by name, time and size. What is chosen of them is read whole, which gives exact
    lines.
    """

    def __init__(self, feed: Feed):
        assert feed.path is not None
        self.feed = feed
        self.path = feed.path
        # The folder that is read, and how the path has it where links lead to it.
        self._settled = "", ""
        # Where a table's names begin elsewhere; `landed` has the names below the source's folder.
        self.naming = SAME
        # The headers of files that were read, each with one of its files.
        self.headers: dict[str, str] = {}

    def landed(self, session: SparkSession) -> list[Landed] | None:
        """The files that lie there, empty ones too; None where there is nothing to open."""
        files = Files(session)
        self._settle(files)
        start = self._start(files)
        place = Place.of(self.path)
        if place.system == LOCAL and (
            wrong := mistake(place.path, self.folder(files), files.name_encoding)
        ):
            raise SpecError(self.feed.spec.source, [f"path: {wrong}"])
        found = self._list(session, files)
        if found is None:
            return None
        landed = []
        for path, size, time in found:
            plain = Place.of(path).path
            name = plain[len(start) :] if plain.startswith(start) else name_of(plain)
            landed.append(Landed(name, path, size, time))
        return landed

    def trigger(self, session: SparkSession, some: list[Landed]) -> Trigger:
        """The events of these files."""
        raw = sum(f.size * (8 if f.path.endswith(_COMPRESSED) else 1) for f in some)
        events = self._events(session, sorted(file.path for file in some))
        return Trigger(events, len(some), sum(file.size for file in some), raw)

    def batch(self, session: SparkSession) -> DataFrame:
        files = Files(session)
        self._settle(files)
        found = self._list(session, files) or ()
        return self._events(session, sorted(path for path, size, _ in found if size))

    def folder(self, files: Files) -> str:
        """The folder that names of files start below: of a glob what is before the wildcard."""
        path = Place.of(self.path).path
        return path if files.is_literal(self.path) else before_wildcards(path)

    def _settle(self, files: Files) -> None:
        """Read one folder throughout, also where a link on the way to it turns meanwhile."""
        place = Place.of(files.qualified(self.path))
        if place.system != LOCAL or not (folder := self.folder(files)):
            return
        own = real(Place(LOCAL, folder)).path
        if Path(own).is_dir() and not _READ_OTHERWISE(own):
            self._settled = own, folder
            self.path = f"{LOCAL}{own}{place.path.removeprefix(folder)}"

    def as_written(self, path: str) -> str:
        """A path in the folder that is read, with the links that the source's path names."""
        own, folder = self._settled
        return folder + path.removeprefix(own)

    def _list(self, session: SparkSession, files: Files) -> list[tuple[str, int, int]] | None:
        """Path, bytes and time of each file, as Spark would list them for a reader."""
        is_glob, names = files.is_glob(self.path), self.feed.options.get("pathGlobFilter", "")
        return many_files.found_at(session, self.path, is_glob=is_glob, names=names)

    def _start(self, files: Files) -> str:
        """What the paths of files begin with before their names."""
        return f"{self.folder(files).rstrip('/')}/"

    def _name(self, files: Files, path: Column) -> Column:
        """A file's path below the folder where names begin: it stays where that folder moves."""
        start = self._start(files)
        length = F.lit(len(start.encode()) + 1)
        below = F.substring(path.cast("binary"), length, F.octet_length(path)).cast("string")
        name = F.when(path.startswith(start), below).otherwise(F.substring_index(path, "/", -1))
        if self.naming == SAME:
            return name
        renamed = [
            (here, F.concat(F.lit(there), F.substring(name, F.lit(len(here) + 1), F.length(name))))
            for here, there in self.naming
        ]
        chosen = renamed[-1][1]  # its beginning is empty
        for here, other in reversed(renamed[:-1]):
            chosen = F.when(name.startswith(here), other).otherwise(chosen)
        return chosen

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
        lines = self._rows(session, paths, unchecked, has_header=True)
        records = lines.where(self._is_record(F.col("value").cast("string")))
        whole = F.col("whole") if "whole" in lines.columns else F.lit(True)
        raw = F.col("value").cast("binary")
        first = records.select(files_at.path(F.col("url")), raw, "place", whole)
        headers = {}
        for path, line, place, is_whole in first_of_each_partition(first).collect():
            headers[path] = _Header(bytes(line), place)
            if not is_whole:
                why = (
                    "a quote opens in its line and does not close there, or it has more than"
                    " `maxColumns` or `maxCharsPerColumn` says; accepted: a header whose quotes"
                    " close, within those options, or `schema` and `multiLine: true` where it may"
                    " span lines"
                )
                raise self._bad_header(headers[path], [path], why)
            if b"\r" in headers[path].line.rstrip(b"\r"):
                why = (
                    "it holds a CR, at which no line ends here, so it may hold rows too; accepted:"
                    " lines that end in LF or CRLF"
                )
                raise self._bad_header(headers[path], [path], why)
        files = defaultdict(list)
        for path in paths:
            if (plain := Place.of(path).path) in headers:
                files[headers[plain]].append(path)
        for header, some in files.items():
            self.headers[header.line.decode("utf-8", "replace")] = some[0]
        yield from files.items()

    def _is_record(self, line: Column) -> Column:
        """Whether Spark's own reader of CSV would not pass a line over."""
        found = line.rlike("[^\\x00-\\x20]")
        comment = next((v for k, v in self.feed.options.items() if k.lower() == "comment"), "")
        return found & ~line.startswith(comment) if comment else found

    def _rows(
        self, session: SparkSession, paths: list[str], unchecked: bool, *, has_header: bool = False
    ) -> DataFrame:
        """The `value` of lines or rows in bytes, their `place`, and `url` and `time` of their file.

        One file to a partition. Of csv that is parsed, or whose header is, there is `whole` too:
        whether a line is a record.
        """
        spec = self.feed.spec
        # A name may hold a wildcard's characters.
        reader = session.read.option("__globPaths__", "false").option("recursiveFileLookup", "true")
        if unchecked:
            reader = reader.options(**_UNCHECKED)
        if spec.format in LINE_FORMATS:
            _check_blocks(session, paths, _UNCHECKED if unchecked else {})
            lines = _with_places(reader.option("lineSep", "\n").text(paths), F.col("value"))
            if spec.format == "csv" and (has_header or spec.schema is not None):
                given = self.feed.options
                lines = lines.withColumn("value", F.col("value").cast("binary"))
                return records(lines, given, given.get(MULTI_LINE, "").lower() == "true")
            return lines.withColumn("value", _line())
        options = {k: v for k, v in self.feed.options.items() if k not in LISTING_OPTIONS}
        reader = reader.options(**options).format(spec.format)
        files = own_schemas(session, self.feed, paths, _UNCHECKED if unchecked else {})
        found = own_schema_rows(session, reader, self.feed, files)
        return reduce(
            DataFrame.unionAll,
            (
                _with_places(
                    rows,
                    F.to_json(columns, IN_FULL),
                    *([] if spec.schema is None else [columns.alias(_TYPED)]),
                )
                for rows, columns in found
            ),
        )

    def _events_of(
        self, session: SparkSession, paths: list[str], header: _Header | None, unchecked: bool
    ) -> DataFrame:
        """Events of files that have one header, or none."""
        rows = self._rows(session, paths, unchecked)
        headers = F.lit(None).cast(HEADERS)
        if header is not None:
            line = F.struct(F.lit(_HEADER_LINE).alias("key"), F.lit(header.line).alias("value"))
            headers = F.array(line).cast(HEADERS)
        # A column of its own, which Spark then computes once for each line.
        rows = rows.withColumn("path", files_at.path(F.col("url")))
        events = rows.select(
            *event_columns(
                F.lit(None).cast("binary"),
                F.col("value"),
                headers,
                self._name(Files(session), F.col("path")),
                F.col("place"),
                F.timestamp_micros("time"),
            ),
            *([F.col("whole").alias(WHOLE)] if "whole" in rows.columns else []),
            *([F.col(f"{_TYPED}.*")] if _TYPED in rows.columns else []),
        )
        if header is None:
            return with_schema(events, self.feed)
        events = events.where(F.col("_source_offset") > header.place)
        try:
            return with_schema(events, self.feed, header.line.decode("utf-8", "replace"))
        except HeaderError as error:
            raise self._bad_header(header, paths, str(error)) from error

    def _bad_header(self, header: _Header, paths: list[str], why: str) -> SpecError:
        names = sorted(name_of(path) for path in paths)
        text = header.line.decode("utf-8", "replace")[:_SHOWN]
        return SpecError(
            self.feed.spec.source, [f"schema: the header of {listed(names, 1)} is {text!r}: {why}"]
        )


def _check_blocks(session: SparkSession, paths: list[str], conf: Mapping[str, str]) -> None:
    """Raise for a file of which Hadoop would read a part, and say nothing."""
    some = [path for path in paths if path.lower().endswith(_BLOCKS)]
    if not some:
        return
    found = of_each(session, some, "alluvium.BlockFiles", StringType(), conf=conf)
    for path, wrong in found.items():
        if wrong is not None:
            raise StreamError(
                f"{Place.of(path).path} {wrong}. Deliver it whole, or with another compression, "
                "such as zstd, or take it away, and run again"
            )


def _with_places(rows: DataFrame, value: Column, *others: Column) -> DataFrame:
    """The value of each line or row, and where it stands. One file to a partition."""
    # Spark's own, though a column of the files has its name.
    file = rows.metadataColumn("_metadata")
    return rows.select(
        value.alias("value"),
        *others,
        F.monotonically_increasing_id().bitwiseAND(F.lit(_ROW_IN_PARTITION)).alias("place"),
        file["file_path"].alias("url"),
        F.unix_micros(file["file_modification_time"]).alias("time"),
    )


def _line() -> Column:
    """A line; the carriage return of CRLF ends it as the newline does."""
    line = F.col("value")
    # In bytes, for a line may be no UTF-8.
    shorter = F.substring(line.cast("binary"), F.lit(1), F.octet_length(line) - 1)
    return F.when(line.endswith("\r"), shorter.cast("string")).otherwise(line)


def _by_file_system(paths: list[str]) -> Iterator[tuple[list[str], bool]]:
    """The paths, apart those that a file system with checksums cannot open, told by True.

    Hadoop's local file system asks for a file's checksum under `.<name>.crc`, and takes what is
    before a colon in that name for a scheme.
    """
    for is_strange in (False, True):
        if some := [path for path in paths if (":" in name_of(path)) == is_strange]:
            yield some, is_strange


def _whole_files(session: SparkSession) -> SparkSession:
    """A new session whose scans give one partition to each file.

    So the row number in a partition is the row number in the file.
    A scan keeps the settings of the session it was made in, wherever its frame is used.
    """
    scan = session.newSession()
    for name, value in WHOLE_FILES.items():
        scan.conf.set(name, value)
    scan.conf.unset("spark.sql.files.maxPartitionNum")
    # Times in nanoseconds come as numbers, instead of an error.
    scan.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
    # A file is read whole or not at all.
    scan.conf.set("spark.sql.files.ignoreCorruptFiles", "false")
    scan.conf.set("spark.sql.files.ignoreMissingFiles", "false")
    # Or it runs a task for every file when it lists them.
    cores = session.sparkContext.defaultParallelism
    scan.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", str(cores))
    return scan
