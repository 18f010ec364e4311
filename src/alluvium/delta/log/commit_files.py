"""What commits say of a table's data files, read many at a time from the log's own files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta.internals import HISTORY
from alluvium.delta.log import log
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.engine import jvm
from alluvium.engine.causes import MENDS
from alluvium.paths import Place
from alluvium.plan.versions.commit import Commit, damaged
from alluvium.plan.versions.snapshots import ACTIONS

# What `commits` reads of a line of the log.
_ACTIONS = (
    "commitInfo struct<timestamp:bigint, inCommitTimestamp:bigint, operation:string,"
    " userMetadata:string>, add struct<path:string, size:bigint, dataChange:boolean>,"
    " remove struct<path:string>"
)
# And what `TableLog` does.
_FILE = (
    "struct<path:string, size:bigint, dataChange:boolean, stats:string,"
    " deletionVector:struct<storageType:string, pathOrInlineDv:string, offset:int,"
    " cardinality:bigint>>"
)
_LINES = (
    "commitInfo struct<timestamp:bigint, inCommitTimestamp:bigint, operation:string,"
    " userMetadata:string, userName:string, engineInfo:string, txnId:string,"
    " operationMetrics:map<string, string>, operationParameters:map<string, string>>,"
    f" add {_FILE}, remove {_FILE},"
    " metaData struct<id:string>, txn struct<appId:string, version:bigint>"
)
# NULL without one.
_VECTOR = (
    "{0}deletionVector.storageType || {0}deletionVector.pathOrInlineDv || '@'"
    " || coalesce(string({0}deletionVector.offset), '')"
)
_COLUMNS = (
    "bigint(left(_metadata.file_name, 20)) as version",
    "coalesce(add.path, remove.path) as path",
    "add is not null as is_add",
    "bigint(get_json_object(coalesce(add.stats, remove.stats), '$.numRecords')) as rows",
    "coalesce(add.deletionVector.cardinality, remove.deletionVector.cardinality, 0) as deleted",
    f"coalesce({_VECTOR.format('add.')}, {_VECTOR.format('remove.')}) as vector",
    "coalesce(add.size, remove.size) as bytes",
    "coalesce(add.dataChange, remove.dataChange, false) as is_change",
    "false as is_older",
    "commitInfo",
    "txn",
    "is_cut",
)
_SAYS_SOMETHING = " or ".join(
    f"{one} is not null" for one in ("add", "remove", "commitInfo", "txn", "metaData")
)
# The whole text of a line that is not as the schema says: a cut one, or one that another engine
# wrote with other types.
_CORRUPT = "_corrupt_record"
# Commits that are read at first, and later on, where it is not known how many are needed.
_STEP, _MOST = 50, 800
# So many commits are named one by one.
_FEW = 8


def commit_lines(session: SparkSession, schema: str, places: str | list[str]) -> DataFrame:
    """The lines of commits, a row each: of all in the folder of a log, or of some files there.

    Those that are not JSON have NULLs, but for `is_cut`.
    """
    # Neither compacted commits, which repeat others, nor checkpoints; and no folder's name is a
    # pattern.
    options = {"pathGlobFilter": "[0-9]" * 20 + ".json", "__globPaths__": "false"}
    options["columnNameOfCorruptRecord"] = _CORRUPT
    lines = session.read.schema(f"{schema}, {_CORRUPT} string").options(**options).json(places)
    is_cut = f"{_CORRUPT} is not null and try_parse_json({_CORRUPT}) is null"
    return lines.withColumn("is_cut", F.expr(is_cut))


def commits(session: SparkSession, table: str) -> DataFrame:
    """The commits of `table` that its log still has whole, up to the newest version, a row each.

    Columns: `version`, `committed_at` (timestamp), `metadata` (the user's text), `written` and
    `rewritten`: bytes of the new files with new rows or changed ones, and of those with rows of
    other files. What gives a file new tags, statistics or a deletion vector, and what brings an old
    one back, makes no new file.

    Reads each commit's own file, in one Spark job.
    """
    snapshot = log.snapshot_of(session, table)
    lines = (
        commit_lines(session, _ACTIONS, str(snapshot.deltaLog().logPath().toString()))
        .withColumn("version", F.expr("bigint(left(_metadata.file_name, 20))"))
        .where(F.col("version") <= int(snapshot.version()))
    )
    # A file that is removed and added in one commit has another deletion vector, and is not new.
    is_new = "filter (where removes = 0 and {})"
    return (
        lines.groupBy("version", F.expr("coalesce(add.path, remove.path)"))
        .agg(
            F.max("commitInfo").alias("info"),  # of the lines without a path
            F.max("add.size").alias("size"),
            F.max("add.dataChange").alias("is_change"),
            F.count("remove").alias("removes"),
            F.bool_or("is_cut").alias("is_cut"),
        )
        .groupBy("version")
        .agg(
            F.max("info").alias("info"),
            F.bool_or("is_cut").alias("is_cut"),
            F.expr(f"sum(size) {is_new.format('is_change')}").alias("changed"),
            F.expr(f"sum(size) {is_new.format('not is_change')}").alias("moved"),
            F.sum("removes").alias("removes"),
        )
        .where("not is_cut")
        .selectExpr(
            "version",
            "timestamp_millis(coalesce(info.inCommitTimestamp, info.timestamp)) as committed_at",
            "info.userMetadata as metadata",
            "if(info.operation = 'RESTORE', 0, coalesce(changed, 0)) as written",
            # Without a file that goes, those that come are the same ones again.
            "if(removes > 0, coalesce(moved, 0), 0) as rewritten",
        )
    )


@dataclass(frozen=True)
class Commits:
    """Commits in order, and their actions on data files: columns as `snapshots.ACTIONS`."""

    commits: list[Commit]
    actions: pa.Table


class TableLog:
    """The log of a table as it is now.

    Attributes:
        name: the table's, as SQL writes it.
        snapshot: the newest version.
        version: its number.

    Raises:
        ValueError: there is not a Delta table of this name.
    """

    def __init__(self, session: SparkSession, table: str) -> None:
        self._session, self.name = session, table
        self.snapshot = TableSnapshot.of(session, table)
        self._log = self.snapshot.delta.deltaLog()
        self.version = self.snapshot.version
        if self.version < 0:
            raise ValueError(f"{table} is not a Delta table; accepted: file_format delta")
        self.folder = self.snapshot.folder
        self._place = Place.of(self.folder)

    def at(self, version: int) -> TableSnapshot:
        """A version, which may have come since.

        Raises ValueError where there is no such version; it says which ones there are.
        """
        newest = self.snapshot if version <= self.version else self.snapshot.newest()
        found = log.earlier(self._session, newest.delta, version, self.name)
        return TableSnapshot(self._session, found)

    def files(self) -> int | None:
        """Number of files of the newest version, as Delta wrote it beside the commit, if it did."""
        found = self.snapshot.delta.checksumOpt()
        return int(found.get().numFiles()) if found.isDefined() else None

    def earliest(self) -> int:
        """The earliest version whose files the log still tells."""
        return int(self._log.history().getEarliestRecreatableCommit())

    def first(self) -> int:
        """The earliest version of whose commit the log has the file."""
        manager = jvm.internal(self._session, HISTORY)
        return int(manager.getEarliestDeltaFile(self._log))

    def has(self, version: int) -> bool:
        """Whether the log has the commit's file."""
        path = log.commit_path(self._session, self._log, version)
        return bool(path.getFileSystem(self._log.newDeltaHadoopConf()).exists(path))

    def version_at(self, moment: datetime) -> int:
        """The version at a moment; Delta's errors say that there was none, or is none any more."""
        at = jvm.of(self._session).java.sql.Timestamp(int(moment.timestamp() * 1000))
        none = jvm.of(self._session).scala.Option.empty()
        jvm.activate(self._session)
        found = self._log.history().getActiveCommitAtTime(at, none, True, True, False)
        return int(found.version())

    def spans(self, most: int | None = None) -> Iterator[tuple[int, int]]:
        """First and last of versions to read at a time, newest first, with growing steps.

        most: so many versions in all; as many as the log has if not given.
        """
        earliest, last, step = self.first(), self.version, _STEP
        if most is not None:
            earliest = max(earliest, last - most + 1)
        while last >= earliest:
            begins = max(earliest, last - step + 1)
            yield begins, last
            last, step = begins - 1, min(2 * step, _MOST)

    def read(self, first: int, last: int) -> Commits:
        """The commits from one version to another, both included, in one Spark job.

        Raises:
            ValueError: the log does not have one of them, or not whole.
        """
        folder = str(self._log.logPath().toString())
        names = [f"{version:020}.json" for version in range(first, last + 1)]
        # Of a few nothing has to be listed; one that is not there is told below.
        few = len(names) <= _FEW and all(map(self.has, range(first, last + 1)))
        places = [f"{folder}/{name}" for name in names] if few else folder
        lines = commit_lines(self._session, _LINES, places).where(
            F.col("_metadata.file_name").between(names[0], names[-1])
        )
        read = lines.where(f"is_cut or {_SAYS_SOMETHING}").selectExpr(*_COLUMNS).toArrow()
        if cut := pc.unique(read.filter(read["is_cut"])["version"]).to_pylist():
            raise ValueError(
                f"{self.name}: {damaged(max(cut))}; accepted: versions behind it. {MENDS}"
            )
        found = _parted(read)
        missing = set(range(first, last + 1)) - {one.version for one in found.commits}
        if missing:
            raise ValueError(f"{self.name}: its log does not have version {min(missing)}")
        return found

    def state(self, version: int) -> pa.Table:
        """The files of a version as if it had added them: columns as `snapshots.ACTIONS`."""
        files = DataFrame(self.at(version).delta.allFiles().toDF(), self._session).selectExpr(
            f"bigint({version}) as version",
            "path",
            "true as is_add",
            "bigint(get_json_object(stats, '$.numRecords')) as rows",
            "coalesce(deletionVector.cardinality, 0) as deleted",
            f"{_VECTOR.format('')} as vector",
            "size as bytes",
            "false as is_change",
            "true as is_older",
        )
        return files.toArrow().cast(ACTIONS)

    def location(self, path: str) -> str:
        """The URI of a data file, by its path in the log."""
        return Place.of_uri(path, self._place).uri


def _parted(lines: pa.Table) -> Commits:
    """Lines of commits as what each says of itself, and what they say of files."""
    is_file = pc.is_valid(lines["path"])
    actions = lines.filter(is_file).select(ACTIONS.names).cast(ACTIONS)
    # A line without an action for those that say nothing else: they are there.
    said: dict[int, list[dict[str, Any]]] = {
        version: [{}] for version in pc.unique(lines["version"]).to_pylist()
    }
    others = lines.filter(pc.invert(is_file)).select(["version", "commitInfo", "txn"])
    for line in others.to_pylist():
        said[line.pop("version")].append(line)
    return Commits([Commit(*one) for one in sorted(said.items())], actions)
