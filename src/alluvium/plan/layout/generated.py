"""The partition column that Delta computes from a timestamp: one value for each bucket."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from alluvium.names import among, quoted
from alluvium.plan.layout.settings import ZORDER, Layout

_ODD = re.compile(r"\W", re.ASCII)
# What Delta derives partition filters from: one expression a window, and the type of its value. A
# filter on the timestamp then reads only the buckets it needs.
_EXPRESSIONS = {
    "hour": ("DATE_TRUNC('HOUR', {})", "timestamp"),
    "day": ("CAST({} AS DATE)", "date"),
    "week": ("TRUNC({}, 'WEEK')", "date"),
    "month": ("TRUNC({}, 'MONTH')", "date"),
}


@dataclass(frozen=True)
class GeneratedColumn:
    """A column `<source>_<window>` whose value is when the window of `source` begins.

    Weeks begin on Monday; all in the session's time zone, which the engine sets to UTC.
    """

    source: str
    window: str

    @property
    def name(self) -> str:
        """Needs no quotes, whatever the source is called: dbt writes `partition_by` without."""
        return _ODD.sub("_", self.source) + f"_{self.window}"

    @property
    def expression(self) -> str:
        """SQL, as it stands behind GENERATED ALWAYS AS."""
        return _EXPRESSIONS[self.window][0].format(quoted(self.source))

    @property
    def type(self) -> str:
        return _EXPRESSIONS[self.window][1]

    def check(self, columns: Mapping[str, str]) -> None:
        """Raises ValueError unless it can be made of these columns, the Spark types by name."""
        types = {name.lower(): kind for name, kind in columns.items()}
        kind = types.get(self.source.lower())
        wanted = "timestamp" if self.window == "hour" else "timestamp, date"
        if kind is None:
            known = ", ".join(columns)
            raise ValueError(f"bucket_by.column: no column {self.source!r}; accepted: {known}")
        if kind not in wanted.split(", "):
            raise ValueError(
                f"bucket_by.column: {self.source!r} is {kind}; accepted for the window"
                f" {self.window}: {wanted}, or a column of partition_by"
            )
        if self.name.lower() in types:
            raise ValueError(
                f"bucket_by.column: {self.name!r} is computed from {self.source!r} and is a column"
                " of the query already; accepted: another name for that one, or partition_by with"
                " it and bucket_by.column the same"
            )


def with_time(layout: Layout, partition_by: Sequence[str]) -> Layout:
    """The layout whose sort key ends with the timestamp of `bucket_by`, as Husky's do.

    Rows that are alike in all else then lie in its order, and a window of time is in few fragments.
    Not where buckets are made by one of `partition_by`, all of whose rows are alike in it. Nor on a
    Z-curve, where one column more makes all others prune less.
    """
    column = generated_column(layout, partition_by)
    if column is None or layout.curve == ZORDER or among(column.source, layout.sort_by):
        return layout
    return replace(layout, sort_by=(*layout.sort_by, column.source))


def generated_column(layout: Layout, partition_by: Sequence[str]) -> GeneratedColumn | None:
    """What the table of a model with this layout is partitioned by beyond `partition_by`.

    None where buckets are made by one of these columns, or by none.
    """
    column, window = layout.bucket_column, layout.window
    if column is None or window is None or among(column, partition_by):
        return None
    return GeneratedColumn(column, window)


def completed_query(
    batch: str, computed: Mapping[str, str], partition_by: Sequence[str], sort_by: Sequence[str]
) -> str:
    """A query of the rows of the relation `batch` as their table takes them.

    computed: SQL of the columns that they do not have, by name.
    partition_by: names as SQL writes them, with those of generated columns.
    sort_by: what each task's rows are sorted by in each partition; empty for no order.
    """
    columns = ", ".join(
        ["*", *(f"(\n{sql}\n) as {quoted(name)}" for name, sql in computed.items())]
    )
    order = ", ".join([*partition_by, *map(quoted, sort_by)])
    query = f"select {columns}\nfrom {batch}"
    return f"{query}\nsort by {order}" if sort_by else query


def bucket_partition(column: str, window: str, partitions: Sequence[str]) -> str:
    """The partition column of a table that `bucket_by` means: itself, or the one made from it.

    Raises:
        ValueError: the table has neither.
    """
    made = GeneratedColumn(column, window).name
    for name in (column, made):
        if among(name, partitions):
            return name
    raise ValueError(
        f"bucket_by.column: the table is partitioned neither by {column!r} nor by {made!r}, which"
        f" --full-refresh makes from it; accepted now: {', '.join(partitions) or 'none'}"
    )
