"""Ranges of a Spark DataFrame, for dbt Python models."""

import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from alluvium.ranges.column_type import parse_type
from alluvium.ranges.errors import RangeError
from alluvium.ranges.intervals import Ranges, one_each
from alluvium.ranges.literal import canonical_texts, typed_literal
from alluvium.ranges.plan import (
    DEFAULT_K,
    DEFAULT_SAMPLE_ROWS,
    check_request,
    choose_cuts,
    plan,
    widest_gaps,
)
from alluvium.ranges.points import Points, make_points, positions

SCHEMA = (
    "column_name string, column_type string, method string, range_no int, lo string, hi string, "
    "row_count bigint, seconds double"
)
# Gaps of a sample that are looked into beyond those that are asked for: the sample does not tell
# wide gaps from gaps that it merely has no value of.
_MORE_GAPS = 16
# Most passes that look into the chosen gaps; one will do unless they hold `sample_rows` values.
_ROUNDS = 4


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
    the driver at a time. If there are more, `gaps` and `kmeans` choose their cuts by a sample of
    the distinct values that depends on the values alone; a second pass (a few more, if there are
    very many) fetches the values that lie in the sample's gaps at those cuts, and a last one
    takes min, max and rows of each range.

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
        values = F.col("`" + name.replace("`", "``") + "`")
        if spark_type == "string":
            values = F.validate_utf8(values)
        ranges = _plan_values(df.select(values.alias("value")), spark_type, method, k, sample_rows)
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


def _plan_values(
    values: DataFrame, spark_type: str, method: str, k: int, sample_rows: int
) -> Ranges:
    if method == "none":
        return plan(pa.array([], parse_type(spark_type)), method)
    if method == "min_max" or k == 1:
        return _exact_ranges(values, spark_type, [])
    kept = values.persist()
    try:
        points, complete = _sample(kept, spark_type, sample_rows)
        if complete:
            return one_each(points).joined(choose_cuts(points, method, k, sample_rows))
        filled = False
        if method == "gaps":
            cuts = widest_gaps(one_each(points), k + _MORE_GAPS)
            points, filled = _fill(kept, spark_type, points, cuts, sample_rows)
        cuts = choose_cuts(points, method, k, sample_rows)
        for _ in range(_ROUNDS):
            if filled:
                break
            sample = points
            points, filled = _fill(kept, spark_type, sample, cuts, sample_rows)
            cuts = _widest_between(points, sample, cuts)
        return _exact_ranges(kept, spark_type, _literals(points.values, cuts, spark_type))
    finally:
        kept.unpersist()


def _sample(values: DataFrame, spark_type: str, limit: int) -> tuple[Points, bool]:
    """All distinct values with their rows and True, or about `limit` of them and False.

    A hash of the value picks them, so the sample is the same however the rows are partitioned.
    The smallest and the largest value are always among them: outliers decide where gaps are.
    """
    facts = values.agg(
        F.min("value").alias("lo"),
        F.max("value").alias("hi"),
        F.approx_count_distinct("value").alias("n"),
    ).toArrow()
    if not facts["lo"][0].is_valid:
        return make_points(facts["lo"][:0].cast(parse_type(spark_type))), True
    about = facts["n"][0].as_py()
    if about <= limit * 1.2:
        points, complete = _distinct_values(values, spark_type, limit)
        if complete:
            return points, True
    else:
        # Dropping most values here keeps the grouping of them all out of the shuffle.
        parts = 2**20
        picked = F.pmod(F.xxhash64("value"), F.lit(parts)) < int(parts * limit / about)
        points, _ = _distinct_values(values.where(picked), spark_type, limit)
    ends = pa.concat_arrays(
        [facts[end].cast(parse_type(spark_type)).combine_chunks() for end in ("lo", "hi")]
    )
    return make_points(
        pa.concat_arrays([points.values, ends]), np.concatenate([points.counts, [1, 1]])
    ), False


def _distinct_values(values: DataFrame, spark_type: str, limit: int) -> tuple[Points, bool]:
    """Distinct values with their rows, and whether these are all; else `limit` by a hash's pick."""
    counted = (
        values.where("value is not null")
        .groupBy("value")
        .count()
        .orderBy(F.xxhash64("value"), "value")
        .limit(limit + 1)
        .toArrow()
    )
    complete = counted.num_rows <= limit
    counted = counted.slice(0, limit)
    points = make_points(counted["value"].cast(parse_type(spark_type)), counted["count"].to_numpy())
    return points, complete


def _fill(
    values: DataFrame, spark_type: str, sample: Points, cuts: npt.NDArray[np.int64], limit: int
) -> tuple[Points, bool]:
    """Add the values that lie between a cut and the sample's value before it, and say if all.

    Values that the sample lacks next to a cut would widen a range over the gap. They are few: in
    the mean a gap of the sample holds as many as one value of it stands for.
    """
    below = _literals(sample.values, cuts - 1, spark_type)
    above = _literals(sample.values, cuts, spark_type)
    inside = [f"(value > {a} and value < {b})" for a, b in zip(below, above, strict=True)]
    found, complete = _distinct_values(values.where(" or ".join(inside)), spark_type, limit)
    return make_points(pa.concat_arrays([sample.values, found.values])), complete


def _widest_between(
    filled: Points, sample: Points, cuts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """For each cut of the sample, the widest gap among the values filled in before it."""
    widths = np.diff(positions(filled.values))
    before = pc.index_in(sample.values.take(pa.array(cuts - 1)), filled.values).to_numpy()
    behind = pc.index_in(sample.values.take(pa.array(cuts)), filled.values).to_numpy()
    return np.array(
        [a + int(np.argmax(widths[a:b])) + 1 for a, b in zip(before, behind, strict=True)],
        dtype=np.int64,
    )


def _literals(values: pa.Array, at: npt.NDArray[np.int64], spark_type: str) -> list[str]:
    return [typed_literal(text, spark_type) for text in canonical_texts(values.take(pa.array(at)))]


def _exact_ranges(values: DataFrame, spark_type: str, openers: Sequence[str]) -> Ranges:
    """Min, max and rows of the parts that the openers (literals, rising) cut the column into."""
    parts = (
        values.groupBy(_part(openers, 0, len(openers)).alias("part"))
        .agg(F.min("value").alias("lo"), F.max("value").alias("hi"), F.count("value").alias("n"))
        .where("n > 0")
        .orderBy("part")
        .toArrow()
    )
    kind = parse_type(spark_type)
    return Ranges(
        parts["lo"].cast(kind).combine_chunks(),
        parts["hi"].cast(kind).combine_chunks(),
        parts["n"].to_numpy(),
    )


def _part(openers: Sequence[str], low: int, high: int) -> Column:
    """How many openers are not above the value, by binary search; NULL is counted nowhere."""
    if low == high:
        return F.lit(low)
    middle = (low + high) // 2
    return F.when(F.col("value") < F.expr(openers[middle]), _part(openers, low, middle)).otherwise(
        _part(openers, middle + 1, high)
    )
