"""From the values of a batch to ranges. Pure: Arrow and NumPy in, Arrow and NumPy out."""

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from alluvium.plan.fragment import Fragments
from alluvium.plan.ranges.cost import COST, CostModel
from alluvium.plan.ranges.cover import auto_cuts, cover_cuts
from alluvium.plan.ranges.errors import RangeError
from alluvium.plan.ranges.intervals import Places, Ranges, one_each
from alluvium.plan.ranges.kmeans import Fit, fit_sklearn, kmeans_cuts
from alluvium.plan.ranges.locate import Kept, locate, measure
from alluvium.plan.ranges.points import Points, make_points, positions

METHODS = ("none", "min_max", "gaps", "kmeans", "cover", "auto")
# Methods that look at the table's files.
ON_FRAGMENTS = ("cover", "auto")
# Spark's driver takes about a second for an OR of 500 ranges, and 30 for one of 2,000.
MAX_K = 256
DEFAULT_MAX_RANGES = 64
DEFAULT_SAMPLE_ROWS = 50_000
_ENGINES = ("sklearn", "spark_ml")


@dataclass(frozen=True)
class Request:
    """What ranges are asked for.

    Attributes:
        method: `none`, `min_max` (one range), `gaps` (between the k-1 widest gaps of the distinct
            values), `kmeans` (on normalised values), `cover` or `auto`. `cover` takes those of at
            most `k` ranges that keep the fewest bytes. `auto` takes the cheapest of all choices of
            at most `max_ranges` ranges, or none.
        k: most ranges to plan, 1 to 256.
        sample_rows: most distinct values that k-means is fitted on, and that the driver looks at
            where Spark plans; at least `k`.
        fragments: the table's files; `cover` and `auto` need them, for the others they tell what
            the ranges leave of the table.
        max_ranges: most ranges that `auto` plans, 1 to 256.
        or_null: the merge also reads the table's rows without a value in the column.
        engine: what `kmeans` is fitted with: `sklearn`, or `spark_ml` (pyspark.ml.clustering).
            `plan` itself only knows scikit-learn.
        cost: what `auto` prices with.

    Raises:
        RangeError: one of them is not accepted.
    """

    method: str = "min_max"
    k: int = 3
    sample_rows: int = DEFAULT_SAMPLE_ROWS
    fragments: Fragments | None = None
    max_ranges: int = DEFAULT_MAX_RANGES
    or_null: bool = True
    engine: str = "sklearn"
    cost: CostModel = COST

    def __post_init__(self) -> None:
        method, k, sample_rows = self.method, self.k, self.sample_rows
        if method not in METHODS:
            raise RangeError(f"unknown range method {method!r}: accepted are {', '.join(METHODS)}")
        for name, number in (("k", k), ("max_ranges", self.max_ranges)):
            if not _is_integer(number) or not 1 <= number <= MAX_K:
                accepted = f"a whole number from 1 to {MAX_K}"
                raise RangeError(f"{name} is {number!r}: accepted is {accepted}")
        if not _is_integer(sample_rows) or sample_rows < k:
            accepted = f"a whole number from k = {k}"
            raise RangeError(f"sample_rows is {sample_rows!r}: accepted is {accepted}")
        if method in ON_FRAGMENTS and self.fragments is None:
            raise RangeError(
                f"method {method} needs the table's fragments: without a table, accepted are"
                f" {', '.join(one for one in METHODS if one not in ON_FRAGMENTS)}"
            )
        if self.engine not in _ENGINES:
            accepted = ", ".join(_ENGINES)
            raise RangeError(f"unknown engine {self.engine!r}: accepted are {accepted}")


@dataclass(frozen=True)
class Plan:
    """Ranges, how they were found, and what they leave of the table.

    Attributes:
        method: the method that the ranges are of; for `auto` the one that it took: `none`,
            `min_max` (one range) or `cover`.
        ranges: empty for `none` and for a batch without values.
        kept: None where no fragments were given.
        seconds: what planning took.
    """

    method: str
    ranges: Ranges
    kept: Kept | None
    seconds: float


def plan(values: pa.Array | pa.ChunkedArray, request: Request) -> Plan:
    """Plan ranges over the values of one column, in any order.

    Every value that is not NULL lies in exactly one range, unless there is no range at all.

    Raises:
        RangeError: the column's type is not accepted.
    """
    started = time.perf_counter()
    method, fragments = request.method, request.fragments
    points = make_points(values[:0] if method == "none" else values)
    runs = one_each(points)
    if method in ON_FRAGMENTS:
        return cover_runs(runs, request, started)
    ranges = runs.joined(choose_cuts(points, request))
    kept = None if fragments is None else kept_by(method, ranges, fragments, request.or_null)
    return Plan(method, ranges, kept, time.perf_counter() - started)


def cover_runs(runs: Ranges, request: Request, started: float | None = None) -> Plan:
    """Join runs of a batch's values to the best ranges on these files, for `cover` and `auto`.

    Args:
        runs: ranges that hold all values, however fine. Those of an earlier plan may be among them;
            so they are priced again.
        started: reading of `time.perf_counter` from which planning counts.
    """
    started = time.perf_counter() if started is None else started
    method, fragments = request.method, request.fragments
    if method not in ON_FRAGMENTS or fragments is None:
        raise RangeError(f"{method} joins no runs: accepted are {', '.join(ON_FRAGMENTS)}")
    located = locate(runs, fragments, request.or_null)
    if method == "cover":
        cuts: Places | None = cover_cuts(located, request.k)
    else:
        cuts = auto_cuts(located, request.max_ranges, request.cost)
        method = "none" if cuts is None else "cover" if len(cuts) else "min_max"
    if cuts is None:
        ranges = Ranges(runs.lo[:0], runs.hi[:0], runs.row_count[:0])
        kept = np.full(len(fragments), len(runs) > 0)
    else:
        ranges, kept = runs.joined(cuts), located.kept(cuts)
    return Plan(method, ranges, measure(fragments, kept), time.perf_counter() - started)


def kept_by(method: str, ranges: Ranges, fragments: Fragments, or_null: bool) -> Kept:
    """What ranges leave of the table; method `none` leaves all of it."""
    if method == "none":
        return measure(fragments, np.ones(len(fragments), dtype=np.bool_))
    every = np.arange(1, len(ranges))
    return measure(fragments, locate(ranges, fragments, or_null).kept(every))


def choose_cuts(points: Points, request: Request, fit: Fit | None = None) -> npt.NDArray[np.int64]:
    """Indices of the values that open a new range, rising, without 0; at most k - 1.

    fit: what `kmeans` is fitted with; scikit-learn if not given.
    """
    method, k = request.method, request.k
    if method == "min_max" or k == 1:
        return np.array([], dtype=np.int64)
    if len(points) <= k:
        return np.arange(1, len(points))
    if method == "gaps":
        return widest_gaps(one_each(points), k)
    return kmeans_cuts(points, k, request.sample_rows, fit or fit_sklearn)


def widest_gaps(ranges: Ranges, k: int) -> npt.NDArray[np.int64]:
    """Indices of the ranges behind the `k` - 1 widest gaps; of equal gaps the later ones."""
    bounds = make_points(pa.concat_arrays([ranges.lo, ranges.hi])).values
    places = positions(bounds)
    lo_places = places[pc.index_in(ranges.lo, bounds).to_numpy()]
    hi_places = places[pc.index_in(ranges.hi, bounds).to_numpy()]
    narrow_to_wide = np.argsort(lo_places[1:] - hi_places[:-1], kind="stable")
    return np.sort(narrow_to_wide[max(0, len(narrow_to_wide) - (k - 1)) :]) + 1


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
