"""What the newest version of a table needs of files and vectors, beside what is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DateType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from alluvium.delta import dependents, footers, log, states
from alluvium.delta.log_folder import listed
from alluvium.engine import jvm
from alluvium.engine.files import Files
from alluvium.plan.recovery.findings import UNUSABLE, NeededFile

_DELTA = "org.apache.spark.sql.delta."
_THREADS = 8


class NeededFiles(jvm.SessionCopy):
    """The files of a version of the table in a folder, the newest if not given.

    Attributes:
        root: the folder, with its file system.

    Raises Delta's exceptions where the log does not give it.
    """

    def __init__(self, session: SparkSession, place: str, version: int | None = None) -> None:
        super().__init__(session)
        with self.active():
            forget(session, place)
            self.snapshot = log.snapshot_of(session, dependents.relation(place), version)
            self._log = self.snapshot.deltaLog()
        self.root = log.qualified(self._log)
        self._store = Files(session)
        self._uri = self._store.uri(self.root)

    @property
    def version(self) -> int:
        return int(self.snapshot.version())

    @property
    def count(self) -> int:
        return int(self.snapshot.allFiles().count())

    # Data files --------------------------------------------------------------------------------

    def files(self) -> DataFrame:
        """The data files: `path` (as the log has it), `location` (a URI), `plain` (one spelling of
        it), `bytes`, `rows`."""
        return DataFrame(self.snapshot.allFiles().toDF(), self.session).select(
            "path",
            F.when(dependents.is_absolute(F.col("path")), F.col("path"))
            .otherwise(F.concat(F.lit(dependents.below(self._uri)), F.col("path")))
            .alias("location"),
            self._of_path("path").alias("plain"),
            F.col("size").alias("bytes"),
            F.expr("bigint(get_json_object(stats, '$.numRecords')) as rows"),
        )

    def needed(self) -> DataFrame:
        """Files and vectors of this version, and of those within retention: `plain`."""
        actions = self.snapshot.allFiles()
        columns = list(actions.toDF().columns())
        gone = DataFrame(self.snapshot.tombstones().toDF(), self.session)
        filled = {"modificationTime": "0L", "size": "coalesce(size, 0L)"}
        filled["partitionValues"] = "coalesce(partitionValues, map())"
        whole = gone.selectExpr(
            *(
                f"{filled.get(one, one if one in gone.columns else 'null')} as {one}"
                for one in columns
            )
        )
        removed = states.add_files(self.session, whole, self.snapshot)
        return (
            _with_vectors(self._absolute(actions))
            .union(_with_vectors(self._absolute(removed)))
            .distinct()
        )

    def outside(self) -> list[str]:
        """The folders, as plain URIs, of data files and vectors that lie outside of the table's."""
        own = f"{plain(self.root)}/"
        rows = (
            _with_vectors(self._absolute(self.snapshot.allFiles()))
            .where(~F.startswith(F.col("plain"), F.lit(own)))
            .selectExpr("regexp_replace(plain, '/[^/]*$', '') as folder")
            .distinct()
            .collect()
        )
        return sorted(row.folder for row in rows)

    def orphans(self, dependents: Iterable[NeededFiles]) -> tuple[int, int]:
        """Number and bytes of the files in the folder that neither this table needs nor others."""
        needed = self.needed()
        for one in dependents:
            needed = needed.union(one.needed())
        row = (
            listed(self.session, self.root)
            .select(states.plain(F.col("path")).alias("plain"), "length")
            .join(needed, "plain", "left_anti")
            .agg(F.count("*").alias("files"), F.coalesce(F.sum("length"), F.lit(0)).alias("bytes"))
            .collect()[0]
        )
        return int(row.files), int(row.bytes)

    def there(self) -> DataFrame:
        """What is there of the folders that the table's files lie in: `plain` and `length`."""
        outside = filter(self._store.is_there, self.outside())
        roots = {dependents.root_of(self._store, one) or one for one in outside}
        return listed(self.session, self.root, *sorted(roots)).select(
            states.plain(F.col("path")).alias("plain"), "length"
        )

    def damaged(self) -> list[NeededFile]:
        """Those data files that are gone, do not open, or are not what the log says."""
        found = self.files().join(self.there().distinct(), "plain", "left").collect()
        there = [(row.location, row.length) for row in found if row.length is not None]
        rows = footers.rows_of(self.session, there)
        every = (
            NeededFile(row.path, row.bytes, row.rows, row.length, rows.get(row.location))
            for row in found
        )
        return [one for one in every if one.damage is not None]

    def unusable(self) -> set[str]:
        """The data files that cannot be read, or not without their vectors, as the log has them."""
        files = {one.path for one in self.damaged() if one.damage in UNUSABLE}
        return files | {path for path, _, _ in self.vectors()}

    # Vectors -----------------------------------------------------------------------------------

    def vectors(self) -> Iterator[tuple[str, str, str]]:
        """Deletion vectors that cannot be used: the data file, the vector's file, and why."""
        chosen = self._functions.expr("deletionVector is not null")
        with self.active():
            files = list(self.snapshot.allFiles().filter(chosen).collectAsList())
        bitmaps = self._object(_DELTA + "deletionvectors.StoredBitmap$")
        store = self._jvm.org.apache.spark.sql.delta.storage.dv.HadoopFileSystemDVStore(
            self._log.newDeltaHadoopConf()
        )
        place = self._log.dataPath()

        def why(file: Any) -> tuple[str, str, str] | None:
            vector = file.deletionVector()
            path = name = str(file.path())
            try:
                if vector.isOnDisk():
                    name = str(vector.absolutePath(place))
                    if not self._store.is_there(name):
                        return path, name, "missing"
                found = int(bitmaps.create(vector, place).load(store).cardinality())
            except (Py4JJavaError, PySparkException):
                return path, name, "not readable"
            if found != int(vector.cardinality()):
                hides = f"it hides {found:,} rows, and the log says {vector.cardinality():,}"
                return path, name, hides
            return None

        with ThreadPoolExecutor(_THREADS) as threads:
            yield from (one for one in threads.map(why, files) if one is not None)

    # Statistics --------------------------------------------------------------------------------

    def wrong_bounds(self, sample: int | None) -> tuple[list[tuple[str, str]], int]:
        """Files and columns whose statistics leave out values that readers see; files looked at.

        Reads the rows of `sample` files, or of all.
        """
        table = dependents.relation(self.root)
        schema = log.schema_of(self.snapshot)
        bounded = set(log.bounded_columns(self.session, table))
        fields = [one for one in schema.fields if one.name in bounded and _is_plain(one)]
        files = list(self._sampled(sample))
        if not fields or not files:
            return [], len(files)
        rows = log.row_counts(self.session, self.snapshot)
        selected = [self._functions.expr("path as __path"), rows.alias("__rows")]
        for place, field in enumerate(fields):
            known = log.statistics(self.session, self.snapshot, field, rows)
            selected += [value.alias(f"__{name}{place}") for name, value in known.items()]
        with self.active():
            stats = DataFrame(self.snapshot.withStats().select(self._seq(selected)), self.session)
            scan = self._log.createDataFrame(self.snapshot, self._seq(files), False, self._none)
        stats = stats.withColumn("__plain", self._of_path("__path"))
        values = (
            DataFrame(scan, self.session)
            .select("*", F.col("_metadata.file_path").alias("__file"))
            .groupBy("__file")
            .agg(
                F.count("*").alias("__seen"),
                *(
                    function(F.col(f"`{field.name.replace('`', '``')}`")).alias(f"__{name}{place}")
                    for place, field in enumerate(fields)
                    for name, function in (("least", F.min), ("most", F.max), ("count", F.count))
                ),
            )
            .withColumn("__plain", states.plain(dependents.decoded(F.col("__file"))))
        )
        both = values.join(stats, "__plain")
        wrong = F.array_compact(
            F.array(
                *(
                    F.when(F.expr(_LEAVES_OUT.format(place)), F.lit(field.name))
                    for place, field in enumerate(fields)
                )
            )
        )
        found = both.select("__plain", F.explode(wrong).alias("column")).collect()
        return [(row["__plain"], row["column"]) for row in found], len(files)

    def _sampled(self, sample: int | None) -> Iterable[Any]:
        """The data files, or some of them, the same ones each time."""
        files = self.snapshot.allFiles()
        with self.active():
            if sample is not None:
                order = self._functions.expr("xxhash64(path)")
                files = files.orderBy(self._seq([order])).limit(sample)
            return list(files.collectAsList())

    # Paths -------------------------------------------------------------------------------------

    def _absolute(self, actions: Any) -> DataFrame:
        return states.absolute_files(self.session, self.root, actions)

    def _of_path(self, column: str) -> Column:
        """The plain URI of a data file's path in the log."""
        decoded = dependents.decoded(F.col(column))
        is_absolute = dependents.is_absolute(F.col(column))
        inside = F.concat(F.lit(dependents.below(self.root)), decoded)
        whole = F.when(is_absolute, decoded).otherwise(inside)
        return F.regexp_replace(whole, "^(file:)?/+", "file:/")


# Of column {0}: a value that a reader who trusts the bounds does not find. A NaN is above all
# numbers, and in no bound.
_LEAVES_OUT = (
    "(__least{0} < __lo{0}) or (__most{0} > __hi{0} and string(__most{0}) <> 'NaN')"
    " or (__nulls{0} = 0 and __count{0} < __seen)"
    " or (__nulls{0} = __rows and __count{0} > 0)"
)


def _is_plain(field: Any) -> bool:
    """Whether the bounds of a column are those of its values as SQL compares them."""
    kind = field.dataType
    if isinstance(kind, StringType):
        return bool(kind == StringType())  # and not one with a collation
    return isinstance(kind, (NumericType, DateType, TimestampType, TimestampNTZType))


def _with_vectors(files: DataFrame) -> DataFrame:
    """The plain URIs of files with absolute paths, and of their vectors."""
    paths = dependents.with_vectors(files)
    return paths.select(states.plain(dependents.decoded(F.col("path"))).alias("plain"))


def plain(uri: str) -> str:
    """One spelling of `/a`, `file:/a` and `file:///a`, without what a URI escapes."""
    if uri.startswith(("file:", "/")):
        return "file:/" + uri.removeprefix("file:").lstrip("/")
    return uri


def forget(session: SparkSession, place: str) -> None:
    """Let Delta look at a table's log as it is now, not as it was kept."""
    java: Any = jvm.of(session)
    java.org.apache.spark.sql.delta.DeltaLog.invalidateCache(
        session._jsparkSession, java.org.apache.hadoop.fs.Path(place)
    )
