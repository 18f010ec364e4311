"""Ranges of a Spark DataFrame, for dbt Python models."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.merge.spark_ml import fit_in
from alluvium.names import quoted
from alluvium.plan.ranges.cells import Cells
from alluvium.plan.ranges.column_type import parse_type
from alluvium.plan.ranges.cost import COST, CostModel
from alluvium.plan.ranges.cover import worth_a_look
from alluvium.plan.ranges.errors import RangeError, UnfitError
from alluvium.plan.ranges.fragments import Fragments, Kept, check_same_type
from alluvium.plan.ranges.intervals import Ranges, one_each
from alluvium.plan.ranges.literal import canonical_texts, typed_literal
from alluvium.plan.ranges.plan import (
    DEFAULT_K,
    DEFAULT_MAX_RANGES,
    DEFAULT_SAMPLE_ROWS,
    ON_FRAGMENTS,
    Plan,
    check_request,
    choose_cuts,
    cover_runs,
    kept_by,
    widest_gaps,
)
from alluvium.plan.ranges.points import Points, make_points, positions
from alluvium.plan.ranges.predicate import Group

SCHEMA = (
    "column_name string, column_type string, method string, range_no int, lo string, hi string, "
    "row_count bigint, seconds double, requested string, files_kept bigint, files_total bigint, "
    "bytes_kept bigint, bytes_total bigint, table_version bigint"
)
_NAMES = [column.split()[0] for column in SCHEMA.split(", ")]
# Rows that come to the driver as they are for every distinct value that may: ungrouped they are
# read several times faster, and `cover` needs nothing but their order.
_ROWS_PER_VALUE = 40
# Gaps of a sample that are looked into beyond those that are asked for: the sample does not tell
# wide gaps from gaps that it merely has no value of.
_MORE_GAPS = 16
# Most passes that look into the chosen gaps; one will do unless they hold `sample_rows` values.
_ROUNDS = 4
_ENGINES = ("sklearn", "spark_ml")


@dataclass(frozen=True)
class Request:
    """What ranges are asked for: the arguments of `plan_frame` that have these names.

    Raises RangeError for one that is not accepted.
    """

    method: str = "min_max"
    k: int = DEFAULT_K
    sample_rows: int = DEFAULT_SAMPLE_ROWS
    fragments: Fragments | None = None
    max_ranges: int = DEFAULT_MAX_RANGES
    or_null: bool = True
    engine: str = "sklearn"
    cost: CostModel = COST

    def __post_init__(self) -> None:
        check_request(self.method, self.k, self.sample_rows, self.fragments, self.max_ranges)
        if self.engine not in _ENGINES:
            accepted = ", ".join(_ENGINES)
            raise RangeError(f"unknown engine {self.engine!r}: accepted are {accepted}")


def plan_frame(
    df: DataFrame,
    column: str,
    method: str = "min_max",
    k: int = DEFAULT_K,
    sample_rows: int = DEFAULT_SAMPLE_ROWS,
    *,
    fragments: Fragments | None = None,
    max_ranges: int = DEFAULT_MAX_RANGES,
    or_null: bool = True,
    engine: str = "sklearn",
    cost: CostModel = COST,
) -> DataFrame:
    """Plan ranges over one column of a batch; see `alluvium.ranges.plan` for the methods.

    Bounds and row counts are exact over all rows. The batch is computed once (its column is kept
    in Spark's memory or on its disk meanwhile), and at most `sample_rows` distinct values come to
    the driver at a time. If there are more, `gaps` and `kmeans` choose their cuts by a sample of
    the distinct values that depends on the values alone; a second pass (a few more, if there are
    very many) fetches the values that lie in the sample's gaps at those cuts, and a last one
    takes min, max and rows of each range. `cover` and `auto` read all values of up to 40 times
    `sample_rows` rows; of larger batches Spark's Python workers (which need this package) sort
    every value in among the files' bounds, and the driver gets a row per bound at most: the
    ranges are the best ones whatever the size. `auto` does not look at the batch at all where the
    whole table is read in less time than that takes.

    Args:
        df: the batch.
        column: a top-level column of it; upper and lower case as Spark has it set.
        method: `none`, `min_max`, `gaps`, `kmeans`, `cover` or `auto`.
        k: most ranges to plan, 1 to 256.
        fragments: the table's files (`alluvium.delta.log.fragments`); for `cover` and `auto`.
        max_ranges: most ranges that `auto` plans, 1 to 256.
        or_null: the merge also reads the table's rows that lack the column.
        engine: what `kmeans` is fitted with: `sklearn`, or `spark_ml` (pyspark.ml.clustering).
        cost: what `auto` prices with.
        sample_rows: most distinct values that the driver looks at; at least `k`.

    Returns:
        One row per range as docs/ranges.md describes. No row for `none`, for an empty batch and
        for a column without values; but where `auto` takes no ranges, one row without bounds.

    Raises:
        RangeError: an argument, the column or its type is not accepted, or a string is not UTF-8.
    """
    request = Request(method, k, sample_rows, fragments, max_ranges, or_null, engine, cost)
    return as_frame(df.sparkSession, plan_rows(df, column, request))


def as_frame(session: SparkSession, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    return session.createDataFrame([tuple(row.values()) for row in rows], SCHEMA)


def plan_rows(df: DataFrame, column: str, request: Request) -> list[dict[str, Any]]:
    """What `plan_frame` returns, as rows in the order of its columns: for callers in the driver."""
    started = time.perf_counter()
    method, fragments = request.method, request.fragments
    name, spark_type = _find_column(df, column)
    with _valid_strings(name):
        batch = df.select(_values(name, spark_type).alias("value"))
        if method in ON_FRAGMENTS and fragments is not None:
            found = _plan_on(batch, spark_type, fragments, request)
        else:
            ranges = _plan_values(batch, spark_type, request)
            kept = (
                None if fragments is None else kept_by(method, ranges, fragments, request.or_null)
            )
            found = Plan(method, ranges, kept, 0.0)
    seconds = time.perf_counter() - started
    version = None if fragments is None else fragments.version
    shared = (seconds, method, *_figures(found.kept), version)
    return [
        dict(zip(_NAMES, (name, spark_type, found.method, number, *one, *shared), strict=True))
        for number, one in enumerate(_bounds(found, method))
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


def _figures(kept: Kept | None) -> tuple[int | None, ...]:
    if kept is None:
        return (None,) * 4
    return kept.files, kept.files_total, kept.bytes, kept.bytes_total


def _plan_on(values: DataFrame, spark_type: str, fragments: Fragments, request: Request) -> Plan:
    method, or_null, cost = request.method, request.or_null, request.cost
    if method == "auto" and not worth_a_look(fragments, or_null, cost):
        nothing = one_each(make_points(pa.array([], parse_type(spark_type))))
        return Plan("none", nothing, kept_by("none", nothing, fragments, or_null), 0.0)
    present = values.where("value is not null")
    runs = _runs(present, spark_type, fragments, request.sample_rows)
    return cover_runs(
        runs, fragments, method, request.k, request.max_ranges, or_null=or_null, cost=cost
    )


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


def _plan_values(values: DataFrame, spark_type: str, request: Request) -> Ranges:
    method, k, sample_rows = request.method, request.k, request.sample_rows
    if method == "none":
        return one_each(make_points(pa.array([], parse_type(spark_type))))
    if method == "min_max" or k == 1:
        return _exact_ranges(values, spark_type, [])
    fit = fit_in(values.sparkSession) if request.engine == "spark_ml" else None
    kept = values.persist()
    try:
        points, complete = _sample(kept, spark_type, sample_rows)
        if complete:
            return one_each(points).joined(choose_cuts(points, method, k, sample_rows, fit))
        filled = False
        if method == "gaps":
            cuts = widest_gaps(one_each(points), k + _MORE_GAPS)
            points, filled = _fill(kept, spark_type, points, cuts, sample_rows)
        cuts = choose_cuts(points, method, k, sample_rows, fit)
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
