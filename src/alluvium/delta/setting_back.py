"""A table is set back to an earlier version in one commit: files, columns and progress."""

from __future__ import annotations

import json
import time
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta import committing, log
from alluvium.delta.layout_commits import fields
from alluvium.engine import jvm

_DELTA = "org.apache.spark.sql.delta."


class SettingBack(jvm.SessionCopy):
    """The way from a table's newest version back to an earlier one.

    Delta's RESTORE keeps the progress of merges and streams: they would pass over what they had
    read. Here it goes back in the same commit, so the next run reads it again.
    """

    def __init__(self, session: SparkSession, table: str, version: int) -> None:
        super().__init__(session)
        self._version = version
        with self.active():
            self._log = log.delta_log(session, table)
            self._now = self._log.update(False, self._none, self._none)
            self._then = self._log.getSnapshotAt(version, self._none, self._none, False)

    def commit(self, message: str) -> int:
        """Make the commit; its version. Raises Delta's exceptions where others wrote meanwhile."""
        goes, comes = self._but(self._now, self._then), self._but(self._then, self._now)
        now = int(time.time() * 1000)
        progress = self._progress()
        self.set(committing.COMMIT_METADATA, message)
        with self.active():
            transaction = self._log.startTransaction(
                self._none, self._jvm.scala.Option.apply(self._now)
            )
            transaction.readWholeTable()
            for app in progress:
                transaction.txnVersion(app)
            if not self._now.metadata().equals(self._then.metadata()):
                transaction.updateMetadata(self._then.metadata(), True)
            actions = [
                *(committing.set_transaction(self.session, *one) for one in progress.items()),
                *(file.removeWithTimestamp(now, True) for file in goes),
                *(
                    committing.action(self.session, "add", {**fields(file), "dataChange": True})
                    for file in comes
                ),
            ]
            manual = self._object(_DELTA + "DeltaOperations$ManualUpdate$")
            return int(transaction.commit(self._seq(actions), manual))

    def _but(self, one: Any, other: Any) -> list[Any]:
        """The files of one version that the other has not, or has with another vector."""
        frames = (DataFrame(state.allFiles().toDF(), self.session) for state in (one, other))
        named, others = (frame.withColumn("__vector", _vector()) for frame in frames)
        left = named.join(others, ["path", "__vector"], "left_anti")
        encoder = self._object(_DELTA + "implicits.package$").addFileEncoder()
        whole = left.select(*one.allFiles().toDF().columns())
        with self.active():
            return list(getattr(whole._jdf, "as")(encoder).collectAsList())

    def _progress(self) -> dict[str, int]:
        """The `txn` actions that are not as they were; -1 for one that was not there."""
        now, then = (
            {one.appId(): int(one.version()) for one in jvm.items(state.setTransactions())}
            for state in (self._now, self._then)
        )
        return {app: then.get(app, -1) for app in now if then.get(app, -1) != now[app]}


def _vector() -> Column:
    return F.coalesce(F.to_json(F.col("deletionVector")), F.lit(""))


def touched(lines: list[str]) -> set[str]:
    """The paths of the files that a commit adds, or gives another deletion vector."""
    actions = [json.loads(line) for line in lines]
    added = {one["add"]["path"] for one in actions if "add" in one}
    # A commit that takes nothing and changes no row gives files new tags or statistics.
    is_label = not any("remove" in one for one in actions) and not any(
        one["add"].get("dataChange", True) for one in actions if "add" in one
    )
    return set() if is_label else added
