"""Which layout the filters of a project's queries ask for.

A lexical order serves filters on its first column, as rows of one value lie together. Within these,
rows of one value of the next column do, as long as all columns before it are equal. So columns that
are compared for equality come first, those that most statements ask for before others. One that is
compared with bounds comes behind them: it ends what the order can tell. Perhaps no column is asked
for by enough statements to be the first. Then a Z-order of a few columns serves each statement a
part, if each filters one of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from alluvium.names import among
from alluvium.plan.layout.settings import LEXICAL, WINDOWS, ZORDER
from alluvium.plan.layout.sort_key import is_sortable
from alluvium.plan.layout.zorder import MOST

# What a statement does with a column of a table that it reads. The first two can skip files.
# OTHER: a filter that cannot, such as on a function of it, `<>` or LIKE '%…'. SUBQUERY: of an
# EQUALITY or RANGE, that its value is one. JOINED: it is equal to a column of another table.
EQUALITY, RANGE, OTHER, SUBQUERY, JOINED = "equality", "range", "other", "subquery", "joined"

# By statement, by column, what it does with it.
Uses = Mapping[str, Mapping[str, Collection[str]]]

# Share of the statements that have to filter by the first column of a lexical order.
_SERVED = 0.6
# What buckets can be made by, and the days of those that are suggested.
_TIMES = ("timestamp", "date")
_DAYS = {window: WINDOWS[window] / WINDOWS["day"] for window in ("day", "week", "month")}


@dataclass(frozen=True)
class Shape:
    """A Delta table, as far as its layout depends on it.

    Attributes:
        types: Spark type (`DataType.simpleString()`) by column, in the table's order.
        bounded: columns of whose values the log keeps bounds: no other skips a file.
        partitions: columns that it is partitioned by.
        key: columns that tell its rows apart; none if that is not known.
        updates: whether merges change rows that are there.
        generates: whether Delta can compute a column of it, as in no table of a Python model.
        fragments_a_day: full fragments that a day fills, by column; where that is known.
        block: `meta.alluvium_layout` of its model, checked; None for a model without.
    """

    types: Mapping[str, str]
    bounded: Collection[str]
    partitions: Sequence[str] = ()
    key: Sequence[str] = ()
    updates: bool = False
    generates: bool = True
    fragments_a_day: Mapping[str, float] = field(default_factory=dict)
    block: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Suggestion:
    """A layout, and why.

    Attributes:
        readers: names of the statements that read the table.
        filtering: how many of them have a filter that can skip files.
        counts: by column, in the table's order, how many statements use it in each way.
        block: what `meta.alluvium_layout` should say, with what it says already beside `sort_by`,
            `curve` and `bucket_by`; None where nothing asks for a layout.
        reasons: a line for each decision.
    """

    readers: tuple[str, ...]
    filtering: int
    counts: Mapping[str, Mapping[str, int]]
    block: Mapping[str, Any] | None
    reasons: tuple[str, ...]


def suggest(table: Shape, uses: Uses) -> Suggestion:
    """The layout that the filters of the statements ask for.

    uses: of every statement that reads the table.
    """
    usable = [one for one in table.types if not _obstacle(table, one)]
    # What each statement can skip files by, partitions included.
    filters = {
        statement: {
            column: EQUALITY if EQUALITY in kinds else RANGE
            for column, kinds in columns.items()
            if {EQUALITY, RANGE} & set(kinds) and (column in usable or column in table.partitions)
        }
        for statement, columns in uses.items()
    }
    filters = {statement: columns for statement, columns in filters.items() if columns}
    if not filters:
        block, reasons = _unfiltered(table, usable)
    else:
        bucket_by, reasons = _bucket_by(table, filters)
        named = [bucket_by["column"]] if bucket_by else []
        time = next((one for one in table.types if among(one, named)), None)
        sort_by, curve, more = _sort_by(table, usable, filters, time)
        reasons = [*more, *reasons]
        block = _block(table.block, sort_by, curve, bucket_by) if sort_by else None
    reasons += _remarks(table, uses)
    if block is not None and table.block is not None:
        reasons.append(_compared(block, table.block))
    return Suggestion(tuple(uses), len(filters), _counts(table, uses), block, tuple(reasons))


def _obstacle(table: Shape, column: str) -> str | None:
    """Why rows are not sorted by a column for its filters; None for one that can be."""
    kind = table.types[column]
    if among(column, table.partitions):
        return "the table is partitioned by it"
    if not is_sortable(kind):
        return f"rows cannot be sorted by the type {kind}"
    if not among(column, table.bounded):
        return (
            "Delta keeps no bounds of it. It keeps those of numbers, texts, dates and timestamps:"
            " in the first 32 columns, or in those of delta.dataSkippingStatsColumns"
        )
    return None


def _bucket_by(
    table: Shape, filters: Mapping[str, Mapping[str, str]]
) -> tuple[Mapping[str, str] | None, list[str]]:
    """What buckets should be made by, and why."""
    if table.block is not None and table.block.get("bucket_by"):
        return table.block["bucket_by"], ["bucket_by: as it is; another needs --full-refresh"]
    # The table is partitioned by a day, or Delta computes that from a time.
    asked = _ranked(
        table,
        {
            column: _asking(filters.values(), column)
            for column, kind in table.types.items()
            if (kind == "date" if column in table.partitions else table.generates)
            and kind in _TIMES
        },
    )
    if not asked or 2 * _asking(filters.values(), asked[0]) <= len(filters):
        return None, []
    column = asked[0]
    said = f"{_share(_asking(filters.values(), column), len(filters))} filter {column}"
    if table.updates:
        return None, [
            f"bucket_by: none, though {said}: merges change rows of any age, so no bucket would"
            " become quiet"
        ]
    said = f"bucket_by: {said}, and then read the buckets that they need"
    if column in table.partitions:
        return {"column": column, "window": "day"}, [said]
    said += "; a table that is there needs --full-refresh"
    daily = table.fragments_a_day.get(column)
    if daily is None:
        return {"column": column, "window": "day"}, [
            f"{said}; a day should fill a fragment (target_rows), else take week or month"
        ]
    for window, days in _DAYS.items():
        if daily * days >= 1:
            return {"column": column, "window": window}, [
                f"{said}; a {window} fills {daily * days:,.1f} full fragments"
            ]
    return None, [
        f"bucket_by: none, though {_share(_asking(filters.values(), column), len(filters))} filter"
        f" {column}: a month fills {daily * _DAYS['month']:,.2f} full fragments, and buckets would"
        " only keep files small"
    ]


def _sort_by(
    table: Shape,
    usable: Sequence[str],
    filters: Mapping[str, Mapping[str, str]],
    time: str | None,
) -> tuple[list[str], str, list[str]]:
    """Columns of the sort key, the curve, and why.

    time: the column that buckets are made by; None for none.
    """
    columns = [one for one in usable if one != time]
    equal = _ranked(
        table, {one: _asking(filters.values(), one, EQUALITY) for one in columns}, filters.values()
    )
    ranges = _ranked(
        table, {one: _asking(filters.values(), one) for one in columns if one not in equal}
    )
    # The time of the buckets comes last: within one it tells little apart.
    last = ranges[:1] + [one for one in usable if one == time]
    order = equal[: MOST - len(last)] + last
    if not order:
        key = _key(table, usable)
        said = (
            "its key, as partitions alone serve the filters" if key else "the filters ask for none"
        )
        return key, LEXICAL, [f"sort_by: {said}"]

    # Statements that buckets and partitions serve already ask nothing of the order's first column.
    served = {*table.partitions, time}
    rest = [one for one in filters.values() if not any(column in served for column in one)]
    apart = "" if len(rest) == len(filters) else "; those that buckets serve are not counted"
    if rest and _asking(rest, order[0]) < _SERVED * len(rest):
        cover = _cover(table, columns, rest)
        if _asking(rest, cover[0]) < _SERVED * len(rest):
            return cover, ZORDER, _reasons_of_zorder(cover, rest, apart)
        # Enough of them ask for this one, though by bounds.
        order = [cover[0], *(one for one in order if one != cover[0])][:MOST]
    reasons = _reasons_of_lexical(order, equal, time, filters)
    if rest:
        asked = _share(_asking(rest, order[0]), len(rest))
        reasons.append(f"curve: lexical, as {asked} filter {order[0]}{apart}")
    return order, LEXICAL, reasons


def _reasons_of_zorder(
    cover: Sequence[str], rest: Sequence[Mapping[str, str]], apart: str
) -> list[str]:
    served = sum(any(column in cover for column in one) for one in rest)
    asked = _share(_asking(rest, cover[0]), len(rest))
    return [
        f"sort_by: {_share(served, len(rest))} filter one of these columns{apart}; each more"
        " would make the others skip less",
        f"curve: zorder, as only {asked} filter {cover[0]}, and none is filtered by more; a lexical"
        f" order serves filters on its first column (wanted: {_SERVED:.0%})",
    ]


def _reasons_of_lexical(
    order: Sequence[str],
    equal: Sequence[str],
    time: str | None,
    filters: Mapping[str, Mapping[str, str]],
) -> list[str]:
    reasons = []
    for place, column in enumerate(order):
        asked = f"{_share(_asking(filters.values(), column), len(filters))} filter it"
        if column in equal:
            by = _asking(filters.values(), column, EQUALITY)
            asked += f", {by} by equality"
            if place:
                asked += "; behind those asked for more often"
        elif column == time:
            asked += "; the time of the buckets comes last"
        elif place:
            asked += ", by range; no other range behind it would help"
        else:
            asked += ", by range"
        reasons.append(f"sort_by: {column}: {asked}")
    return reasons


def _unfiltered(table: Shape, usable: Sequence[str]) -> tuple[Mapping[str, Any] | None, list[str]]:
    """A layout for a table without filters, and why."""
    said = "nothing filters it: a layout would only keep its files few"
    if table.block is not None:
        return None, [f"{said}, in whatever order; the one that it has is as good as any"]
    key = _key(table, usable)
    if not key:
        return None, [said]
    return _block(None, key, LEXICAL, None), [f"{said}; sort by its key, which merges look for"]


def _key(table: Shape, usable: Sequence[str]) -> list[str]:
    """The columns of the table's key that rows can be sorted by, in the key's order."""
    return [name for one in table.key for name in usable if among(name, [one])][:MOST]


def _remarks(table: Shape, uses: Uses) -> list[str]:
    """What is to be known of columns that are filtered in vain, or only joined."""
    found: dict[str, list[str]] = {}
    for column in table.types:
        ways = [set(one[column]) for one in uses.values() if column in one]
        pruning = sum(bool({EQUALITY, RANGE} & kinds) for kinds in ways)
        subqueries = sum(SUBQUERY in kinds for kinds in ways)
        remark = _obstacle(table, column) if pruning else None
        if remark:
            remark = f"not in sort_by, {remark}"
        elif subqueries:
            remark = (
                f"{_share(subqueries, pruning)} compare it with a subquery, by which Delta skips no"
                " file, only row groups in them"
            )
        elif not pruning and any(OTHER in kinds for kinds in ways):
            remark = (
                "filtered only in ways that skip no file, such as inside a function, by <> or"
                " LIKE '%…'; compare the column itself with values"
            )
        elif not pruning and any(JOINED in kinds for kinds in ways):
            remark = "only joined on, which skips no file by itself"
        if remark:
            found.setdefault(remark, []).append(column)
    return [f"{', '.join(columns)}: {remark}" for remark, columns in found.items()]


def _compared(block: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Whether the layout that the model has says the same."""
    wanted, has = _columns(block["sort_by"]), _columns(now["sort_by"])
    curve = block.get("curve", LEXICAL)
    same = curve == (now.get("curve") or LEXICAL) and block.get("bucket_by") == now.get("bucket_by")
    if curve == ZORDER:
        same = same and set(wanted) == set(has)
    else:
        # What comes behind tells apart what no filter does; the time of `bucket_by` always does.
        named = _columns([(now.get("bucket_by") or {}).get("column", "")])
        has = [*has, *(name for name in named if name not in has)]
        same = same and wanted == has[: len(wanted)]
    if same:
        return "meta.alluvium_layout of the model agrees"
    return (
        f"meta.alluvium_layout of the model differs: {now.get('curve') or LEXICAL} by"
        f" {', '.join(_columns(now['sort_by']))}"
        + ("" if now.get("bucket_by") else ", without bucket_by")
    )


def _block(
    now: Mapping[str, Any] | None,
    sort_by: Sequence[str],
    curve: str,
    bucket_by: Mapping[str, str] | None,
) -> Mapping[str, Any]:
    given: dict[str, Any] = {"sort_by": list(sort_by)}
    if curve != LEXICAL:
        given["curve"] = curve
    if bucket_by:
        given["bucket_by"] = dict(bucket_by)
    kept = {key: value for key, value in (now or {}).items() if key not in ("sort_by", "curve")}
    return given | {key: value for key, value in kept.items() if key not in given}


def _cover(table: Shape, columns: Sequence[str], filters: Sequence[Mapping[str, str]]) -> list[str]:
    """A few columns, MOST at most, of which each statement filters one.

    By the greedy method: each is the one that most of the statements ask for that are left.
    """
    found: list[str] = []
    left = list(filters)
    while left and len(found) < MOST:
        best = _ranked(table, {one: _asking(left, one) for one in columns}, filters)
        if not best:
            break
        found.append(best[0])
        left = [one for one in left if best[0] not in one]
    return found


def _asking(filters: Iterable[Mapping[str, str]], column: str, kind: str | None = None) -> int:
    """Statements that filter a column, or only those that do so in one way."""
    return sum(column in one and kind in (None, one[column]) for one in filters)


def _ranked(
    table: Shape,
    counts: Mapping[str, int],
    filters: Collection[Mapping[str, str]] = (),
) -> list[str]:
    """Columns that are asked for, most often first.

    filters: decide between equals by how many statements filter by them at all; then, as without,
        the table's order does.
    """
    places = {column: place for place, column in enumerate(table.types)}

    def rank(column: str) -> tuple[int, int, int]:
        return -counts[column], -_asking(filters, column), places[column]

    return sorted((one for one, count in counts.items() if count), key=rank)


def _counts(table: Shape, uses: Uses) -> dict[str, dict[str, int]]:
    found = {}
    for column in table.types:
        ways = [set(one[column]) for one in uses.values() if column in one]
        count = {
            # A statement that names values and bounds of a column counts for the values.
            EQUALITY: sum(EQUALITY in kinds for kinds in ways),
            RANGE: sum(RANGE in kinds and EQUALITY not in kinds for kinds in ways),
            OTHER: sum(OTHER in kinds for kinds in ways),
            JOINED: sum(JOINED in kinds for kinds in ways),
        }
        if any(count.values()):
            found[column] = count
    return found


def _columns(given: str | Sequence[str]) -> list[str]:
    return [one.lower() for one in ([given] if isinstance(given, str) else given)]


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} statements"
