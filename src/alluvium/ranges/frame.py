"""Ranges of a Spark DataFrame, for dbt Python models."""

import time
from collections.abc import Sequence

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (everyone's name for it)

from alluvium.ranges.column_type import parse_type
from alluvium.ranges.errors import RangeError
from alluvium.ranges.literal import canonical_texts, typed_literal
from alluvium.ranges.plan import (
    DEFAULT_K,
    DEFAULT_SAMPLE_ROWS,
    Ranges,
    check_request,
    choose_cuts,
    one_each,
    plan,
    widest_gaps,
)
from alluvium.ranges.points import Points, make_points

SCHEMA = (
    "column_name string, column_type string, method string, range_no int, lo string, hi string, "
    "row_count bigint, seconds double"
)
# Gaps of a sample that are looked at again over all rows, per gap that is asked for.
_CANDIDATES = 4


def plan_frame(
    df: DataFrame,
    column: str,
    method: str = "min_max",
    k: int = DEFAULT_K,
    sample_rows: int = DEFAULT_SAMPLE_ROWS,
) -> DataFrame:
    """Plan ranges over one column of a batch; see `alluvium.ranges.plan` for the methods.

    Bounds and row counts are exact over all rows. The batch is computed once (its column is kept
    in Spark's memory or on its disk meanwhile), and at most `sample_rows` distinct values come to
    the driver. If there are more, `gaps` and `kmeans` place their cuts by a sample of the distinct
    values that depends on the values alone, and one more pass takes min, max and rows of each
    range.

    Args:
        df: the batch.
        column: a top-level column of it; upper and lower case as Spark has it set.
        method: `none`, `min_max`, `gaps` or `kmeans`.
        k: most ranges to plan, 1 to 256.
        sample_rows: most distinct values that the driver looks at; at least `k`.

    Returns:
        One row per range as docs/ranges.md describes: column_name, column_type, method, range_no,
        lo, hi (canonical text), row_count, seconds. No row for `none`, for an empty batch and for
        a column without values.

    Raises:
        RangeError: an argument, the column or its type is not accepted, or a string is not UTF-8.
    """
    started = time.perf_counter()
    check_request(method, k, sample_rows)
    name, spark_type = _find_column(df, column)
    try:
        ranges = _plan_values(_values(df, name, spark_type), spark_type, method, k, sample_rows)
    except PySparkException as error:
        if error.getCondition() == "INVALID_UTF8_STRING":
            raise RangeError(
                f"column {name} holds a string that is not UTF-8, which no bound can say: "
                "accepted are valid strings (see make_valid_utf8)"
            ) from error
        raise
    seconds = time.perf_counter() - started
    bounds = zip(
        canonical_texts(ranges.lo), canonical_texts(ranges.hi), ranges.row_count, strict=True
    )
    rows = [
        (name, spark_type, method, number, lo, hi, int(count), seconds)
        for number, (lo, hi, count) in enumerate(bounds)
    ]
    return df.sparkSession.createDataFrame(rows, SCHEMA)


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
    except RangeError as error:
        raise RangeError(f"column {found[0].name}: {error}") from None
    return found[0].name, spark_type


def _values(df: DataFrame, name: str, spark_type: str) -> DataFrame:
    """The column alone, as `value`, without NULLs and with one zero."""
    value = F.col("`" + name.replace("`", "``") + "`")
    if spark_type in ("float", "double"):
        value = F.when(value == 0, F.lit(0).cast(spark_type)).otherwise(value)
    elif spark_type == "string":
        value = F.validate_utf8(value)
    return df.select(value.alias("value")).where("value is not null")


def _plan_values(
    values: DataFrame, spark_type: str, method: str, k: int, sample_rows: int
) -> Ranges:
    if method == "none":
        return plan(pa.array([], parse_type(spark_type)), method)
    if method == "min_max" or k == 1:
        return _exact_ranges(values, spark_type, [])
    kept = values.persist()
    try:
        points, complete = _distinct_values(kept, spark_type, sample_rows)
        if complete:
            return one_each(points).joined(choose_cuts(points, method, k, sample_rows))
        wanted = _CANDIDATES * (k - 1) + 1 if method == "gaps" else k
        openers = points.values.take(
            pa.array(choose_cuts(points, method, min(wanted, len(points)), sample_rows))
        )
        ranges = _exact_ranges(kept, spark_type, canonical_texts(openers))
        # What the sample took for a gap may hold values; now the gaps are exact.
        return ranges.joined(widest_gaps(ranges, k)) if method == "gaps" else ranges
    finally:
        kept.unpersist()


def _distinct_values(values: DataFrame, spark_type: str, sample_rows: int) -> tuple[Points, bool]:
    """All distinct values with their rows, or `sample_rows` of them that a hash picks.

    A hash of the value gives the same sample however the rows are partitioned.
    """
    counted = (
        values.groupBy("value")
        .count()
        .orderBy(F.xxhash64("value"), "value")
        .limit(sample_rows + 1)
        .toArrow()
    )
    complete = counted.num_rows <= sample_rows
    counted = counted.slice(0, sample_rows)
    return (
        make_points(counted["value"].cast(parse_type(spark_type)), counted["count"].to_numpy()),
        complete,
    )


def _exact_ranges(values: DataFrame, spark_type: str, openers: Sequence[str]) -> Ranges:
    """Min, max and rows of the parts that the openers cut the column into; empty ones vanish."""
    literals = [typed_literal(text, spark_type) for text in openers]
    parts = (
        values.groupBy(_part(literals, 0, len(literals)).alias("part"))
        .agg(F.min("value").alias("lo"), F.max("value").alias("hi"), F.count("*").alias("n"))
        .orderBy("part")
        .toArrow()
    )
    kind = parse_type(spark_type)
    return Ranges(
        parts["lo"].cast(kind).combine_chunks(),
        parts["hi"].cast(kind).combine_chunks(),
        parts["n"].to_numpy(),
    )


def _part(literals: list[str], low: int, high: int) -> Column:
    """How many openers are not above the value, by binary search."""
    if low == high:
        return F.lit(low)
    middle = (low + high) // 2
    return F.when(
        F.col("value") < F.expr(literals[middle]), _part(literals, low, middle)
    ).otherwise(_part(literals, middle + 1, high))
