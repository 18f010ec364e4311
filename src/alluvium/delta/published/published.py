"""A table whose files are another one's, moved from version to version by commits of its own.

The published table names the files of its source, the candidate, by absolute paths, as a clone
does. What a reader must not see, the rows that are marked `_deleted`, a deletion vector hides: it
is written beside the published table's own log.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.handles import DeltaAction, DeltaOperation, DeltaTransaction
from alluvium.delta.internals import COMPUTE_STATS, MANUAL_UPDATE
from alluvium.delta.log import committing, domains, log
from alluvium.delta.log.committing import edited, fields
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.log.states import FEW
from alluvium.delta.published.inline_vectors import IN_FILES, InlineVectors
from alluvium.delta.published.published_files import PublishedFiles
from alluvium.delta.refs import dependents, pinned
from alluvium.delta.refs.dependents import Dependent
from alluvium.paths import Place
from alluvium.plan.versions import properties
from alluvium.plan.versions.audit import Audit
from alluvium.plan.versions.steps import Steps

# Of data files and of the log, of published tables and of their candidates: what readers saw can be
# looked at for so long. Delta asks the log's to be at least as long as the files'.
RETENTION = {
    "delta.deletedFileRetentionDuration": "interval 30 days",
    "delta.logRetentionDuration": "interval 30 days",
}


@dataclass(frozen=True)
class Moved:
    """What a publish did.

    Attributes:
        version: of the published table, that shows what was published.
        files_added, files_removed: of it, beside those that stayed.
    """

    version: int
    files_added: int
    files_removed: int


class Publisher(PublishedFiles):
    """Moves a published table to a version of its source.

    Args:
        source: the candidate's name.
        target: the published table's. It exists, and may be empty.
        version: of the source; the newest if not given.
        own: properties that the published table has by its config.
        hides: whether rows that are marked `_deleted` are left out.
        again: published files that are to be written once more; then whole states are compared.
        description: of the published table; None leaves the one that it has.
    """

    def __init__(
        self,
        session: SparkSession,
        source: str,
        target: str,
        version: int | None = None,
        own: Mapping[str, str] | None = None,
        hides: bool = True,
        again: Collection[str] | None = None,
        description: str | None = None,
    ) -> None:
        super().__init__(session, source, target, version, hides, again)
        self._description = description
        self._own = {**(RETENTION if self.head is None else {}), **(own or {})}
        self._hold: bool | None = None
        self._candidate, self._target = source, target
        self._app = marks.PUBLISHED + self.source.table_id

    def audit(self, tested: str | None = None, *, of_newest: bool = False) -> Audit:
        """What the look at both tables tells of its version; nothing was written.

        tested: id of the table that was tested, where it is known.
        of_newest: whether files are looked for of the newest version too. Nobody deletes those.
        """
        head, now = self.head, self.source
        is_newest = now.version == self._newest.version
        target = TableSnapshot(self._copy.session, self._snapshot)
        shown = target.properties if head else None
        is_behind = bool(head and head.version > now.version and now.has(head))
        with self._copy.active():  # others may have published since the first look
            is_lost = bool(is_behind and head and head.version > now.newest().version)
        return Audit(
            head.version if head else None,
            is_newest,
            is_other=tested not in (None, now.table_id),
            is_behind=is_behind,
            is_lost=is_lost,
            is_held=self.is_held,
            is_foreign=not head and target.files > 0,
            undid=self.undid(now.version),
            mistakes=list(properties.mistakes(now.properties, shown, self._candidate)),
            missing=self.missing() if of_newest or not is_newest else (),
        )

    def undid(self, version: int, *, by_now: bool = False) -> bool | None:
        """Whether the source was restored to a version before this one since; None for unknown.

        by_now: looks again at the source; else it tells of what was there.
        """
        if by_now:
            with self._copy.active():
                self._newest = self._newest.newest()
        return self._newest.is_undone(version)

    def missing(self) -> list[str]:
        """Files and vectors that a publish would bring, and that are gone."""
        files = self._labelled(_coming(self._steps))
        return pinned.gone(self._copy.session, pinned.paths(self._log, files))

    def endangered(self) -> str | None:
        """After a publish of an old version: why its files may not stay; None where they do."""
        return pinned.endangered(self._copy.session, self._root, self.missing)

    def planned(self) -> Moved:
        """What a publish would do, at most: files full of tombstones do not come."""
        gone = len(self._steps.goes) + len(self._steps.moved_out)
        return Moved(self.shown, len(_coming(self._steps)), gone)

    def publish(self, note: Mapping[str, Any], hold: bool | None = None) -> Moved:
        """Make the published table show the source's version; nothing where it does.

        note: JSON for the commit's metadata.
        hold: whether it stays there when later versions pass their tests; None leaves that.

        Raises Delta's concurrency exceptions (delta.exceptions) where somebody else wrote to the
        published table meanwhile. It is then as they left it.
        """
        with self._copy.active():
            found, metadata, clustering = self._steps, self._metadata(), self._clustering()
            self._mend(note)
            removed = self._published(found.goes)
            added = self._added(found.comes, removed)
            self._note_dependent([*found.comes, *found.moved_in], added)
            same = self._same(removed, added)
            removed, added = (
                [file for file in files if file.path() not in same] if same else files
                for files in (removed, added)
            )
            relabelled = [*found.relabelled, *sorted(same)]
            self._hold = hold
            new = metadata is not None or self.head is None or hold not in (None, self.is_held)
            changes = bool(removed or added or clustering or new)
            # What changes no row comes first. After a kill the table shows what it showed, in files
            # that the source still has. The next publish finds the rest.
            due: list[Callable[[bool], None]] = []
            if relabelled:
                due.append(lambda last: self._relabel(relabelled, note, last))
            if found.moved_in:
                due.append(lambda last: self._move(found, note, last))
            if changes:
                due.append(lambda _: self._change(removed, [*clustering, *added], metadata, note))
            for place, step in enumerate(due, 1):
                step(place == len(due))
        return Moved(
            self.shown, len(added) + len(found.moved_in), len(removed) + len(found.moved_out)
        )

    def _mend(self, note: Mapping[str, Any]) -> None:
        """Put vectors that others, or an earlier version, left in the log into files."""
        if self.head is None or self._changed is not None:  # there are none
            return
        vectors = InlineVectors(TableSnapshot(self._copy.session, self._snapshot))
        if vectors.count:
            self._snapshot = vectors.mend(lambda base: _noted({**note, "base": base}))
            self._log = self._snapshot.deltaLog()
            self._compared = self.shown
            self._known["published"] = {}

    def _same(self, removed: Sequence[Any], added: Sequence[Any]) -> set[str]:
        """Paths of files that hide the same rows as before, by a vector of the same name.

        So does a file of which a row that was hidden as a tombstone is deleted. Delta takes one
        name in one commit once.
        """
        if not removed:
            return set()
        before, after = (
            {(file.path(), self._name(file.deletionVector())) for file in files}
            for files in (removed, added)
        )
        return {path for path, _ in before & after}

    def _note_dependent(self, paths: Sequence[str], added: Sequence[Any]) -> None:
        """Note this table in each folder that its files lie in, before they are its own."""
        this = Dependent("published", self._target, log.qualified(self._log))
        if len(paths) > FEW or not dependents.is_noted(self._copy.session, this, self._root):
            # Of a first publish, and where the register is lost.
            folders = dependents.roots(self.source)
        else:
            vectors = (file.deletionVector() for file in added)
            named = [one.pathOrInlineDv() for one in vectors if one and one.storageType() == "p"]
            lie_in = {str(Place.of_uri(path).parent) for path in (*paths, *named)}
            folders = dependents.roots_of(self._copy.session, lie_in, self._root)
        new = (one for one in folders if not dependents.is_noted(self._copy.session, this, one))
        dependents.note(self._copy.session, this, new)

    def _move(self, found: Steps, note: Mapping[str, Any], is_last: bool) -> None:
        """Put what compactions wrote in the place of what they read: no row changes."""
        transaction = self._begin()
        now = int(time.time() * 1000)
        gone = [file.removeWithTimestamp(now, False) for file in self._published(found.moved_out)]
        added = [
            edited(self._copy.session, file, dataChange=False)
            for file in self._added(found.moved_in)
        ]
        operation = committing.optimize(self._copy.session)
        self._commit(transaction, [*gone, *added], operation, note, is_last)

    def _change(
        self,
        gone: Sequence[Any],
        added: Sequence[Any],
        metadata: DeltaAction | None,
        note: Mapping[str, Any],
    ) -> None:
        transaction = self._begin()
        if metadata is not None:
            transaction.updateMetadata(metadata, True)
        now = int(time.time() * 1000)
        removed = [file.removeWithTimestamp(now, True) for file in gone]
        manual = self._copy.internal(MANUAL_UPDATE)
        self._commit(transaction, [*removed, *added], manual, note, True)

    def _begin(self) -> DeltaTransaction:
        """A transaction that fails where somebody else wrote: of two publishers one must lose."""
        transaction = committing.transaction(self._copy.session, self._snapshot)
        transaction.txnVersion(self._app)
        transaction.readWholeTable()
        return transaction

    def _commit(
        self,
        transaction: DeltaTransaction,
        actions: Sequence[Any],
        operation: DeltaOperation,
        note: Mapping[str, Any],
        is_last: bool,
    ) -> None:
        """Commit a step of a publish; the last one makes the source's version HEAD."""
        about = {**note, "base": self._compared}
        if is_last:
            commit = self.source.commit(self.source.version).id
            about |= {"version": self.source.version, "root": self._root, "commit": commit}
            about |= {"hides": self._asked, "vectors": IN_FILES}
        self._copy.set(committing.COMMIT_METADATA, _noted(about))
        first = self._marks() if is_last else ()
        with self._copy.active():  # queries have put the session of their own in its place
            version = int(transaction.commit(self._copy.seq([*first, *actions]), operation))
        # Of commits that change no row Delta lets others come between, which nobody compared.
        if version == self._compared + 1:
            self._compared = version
        self._snapshot = self._log.unsafeVolatileSnapshot()
        if self.shown != version:
            self._snapshot = log.snapshot_at(self._copy.session, self._log, version)

    def _marks(self) -> Iterator[Any]:
        """The `txn` actions that make this version HEAD."""
        numbers = {self._app: self.source.version}
        if self._hold is not None:
            numbers[marks.HOLD] = int(self._hold)
        # A table has one HEAD; a number cannot be taken away.
        if self.head is not None and self.head.table_id != self.source.table_id:
            numbers[marks.PUBLISHED + self.head.table_id] = -1
        for app, number in numbers.items():
            yield committing.set_transaction(self._copy.session, app, number)

    def _relabel(self, paths: Sequence[str], note: Mapping[str, Any], is_last: bool) -> None:
        """Give files the tags and statistics that they have in the source now.

        A commit of its own: in another operation Delta would count the same files twice.
        """
        transaction = self._begin()
        published = self._published(paths)
        labelled = {file.path(): fields(file) for file in self._labelled(paths)}
        actions = []
        for file in published:
            new, old = labelled[file.path()], fields(file)
            tag, before = (json.loads(one["tags"][marks.PUBLISHED_TAG]) for one in (new, old))
            stats = new.get("stats")
            if "own" in before:
                tag["own"] = before["own"]
                stats = json.dumps({**json.loads(stats or "{}"), "tightBounds": False})
            tags = {**new["tags"], marks.PUBLISHED_TAG: json.dumps(tag)}
            actions.append(
                edited(self._copy.session, file, tags=tags, stats=stats, dataChange=False)
            )
        operation = self._copy.internal(COMPUTE_STATS)(self._copy.seq([]))
        self._commit(transaction, actions, operation, note, is_last)

    def _clustering(self) -> list[DeltaAction]:
        """What a DBA's CLUSTER BY on the published table becomes, where its columns go."""
        schema = log.metadata_action(self.source.delta)["schemaString"]
        return list(domains.without_lost_columns(self._copy.session, self._snapshot, schema))

    def _metadata(self) -> DeltaAction | None:
        """What this version of the source asks for; None where it is as it should be."""
        source, target = (log.metadata_action(one) for one in (self.source.delta, self._snapshot))
        # Until the first publish it has what CREATE TABLE LIKE gave it.
        own = target["configuration"] if self.head is not None else {}
        wanted = {
            **target,
            "schemaString": properties.schema(source["schemaString"], target["schemaString"]),
            "partitionColumns": source["partitionColumns"],
            "configuration": properties.published(source["configuration"], {**own, **self._own}),
        }
        if self._description is not None:
            wanted["description"] = self._description
        if wanted == target:
            return None
        return committing.action(self._copy.session, "metaData", wanted)


def _noted(about: Mapping[str, Any]) -> str:
    return json.dumps({marks.PUBLISH_NOTE: about})


def _coming(found: Steps) -> list[str]:
    return [*found.comes, *found.moved_in]


def mistakes_of(session: SparkSession, source: str) -> list[str]:
    """What stops a table from being published, whatever is published."""
    return list(properties.mistakes(TableSnapshot.of(session, source).properties, None, source))
