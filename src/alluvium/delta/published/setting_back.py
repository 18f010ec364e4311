"""A table is set back to an earlier version in one commit: files, columns and progress."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from alluvium import marks
from alluvium.delta.handles import DeltaAction
from alluvium.delta.internals import RESTORE
from alluvium.delta.log import committing, domains, log
from alluvium.delta.log.committing import edited
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.log.states import add_files
from alluvium.delta.refs import pinned
from alluvium.engine import jvm
from alluvium.plan.versions.mapped import renames_or_drops, tells_changes
from alluvium.plan.versions.properties import MAPPING, identities_on, restored


class SettingBack:
    """The way from a version of a table, its newest one, back to an earlier one.

    Delta's RESTORE keeps the progress of merges and streams: they would pass over what they had
    read. Here it goes back in the same commit, so the next run reads it again.

    Args:
        now, then: both versions. The commit follows `now`, or there is none.
    """

    def __init__(self, now: TableSnapshot, then: TableSnapshot) -> None:
        self._copy = jvm.SessionCopy(now.session)
        self._now, self._then, self._log = now, then, now.delta.deltaLog()

    @cached_property
    def goes(self) -> list[Any]:
        """AddFile actions of the newest version that the earlier one does not have."""
        return self._but(self._now, self._then)

    @cached_property
    def comes(self) -> list[Any]:
        """AddFile actions of the earlier version that the newest one does not have."""
        return self._but(self._then, self._now)

    def missing(self) -> list[str]:
        """Files and deletion vectors that would come back, and that are gone."""
        return pinned.gone(self._copy.session, pinned.paths(self._log, self.comes))

    def mistakes(self) -> list[str]:
        """Why the table cannot go back to that version; empty where it can."""
        now, then = self._now.properties, self._then.properties
        before, after = (one.get(MAPPING, "none") for one in (then, now))
        found = []
        if before != after:
            found.append(f"its property {MAPPING} went from {before} to {after} since")
        if now.get("delta.appendOnly") == "true":
            found.append("its property delta.appendOnly is true")
        if "true" in (one.get("delta.enableRowTracking") for one in (now, then)):
            found.append("it tracks rows (delta.enableRowTracking), which would get other ids")
        schemas = (
            log.metadata_action(one.delta)["schemaString"] for one in (self._now, self._then)
        )
        if tells_changes(now) and renames_or_drops(*schemas) and (self.goes or self.comes):
            found.append(
                "it has a change data feed, and columns were renamed or added since, which Delta"
                " takes back in no such table. Accepted: a later version, or this one after `alter"
                " table … set tblproperties (delta.enableChangeDataFeed = false)`"
            )
        return found

    @cached_property
    def changes(self) -> bool:
        """Whether rows, columns or progress are not as they were."""
        return bool(
            self.goes
            or self.comes
            or self._progress()
            or self._metadata() is not None
            or self._domains
        )

    def commit(self, message: str, marked: Mapping[str, int] | None = None) -> int:
        """Make the commit; its version.

        marked: further `txn` actions, by application.

        Raises Delta's concurrency exceptions where somebody else has committed anything since.
        """
        goes, comes, metadata = self.goes, self.comes, self._metadata()
        now = int(time.time() * 1000)
        progress = {**self._progress(), **(marked or {})}
        self._copy.set(committing.COMMIT_METADATA, message)
        with self._copy.active():
            transaction = committing.transaction(self._copy.session, self._now.delta)
            # Not a blind append, which others would let come between.
            transaction.readWholeTable()
            if metadata is not None:
                transaction.updateMetadata(metadata, True)
            actions = [
                *(committing.set_transaction(self._copy.session, *one) for one in progress.items()),
                *self._domains,
                *(file.removeWithTimestamp(now, True) for file in goes),
                *(edited(self._copy.session, file, dataChange=True) for file in comes),
            ]
            version = self._copy.jvm.scala.Option.apply(self._then.version)
            restore = self._copy.internal(RESTORE)(version, self._copy.none)
            return committing.commit_next(self._copy, transaction, actions, restore)

    @cached_property
    def _domains(self) -> list[DeltaAction]:
        return list(domains.restored(self._copy.session, self._then.delta, self._now.delta))

    def _metadata(self) -> DeltaAction | None:
        """That of the earlier version; None where it is the same.

        How the table is kept, its retention for one, stays as it is now. So do the numbers that
        identities gave last.
        """
        now, then = (log.metadata_action(one.delta) for one in (self._now, self._then))
        properties = restored(then["configuration"], now["configuration"])
        schema = identities_on(then["schemaString"], now["schemaString"])
        wanted = {**then, "configuration": properties, "schemaString": schema}
        if wanted == now:
            return None
        return committing.action(self._copy.session, "metaData", wanted)

    def _but(self, one: TableSnapshot, other: TableSnapshot) -> list[Any]:
        """The files of one version that the other has not, or has with another vector.

        Whole actions, as the table's own log writes them: to ask `steps`, and for the actions then,
        would be two more looks at both versions.
        """
        frames = (
            DataFrame(state.delta.allFiles().toDF(), self._copy.session) for state in (one, other)
        )
        named, others = (frame.withColumn("__vector", _vector()) for frame in frames)
        left = named.join(others, ["path", "__vector"], "left_anti")
        with self._copy.active():
            return list(add_files(self._copy.session, left, one.delta).collectAsList())

    def _progress(self) -> dict[str, int]:
        """The `txn` actions that are not as they were; -1 for one that was not there."""
        (_, now), (_, then) = self._now.numbers, self._then.numbers
        return {
            app: then.get(app, -1)
            for app in now
            # What is left out for good stays left out, and a branch stays one.
            if then.get(app, -1) != now[app] and not app.startswith((marks.SKIPPED, marks.BRANCH))
        }


def _vector() -> Column:
    return F.coalesce(F.to_json(F.col("deletionVector")), F.lit(""))
