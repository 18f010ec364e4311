"""The files of two tables, of which one shows the other's: what differs, and what comes."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium import marks
from alluvium.delta.files import footers
from alluvium.delta.handles import DeltaFile, DeltaVector
from alluvium.delta.internals import VECTORS_FEATURE
from alluvium.delta.log import committing, log
from alluvium.delta.log.committing import edited, fields
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.log.states import (
    FEW,
    TOMBSTONE,
    absolute_files,
    absolute_vector,
    add_files,
    elsewhere,
    id_of,
    only,
    unique_id,
)
from alluvium.delta.published import tombstones
from alluvium.delta.published.inline_vectors import IN_FILES, in_files
from alluvium.engine import jvm
from alluvium.names import among
from alluvium.paths import Place
from alluvium.plan.versions.batches import is_foreign, published_of
from alluvium.plan.versions.commit import Commit
from alluvium.plan.versions.steps import Entry, Move, Steps, steps


def _other_tags() -> Column:
    tags = F.coalesce(F.col("tags"), F.create_map().cast("map<string,string>"))
    return F.map_filter(tags, lambda key, _: key != marks.PUBLISHED_TAG)


def _label() -> Column:
    """Stands for a file's tags and statistics."""
    tags = F.to_json(F.map_from_entries(F.array_sort(F.map_entries(_other_tags()))))
    return F.hex(F.xxhash64(tags, F.coalesce(F.col("stats"), F.lit(""))))


@dataclass
class _Changed:
    """What commits of the source did, one after another.

    Attributes:
        written: by the absolute path of each file that they name, how the source's log writes it.
        fresh: absolute paths of the files that came.
        moves: what compactions did.
    """

    written: dict[str, str] = field(default_factory=dict)
    fresh: set[str] = field(default_factory=set)
    moves: list[Move] = field(default_factory=list)


class PublishedFiles:
    """The files of a version of a source, and of the newest version of the table that shows it.

    Args:
        source: the candidate's name.
        target: the published table's. It exists, and may be empty.
        version: of the source; the newest if not given.
        hides: whether rows that are marked `_deleted` are left out.
        again: published files that are to be written once more, such as those whose vectors are
            gone. Then whole states are compared, whatever the commits say.

    Its publishes are of the versions that it has read: one instance publishes once.
    """

    def __init__(
        self,
        session: SparkSession,
        source: str,
        target: str,
        version: int | None,
        hides: bool,
        again: Collection[str] | None = None,
    ) -> None:
        self._copy = jvm.SessionCopy(session)
        with self._copy.active():
            self._newest = self.source = TableSnapshot.of(session, source)
            if version is not None:
                self.source = self._newest.at(version)
            self._snapshot = log.snapshot_of(session, target)
            self._log = self._snapshot.deltaLog()
        # Row numbers come from Parquet; a table without vectors shows none of them.
        feature = self._copy.internal(VECTORS_FEATURE)
        has_vectors = bool(self.source.delta.protocol().isFeatureSupported(feature))
        self._copy.set("spark.databricks.delta.deletionVectors.useMetadataRowIndex", has_vectors)
        shown = TableSnapshot(session, self._snapshot)
        self.head, self.is_held = shown.head, shown.is_held
        self._again = again
        self._asked = hides
        self._hides = hides and among(TOMBSTONE, self.source.schema.names)
        # Version of the published table of which what differs is known.
        self._compared = shown.version
        self._known: dict[str, dict[str, Any]] = {"source": {}, "published": {}}
        self._root = self.source.folder
        # As vectors of its folder begin.
        self._below = f"{Place.of(self._root).uri.rstrip('/')}/"

    @property
    def shown(self) -> int:
        """Version of the published table."""
        return int(self._snapshot.version())

    # What differs ---------------------------------------------------------------------------

    @cached_property
    def _steps(self) -> Steps:
        """The steps from what is published to the source's version."""
        changed = self._changed
        if changed is not None:
            before = [self._entry(file) for file in self._published(sorted(changed.written))]
            after = [self._entry(file) for file in self._labelled(sorted(changed.written))]
            # Of a file that HEAD had and the published table has not, tombstones are all there is.
            shown = {entry.path for entry in before} | changed.fresh
            moves = (
                Move({path: move.removed[path] for path in move.removed.keys() & shown}, move.added)
                for move in changed.moves
            )
            return steps(before, after, moves)
        same = ["path", "vector", "label"]
        source, target = (one.select(*same) for one in (self._source_files(), self._target_files()))
        if self._is_turned:
            target = target.withColumn("vector", F.lit("?"))
        # What both have in the same way stays in the JVM.
        left = target.join(source, same, "left_anti").collect()
        new = source.join(target, same, "left_anti").collect()
        return steps([Entry(*row) for row in left], [Entry(*row) for row in new])

    @cached_property
    def _changed(self) -> _Changed | None:
        """What the source's commits since HEAD name; None where whole states are to be compared.

        They tell it where HEAD is a version of this very table, and nobody else wrote to the
        published one.
        """
        head = self.head
        if self._again is not None or head is None or head.table_id != self.source.table_id:
            return None
        if self._is_turned:
            return None
        number = self.source.version - head.version
        if not 0 <= number <= FEW or not self._is_ours():
            return None
        found = _Changed()
        since = self.source.commits(head.version, oldest_first=True)
        # In their order: what came and went again came first.
        for commit in since:
            if commit.is_gone:
                return None
            removed, added = (
                {self._absolute(file["path"]): file for file in files}
                for files in (commit.removed, commit.added)
            )
            found.written |= {path: file["path"] for path, file in (removed | added).items()}
            found.fresh |= added.keys()
            changes = (
                file.get("dataChange", True) for one in (removed, added) for file in one.values()
            )
            if removed and added and not any(changes):
                found.moves.append(Move(self._vectors(removed), self._vectors(added)))
        return found

    @cached_property
    def _is_turned(self) -> bool:
        """Whether the newest publish hid tombstones and this one is not to, or the other way round.

        Then files that stay hide other rows than before.
        """
        last = next(filter(None, map(published_of, self.commits())), {})
        return bool(last.get("hides", self._asked) != self._asked)

    def _absolute(self, path: str) -> str:
        return Place.of_uri(path, Place.of(self._root)).uri

    def _vectors(self, files: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
        """By path, the names of the vectors of actions of the source's log."""
        found = {}
        for path, file in files.items():
            vector = file.get("deletionVector")
            if vector is not None:
                vector = absolute_vector(self._copy.session, self.source.delta.deltaLog(), vector)
            found[path] = self._name(vector)
        return found

    def _name(self, vector: DeltaVector | None) -> str:
        """The name of a vector, as `_vector` has it."""
        return "" if vector is None else id_of(vector).replace(self._below, "")

    def _entry(self, file: DeltaFile) -> Entry:
        """A published file, or one that `_labelled` gives, by its tag."""
        tag = (fields(file).get("tags") or {}).get(marks.PUBLISHED_TAG)
        known = json.loads(tag) if tag is not None else {}
        vector = known.get("vector", "")
        is_ours = tag is not None and self._name(file.deletionVector()) == known.get("own", vector)
        return Entry(file.path(), vector if is_ours else "?", known.get("label", ""))

    def _is_ours(self) -> bool:
        """Whether nobody touched the published files since the newest publish.

        Each of its commits says which version it was made beside: nobody came between. And the
        newest one says that no vector stands in the log.
        """
        commits = islice(self.commits(), FEW)
        for commit in commits:
            note = commit.note(marks.PUBLISH_NOTE) or {}
            if is_foreign(commit) or (note and note.get("base") != commit.version - 1):
                return False
            if "version" in note:
                # Elsewhere since, the source has its files under other names.
                here = note.get("root", self._root) == self._root
                return bool(here and note.get("vectors") == IN_FILES and self.has_head(note))
        return False

    def commits(self) -> Iterator[Commit]:
        """The commits of the published table, newest first."""
        return log.commits_of(self._copy.session, self._snapshot)

    def has_head(self, note: Mapping[str, Any]) -> bool | None:
        """Whether the source has the version that a publish noted, by its commit too.

        None where a cleanup of its log took that commit.
        """
        # After a backup numbers are given twice.
        commit = self.source.commit(int(note["version"])).id
        if commit is None and note["version"] <= self._newest.version:
            return None
        return commit is not None and commit == note.get("commit")

    def _source_files(self, paths: Sequence[str] = ()) -> DataFrame:
        """The source's files: the columns of the log's action, `vector` and `label`.

        paths: those that are asked for, where they are few.
        """
        files = self.source.delta.allFiles()
        changed = self._changed
        if changed is not None and changed.written.keys() >= set(paths) and 0 < len(paths) <= FEW:
            names = (changed.written[path] for path in paths)
            files = files.filter(self._copy.functions.col("path").isin(self._copy.seq(names)))
        return absolute_files(self._copy.session, self._root, files).select(
            "*", self._vector().alias("vector"), _label().alias("label")
        )

    def _target_files(self) -> DataFrame:
        """The published files by what their tags say that they are of.

        `vector` is `?` of a file that somebody else added, or put another vector on, and of one
        that is to be written once more.
        """
        tag = F.col("tags").getItem(marks.PUBLISHED_TAG)
        vector = F.coalesce(F.get_json_object(tag, "$.vector"), F.lit(""))
        own = F.coalesce(F.get_json_object(tag, "$.own"), vector)
        is_ours = (
            tag.isNotNull() & (self._vector() == own) & ~F.col("path").isin(*self._again or ())
        )
        return DataFrame(self._snapshot.allFiles().toDF(), self._copy.session).select(
            "path",
            F.when(is_ours, vector).otherwise("?").alias("vector"),
            F.coalesce(F.get_json_object(tag, "$.label"), F.lit("")).alias("label"),
        )

    def touched(self) -> int:
        """Number of published files that somebody else added, or put another vector on."""
        return self._target_files().where("vector = '?'").count()

    def _vector(self) -> Column:
        """The name of a file's deletion vector, without the source's path; empty for none."""
        vector = unique_id(F.col("deletionVector"))
        return F.coalesce(F.replace(vector, F.lit(self._below), F.lit("")), F.lit(""))

    # What is written ------------------------------------------------------------------------

    def _added(self, paths: Sequence[str], replaced: Sequence[Any] = ()) -> list[Any]:
        """AddFile actions of the source's files without tombstones; none of a file full of them.

        replaced: published files; where one of them hides the same rows, its vector stays.
        """
        actions = self._labelled(paths)
        if actions and self._hides:
            found = {action.path(): self._counted(action) for action in actions}
            transaction = committing.transaction(self._copy.session, self._snapshot)
            shown = {file.path(): file.deletionVector() for file in replaced}
            for path, vector in tombstones.hidden(
                self._copy, self.source.delta, transaction, list(found.values()), shown
            ):
                file = found.pop(path)
                if vector is not None:
                    found[path] = self._hiding(file, vector)
            actions = list(found.values())
        return in_files(self._copy, self._snapshot, actions)

    def _counted(self, file: DeltaFile) -> DeltaFile:
        """The file with its row count, which a vector asks for; its footer has it too."""
        if file.numPhysicalRecords().isDefined():
            return file
        path, conf = file.absolutePath(self._log), self._log.newDeltaHadoopConf()
        (footer,) = footers.read(self._copy.jvm, conf, [(path, int(file.size()))])
        stats = json.dumps({"numRecords": footer.num_rows, "tightBounds": False})
        return edited(self._copy.session, file, stats=stats)

    def _labelled(self, paths: Sequence[str]) -> list[Any]:
        """AddFile actions of the source's files, with the tag that says what they are of."""
        return self._actions("source", self._labelled_files, paths)

    def _labelled_files(self, paths: Sequence[str]) -> DataFrame:
        vector = F.nullif(F.col("vector"), F.lit(""))
        tag = F.to_json(F.struct(vector.alias("vector"), "label"))
        mark = F.create_map(F.lit(marks.PUBLISHED_TAG), tag)
        return self._source_files(paths).withColumns(
            {"tags": F.map_concat(_other_tags(), mark), **elsewhere()}
        )

    def _published(self, paths: Sequence[str]) -> list[Any]:
        """AddFile actions of the published table."""

        def files(_: Sequence[str]) -> DataFrame:
            return DataFrame(self._snapshot.allFiles().toDF(), self._copy.session)

        return self._actions("published", files, paths)

    def _hiding(self, file: DeltaFile, vector: DeltaVector) -> DeltaFile:
        """The file with a vector of ours, which its tag names beside the source's."""
        wide = fields(file.removeRows(vector, True, True)._1())
        tag = json.loads(wide["tags"][marks.PUBLISHED_TAG])
        tag["own"] = self._name(vector)
        wide["tags"][marks.PUBLISHED_TAG] = json.dumps(tag)
        return committing.add_file(self._copy.session, wide)

    def _actions(
        self, table: str, files: Callable[[Sequence[str]], DataFrame], paths: Sequence[str]
    ) -> list[Any]:
        """The AddFile actions of those of these paths that a table has; each is read once.

        files: gives those of some paths, and perhaps others.
        """
        known = self._known[table]
        due = [path for path in paths if path not in known]
        if due:
            kept = only(files(due), "path", due)
            known |= dict.fromkeys(due)
            found = add_files(self._copy.session, kept, self._snapshot).collectAsList()
            known |= {file.path(): file for file in found}
        return [known[path] for path in paths if known[path] is not None]
