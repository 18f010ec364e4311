"""What the commits of tables did, kept from run to run: snapshots, segments and blocks rest on it.

A run reads the commits that it has not seen, and opens the files whose footers it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta import committing, footers, log
from alluvium.delta.commit_files import TableLog
from alluvium.marks import ACTIONS_KEPT
from alluvium.names import literal
from alluvium.plan.versions.batches import batch_of
from alluvium.plan.versions.commit import Commit
from alluvium.plan.versions.snapshots import ACTIONS, SIZES, State, Totals, follow
from alluvium.report.kept import (
    ACTION_ROWS,
    BLOCK,
    COMMIT,
    FOOTERS,
    Kept,
    Known,
    Seen,
    file_id,
    note,
)

_OPTIMIZE = "spark.databricks.delta.optimize"
# Files of the keeping table from which on those of less bytes are merged.
MOST_FILES, _LARGE_FILE = 50, 2**24


@dataclass(frozen=True)
class Table:
    """A table: the name of its model, and its own as SQL writes it."""

    model: str
    name: str


@dataclass(frozen=True)
class Unseen:
    """What is to be kept beside what is kept already.

    Attributes:
        rows: columns as ACTION_ROWS.
        forget: names of tables that are gone or were made again. What is kept of them does not hold
            any more.
        seen: the newest commit of each table, by its name.
        after: the version of the keeping table that was read; None for none.
    """

    rows: pa.Table
    forget: list[str]
    seen: dict[str, Seen]
    after: int | None


def unseen(session: SparkSession, tables: Sequence[Table], kept: str | None) -> Unseen:
    """Read what the logs of the tables say that is not kept.

    Args:
        kept: name of the table that keeps it, columns as ACTION_ROWS; None for none.

    Raises:
        ValueError: one of them is not a Delta table, or a commit is not in its log.
    """
    # First: what another run adds later must not be taken for seen.
    after = None if kept is None else log.version(session, kept)
    keeps = Kept(session, kept)
    before = keeps.seen()
    found, seen, opened = [ACTION_ROWS.empty_table()], {}, list[pa.Table]()
    forget = sorted(before.keys() - {one.name for one in tables})
    for table in tables:
        table_log = TableLog(session, table.name)
        last = before.get(table.name)
        if last is not None and not _continues(table_log, last):
            forget.append(table.name)
            last = None
        if last is not None and last.version == table_log.version:
            seen[table.name] = last
            continue
        rows, newest = _Reading(session, table, table_log, keeps, last, opened).rows()
        if last is not None and not _agree(table_log, newest):
            forget.append(table.name)
            rows, newest = _Reading(session, table, table_log, keeps, None, opened).rows()
        if not _agree(table_log, newest):
            raise ValueError(
                f"{table.name}: its commits tell {newest.totals.blocks} files, Delta"
                f" {table_log.files()}; the log is damaged, or was written to by hand"
            )
        found.append(rows)
        seen[table.name] = newest
    return Unseen(pa.concat_tables(found), forget, seen, after)


def make_way(session: SparkSession, kept: str | None, found: Unseen) -> None:
    """Prepare `kept`, and this session, for the one statement that writes the rows next.

    Rows of tables that are to be forgotten are deleted, and small files are merged where there are
    many: auto compaction would look for them after each INSERT, for as long as the INSERT takes.

    Of two runs that read the same state of `kept` one inserts: the other is told, or inserts
    nothing where it comes later.

    kept: None where the statement makes the table.
    """
    session.conf.set(committing.COMMIT_METADATA, note(found.seen))
    if kept is None or found.after is None:
        return
    if found.forget:
        names = ", ".join(map(literal, found.forget))
        session.sql(f"delete from {kept} where table_name in ({names})")
    if int(log.snapshot_of(session, kept).numOfFiles()) >= MOST_FILES:
        session.conf.set(f"{_OPTIMIZE}.minFileSize", str(_LARGE_FILE))
        session.conf.set(f"{_OPTIMIZE}.maxFileSize", str(2 * _LARGE_FILE))
        session.sql(f"optimize {kept}")
    session.conf.set(committing.TXN_APP, ACTIONS_KEPT)
    session.conf.set(committing.TXN_VERSION, str(found.after + 1))


def of_table(session: SparkSession, table: Table, kept: str | None) -> DataFrame:
    """What the commits of one table did, columns as ACTION_ROWS: what is kept, and what is not.

    Raises:
        ValueError: it is not a Delta table, or a commit is not in its log.
    """
    found = unseen(session, [table], kept)
    rows = session.createDataFrame(found.rows)
    if kept is None or table.name in found.forget:
        return rows
    return session.table(kept).where(F.col("table_name") == table.name).unionByName(rows)


def check_version(rows: DataFrame, table: str, version: Any) -> None:
    """Raises ValueError unless the rows, as `of_table` gives them, tell a version of the table."""
    commits = rows.where("commit is not null")
    is_number = isinstance(version, int) and not isinstance(version, bool)
    if is_number and commits.where(F.col("version") == version).limit(1).count():
        return
    first, last = commits.selectExpr("min(version)", "max(version)").collect()[0]
    raise ValueError(
        f"version is {version!r}; accepted: those of {table} that its log tells, {first} to {last}"
    )


def _continues(table_log: TableLog, last: Seen) -> bool:
    """Whether the log is the one that was seen: a table may be dropped and made again."""
    if table_log.version < last.version:
        return False
    found = table_log.id_of(last.version)
    return found is None or found == last.id


def _agree(table_log: TableLog, newest: Seen) -> bool:
    """Whether Delta counts as many files: what commits said is carried on from run to run."""
    return table_log.files() in (None, newest.totals.blocks)


class _Reading:
    """Reads what the log of one table says after the newest commit that was seen.

    opened: footers that this run has read, which a reading adds to: `location` and `footer`.
    """

    def __init__(
        self,
        session: SparkSession,
        table: Table,
        table_log: TableLog,
        kept: Kept,
        last: Seen | None,
        opened: list[pa.Table],
    ) -> None:
        self._session, self._table, self._log = session, table, table_log
        self._kept, self._last, self._opened = kept, last, opened

    def rows(self) -> tuple[pa.Table, Seen]:
        """Rows as ACTION_ROWS, and the newest commit."""
        first = 0 if self._last is None else self._last.version + 1
        begins = first
        if self._last is None or not self._log.has(first):
            begins = max(first, self._log.earliest())
        read = self._log.read(begins, self._log.version)
        # Commits before it are gone: what its checkpoint has stands for what they did.
        is_begun = begins > first
        before, actions = self._begun(begins, read.actions) if is_begun else (None, read.actions)
        known = self._known(actions)
        opened = self._footers(actions, known)
        versions = [one.version for one in read.commits]
        sizes = pa.concat_tables([known.sizes, _sizes(opened)])
        changes, totals = follow(before or known.state, versions, actions, sizes)
        # New labels change no figure.
        is_felt = pc.or_(*(pc.not_equal(changes[name], 0) for name in ("blocks", "deleted_rows")))
        changes = changes.filter(is_felt)
        ids = self._table_ids(read.commits, begins if is_begun else None)
        commits = self._commits(read.commits, totals, begins if is_begun else None)
        newest = {name: commits[-1][name] for name in asdict(Totals())}
        last = Seen(versions[-1], ids[versions[-1]], read.commits[-1].id, Totals(**newest))
        rows = [
            self._rows(ids, totals["version"], commit=commits),
            self._rows(ids, changes["version"], block=self._blocks(changes, opened)),
        ]
        return pa.concat_tables(rows), last

    def _known(self, actions: pa.Table) -> Known:
        paths = pc.unique(actions["path"]).to_pylist()
        files = {path: self._log.location(path) for path in paths}
        return self._kept.known(self._table.name, self._last, files)

    def _begun(self, begins: int, actions: pa.Table) -> tuple[State, pa.Table]:
        """The state that was seen last, and actions that lead to that of `begins` at once."""
        before = self._kept.known(self._table.name, self._last, None).state
        state = self._log.state(begins)
        own = actions.filter(pc.equal(actions["version"], begins))
        brought = own.filter(own["is_add"])["path"]
        is_older = pc.invert(pc.is_in(state["path"], brought.combine_chunks()))
        state = state.set_column(ACTIONS.get_field_index("is_older"), "is_older", is_older)
        gone = before.blocks.filter(
            pc.invert(pc.is_in(before.blocks["path"], state["path"].combine_chunks()))
        )
        removals = pa.table(
            {
                "version": pa.array([begins] * gone.num_rows, pa.int64()),
                "path": gone["path"],
                "is_add": pa.array([False] * gone.num_rows),
                "rows": gone["rows"],
                "deleted": gone["deleted"],
                "bytes": gone["bytes"],
                "is_change": pa.array([False] * gone.num_rows),
                "is_older": pa.array([True] * gone.num_rows),
            }
        ).cast(ACTIONS)
        later = actions.filter(pc.greater(actions["version"], begins))
        return before, pa.concat_tables([state, removals, later])

    def _footers(self, actions: pa.Table, known: Known) -> pa.Table:
        """Footers of files that the table never had: `path`, `location`, `footer`, NULL for none.

        What is kept of the others has theirs.
        """
        added = actions.filter(actions["is_add"]).select(["path", "bytes"])
        new = added.filter(pc.invert(pc.is_in(added["path"], known.sizes["path"].combine_chunks())))
        new = new.group_by("path").aggregate([("bytes", "max")])
        locations = pa.array(map(self._log.location, new["path"].to_pylist()), pa.string())
        read = pa.concat_tables([known.footers, *self._opened])["location"].combine_chunks()
        unknown = pa.table({"location": locations, "bytes": new["bytes_max"]}).filter(
            pc.invert(pc.is_in(locations, read))
        )
        if unknown.num_rows:
            self._opened.append(footers.of_many(self._session, unknown).cast(FOOTERS))
        every = pa.concat_tables([known.footers, *self._opened]).combine_chunks()
        place = pc.index_in(locations, every["location"].combine_chunks())
        return pa.table(
            {
                "path": new["path"],
                "location": locations,
                "footer": every["footer"].combine_chunks().take(place),
            }
        )

    def _table_ids(self, commits: Sequence[Commit], begun: int | None) -> dict[int, str]:
        """The id of the table's metadata in each version."""
        now = self._last.table_id if self._last else ""
        ids = {}
        for one in commits:
            if one.version == begun:
                now = self._log.table_id(begun)
            now = one.table_id or now
            ids[one.version] = now
        return ids

    def _commits(
        self, commits: Sequence[Commit], totals: pa.Table, begun: int | None
    ) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        known = {self._last.version: self._last.id} if self._last else {}
        for one, sums in zip(commits, totals.to_pylist(), strict=True):
            feed, batch = batch_of(self._table.model, one)
            for name in ("rows_added", "rows_removed"):
                sums[name] = one.without_copies(sums[name])
            row = {name: sums[name] for name in COMMIT.names if name in sums} | {
                "snapshot_id": one.id,
                "previous_snapshot_id": known.get(one.version - 1),
                "committed_at": one.at,
                "operation": one.operation,
                "message": one.message,
                "feed": feed,
                "batch": batch,
                "author": one.author,
            }
            if one.version == begun:
                row |= {name: None for name in row if name.endswith(("_added", "_removed"))}
            known[one.version] = one.id
            rows.append(row)
        return rows

    def _blocks(self, changes: pa.Table, opened: pa.Table) -> pa.Array:
        place = pc.index_in(changes["path"], opened["path"].combine_chunks())
        came = pc.if_else(pc.equal(changes["blocks"], 1), place, None).combine_chunks()
        columns = {name: changes[name] for name in BLOCK.names if name in changes.column_names}
        paths = changes["path"].to_pylist()
        columns["file_id"] = pa.array(
            [file_id(self._log.location(path)) for path in paths], pa.int64()
        )
        columns |= {
            name: opened[name].combine_chunks().take(came) for name in ("location", "footer")
        }
        arrays = [
            one.combine_chunks() if isinstance(one, pa.ChunkedArray) else one
            for one in (columns[name] for name in BLOCK.names)
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(BLOCK))

    def _rows(
        self,
        ids: Mapping[int, str],
        versions: pa.ChunkedArray,
        commit: Any = None,
        block: Any = None,
    ) -> pa.Table:
        count = len(versions)
        columns = {
            "model": [self._table.model] * count,
            "table_name": [self._table.name] * count,
            "table_id": [ids[one] for one in versions.to_pylist()],
            "version": versions,
            "commit": pa.array([None] * count if commit is None else commit, COMMIT),
            "block": pa.nulls(count, BLOCK) if block is None else block,
        }
        return pa.table(columns, schema=ACTION_ROWS)


def _sizes(opened: pa.Table) -> pa.Table:
    footer = opened["footer"].combine_chunks()
    return pa.table(
        {
            "path": opened["path"],
            "rows": pc.struct_field(footer, "rows"),
            "bytes_uncompressed": pc.struct_field(footer, "bytes_uncompressed"),
        }
    ).cast(SIZES)
