"""What differs between two versions of tables, row by row, by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from alluvium.delta.log.states import VersionState
from alluvium.delta.refs import pinned
from alluvium.names import quoted
from alluvium.plan.versions.steps import Steps, steps
from alluvium.versions.columns import Columns
from alluvium.versions.points import Point
from alluvium.wording import needs

ADDED, REMOVED, CHANGED = "added", "removed", "changed"
# Commits of another table's log in which compactions are looked for: the newest ones.
_MOST = 1_000


@dataclass(frozen=True)
class Diff:
    """What differs between two versions.

    Attributes:
        rows: one for each key that differs. `key` is a struct of the key's columns; `change` is
            `added`, `removed` or `changed`. `before` and `after` are structs of all columns as the
            version has them, NULL where it has no such row. Without a key there is no `key`, and
            rows are added and removed, each as often as one version has it more than the other.
        columns: of both versions.
        opened: how many files are read of the earlier and of the later version.
        moved: how many files are not read because a compaction only moved their rows.
    """

    rows: DataFrame
    columns: Columns
    opened: tuple[int, int]
    moved: int


class FilesGoneError(ValueError):
    """Files of a version that is to be compared are not there.

    Attributes:
        what: which, as a message says it.
    """

    def __init__(self, state: VersionState, gone: Sequence[str]) -> None:
        self.what = f"version {state.version:,} of {state.table} {needs(gone)}"
        super().__init__(f"{self.what}. Accepted: versions whose files are there")


def diff(
    session: SparkSession, before: Point, after: Point, key: Sequence[str] = (), hides: bool = True
) -> Diff:
    """Compare two versions, of one table or of two.

    Files that both have with the same deletion vectors are not opened. Nor are those whose rows a
    compaction only moved, as far as the logs tell. Keys are one as `group by` has it: NULL is a key
    too. Where a key has several rows, equal ones of both versions cancel one another out. What is
    left over is `changed` where it is one of each, else `added` and `removed`.

    A column that only `after` has counts as NULL in `before`. One that only `before` has is not
    compared. A renamed column is the same one.

    Args:
        key: names of the columns that identify a row; none for tables that have no such columns.
        hides: whether rows that are marked `_deleted` count as not there, as readers see it.

    Raises:
        FilesGoneError: a file that would be read is not there.
        ValueError: there is no such version, or a column of the key is not in both.
    """
    old = VersionState(session, before.table, before.version, hides)
    new = VersionState(session, after.table, after.version, hides)
    columns = Columns(old.schema, new.schema, old.largest_id())
    names = columns.of_key(key)
    if columns.in_shared_files:
        _check_there(old)
        _check_there(new)
        opened = old.snapshot.files, new.snapshot.files
        return Diff(_compared(columns, names, old.rows(), new.rows()), columns, opened, 0)
    found = _steps(old, new)
    _check_there(old, found.goes)
    _check_there(new, found.comes)
    rows = _compared(columns, names, old.rows(found.goes), new.rows(found.comes))
    moved = len(found.moved_out) + len(found.moved_in)
    return Diff(rows, columns, (len(found.goes), len(found.comes)), moved)


def _check_there(state: VersionState, names: Sequence[str] | None = None) -> None:
    """Look before the read; names: of the files that are read, None for all."""
    if names is None or names:
        gone = pinned.gone(state.session, state.needed(names))
        if gone:
            raise FilesGoneError(state, gone)


def _steps(old: VersionState, new: VersionState) -> Steps:
    goes, comes = old.entries(new), new.entries(old)
    if not goes or not comes:
        return steps(goes, comes)
    if old.root != new.root:
        moves, undone = (one.moves(max(one.version - _MOST, -1)) for one in (new, old))
        return steps(goes, comes, moves, undone)
    if old.version <= new.version:
        return steps(goes, comes, new.moves(old.version))
    return steps(goes, comes, undone=old.moves(new.version))


def _compared(columns: Columns, key: Sequence[str], old: DataFrame, new: DataFrame) -> DataFrame:
    """`Diff.rows` of some rows of both versions."""
    whole = old.schema, new.schema

    def side(rows: DataFrame, is_after: bool) -> DataFrame:
        own = F.struct(*map(quoted, rows.columns))
        before, after = (
            own if is_this else F.lit(None).cast(kind)
            for is_this, kind in zip((not is_after, is_after), whole, strict=True)
        )
        same = [
            columns.comparable(pair.after.name, is_after).alias(f"c{place}")
            for place, pair in enumerate(columns.pairs)
        ]
        values = [columns.values(name, is_after).alias(name) for name in key]
        return rows.select(
            *([F.struct(*values).alias("key")] if key else []),
            F.struct(*same).alias("same"),
            before.alias("before"),
            after.alias("after"),
            F.lit(1 if is_after else -1).alias("sign"),
        )

    both = side(old, False).union(side(new, True))
    by = ["key"] if key else ["same"]
    # One shuffle for what follows: rows of a key come together.
    counted = both.repartition(*by).groupBy(*by, *(["same"] if key else []))
    rows = counted.agg(
        F.sum("sign").alias("n"),
        F.first("before", ignorenulls=True).alias("before"),
        F.first("after", ignorenulls=True).alias("after"),
    ).where("n <> 0")
    rows = rows.withColumns(
        {"before": F.expr("if(n < 0, before, null)"), "after": F.expr("if(n > 0, after, null)")}
    )
    is_pair: Column = F.lit(False)
    if key:
        window = Window.partitionBy("key")
        rows = rows.withColumns(
            {
                "gone": F.expr("sum(greatest(-n, 0))").over(window),
                "came": F.expr("sum(greatest(n, 0))").over(window),
                "earlier": F.first("before", ignorenulls=True).over(window),
            }
        )
        is_pair = F.expr("gone = 1 and came = 1")
        earlier = F.when(is_pair, F.col("earlier")).otherwise(F.col("before"))
        rows = rows.where(~is_pair | F.expr("n > 0")).withColumn("before", earlier)
    change = F.when(is_pair, CHANGED).when(F.expr("n < 0"), REMOVED).otherwise(ADDED)
    return rows.withColumn("copy", F.explode(F.expr("sequence(1, abs(n))"))).select(
        *(["key"] if key else []), change.alias("change"), "before", "after"
    )
