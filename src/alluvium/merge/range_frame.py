"""Ranges of a Spark DataFrame, for dbt Python models."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium import plan
from alluvium.merge.range_values import ranges_of_values
from alluvium.names import quoted
from alluvium.plan.fragment import Fragments
from alluvium.plan.ranges.cells import Cells
from alluvium.plan.ranges.column_type import parse_type
from alluvium.plan.ranges.cover import worth_a_look
from alluvium.plan.ranges.errors import RangeError, UnfitError
from alluvium.plan.ranges.intervals import Ranges, one_each
from alluvium.plan.ranges.literal import canonical_texts
from alluvium.plan.ranges.locate import check_same_type
from alluvium.plan.ranges.plan import (
    DEFAULT_SAMPLE_ROWS,
    ON_FRAGMENTS,
    Plan,
    Request,
    cover_runs,
    kept_by,
)
from alluvium.plan.ranges.points import make_points
from alluvium.plan.ranges.predicate import Group
from alluvium.plan.ranges.row import RangeRow

SCHEMA = (
    "column_name string, column_type string, method string, range_no int, lo string, hi string, "
    "row_count bigint, seconds double, requested string, files_kept bigint, files_total bigint, "
    "bytes_kept bigint, bytes_total bigint, table_version bigint"
)
_NAMES = [column.split()[0] for column in SCHEMA.split(", ")]
# So many rows come to the driver as they are for every distinct value that may. Ungrouped they are
# read several times faster, and `cover` needs nothing but their order.
_ROWS_PER_VALUE = 40
# What executors run brings its code along: they need not have this package.
# PySpark's copy of cloudpickle has no types.
cloudpickle.register_pickle_by_value(plan)  # type: ignore[no-untyped-call]


def plan_frame(df: DataFrame, column: str, request: Request) -> DataFrame:
    """Plan ranges over one column of a batch.

    Bounds and row counts are exact over all rows. The batch is computed once: its column is kept in
    Spark's memory or on its disk meanwhile. At most `sample_rows` distinct values come to the
    driver at a time. If there are more, `gaps` and `kmeans` choose their cuts by a sample of the
    distinct values, which depends on the values alone. A second pass fetches the values in the
    sample's gaps at those cuts. Very many values need a few more passes. A last one takes min, max
    and rows of each range. `cover` and `auto` read all values of up to 40 times `sample_rows` rows.
    Of larger batches Spark's Python workers sort every value in among the files' bounds. They need
    NumPy and PyArrow, and not this package. The driver gets a row per bound at most: the ranges are
    the best ones whatever the size. `auto` does not look at the batch at all where the whole table
    is read in less time than that takes.

    Args:
        df: the batch.
        column: a top-level column of it; upper and lower case as Spark has it set.
        request: its `fragments` are those of `alluvium.delta.log.log.fragments`.

    Returns:
        One row per range as docs/ranges.md describes. No row for `none`, for an empty batch and
        for a column without values; but where `auto` takes no ranges, one row without bounds.

    Raises:
        RangeError: the column or its type is not accepted, or a string is not UTF-8.
    """
    return as_frame(df.sparkSession, plan_rows(df, column, request))


def as_frame(session: SparkSession, rows: Sequence[RangeRow]) -> DataFrame:
    return session.createDataFrame([tuple(map(row.get, _NAMES)) for row in rows], SCHEMA)


def plan_rows(df: DataFrame, column: str, request: Request) -> list[RangeRow]:
    """What `plan_frame` returns, as rows: for callers in the driver."""
    started = time.perf_counter()
    method, fragments = request.method, request.fragments
    name, spark_type = _find_column(df, column)
    with _valid_strings(name):
        batch = df.select(_values(name, spark_type).alias("value"))
        if method in ON_FRAGMENTS and fragments is not None:
            found = _plan_on(batch, spark_type, fragments, request)
        else:
            ranges = ranges_of_values(batch, spark_type, request)
            kept = (
                None if fragments is None else kept_by(method, ranges, fragments, request.or_null)
            )
            found = Plan(method, ranges, kept, 0.0)
    seconds = time.perf_counter() - started
    version = None if fragments is None else fragments.version
    kept = found.kept
    return [
        RangeRow(
            column_name=name,
            column_type=spark_type,
            method=found.method,
            range_no=number,
            lo=lo,
            hi=hi,
            row_count=row_count,
            seconds=seconds,
            requested=method,
            files_kept=kept.files if kept else None,
            files_total=kept.files_total if kept else None,
            bytes_kept=kept.bytes if kept else None,
            bytes_total=kept.bytes_total if kept else None,
            table_version=version,
        )
        for number, (lo, hi, row_count) in enumerate(_bounds(found, method))
    ]


def group_frame(
    df: DataFrame,
    columns: Sequence[str],
    keys: Collection[str],
    fragments: Mapping[str, Fragments],
    sample_rows: int = DEFAULT_SAMPLE_ROWS,
) -> list[Group]:
    """The groups of a batch for `alluvium.ranges.plan_predicate`.

    Args:
        df: the batch; computed once.
        columns: top-level columns of it to prune on.
        keys: those of them that belong to the key.
        fragments: the table's files, by the names in `columns`.
        sample_rows: see `plan_frame`.

    Raises:
        RangeError: a column or its type is not accepted.
    """
    found = {column: _find_column(df, column) for column in columns}
    values = [_values(*found[column]).alias(str(place)) for place, column in enumerate(columns)]
    batch = df.select(values).persist()
    try:
        with _valid_strings(", ".join(columns)):
            return _groups(batch, {c: found[c][1] for c in columns}, keys, fragments, sample_rows)
    finally:
        batch.unpersist()


def _groups(
    batch: DataFrame,
    types: Mapping[str, str],
    keys: Collection[str],
    fragments: Mapping[str, Fragments],
    sample_rows: int,
) -> list[Group]:
    lacks = [F.col(str(place)).isNull() for place in range(len(types))]
    patterns = batch.select([one.alias(str(place)) for place, one in enumerate(lacks)]).distinct()
    groups = []
    for pattern in sorted(patterns.collect()):
        rows = batch
        for one, lack in zip(lacks, pattern, strict=True):
            rows = rows.where(one if lack else ~one)
        runs, lacking = {}, {}
        for place, (column, lack) in enumerate(zip(types, pattern, strict=True)):
            if not lack:
                present = rows.select(F.col(str(place)).alias("value"))
                runs[column] = _runs(present, types[column], fragments[column], sample_rows)
            elif column in keys:
                lacking[column] = parse_type(types[column])
        groups.append(Group(runs, keys, lacking))
    return groups


def _values(name: str, spark_type: str) -> Column:
    values = F.col(quoted(name))
    return F.validate_utf8(values) if spark_type == "string" else values


@contextmanager
def _valid_strings(name: str) -> Iterator[None]:
    """Raise UnfitError where `_values` found a string that is not UTF-8."""
    try:
        yield
    except PySparkException as error:
        if error.getCondition() == "INVALID_UTF8_STRING":
            raise UnfitError(
                f"column {name} holds a string that is not UTF-8, which no bound can say: "
                "accepted are valid strings (see make_valid_utf8)"
            ) from error
        raise


def _bounds(found: Plan, method: str) -> list[tuple[str | None, str | None, int | None]]:
    if method == "auto" and found.method == "none":
        return [(None, None, None)]
    lo, hi = canonical_texts(found.ranges.lo), canonical_texts(found.ranges.hi)
    return list(zip(lo, hi, found.ranges.row_count.tolist(), strict=True))


def _plan_on(values: DataFrame, spark_type: str, fragments: Fragments, request: Request) -> Plan:
    or_null = request.or_null
    if request.method == "auto" and not worth_a_look(fragments, or_null, request.cost):
        nothing = one_each(make_points(pa.array([], parse_type(spark_type))))
        return Plan("none", nothing, kept_by("none", nothing, fragments, or_null), 0.0)
    present = values.where("value is not null")
    return cover_runs(_runs(present, spark_type, fragments, request.sample_rows), request)


def _runs(values: DataFrame, spark_type: str, fragments: Fragments, sample_rows: int) -> Ranges:
    """Ranges that tell the same of the files as all values do; none of these is NULL."""
    kind = parse_type(spark_type)
    check_same_type(kind, fragments)
    most = sample_rows * _ROWS_PER_VALUE
    found = values.limit(most + 1).toArrow()["value"]
    if len(found) > most:
        return _cell_ranges(values, spark_type, Cells.of(fragments))
    return one_each(make_points(found.cast(kind)))


def _cell_ranges(values: DataFrame, spark_type: str, cells: Cells) -> Ranges:
    """Min, max and rows of every cell, over all rows."""
    kind = parse_type(spark_type)

    def split(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from cells.split(batch.column(0).cast(kind)).combine_chunks().to_batches()

    schema = f"cell bigint, lo {spark_type}, hi {spark_type}, row_count bigint"
    parts = (
        values.mapInArrow(split, schema)
        .groupBy("cell")
        .agg(F.min("lo").alias("lo"), F.max("hi").alias("hi"), F.sum("row_count").alias("n"))
        .toArrow()
        .sort_by("cell")
    )
    lo, hi = (parts[end].cast(kind).combine_chunks() for end in ("lo", "hi"))
    return Ranges(lo, hi, parts["n"].to_numpy())


def _find_column(df: DataFrame, column: str) -> tuple[str, str]:
    """The column's own name and its type."""
    fold = str if df.sparkSession.conf.get("spark.sql.caseSensitive") == "true" else str.lower
    found = [field for field in df.schema.fields if fold(field.name) == fold(column)]
    if len(found) != 1:
        what = "is not in the batch" if not found else "is ambiguous"
        raise RangeError(f"column {column!r} {what}: accepted are {', '.join(df.columns)}")
    spark_type = found[0].dataType.simpleString()
    try:
        parse_type(spark_type)
    except UnfitError as error:
        raise UnfitError(f"column {found[0].name}: {error}") from None
    return found[0].name, spark_type
