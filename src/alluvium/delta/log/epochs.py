"""How far the stream of a table came, as its log has it."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.log import checksums, log


@dataclass(frozen=True)
class Epoch:
    """The newest epoch of a checkpoint.

    Attributes:
        number: Of it; -1 for none.
        at: When it was written, in ms since 1970; 0 where nobody noted it.
        passed_by: By how many ms the newest commit of another checkpoint is younger; 0 for none.
    """

    number: int = -1
    at: int = 0
    passed_by: int = 0


def newest(session: SparkSession, table: str, app: str) -> Epoch:
    """The newest epoch that the table has of a checkpoint.

    app: the checkpoint's id of application.
    """
    noted = {
        one.appId(): (int(one.version()), int(at.get()) if at.isDefined() else 0)
        for one in checksums.all_transactions(log.snapshot_of(session, table))
        if one.appId().startswith(marks.STREAM_EPOCH)
        for at in [one.lastUpdated()]
    }
    if app not in noted:
        return Epoch()
    number, at = noted[app]
    return Epoch(number, at, max(other for _, other in noted.values()) - at)
