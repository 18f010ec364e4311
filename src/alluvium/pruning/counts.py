"""Counts by columns: files of one value are counted from the log, the others are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    VariantType,
)

from alluvium import marks
from alluvium.delta.internals import IMPLICITS
from alluvium.delta.log import log, states
from alluvium.engine import jvm
from alluvium.engine.internals import TREE_PATTERN
from alluvium.names import quoted
from alluvium.plan.automata import Index
from alluvium.plan.versions.properties import PHYSICAL

_VIEW = "alluvium_counts_"
# Of these Delta keeps no number of NULLs that is one number, or nobody groups by them.
_NESTED = (StructType, ArrayType, MapType, VariantType)
# Names of the log's columns beside those of the table.
_PATH, _N, _IS_TOLD = "__alluvium_path", "__alluvium_n", "__alluvium_is_told"
_ENDS = {"min": F.min, "max": F.max}
# Places of files that Delta has picked, and those that our rule made of them.
_PREPARED = ("PreparedDeltaFileIndex", "PrunedFileIndex")
# Delta cuts longer texts.
_WHOLE_TEXT = 32
# What stands in the log for bytes that are not UTF-8, whichever they are.
_NOT_UTF8 = "\ufffd"
_DIGITS = 15
# The Gregorian calendar begins: earlier days may be stored as those of another one.
_FIRST_DAY = "date'1582-10-15'"


@dataclass(frozen=True)
class Counts:
    """Rows and bounds by columns, of one version of a table.

    Attributes:
        view: a temporary view of them, of the session that asked.
        version: of the table.
        files: of the table.
        told: of these, those that the log tells all of.
        read: those that the view reads.
    """

    view: str
    version: int
    files: int
    told: int
    read: int


def count_by(
    session: SparkSession,
    table: str,
    by: Sequence[str],
    where: str | None = None,
    min_max: Sequence[str] = (),
) -> Counts | None:
    """Rows by columns, with the least and the greatest values of others, mostly from the log.

    The view has the columns `by`, `row_count`, and `min_…` and `max_…` for each of `min_max`. Its
    rows are those of the query with GROUP BY at this version.

    Args:
        table: name of a Delta table.
        where: a condition, as SQL.

    Returns:
        None where the plain query is as good or has to tell what is wrong. So it is where the log
        tells nothing of any file, or there is a mistake. Or the condition may change from one
        statement to the next.
    """
    try:
        return _counts(session, table, by, where, min_max)
    except AnalysisException:
        return None


def _counts(
    session: SparkSession, table: str, by: Sequence[str], where: str | None, min_max: Sequence[str]
) -> Counts | None:
    snapshot = log.snapshot_of(session, table)
    version = int(snapshot.version())
    fields = {field.name.lower(): field for field in log.schema_of(snapshot)}
    picked = None
    asked = {name.lower() for name in by}
    if where is not None:
        rows = session.sql(f"select * from {table} version as of {version}").where(where)
        columns = _columns_of(session, rows)
        if columns is None:
            return None
        asked |= columns
        picked = _picked(session, rows)
    if not asked | {name.lower() for name in min_max} <= fields.keys():
        return None
    files = _Files(session, snapshot, [fields[name] for name in sorted(asked)])
    told, untold = files.told([fields[name.lower()] for name in min_max])
    number = int(snapshot.numOfFiles())
    if len(untold) >= number:
        return None
    read = untold if picked is None else [path for path in untold if path in picked]
    if where is not None:
        told = told.where(where)
    frame = _of_told(told, by, min_max)
    if read:
        scan = _scan(session, snapshot, read)
        frame = frame.unionAll(_of_rows(scan if where is None else scan.where(where), by, min_max))
    view = _VIEW + _digest(snapshot.metadata().id(), version, by, where, min_max)
    _grouped(frame, frame.columns[: len(by)], "row_count").createOrReplaceTempView(view)
    return Counts(view, version, number, number - len(untold), len(read))


def _of_told(told: DataFrame, by: Sequence[str], min_max: Sequence[str]) -> DataFrame:
    """What the log tells, with the columns of the view: see `count_by`."""
    ends = [
        F.col(f"__alluvium_{end}{place}").alias(f"{end}_{name}")
        for place, name in enumerate(min_max)
        for end in _ENDS
    ]
    return told.select(*_keys(by), F.col(_N).alias("row_count"), *ends)


def _of_rows(rows: DataFrame, by: Sequence[str], min_max: Sequence[str]) -> DataFrame:
    """The same of rows that are read."""
    ends = [
        function(quoted(name)).alias(f"{end}_{name}")
        for name in min_max
        for end, function in _ENDS.items()
    ]
    return rows.groupBy(*_keys(by)).agg(F.count("*").alias("row_count"), *ends)


def _keys(by: Sequence[str]) -> list[Column]:
    return [F.col(quoted(name)).alias(name) for name in by]


def _grouped(frame: DataFrame, by: Sequence[str], count: str) -> DataFrame:
    """One row for each group, with the sum of a count, and the ends of what the others bound.

    What is behind the count is a pair of columns for each bound: its least, its greatest value.
    """
    ends = [
        function(quoted(name)).alias(name)
        for place, name in enumerate(frame.columns[len(by) + 1 :])
        for function in [F.max if place % 2 else F.min]
    ]
    return frame.groupBy(*_keys(by)).agg(F.sum(count).alias(count), *ends)


class _Files:
    """What the log says of the files of a version, a row each.

    columns: fields of which a file must have one value for all of its rows.
    """

    def __init__(self, session: SparkSession, snapshot: Any, columns: Sequence[StructField]):
        self._session, self._snapshot, self._columns = session, snapshot, columns
        self._partitions = set(snapshot.metadata().partitionSchema().fieldNames())
        self._rows = log.row_counts(session, snapshot)
        functions = jvm.functions(session)
        nothing = jvm.scala_seq(session, [])
        tight = snapshot.getStatsColumnOrNullLiteral("tightBounds", nothing)
        self._selected = [
            functions.expr(f"path as {_PATH}"),
            self._rows.alias("__rows"),
            functions.expr("coalesce(deletionVector.cardinality, 0) as __gone"),
            functions.expr("deletionVector is null as __whole"),
            functions.expr(f"tags['{marks.AUTOMATA_TAG}'] as __tag"),
            functions.coalesce(jvm.scala_seq(session, [tight, functions.lit(True)])).alias("__t"),
        ]

    def told(self, min_max: Sequence[StructField]) -> tuple[DataFrame, list[str]]:
        """Rows that stand for the files that are told of, and the paths of the others.

        min_max: fields whose bounds are to be known too.
        """
        keys, ends, is_told = [], [], F.expr("__rows >= __gone")
        for place, field in enumerate(self._columns):
            value, _, is_one, _ = self._known(f"c{place}", field)
            keys.append(value.alias(field.name))
            is_told &= is_one
        for place, field in enumerate(min_max):
            lo, hi, is_one, is_bounded = self._known(f"m{place}", field)
            ends += [lo.alias(f"__alluvium_min{place}"), hi.alias(f"__alluvium_max{place}")]
            is_told &= is_one | is_bounded
        files = DataFrame(
            self._snapshot.withStats().select(jvm.scala_seq(self._session, self._selected)),
            self._session,
        ).select(
            *keys,
            F.expr("__rows - __gone").alias(_N),
            *ends,
            F.coalesce(is_told, F.lit(False)).alias(_IS_TOLD),
            _PATH,
        )
        untold = files.where(~F.col(_IS_TOLD)).select(_PATH).toArrow()[_PATH].to_pylist()
        found = files.where(F.col(_IS_TOLD) & (F.col(_N) > 0)).drop(_PATH, _IS_TOLD)
        return _kept(_grouped(found, found.columns[: len(keys)], _N)), untold

    def _known(self, prefix: str, field: StructField) -> tuple[Column, Column, Column, Column]:
        """Of a field, bounds, whether all rows have one value, and whether live ones have both."""
        kind = field.dataType.simpleString()
        nothing = F.lit(None).cast(field.dataType)
        if isinstance(field.dataType, _NESTED):
            return nothing, nothing, F.lit(False), F.lit(False)
        if field.name in self._partitions:
            known = log.from_partition(self._session, self._snapshot, field, self._rows)
            is_exact = _is_exact_partition(field, kind)
        else:
            known = log.statistics(self._session, self._snapshot, field, self._rows)
            is_exact = _is_exact(prefix, field, kind)
        self._selected += [one.alias(f"{prefix}{name}") for name, one in known.items()]
        lo, hi, nulls = (F.col(f"{prefix}{name}") for name in ("lo", "hi", "nulls"))
        if kind == "boolean" and field.name not in self._partitions:
            lo = hi = _tagged(field)
        empty = nulls == F.col("__rows")
        is_one = empty | ((nulls == 0) & (lo == hi) & is_exact)
        # A row that a vector hides may be the one that has the bound.
        is_whole = F.col("__whole") & F.col("__t")
        is_bounded = is_whole & lo.isNotNull() & hi.isNotNull() & is_exact & (kind != "string")
        lo, hi = (F.when(empty, nothing).otherwise(one) for one in (lo, hi))
        return lo, hi, F.coalesce(is_one, F.lit(False)), F.coalesce(is_bounded, F.lit(False))


def _is_exact_number(kind: str) -> bool:
    return kind in ("tinyint", "smallint", "int", "bigint") or kind.startswith("decimal(")


def _is_exact(prefix: str, field: StructField, kind: str) -> Column:
    """Whether the bounds of a column are values that it has, as the log states them."""
    if kind == "string" and log.BOUNDED_TEXT not in field.metadata:
        lo = F.col(f"{prefix}lo")
        return (F.length(lo) < _WHOLE_TEXT) & ~lo.contains(_NOT_UTF8)
    if kind == "date":
        return F.col(f"{prefix}lo") >= F.expr(_FIRST_DAY)
    if isinstance(field.dataType, DecimalType):
        # Some writers keep doubles of them, which have so many digits.
        least = 10.0 ** (_DIGITS - field.dataType.scale)
        return (F.abs(F.col(f"{prefix}lo")) < least) & (F.abs(F.col(f"{prefix}hi")) < least)
    # Times are cut to milliseconds; fractions have a NaN and two zeros.
    return F.lit(kind == "boolean" or _is_exact_number(kind))


def _tagged(field: StructField) -> Column:
    """The one value that a column of booleans has by the file's tag: Delta keeps no bounds."""
    tag = F.from_json("__tag", "map<string, string>")
    found = F.try_element_at(tag, F.lit(field.metadata.get(PHYSICAL, field.name)))
    both = [Index(False, True, type="boolean", held=((one, one),)).to_tag() for one in (0, 1)]
    return F.when(found == both[0], F.lit(False)).when(found == both[1], F.lit(True))


def _is_exact_partition(field: StructField, kind: str) -> Column:
    if kind == "string":
        return F.lit(log.BOUNDED_TEXT not in field.metadata)
    others = ("date", "boolean", "timestamp", "timestamp_ntz")
    return F.lit(kind in others or _is_exact_number(kind))


def _columns_of(session: SparkSession, rows: DataFrame) -> set[str] | None:
    """The columns of a frame's condition; None where it may be another one in a moment."""
    plan = rows._jdf.queryExecution().analyzed()
    if plan.nodeName() != "Filter" or not plan.subqueriesAll().isEmpty():
        return None
    condition = plan.condition()
    patterns = jvm.internal(session, TREE_PATTERN)
    if not condition.deterministic() or condition.containsPattern(patterns.CURRENT_LIKE()):
        return None
    return {one.name().lower() for one in jvm.items(condition.references().toSeq())}


def _picked(session: SparkSession, rows: DataFrame) -> set[str] | None:
    """Paths of the files that Spark reads for a frame; None where it is not seen."""
    leaves = rows._jdf.queryExecution().optimizedPlan().collectLeaves()
    if leaves.size() != 1 or leaves.head().nodeName() != "LogicalRelation":
        return None
    location = leaves.head().relation().location()
    if str(location.getClass().getSimpleName()) not in _PREPARED:
        return None
    files = location.preparedScan().files()
    encoder = jvm.internal(session, IMPLICITS)
    actions = session._jsparkSession.createDataset(files, encoder.addFileEncoder())
    return set(DataFrame(actions.toDF(), session).select("path").toArrow()["path"].to_pylist())


def _scan(session: SparkSession, snapshot: Any, paths: Sequence[str]) -> DataFrame:
    """The rows of some files of a version."""
    files = states.only(DataFrame(snapshot.allFiles().toDF(), session), "path", paths)
    actions = states.add_files(session, files, snapshot).collectAsList()
    return states.rows_of(session, snapshot, actions)


def _kept(frame: DataFrame) -> DataFrame:
    """The rows that a frame has now."""
    found, session = frame._jdf, frame.sparkSession
    rows = session._jsparkSession.createDataFrame(found.collectAsList(), found.schema())
    return DataFrame(rows, session)


def _digest(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()[:16]
