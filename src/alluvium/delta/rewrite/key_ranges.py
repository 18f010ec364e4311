"""Large merges that several tasks share: each has a range of the sort keys."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.internal import InternalFunction

from alluvium.engine import jvm
from alluvium.engine.internals import EXPRESSION_UTILS, LITERAL

# Files that ranges are made from, and rows of them for each task. One range has two or three in a
# hundred more rows than another.
_FILES, _ROWS = 64, 2048
_SEED = 1966


def to_sample(sizes: Sequence[int]) -> list[int]:
    """Places of the files to take a sample of: one at every 64th of all their bytes."""
    ends = list(accumulate(sizes))
    step = ends[-1] / _FILES
    places = (bisect(ends, (number + 0.5) * step) for number in range(_FILES))
    return list(dict.fromkeys(places))


def bounds(some: DataFrame, key: Column, tasks: int, sizes: Sequence[int], rows: int) -> Any:
    """The last keys of all ranges but one, a Java literal; fewer where one key has many rows.

    Args:
        some: rows of the files that `to_sample` names.
        key: a struct of what the rows are sorted by.
        tasks: number of ranges.
        sizes: bytes of all files.
        rows: that they have, as far as the log says.
    """
    # Of a file that is larger than the step as many rows as of all that lie in so many bytes.
    size, step = some.metadataColumn("_metadata").getField("file_size"), sum(sizes) / _FILES
    share = _ROWS * tasks / _FILES * (sum(sizes) / max(1, rows))
    sample = some.where(F.rand(_SEED) * F.least(size, F.lit(step)) < share).select(key.alias("key"))
    # Where the log does not say how many rows there are it may be all of them.
    sample = sample.orderBy(F.rand(_SEED)).limit(2 * _ROWS * tasks)
    keys = sample.agg(F.sort_array(F.collect_list("key")).alias("keys"))
    ends = F.transform(
        F.sequence(F.lit(1), F.lit(tasks - 1)),
        lambda number: F.get("keys", F.floor(number * F.size("keys") / tasks).cast("int")),
    )
    known = F.array_distinct(F.filter(ends, lambda end: end.isNotNull()))
    found: Any = keys.select(known)._jdf
    # As Spark has them: in Python some types lose what they are.
    [row] = found.queryExecution().executedPlan().executeCollect()
    literal = jvm.internal(some.sparkSession, LITERAL)
    return literal(row.getArray(0), found.schema().apply(0).dataType())


def shared(frame: DataFrame, key: Column, tasks: int, bounds: Any) -> DataFrame:
    """The frame's rows, a partition for each task, in the order of their ranges."""
    ends = Column(jvm.internal(frame.sparkSession, EXPRESSION_UTILS).column(bounds))
    found = InternalFunction.array_binary_search(ends, key)
    # Below 0 for a key that is not an end of a range: the complement of how many ends are below it.
    return frame.repartitionById(tasks, F.greatest(found, F.bitwise_not(found)))
