"""Ranges of one column of a batch by its values: all of them, or a sample where they are many."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.plan.ranges.column_type import parse_type
from alluvium.plan.ranges.intervals import Ranges, one_each
from alluvium.plan.ranges.kmeans import SEED, Fit
from alluvium.plan.ranges.literal import canonical_texts, typed_literal
from alluvium.plan.ranges.plan import Request, choose_cuts, widest_gaps
from alluvium.plan.ranges.points import Points, make_points, positions

# Gaps of a sample that are looked into beyond those that are asked for. The sample does not tell
# wide gaps from gaps of which it merely has no value.
_MORE_GAPS = 16
# Most passes that look into the chosen gaps; one will do unless they hold `sample_rows` values.
_ROUNDS = 4


def ranges_of_values(values: DataFrame, spark_type: str, request: Request) -> Ranges:
    """Of a method that looks at values alone, at most `sample_rows` distinct ones at a time."""
    method, k, sample_rows = request.method, request.k, request.sample_rows
    if method == "none":
        return one_each(make_points(pa.array([], parse_type(spark_type))))
    if method == "min_max" or k == 1:
        return _exact_ranges(values, spark_type, [])
    fit = _fit_in(values.sparkSession) if request.engine == "spark_ml" else None
    kept = values.persist()
    try:
        points, complete = _sample(kept, spark_type, sample_rows)
        if complete:
            return one_each(points).joined(choose_cuts(points, request, fit))
        filled = False
        if method == "gaps":
            cuts = widest_gaps(one_each(points), k + _MORE_GAPS)
            points, filled = _fill(kept, spark_type, points, cuts, sample_rows)
        cuts = choose_cuts(points, request, fit)
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

    Values next to a cut that are not in the sample would widen a range over the gap. They are few:
    in the mean a gap of the sample holds as many as one value of it stands for.
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


def _fit_in(session: SparkSession) -> Fit:
    """A fit that runs in this session; see `alluvium.plan.ranges.kmeans`."""

    def fit(
        features: npt.NDArray[np.float64], weights: npt.NDArray[np.int64], k: int
    ) -> npt.NDArray[np.float64]:
        from pyspark.ml.clustering import KMeans
        from pyspark.ml.feature import VectorAssembler

        rows = session.createDataFrame(
            pa.table({"feature": features, "weight": weights.astype(np.float64)})
        )
        vectors = VectorAssembler(inputCols=["feature"], outputCol="features").transform(rows)
        model = KMeans(k=k, weightCol="weight", seed=SEED).fit(vectors)
        return np.concatenate(model.clusterCenters())

    return fit
