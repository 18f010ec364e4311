"""The files of two tables, of which one shows the other's: what differs, and what comes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta import log, marks
from alluvium.delta.layout_commits import fields
from alluvium.engine import jvm
from alluvium.names import among
from alluvium.plan.versions.steps import Entry, Steps, steps

_DELTA = "org.apache.spark.sql.delta."
_TOMBSTONE = "_deleted"
# Commits that are read one by one, and paths that a filter names; of more, whole states are looked
# at.
_FEW = 64


@dataclass(frozen=True)
class Head:
    """What a published table shows: a version of the table with this id."""

    table_id: str
    version: int


def _other_tags() -> Column:
    tags = F.coalesce(F.col("tags"), F.create_map().cast("map<string,string>"))
    return F.map_filter(tags, lambda key, _: key != marks.PUBLISHED_TAG)


def _label() -> Column:
    """Stands for a file's tags and statistics."""
    tags = F.to_json(F.map_from_entries(F.array_sort(F.map_entries(_other_tags()))))
    return F.hex(F.xxhash64(tags, F.coalesce(F.col("stats"), F.lit(""))))


class PublishedFiles(jvm.SessionCopy):
    """The files of a version of a source, and of the newest version of the table that shows it.

    Args:
        source: the candidate's name.
        target: the published table's. It exists, and may be empty.
        version: of the source; the newest if not given.
    """

    def __init__(
        self, session: SparkSession, source: str, target: str, version: int | None
    ) -> None:
        super().__init__(session)
        # Row numbers come from Parquet.
        self.set("spark.databricks.delta.deletionVectors.useMetadataRowIndex", "true")
        with self.active():
            self._source = log.snapshot_of(session, source)
            if version is not None and version != self._source.version():
                self._source = self._source.deltaLog().getSnapshotAt(
                    version, self._none, self._none, False
                )
            self._log = log.delta_log(session, target)
            self._snapshot = self._log.update(False, self._none, self._none)
        self.head = head_of(self._snapshot)
        self._root = _qualified(self._source.deltaLog())

    @property
    def version(self) -> int:
        """Of the source."""
        return int(self._source.version())

    def _transaction(self, snapshot: Any) -> Any:
        """A transaction on the published table."""
        return self._log.startTransaction(self._none, self._jvm.scala.Option.apply(snapshot))

    # What differs ---------------------------------------------------------------------------

    def _steps(self) -> Steps:
        source, target = self._source_files(), self._target_files()
        source, target = (one.select("path", "vector", "label") for one in (source, target))
        changed = self._changed_paths()
        if changed is None:
            same = ["path", "vector", "label"]
            # What both have in the same way stays in the JVM.
            source, target = (
                source.join(target, same, "left_anti"),
                target.join(source, same, "left_anti"),
            )
        elif changed:
            source, target = (one.where(F.col("path").isin(changed)) for one in (source, target))
        else:
            return steps((), ())
        before = [Entry(path, vector, label) for path, vector, label in target.collect()]
        after = [Entry(path, vector, label) for path, vector, label in source.collect()]
        return steps(before, after)

    def _changed_paths(self) -> list[str] | None:
        """Absolute paths that the source's commits since HEAD name; None where all are compared.

        They tell it where HEAD is a version of this very table, and nobody else wrote to the
        published one.
        """
        head = self.head
        if head is None or head.table_id != str(self._source.metadata().id()):
            return None
        if not 0 <= self.version - head.version <= _FEW or not self._is_ours():
            return None
        table_log, found = self._source.deltaLog(), set()
        for version in range(head.version + 1, self.version + 1):
            try:
                lines = log.commit_of(self.session, table_log, version)
            except Py4JJavaError:  # a commit that is cleaned away, or kept elsewhere
                return None
            for line in str(lines.mkString("\n")).split("\n"):
                action = json.loads(line)
                file = action.get("add") or action.get("remove")
                if file:
                    found.add(file["path"])
        absolute = self._object(_DELTA + "util.DeltaFileOperations$").absolutePath
        return [str(absolute(self._root, path).toUri().toString()) for path in sorted(found)]

    def _is_ours(self) -> bool:
        """Whether nobody touched the published files since the newest publish."""
        table_log = self._snapshot.deltaLog()
        newest = int(self._snapshot.version())
        for version in range(newest, max(newest - _FEW, -1), -1):
            try:
                lines = str(log.commit_of(self.session, table_log, version).mkString("\n"))
            except Py4JJavaError:
                return False
            actions = [json.loads(line) for line in lines.split("\n")]
            note: dict[str, Any] = next(
                (one["commitInfo"] for one in actions if "commitInfo" in one), {}
            )
            if f'"{marks.PUBLISH_NOTE}"' in str(note.get("userMetadata")):
                return True
            if any("add" in one or "remove" in one for one in actions):
                return False
        return False

    def _source_files(self) -> DataFrame:
        """The source's files: the columns of the log's action, `vector` and `label`."""
        absolute = self._object(_DELTA + "util.DeltaFileOperations$")
        files = absolute.makePathsAbsolute(self._root, self._source.allFiles()).toDF()
        return DataFrame(files, self.session).select(
            "*", self._vector().alias("vector"), _label().alias("label")
        )

    def _target_files(self) -> DataFrame:
        """The published files by what their tags say that they are of.

        `vector` is `?` of a file that somebody else added, or put another vector on.
        """
        tag = F.col("tags").getItem(marks.PUBLISHED_TAG)
        vector = F.coalesce(F.get_json_object(tag, "$.vector"), F.lit(""))
        own = F.coalesce(F.get_json_object(tag, "$.own"), vector)
        is_ours = tag.isNotNull() & (self._vector() == own)
        return DataFrame(self._snapshot.allFiles().toDF(), self.session).select(
            "path",
            F.when(is_ours, vector).otherwise("?").alias("vector"),
            F.coalesce(F.get_json_object(tag, "$.label"), F.lit("")).alias("label"),
        )

    def _vector(self) -> Column:
        """The name of a file's deletion vector, without the source's path; empty for none."""
        vector = F.concat(
            F.col("deletionVector.storageType"),
            F.replace(F.col("deletionVector.pathOrInlineDv"), F.lit(f"{self._root}/"), F.lit("")),
            F.coalesce(F.concat(F.lit("@"), F.col("deletionVector.offset")), F.lit("")),
        )
        return F.coalesce(vector, F.lit(""))

    # What is written ------------------------------------------------------------------------

    def _added(self, paths: Sequence[str]) -> list[Any]:
        """AddFile actions of the source's files without tombstones; none of a file full of them."""
        actions = self._labelled(paths)
        if not actions or not among(_TOMBSTONE, self._source.metadata().schema().fieldNames()):
            return actions
        found = {action.path(): action for action in actions}
        for path, touched in self._tombstones(actions):
            file = found.pop(path)
            if not touched.isFullyReplaced():
                found[path] = self._hiding(file, touched.newDeletionVector())
        return list(found.values())

    def _labelled(self, paths: Sequence[str]) -> list[Any]:
        """AddFile actions of the source's files, with the tag that says what they are of."""
        vector = F.nullif(F.col("vector"), F.lit(""))
        tag = F.to_json(F.struct(vector.alias("vector"), "label"))
        mark = F.create_map(F.lit(marks.PUBLISHED_TAG), tag)
        files = self._source_files().withColumns(
            {
                "dataChange": F.lit(True),
                "tags": F.map_concat(_other_tags(), mark),
                # Row ids are of the source alone.
                "baseRowId": F.lit(None).cast("bigint"),
                "defaultRowCommitVersion": F.lit(None).cast("bigint"),
            }
        )
        return self._actions(files._jdf, paths)

    def _hiding(self, file: Any, vector: Any) -> Any:
        """The file with a vector of ours, which its tag names beside the source's."""
        wide = fields(file.removeRows(vector, True, True)._1())
        tag = json.loads(wide["tags"][marks.PUBLISHED_TAG])
        tag["own"] = str(vector.uniqueId())
        wide["tags"][marks.PUBLISHED_TAG] = json.dumps(tag)
        return self._action("add", wide)

    def _action(self, kind: str, content: Mapping[str, Any]) -> Any:
        text = json.dumps({kind: content})
        return self._object(_DELTA + "actions.Action$").fromJson(text)

    def _tombstones(self, actions: Sequence[Any]) -> Iterator[tuple[str, Any]]:
        """Of the files that hold tombstones, the path and Delta's `TouchedFileWithDV`.

        Its vectors hide what the source's hide too, and lie beside the published table.
        """
        helper = self._object(_DELTA + "commands.DMLWithDeletionVectorsHelper$")
        files = self._seq(actions)
        index = self._jvm.org.apache.spark.sql.delta.files.TahoeBatchFileIndex(
            self.spark,
            "publish",
            files,
            self._source.deltaLog(),
            self._source.deltaLog().dataPath(),
            self._source,
            False,
        )
        plan = self._source.deltaLog().createDataFrame(self._source, files, False, self._none)
        scanned = helper.createTargetDfForScanningForMatches(
            self.spark, plan.queryExecution().analyzed(), index
        )
        condition = (
            self.spark.sessionState()
            .sqlParser()
            .parseExpression(f"coalesce(`{_TOMBSTONE}`, false)")
        )
        with self.active():
            touched = helper.findTouchedFiles(
                self.spark,
                self._transaction(self._snapshot),
                True,
                self._log,
                scanned,
                index,
                condition,
                "DELETE",
            )
        for one in jvm.items(touched):
            yield one.fileLogEntry().path(), one

    def _actions(self, files: Any, paths: Sequence[str]) -> list[Any]:
        """The AddFile actions of these paths among a JVM frame of files."""
        if not paths:
            return []
        found = DataFrame(files, self.session)
        if len(paths) <= _FEW:
            kept = found.where(F.col("path").isin(list(paths)))
        else:
            chosen = self.session.createDataFrame([(path,) for path in paths], "path string")
            kept = found.join(chosen, "path", "left_semi")
        encoder = self._object(_DELTA + "implicits.package$").addFileEncoder()
        whole = kept.select(*self._snapshot.allFiles().toDF().columns())
        return list(getattr(whole._jdf, "as")(encoder).collectAsList())


def head_of(snapshot: Any) -> Head | None:
    """What a version of a published table shows; None before its first publish."""
    for action in jvm.items(snapshot.setTransactions()):
        if action.appId().startswith(marks.PUBLISHED) and action.version() >= 0:
            return Head(action.appId()[len(marks.PUBLISHED) :], int(action.version()))
    return None


def _qualified(table_log: Any) -> str:
    """The folder of a table, with its file system."""
    path = table_log.dataPath()
    return str(path.getFileSystem(table_log.newDeltaHadoopConf()).makeQualified(path).toString())
