"""Differences between two versions as `git diff` shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from alluvium.versions.columns import Columns
from alluvium.versions.diff import ADDED, CHANGED, REMOVED, diff
from alluvium.versions.points import Point
from alluvium.wording import counted

_TEXTS = 60


def lines(
    session: SparkSession,
    name: str,
    before: Point,
    after: Point,
    key: Sequence[str],
    limit: int,
) -> Iterator[str]:
    """Counts, the columns that changed and how often, and the first rows.

    Args:
        name: of the model.
        key: names of its columns that identify a row.
        limit: the most rows that are shown.

    Raises as `diff` does.
    """
    found = diff(session, before, after, key)
    rows = found.rows.persist()
    try:
        counts = {row["change"]: row["count"] for row in rows.groupBy("change").count().collect()}
        said = ", ".join(f"{counts.get(kind, 0):,} {kind}" for kind in (ADDED, REMOVED, CHANGED))
        opened = counted(sum(found.opened), "file")
        moved = f", {counted(found.moved, 'file')} only moved" if found.moved else ""
        yield f"{name}: {said}; {opened} read{moved}"
        for names, what in ((found.columns.added, "added"), (found.columns.removed, "removed")):
            if names:
                yield f"  columns {what}: {', '.join(names)}"
        if counts.get(CHANGED):
            changed = _changed(rows, found.columns)
            if changed:
                most = (f"{column} {number:,}" for column, number in changed)
                yield f"  rows changed by column: {', '.join(most)}"
        shown = rows.orderBy(*(["key"] if key else []), "change").limit(limit).collect()
        for row in shown:
            yield from _row(row, key)
        rest = sum(counts.values()) - len(shown)
        if rest:
            yield f"  … {counted(rest, 'more row')}; limit: {sum(counts.values())} shows all"
    finally:
        rows.unpersist()


def _changed(rows: DataFrame, columns: Columns) -> list[tuple[str, int]]:
    """Columns that differ in changed rows, and in how many, the most first."""
    changed = rows.where(F.col("change") == CHANGED)
    both = changed.select(
        *(
            columns.comparable(pair.after.name, side == "after", side).alias(f"{side}{place}")
            for place, pair in enumerate(columns.pairs)
            for side in ("before", "after")
        )
    )
    sums = both.select(
        *(
            F.count_if(~F.col(f"before{place}").eqNullSafe(F.col(f"after{place}"))).alias(
                f"c{place}"
            )
            for place in range(len(columns.pairs))
        )
    ).collect()[0]
    found = [(pair.after.name, int(sums[place])) for place, pair in enumerate(columns.pairs)]
    return sorted((one for one in found if one[1]), key=lambda one: (-one[1], one[0]))


def _row(row: Row, key: Sequence[str]) -> Iterator[str]:
    before, after = (None if one is None else one.asDict() for one in (row["before"], row["after"]))
    if row["change"] == CHANGED and before is not None and after is not None:
        kept = {name.lower() for name in key}
        same = {n for n, value in after.items() if n in before and before[n] == value}
        for sign, values in (("-", before), ("+", after)):
            shown = {n: v for n, v in values.items() if n.lower() in kept or n not in same}
            yield f"  {sign} {_texts(shown)}"
    else:
        yield f"  {'-' if row['change'] == REMOVED else '+'} {_texts(before or after or {})}"


def _texts(values: Mapping[str, Any]) -> str:
    found = []
    for name, value in values.items():
        text = "NULL" if value is None else str(value)
        found.append(f"{name}: {text if len(text) <= _TEXTS else text[: _TEXTS - 1] + '…'}")
    return ", ".join(found)
