"""Versions of tables as files: by which name each table knows a file, and the rows that it holds.

Two tables may have the same files: a clone has those of its source. So files and deletion vectors
have names here that do not depend on the table.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from alluvium import marks
from alluvium.delta.files import paths
from alluvium.delta.handles import DeltaLog, DeltaSnapshot, DeltaVector
from alluvium.delta.internals import FILE_OPERATIONS, IMPLICITS
from alluvium.delta.log import committing, log
from alluvium.delta.log.commit_files import commit_lines
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.engine import jvm
from alluvium.engine.handles import JavaFrame
from alluvium.names import among, quoted
from alluvium.paths import Place
from alluvium.plan.versions.properties import LARGEST_ID
from alluvium.plan.versions.steps import Entry, Move

TOMBSTONE = "_deleted"
# When a merge made it, where nothing else of the row says so.
TOMBSTONE_TIME = "_tombstone_time"
# So many files a filter names, and so many commits are read one by one; of more, whole tables are
# looked at.
FEW = 64
_VECTOR = (
    "struct<storageType:string, pathOrInlineDv:string, offset:int, sizeInBytes:int,"
    " cardinality:bigint>"
)
_FILE = f"struct<path:string, dataChange:boolean, deletionVector:{_VECTOR}>"
# What Delta asks for in an action, beside what is read of it here.
_ANY_FILE = {
    "path": "-",
    "partitionValues": {},
    "size": 0,
    "modificationTime": 0,
    "dataChange": False,
}


class VersionState:
    """A version of a table.

    Args:
        table: its name, as SQL writes it.
        version: None for the newest one.
        hides: whether rows that are marked `_deleted` are left out, as readers see it.

    Attributes:
        version: the number.
        schema: of the table then, without the mark where it hides.

    Raises:
        ValueError: there is no such table or version, or the log tells it no more.
    """

    def __init__(
        self, session: SparkSession, table: str, version: int | None = None, hides: bool = True
    ) -> None:
        self.session, self.table = session, table
        self.snapshot = TableSnapshot(session, log.snapshot_there(session, table, version))
        self._delta = self.snapshot.delta
        self._log = self._delta.deltaLog()
        self.version = self.snapshot.version
        whole = self.snapshot.schema
        self._hides = hides and among(TOMBSTONE, whole.names)
        kept = (one for one in whole if not (self._hides and one.name.lower() == TOMBSTONE))
        self.schema = StructType(list(kept))

    @property
    def root(self) -> str:
        """The table's folder, with its file system."""
        return self.snapshot.folder

    def largest_id(self) -> int | None:
        """The largest id that a column ever had; None where columns have none."""
        number = self.snapshot.properties.get(LARGEST_ID)
        return None if number is None else int(number)

    @cached_property
    def files(self) -> DataFrame:
        """The log's actions, paths and vectors absolute, with `name` and `vector` of each.

        Of a published table, `vector` is that of its candidate's file where tombstones are hidden:
        then both show the same rows.
        """
        actions = self._delta.allFiles()
        if not (self._hides and self.snapshot.head is not None):
            return self._named(actions)
        functions = jvm.functions(self.session)
        tag = functions.col("tags").getItem(marks.PUBLISHED_TAG)
        others = self._named(actions.filter(tag.isNull()))
        tagged = DataFrame(actions.filter(tag.isNotNull()).toDF(), self.session)
        noted = F.col("tags").getItem(marks.PUBLISHED_TAG)
        source = F.coalesce(F.get_json_object(noted, "$.vector"), F.lit(""))
        own = F.get_json_object(noted, "$.own")
        vector = _vector_name(F.col("deletionVector"))
        # Somebody else may have put another vector on the file.
        is_ours = F.when(own.isNotNull(), unique_id(F.col("deletionVector")) == own).otherwise(
            vector == _without_folder(source)
        )
        return others.union(
            tagged.select(
                "*",
                paths.plain(F.col("path")).alias("name"),
                F.when(is_ours, _without_folder(source)).otherwise(vector).alias("vector"),
            )
        )

    def _named(self, actions: JavaFrame) -> DataFrame:
        return absolute_files(self.session, self.root, actions).select(
            "*",
            paths.plain(F.col("path")).alias("name"),
            _vector_name(F.col("deletionVector")).alias("vector"),
        )

    def entries(self, other: VersionState) -> list[Entry]:
        """The files that another version does not have in the same way."""
        names = ["name", "vector"]
        mine, theirs = (one.files.select(*names) for one in (self, other))
        mine = mine.join(theirs, names, "left_anti")
        return [Entry(name, vector, "") for name, vector in mine.collect()]

    def needed(self, names: Sequence[str] | None = None) -> list[str]:
        """What is read for the rows of some of the files: those and their vectors, as `name`.

        names: None for all of them.
        """
        files = self.files if names is None else only(self.files, "name", names)
        of_file = F.col("deletionVector.storageType") == "p"
        vector = F.when(of_file, paths.plain(F.col("deletionVector.pathOrInlineDv")))
        found = files.select("name", vector.alias("of_vector")).collect()
        return sorted({one for row in found for one in row if one is not None})

    def rows(self, names: Sequence[str] | None = None) -> DataFrame:
        """The rows of some of the files, columns as `schema`; names: None for all of them."""
        actions = self._actions(names)
        log.delta_log(self.session, self.table)  # makes the session the thread's
        rows = rows_of(self.session, self._delta, actions)
        if self._hides:
            rows = rows.where(f"not coalesce({quoted(TOMBSTONE)}, false)")
        return rows.select(*map(quoted, self.schema.names))

    def _actions(self, names: Sequence[str] | None) -> Any:
        """AddFile actions, a Java list."""
        files = self.files if names is None else only(self.files, "name", names)
        return add_files(self.session, files, self._delta).collectAsList()

    def moves(self, after: int = -1) -> list[Move]:
        """What compactions did after a version and up to this one, in their order.

        Of commits that the log has no more, or not whole, nothing is told.
        """
        folder = str(self._log.logPath().toString())
        ends = [f"{version:020}.json" for version in (after + 1, self.version)]
        lines = (
            commit_lines(self.session, f"add {_FILE}, remove {_FILE}", folder)
            .where(F.col("_metadata.file_name").between(*ends))
            .where("is_cut or add is not null or remove is not null")
        )
        commits = (
            lines.groupBy(F.expr("bigint(left(_metadata.file_name, 20))").alias("version"))
            .agg(
                F.expr("bool_or(coalesce(add.dataChange, remove.dataChange, true))").alias("rows"),
                F.bool_or("is_cut").alias("is_cut"),
                F.collect_list("add").alias("add"),
                F.collect_list("remove").alias("remove"),
            )
            # Without a file that goes, those that come are the same ones again.
            .where("not (rows or is_cut) and size(remove) > 0")
            .orderBy("version")
        )
        return [
            Move(self._vectors(commit["remove"]), self._vectors(commit["add"]))
            for commit in commits.collect()
        ]

    def _vectors(self, files: Sequence[Any]) -> dict[str, str]:
        """By the name of each file, that of its vector."""
        found, root = {}, Place.of(self.root)
        for file in files:
            written = None
            if file.deletionVector is not None:
                written = absolute_vector(
                    self.session,
                    self._log,
                    {k: v for k, v in file.deletionVector.asDict().items() if v is not None},
                )
            path = str(Place.of_uri(file.path, root))
            found[path] = "" if written is None else re.sub("^p.*/", "p", id_of(written))
        return found


def add_files(session: SparkSession, files: DataFrame, snapshot: DeltaSnapshot) -> JavaFrame:
    """Rows of files as a Java Dataset of AddFile actions; further columns are left out.

    snapshot: of any table, whose files have the columns that an action has.
    """
    encoder = jvm.internal(session, IMPLICITS)
    whole = files.select(*snapshot.allFiles().toDF().columns())
    found: JavaFrame = getattr(whole._jdf, "as")(encoder.addFileEncoder())
    return found


def rows_of(session: SparkSession, snapshot: DeltaSnapshot, actions: Any) -> DataFrame:
    """The rows of files of a version; actions: those that add them, a Java list."""
    none = jvm.of(session).scala.Option.empty()
    seq = jvm.as_scala(session, actions)
    return DataFrame(snapshot.deltaLog().createDataFrame(snapshot, seq, False, none), session)


def absolute_files(session: SparkSession, root: str, actions: JavaFrame) -> DataFrame:
    """A Dataset of AddFile actions, paths and vectors absolute; root: `log.qualified`."""
    helper = jvm.internal(session, FILE_OPERATIONS)
    return DataFrame(helper.makePathsAbsolute(root, actions).toDF(), session)


def elsewhere() -> dict[str, Column]:
    """Fields of files, by name, that are others in a table that shows another one's files."""
    return {
        "dataChange": F.lit(True),
        # Row ids are of the source alone.
        "baseRowId": F.lit(None).cast("bigint"),
        "defaultRowCommitVersion": F.lit(None).cast("bigint"),
    }


def only(files: DataFrame, column: str, names: Sequence[str]) -> DataFrame:
    """Those of some files that have one of these names in a column."""
    if len(names) <= FEW:
        return files.where(F.col(column).isin(list(names)))
    chosen = files.sparkSession.createDataFrame([(name,) for name in names], f"{column} string")
    return files.join(chosen, column, "left_semi")


def absolute_vector(
    session: SparkSession, table_log: DeltaLog, written: Mapping[str, Any]
) -> DeltaVector:
    """Delta's descriptor of a deletion vector as a table elsewhere would have it.

    written: as the table's log has it.
    """
    vector = committing.add_file(session, {**_ANY_FILE, "deletionVector": written}).deletionVector()
    assert vector is not None
    return vector.copyWithAbsolutePath(table_log.dataPath())


def unique_id(vector: Column) -> Column:
    """Delta's name of a deletion vector as this table writes it; NULL for none.

    Of one that the log itself holds, a hash: its name would be all of it.
    """
    kind, place = vector["storageType"], vector["pathOrInlineDv"]
    at = F.coalesce(F.concat(F.lit("@"), vector["offset"]), F.lit(""))
    return F.concat(kind, F.when(kind == "i", F.sha2(place, 256)).otherwise(place), at)


def id_of(vector: DeltaVector) -> str:
    """`unique_id` of Delta's descriptor of a deletion vector."""
    if not vector.isInline():
        return str(vector.uniqueId())
    return "i" + hashlib.sha256(vector.pathOrInlineDv().encode()).hexdigest()


def _vector_name(vector: Column) -> Column:
    """Empty for none."""
    return F.coalesce(_without_folder(unique_id(vector)), F.lit(""))


def _without_folder(vector: Column) -> Column:
    """The name of a vector whose path is absolute, whichever folder that is in: its file's name is
    like no other."""
    return F.regexp_replace(vector, "^p.*/", "p")
