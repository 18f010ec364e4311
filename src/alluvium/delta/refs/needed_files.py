"""What the newest version of a table needs of files and vectors, beside what is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DateType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from alluvium.delta.files import footers, paths
from alluvium.delta.handles import DeltaFile
from alluvium.delta.internals import DELTA_LOG, STORED_BITMAP, VECTOR_STORE
from alluvium.delta.log import log
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.refs import dependents, named_files
from alluvium.engine import jvm, many_files
from alluvium.engine.files import Files
from alluvium.paths import Place, folder_of
from alluvium.plan.recovery.findings import UNUSABLE, NeededFile

_THREADS = 8


class NeededFiles:
    """The files of a version of the table in a folder, the newest if not given.

    Attributes:
        root: the folder, with its file system.

    Raises Delta's exceptions where the log does not give it.
    """

    def __init__(self, session: SparkSession, place: str, version: int | None = None) -> None:
        self._copy = jvm.SessionCopy(session)
        with self._copy.active():
            forget(session, place)
            self.snapshot = TableSnapshot.of(session, dependents.relation(place), version)
        self._delta = self.snapshot.delta
        self._log = self._delta.deltaLog()
        self.root = self.snapshot.folder
        self._store = Files(session)

    @property
    def version(self) -> int:
        return self.snapshot.version

    @property
    def count(self) -> int:
        return int(self._live.num_rows)

    @property
    def in_log(self) -> int:
        """Number of deletion vectors that stand in the log, of removed files too."""
        return int(pc.sum(self._named["is_inline"]).as_py() or 0)

    # Data files --------------------------------------------------------------------------------

    @cached_property
    def _named(self) -> pa.Table:
        """As `named_files.named`."""
        with self._copy.active():
            return named_files.named(self.snapshot)

    @cached_property
    def _live(self) -> pa.Table:
        return self._named.filter(self._named["is_live"])

    @cached_property
    def _there(self) -> pa.Table:
        """What is there in the folder: `plain` and `bytes`."""
        return self._listed(self.root)

    def _listed(self, folder: str) -> pa.Table:
        found = many_files.listed(self._copy.session, folder)
        return found.rename_columns(["plain", "length", "modified"])

    def needed(self) -> pa.ChunkedArray:
        """Files and vectors of this version, and of those within retention, as `plain`.

        Those too that a later merge reads, where the table is one of a branch.
        """
        with self._copy.active():
            merged = named_files.for_merges(self.snapshot)
        return named_files.joined([named_files.needed_of(self._named), merged])

    def outside(self) -> list[str]:
        """The folders of data files and vectors that lie outside of the table's."""
        files = named_files.needed_of(self._live)
        away = files.filter(pc.invert(pc.starts_with(files, Place.of(self.root).below)))
        return sorted({folder_of(file) for file in away.to_pylist()})

    def orphans(self, dependents: Iterable[NeededFiles]) -> tuple[int, int]:
        """Number and bytes of the files in the folder that neither this table needs nor others."""
        needed = [chunk for one in (self, *dependents) for chunk in one.needed().chunks]
        is_needed = pc.is_in(self._there["plain"], pa.chunked_array(needed, pa.string()))
        left = self._there.filter(pc.invert(is_needed))["length"]
        return len(left), int(pc.sum(left).as_py() or 0)

    def damaged(self) -> list[NeededFile]:
        """Those data files that are gone, do not open, or are not what the log says."""
        outside = filter(self._store.is_there, self.outside())
        roots = {dependents.root_of(self._store, one) or one for one in outside}
        there = pa.concat_tables([self._there, *map(self._listed, sorted(roots))])
        places = ("path", "location", "plain", "bytes", "rows")
        # A folder may lie in another one of them.
        found = self._live.select(places).join(
            there.group_by("plain").aggregate([("length", "max")]), "plain"
        )
        files = found.rename_columns({"length_max": "length"}).to_pylist()
        rows = footers.rows_of(
            self._copy.session,
            [(one["location"], one["length"]) for one in files if one["length"] is not None],
        )
        every = (
            NeededFile(
                one["path"], one["bytes"], one["rows"], one["length"], rows.get(one["location"])
            )
            for one in files
        )
        return [one for one in every if one.damage is not None]

    def unusable(self) -> set[str]:
        """The data files that cannot be read, or not without their vectors, as the log has them."""
        files = {one.path for one in self.damaged() if one.damage in UNUSABLE}
        return files | {path for path, _, _ in self.vectors()}

    # Vectors -----------------------------------------------------------------------------------

    def vectors(self) -> Iterator[tuple[str, str, str]]:
        """Deletion vectors that cannot be used: the data file, the vector's file, and why."""
        if not (self._live["vector"].null_count < self.count or self.in_log):
            return
        chosen = self._copy.functions.expr("deletionVector is not null")
        with self._copy.active():
            files = list(self._delta.allFiles().filter(chosen).collectAsList())
        bitmaps = self._copy.internal(STORED_BITMAP)
        store = self._copy.internal(VECTOR_STORE).createInstance(self._log.newDeltaHadoopConf())
        place = self._log.dataPath()

        def why(file: DeltaFile) -> tuple[str, str, str] | None:
            vector = file.deletionVector()
            assert vector is not None
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
        schema = self.snapshot.schema
        bounded = set(log.bounded_columns(self._copy.session, table))
        fields = [one for one in schema.fields if one.name in bounded and _is_plain(one)]
        files = list(self._sampled(sample))
        if not fields or not files:
            return [], len(files)

        def small(frame: DataFrame) -> DataFrame:
            # Spark does not know how small a sample is.
            return frame if sample is None else F.broadcast(frame)

        rows = log.row_counts(self._copy.session, self._delta)
        selected = [self._copy.functions.expr("path as __path"), rows.alias("__rows")]
        for place, field in enumerate(fields):
            known = log.statistics(self._copy.session, self._delta, field, rows)
            selected += [value.alias(f"__{name}{place}") for name, value in known.items()]
        with self._copy.active():
            stats = DataFrame(
                self._delta.withStats().select(self._copy.seq(selected)), self._copy.session
            )
            scan = self._log.createDataFrame(
                self._delta, self._copy.seq(files), False, self._copy.none
            )
        live = self._live.select(["path", "plain"])
        if sample is not None:
            chosen = pa.array([str(one.path()) for one in files])
            live = live.filter(pc.is_in(live["path"], chosen))
        places = self._copy.session.createDataFrame(live)
        stats = stats.join(small(places), F.col("__path") == F.col("path"))
        values = (
            DataFrame(scan, self._copy.session)
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
            .withColumn("plain", paths.plain(F.col("__file")))
        )
        both = values.join(small(stats), "plain")
        wrong = F.array_compact(
            F.array(
                *(
                    F.when(F.expr(_LEAVES_OUT.format(place)), F.lit(field.name))
                    for place, field in enumerate(fields)
                )
            )
        )
        found = both.select("plain", F.explode(wrong).alias("column")).collect()
        return [(row["plain"], row["column"]) for row in found], len(files)

    def _sampled(self, sample: int | None) -> Iterable[Any]:
        """The data files, or some of them, the same ones each time."""
        files = self._delta.allFiles()
        with self._copy.active():
            if sample is not None:
                order = self._copy.functions.expr("xxhash64(path)")
                files = files.orderBy(self._copy.seq([order])).limit(sample)
            return list(files.collectAsList())


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


def forget(session: SparkSession, place: str) -> None:
    """Let Delta look at a table's log as it is now, not as it was kept."""
    path = jvm.of(session).org.apache.hadoop.fs.Path(place)
    jvm.internal(session, DELTA_LOG).invalidateCache(session._jsparkSession, path)
