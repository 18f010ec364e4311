"""The order in which rows are written."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from alluvium.names import quoted


def sorted_in_tasks(
    frame: DataFrame, partition_by: Sequence[str], sort_by: Sequence[str]
) -> DataFrame:
    """Each task's rows in the order of buckets, and in each by the sort key.

    The partition's columns come first: Delta's writer asks for that order, and would sort again.
    """
    names = [quoted(name) for name in (*partition_by, *sort_by)]
    return frame.sortWithinPartitions(*names) if sort_by else frame
