"""Merge a branch into the table that it began as: three ways, by key, in one commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium import marks
from alluvium.delta.log import committing, log
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.log.states import TOMBSTONE_TIME
from alluvium.delta.refs import merge_bases
from alluvium.delta.refs.refs import base_of, has_version, ref_in
from alluvium.engine.row_json import IN_FULL
from alluvium.merge import execute, one_commit, progress
from alluvium.names import bare, quoted
from alluvium.plan.versions import three_ways
from alluvium.plan.versions.three_ways import MergedBranch
from alluvium.versions.columns import in_order, mixed_up, renamed
from alluvium.versions.constraints import broken, check_identity
from alluvium.versions.diff import FilesGoneError, diff
from alluvium.versions.points import Point
from alluvium.wording import counted

# Conflicts, and keys that are wrong, that a message shows.
_SHOWN = 5
_OURS, _THEIRS, _APPLIED = (f"alluvium_branch_{name}" for name in ("ours", "theirs", "applied"))


def merge(
    session: SparkSession,
    branch: str,
    branch_table: str,
    table: execute.DeltaTable,
    key: Sequence[str],
    *,
    prefer: str | None = None,
    dry_run: bool,
) -> MergedBranch:
    """Bring what changed on a branch into the table that it began as.

    A row that changed on both sides, and not alike, is a conflict: without `prefer` nothing is done
    then. Rows are written again, so the table needs no file of the branch.

    Args:
        branch: its name, for messages and the commit.
        branch_table: name, as SQL writes it.
        key: names of the columns that identify a row.
        prefer: `branch` or `table`: whose row is taken where there is a conflict.

    Raises:
        ValueError: there are conflicts. Or a key is NULL or is there twice, or the columns differ.
            Or the branch took events back, or the table takes no merge in one commit. Nothing was
            changed.
        ConflictError: other writers were faster too often. Nothing was changed.
    """
    names = [bare(one) for one in key]
    merging = _Merging(session, branch, branch_table, table.name, names, prefer)
    with merging.views():
        if dry_run:
            planned = merging.plan()
            # The merge itself looks at this once more, in its own transaction.
            if planned.rows and (why := one_commit.refused(session, merging.sql())):
                raise execute.needs_merge_into(table.name, why)
            return planned
        found: list[MergedBranch] = []

        def statement() -> execute.Statement | None:
            found.append(merging.plan())
            if not found[-1].rows:
                if found[-1].same or found[-1].conflicts:
                    merging.note()
                return None
            told = (*three_ways.KINDS, "conflicts", "prefer")
            figures = {"branch": branch, **{kind: getattr(found[-1], kind) for kind in told}}
            return execute.Statement(
                merging.sql(),
                figures,
                at=found[-1].version,
                key=marks.BRANCH_MERGE,
                noted=merging.noted,
                needs_one_commit=True,
            )

        execute.run(table, statement)
        return found[-1]


class _Merging:
    def __init__(
        self,
        session: SparkSession,
        branch: str,
        ours: str,
        table: str,
        key: Sequence[str],
        prefer: str | None,
    ) -> None:
        self.session, self._branch, self._ours, self._table = session, branch, ours, table
        self._prefer = prefer
        base = base_of(session, ours)
        if base is None:
            raise ValueError(f"{ours} is not a table of a branch; accepted: one that a branch made")
        self._base, self._key = base, key
        self._names = [quoted(one) for one in key]
        self._first, self._began = self._first_state()
        # What is built on the branch meanwhile is of another merge.
        self._until = TableSnapshot.of(session, ours)
        self._columns: list[str] = []
        self._kept: list[DataFrame] = []

    @contextmanager
    def views(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._let_go()
            for view in (_OURS, _THEIRS, _APPLIED):
                self.session.catalog.dropTempView(view)

    def plan(self) -> MergedBranch:
        """What is to be merged into the table as it is now, in the view `_APPLIED`."""
        self._let_go()
        now = self._now = TableSnapshot.of(self.session, self._table)
        ours, theirs, since = self._both_had(now)
        self._check_columns(now, ours)
        self._view(_OURS, ours, Point(self._ours, self._until.version))
        self._view(_THEIRS, theirs, Point(self._table, now.version))
        self._check_keys()
        verdicts = self._keep(self.session.sql(three_ways.verdicts(_OURS, _THEIRS)))
        numbers = {
            (row.verdict, row.does): int(row.number)
            for row in verdicts.groupBy("verdict", "does")
            .agg(F.count("*").alias("number"))
            .collect()
        }
        same, conflicts = (
            sum(n for (verdict, _), n in numbers.items() if verdict == one)
            for one in (three_ways.SAME, three_ways.CONFLICT)
        )
        if conflicts and self._prefer is None:
            raise ValueError(self._conflicts(verdicts, conflicts))
        taken = [three_ways.APPLIED]
        if self._prefer == three_ways.BRANCH:
            taken.append(three_ways.CONFLICT)
        applied = verdicts.where(F.col("verdict").isin(taken)).withColumn("change", F.col("does"))
        applied.createOrReplaceTempView(_APPLIED)
        check_identity(self._table, now, applied)
        self._check_fits(now.version)
        self._check_constraints(now)
        added, changed, removed = (
            sum(numbers.get((verdict, kind), 0) for verdict in taken) for kind in three_ways.KINDS
        )
        return MergedBranch(
            added,
            changed,
            removed,
            same=same,
            moved_on=not self.session.table(_THEIRS).isEmpty(),
            since=since,
            version=now.version,
            conflicts=conflicts,
            prefer=self._prefer,
        )

    def sql(self) -> str:
        """The statement that applies `_APPLIED`."""
        columns = [quoted(one) for one in self._columns]
        sets = ", ".join(f"stored.{one} = applied.after.{one}" for one in columns)
        values = ", ".join(f"applied.after.{one}" for one in columns)
        return f"""\
merge into {self._table} as stored
using {_APPLIED} as applied
on {three_ways.on_key(self._names)}
when matched and applied.change = 'removed' then delete
when matched then update set {sets}
when not matched and applied.change <> 'removed'
    then insert ({", ".join(columns)}) values ({values})"""

    @property
    def noted(self) -> tuple[str, int]:
        """What the commit of a merge records: a later one goes on from there.

        A full refresh gives the branch's table another id. The first one stays in its log. One of
        the table itself leaves nothing of what was merged into it.
        """
        return merge_bases.app_of(self._began[0], self._now.table_id), self._until.version

    def note(self) -> None:
        """Record `noted` alone: what stays as it is in the table is merged too."""
        log.commit_transactions(
            self.session, self._table, dict([self.noted]), committing.FOREVER, seen=self._now.delta
        )

    def _both_had(self, now: TableSnapshot) -> tuple[Point, Point, str]:
        """The newest state that branch and table have had, for what each of them changed since; and
        when that was.

        That is what was merged last, or where the branch began. For the table it is in its own log
        if it is still there: that tells what a compaction only moved.

        now: the table.
        """
        merged = merge_bases.merged_last(now.numbers, self._began[0])
        if merged is not None:
            since, both = "was merged last", Point(self._ours, merged)
            self._check_progress(log.state(self.session, self._ours, merged), since)
            return both, both, since
        since = "began"
        self._check_progress(self._began, since)
        ours = Point(self._ours, 0)
        theirs = Point(self._table, self._base.version) if self._has_base(now) else ours
        return ours, theirs, since

    def _has_base(self, now: TableSnapshot) -> bool:
        """Whether the table's log has the version that the branch began as."""
        ref = ref_in(self.session, self._until.folder)
        return ref is not None and has_version(now, self._table, self._base, ref.commit)

    def _first_state(self) -> tuple[TableSnapshot, tuple[str, dict[str, int]]]:
        """The snapshot with which the branch's table began, and its id and progress then.

        A table that Delta's own command cloned got its progress by a second commit.

        Raises ValueError where its log has them no more.
        """
        try:
            first = TableSnapshot.of(self.session, self._ours, 0)
            table_id, numbers = first.numbers
            return first, (table_id, numbers or log.state(self.session, self._ours, 1)[1])
        except (PySparkException, Py4JError) as error:
            raise ValueError(
                f"{self._ours}: its log no longer tells how the branch began, so nobody knows what"
                " changed since. Nothing was changed. Accepted: a branch whose log has its first"
                " version (delta.logRetentionDuration)"
            ) from error

    def _check_progress(self, before: tuple[str, dict[str, int]], since: str) -> None:
        """Stop what would take events from the table that its own builds then pass over."""
        then, ours = (progress.by_model(*one) for one in (before, self._until.numbers))
        came = max((number for model, number in ours.items() if model not in then), default=-1)
        back = [
            f"{model} from batch {number} to {ours.get(model, 'none')}"
            for model, number in sorted(then.items())
            # A model that came since may have taken the place of one that was there.
            if max(ours.get(model, -1), -1 if model in ours else came) < number
        ]
        if back:
            raise ValueError(
                f"{self._ours} went back since it {since}: {', '.join(back)}. The merge would take"
                " those events from the table, and its builds would pass them over. Nothing was"
                " changed. Accepted: a build on the branch first, or alluvium.restore of the table"
            )

    def _view(self, name: str, before: Point, after: Point) -> None:
        # Tombstones are rows: a branch that deleted one brings its tombstone.
        try:
            rows = diff(self.session, before, after, self._key, hides=False).rows
        except FilesGoneError as error:
            raise ValueError(
                f"{self._branch} cannot be merged: {error.what}. Nothing was changed. Accepted: to"
                f" discard {self._branch} and branch again, or a MERGE by SQL of its rows"
            ) from error
        # As texts two rows can be compared, whatever types and order their columns have.
        # Both may have merged one delete, each at its own time.
        columns = sorted(one for one in self._columns if one.lower() != TOMBSTONE_TIME)
        kinds = rows.select("after.*").schema
        row = F.struct(
            *(in_order(F.col("after")[one], kinds[one].dataType).alias(one) for one in columns)
        )
        now = F.when(F.col("after").isNotNull(), F.to_json(row, IN_FULL))
        self._keep(rows.withColumn("now", now)).createOrReplaceTempView(name)

    def _check_columns(self, now: TableSnapshot, since: Point) -> None:
        """Stop where a name does not stand for the same column on both sides.

        Args:
            now: the table.
            since: the branch's table when both had the same rows last.
        """
        last = TableSnapshot.of(self.session, since.table, since.version)
        schemas = [one.schema for one in (self._until, now, self._first, last)]
        self._columns = schemas[1].names
        ours, theirs = (
            {field.name: field.dataType.simpleString() for field in one} for one in schemas[:2]
        )
        others = renamed(*schemas[:2])
        differ = [
            f"{new} on the branch is {old} in the table, for one of them renamed it"
            for new, old in others.items()
        ]
        differ += [
            f"{name} is {ours.get(name, 'not there')} on the branch and"
            f" {theirs.get(name, 'not there')} in the table"
            for name in [*ours, *(one for one in theirs if one not in ours)]
            if ours.get(name) != theirs.get(name) and name not in {*others, *others.values()}
        ]
        replaced = (
            self._until.table_id != self._began[0],
            self._now.table_id != self._base.table_id,
        )
        differ += [
            f"{name} is another column on the branch than in the table, for one of them renamed"
            " columns, or dropped this one and added it again"
            for name in mixed_up(*schemas, replaced=replaced)
        ]
        if differ:
            raise ValueError(
                f"{self._ours} and {self._table} have other columns: {'; '.join(differ)}."
                " Nothing was changed. Accepted: the same columns, which a build of the same model"
                " gives both"
            )
        missing = [one for one in self._key if one.lower() not in map(str.lower, theirs)]
        if missing:
            raise ValueError(
                f"{self._table} has no column {', '.join(missing)}, by which rows are merged;"
                f" accepted: {', '.join(theirs)}"
            )

    def _check_keys(self) -> None:
        is_null = " or ".join(f"key.{quoted(one)} is null" for one in self._key)
        named = ", ".join(self._key)
        for view, of in ((_OURS, self._ours), (_THEIRS, self._table)):
            nulls = self.session.table(view).where(is_null).count()
            if nulls:
                raise ValueError(
                    f"{of}: {counted(nulls, 'row')} changed that have NULL in the key ({named}), so"
                    " nobody knows which rows they are. Nothing was changed. Accepted: keys without"
                    " NULL"
                )
            twice = self.session.sql(three_ways.repeated(view))
            if rows := twice.select(_text("key"), "number").limit(_SHOWN).collect():
                raise ValueError(self._repeated(of, [f"{row[0]} ({row[1]} times)" for row in rows]))

    def _check_fits(self, now: int) -> None:
        stored = f"{self._table} version as of {now}"
        wrong = self.session.sql(three_ways.unexpected(_APPLIED, stored, self._names))
        rows = wrong.select(_text("key"), "number").limit(_SHOWN).collect()
        if rows:
            shown = [f"{row[0]} ({counted(row[1], 'row')})" for row in rows]
            raise ValueError(self._repeated(self._table, shown))

    def _check_constraints(self, now: TableSnapshot) -> None:
        """Stop where a row breaks what the table asks for by now."""
        rows = self.session.table(_APPLIED).where("change <> 'removed'").select("after.*")
        if found := broken(now, rows):
            raise ValueError(
                f"{self._table}: {self._branch} brings "
                + ", ".join(f"{counted(n, 'row')} that break {name}" for name, n in found.items())
                + ". Nothing was changed. Accepted: rows that keep it, which a build on the branch"
                " gives, or a table without that constraint"
            )

    def _repeated(self, of: str, keys: Sequence[str]) -> str:
        return (
            f"{of}: {', '.join(self._key)} names no single row, for there are others of the same"
            f" key: {', '.join(keys)}. Nothing was changed. Accepted: a unique_key that is unique"
        )

    def _conflicts(self, verdicts: DataFrame, number: int) -> str:
        rows = (
            verdicts.where(f"verdict = '{three_ways.CONFLICT}'")
            .select(_text("key"), "change", _text("after"), "their_change", _text("their_after"))
            .limit(_SHOWN)
            .collect()
        )
        lines = [
            f"  {row[0]}: {row[1]} on the branch{_shown(row[2])},"
            f" {row[3]} in the table{_shown(row[4])}"
            for row in rows
        ]
        more = f"\n  and {number - len(rows):,} more" if number > len(rows) else ""
        return (
            f"{counted(number, 'row')} changed on {self._branch} and in {self._table}, and not"
            f" alike. Nothing was changed. Accepted: prefer: branch, which takes the rows of"
            f" {self._branch}, or prefer: table, which keeps the others; alluvium.diff with to:"
            f" {{branch: {self._branch}}} shows both:\n" + "\n".join(lines) + more
        )

    def _keep(self, rows: DataFrame) -> DataFrame:
        self._kept.append(rows.persist())
        return self._kept[-1]

    def _let_go(self) -> None:
        for rows in self._kept:
            rows.unpersist()
        self._kept.clear()


def _text(column: str) -> Column:
    return F.to_json(column, IN_FULL)


def _shown(row: str | None) -> str:
    return "" if row is None else f" ({row})"
