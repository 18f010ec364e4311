"""Differences between two versions as `git diff` shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StructType, VariantType

from alluvium.engine.row_json import IN_FULL
from alluvium.versions.columns import Columns, Pair
from alluvium.versions.diff import ADDED, CHANGED, REMOVED, diff
from alluvium.versions.points import Point
from alluvium.wording import counted

_TEXTS = 60
_SIDES = ("before", "after")


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
        first = rows.orderBy(*(["key"] if key else []), "change").limit(limit)
        texts = [_in_texts(first, side) for side in _SIDES]
        differs = F.array(*(_differs(found.columns, one) for one in found.columns.pairs))
        shown = first.select("change", *texts, differs.alias("differs")).collect()
        for row in shown:
            yield from _row(row, found.columns, key)
        rest = sum(counts.values()) - len(shown)
        if rest:
            yield f"  … {counted(rest, 'more row')}; limit: {sum(counts.values())} shows all"
    finally:
        rows.unpersist()


def _changed(rows: DataFrame, columns: Columns) -> list[tuple[str, int]]:
    """Columns that differ in changed rows, and in how many, the most first."""
    changed = rows.where(F.col("change") == CHANGED)
    counts = (F.count_if(_differs(columns, one)) for one in columns.pairs)
    [sums] = changed.select(*counts).collect()
    found = [(pair.after.name, int(sums[place])) for place, pair in enumerate(columns.pairs)]
    return sorted((one for one in found if one[1]), key=lambda one: (-one[1], one[0]))


def _differs(columns: Columns, pair: Pair) -> Column:
    sides = (columns.comparable(pair.after.name, side == "after", side) for side in _SIDES)
    return ~next(sides).eqNullSafe(next(sides))


def _in_texts(rows: DataFrame, side: str) -> Column:
    """The values of a row of one version, each as SQL shows it."""
    kind = rows.schema[side].dataType
    assert isinstance(kind, StructType)
    texts = [_text(F.col(side)[one.name], one.dataType).alias(one.name) for one in kind]
    return F.when(F.col(side).isNotNull(), F.struct(*texts)).alias(side)


def _text(value: Column, kind: DataType) -> Column:
    if isinstance(kind, StructType | ArrayType | MapType | VariantType):
        return F.to_json(value, IN_FULL)
    if isinstance(kind, BinaryType):
        return F.concat(F.lit("X'"), F.hex(value), F.lit("'"))
    return value.cast("string")


def _row(row: Row, columns: Columns, key: Sequence[str]) -> Iterator[str]:
    before, after = (None if row[side] is None else row[side].asDict() for side in _SIDES)
    if row["change"] == CHANGED and before is not None and after is not None:
        kept = {name.lower() for name in key}
        pairs = zip(columns.pairs, row["differs"], strict=True)
        equal = [one for one, differs in pairs if one.before and not differs]
        same = (
            {one.before.name for one in equal if one.before},
            {one.after.name for one in equal},
        )
        for sign, values, names in zip("-+", (before, after), same, strict=True):
            shown = {n: v for n, v in values.items() if n.lower() in kept or n not in names}
            yield f"  {sign} {_texts(shown)}"
    else:
        yield f"  {'-' if row['change'] == REMOVED else '+'} {_texts(before or after or {})}"


def _texts(values: Mapping[str, str | None]) -> str:
    found = []
    for name, value in values.items():
        text = "NULL" if value is None else value
        found.append(f"{name}: {text if len(text) <= _TEXTS else text[: _TEXTS - 1] + '…'}")
    return ", ".join(found)
