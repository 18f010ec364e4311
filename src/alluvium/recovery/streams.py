"""Whether streaming tables agree with their checkpoints, and merged tables with both."""

from __future__ import annotations

from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.engine.files import Files
from alluvium.ingest import checkpoint as checkpoints
from alluvium.ingest import ledger as ledgers
from alluvium.ingest.checkpoint import POINTER, Checkpoint
from alluvium.ingest.spec import StreamError
from alluvium.ingest.target import highest_batch
from alluvium.merge import progress
from alluvium.plan.recovery.findings import RECOVER, Finding
from alluvium.recovery.tables import Table

# Delta forgets `txn` actions where a table has it.
_FORGETS = "delta.setTransactionRetentionDuration"
_COMPARES = "the next run begins at the source's start, and leaves out what the table holds"
_HELPS = f"{RECOVER}: it moves the checkpoint away. The next run reads what the table does not have"


def of_checkpoint(session: SparkSession, table: Table) -> Finding | None:
    """What is to be known of the checkpoint of a streaming table; None where both agree."""
    files, root = Files(session), str(table.checkpoint)
    relation = table.by_path
    if log.version(session, relation) == 0:
        return None
    place = checkpoints.load(files, root)
    if place is None:
        what = "cannot be read" if files.is_there(f"{root}/{POINTER}") else "is gone"
        return Finding(f"its checkpoint {what}", _COMPARES, files=(root,), is_damage=False)
    table_id, transactions = log.state(session, relation)
    if place.table_id != table_id:
        what = "its checkpoint is that of another table"
        return Finding(what, _COMPARES, files=(root,), is_damage=False)
    try:
        finished = _finished(files, place)
    except StreamError as error:
        return Finding("its checkpoint is damaged", str(error), _HELPS, (place.location,))
    committed = transactions.get(place.app_id, -1)
    if finished > committed and not (committed < 0 and _forgets(session, relation)):
        return Finding(
            f"its checkpoint is ahead: it has read {finished + 1:,} commits of the stream, and the"
            f" table has {committed + 1:,}",
            "the next run would pass over events that the table does not have",
            _HELPS,
            (place.location,),
        )
    return None


def _finished(files: Files, place: Checkpoint) -> int:
    """The last epoch that the checkpoint takes for committed; -1 for none."""
    if ledgers.exists(files, place.location):
        return ledgers.load(files, place.location, tidy=False).epoch - 1
    return checkpoints.last_epoch(files, place, "commits")


def _forgets(session: SparkSession, relation: str) -> bool:
    return _FORGETS in TableSnapshot.of(session, relation).properties


def of_progress(session: SparkSession, table: Table, events: list[Table]) -> Finding | None:
    """What is to be known of a merged table beside the streaming tables that it reads."""
    if not events:
        return None
    merged = progress.read(session, table.by_path, table.model)
    if merged is None:
        return None
    newest = max(highest_batch(session, one.by_path) for one in events)
    if merged <= newest:
        return None
    names = ", ".join(one.name for one in events)
    return Finding(
        f"it has merged batch {merged}, and the newest one of {names} is {newest}",
        f"{names} lost events that are merged here: a full refresh would lose them here too",
        f"to load them again, where their source has them ({names} reads what it does not have"
        f" after {RECOVER})",
    )
