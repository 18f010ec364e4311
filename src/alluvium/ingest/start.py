"""Where a run goes on: the table's checkpoint, or a new one; and whether it waits for more."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta.log import log
from alluvium.engine.files import Files
from alluvium.ingest import checkpoint as checkpoints
from alluvium.ingest import ledger
from alluvium.ingest.checkpoint import Checkpoint
from alluvium.ingest.events import PLACE
from alluvium.ingest.spec import Feed, StreamError
from alluvium.ingest.target import Target, highest_batch, id_of


def starting_place(
    session: SparkSession,
    files: Files,
    target: Target,
    existed: bool,
    full_refresh: bool,
    now: Callable[[], float],
) -> Checkpoint:
    """Where to go on: the table's checkpoint, or a new one where it is absent or not its own."""
    root = target.checkpoint
    place = checkpoints.load(files, root)
    table_id = id_of(session, target)
    ours = None
    if place is not None and not full_refresh and _is_own(session, target, place, table_id):
        ours = place
    if ours is not None and _has_started(files, ours):
        return ours
    is_new = not existed and log.version(session, target.name) == 0
    highest = 0 if is_new else highest_batch(session, target.name)
    replaces = full_refresh and existed
    known = existed and not full_refresh and highest > 0
    if ours is not None:
        # Never started, or Spark's folder is lost: under the same id its epochs would be skipped.
        replaces, known = ours.replaces, highest > 0 and not ours.replaces
    base = _base(files, place, highest, now)
    new = Checkpoint(root, uuid4().hex, base, table_id, replaces=replaces, skips_known=known)
    absent = set(PLACE) - set(session.table(target.name).columns)
    if new.skips_known and absent:
        raise StreamError(
            f"{target.name}: its checkpoint {root} is lost, and without its columns "
            f"{', '.join(sorted(absent))} it cannot tell what it holds; run with --full-refresh"
        )
    checkpoints.save(files, new)
    return new


def _is_own(session: SparkSession, target: Target, place: Checkpoint, table_id: str) -> bool:
    """Whether a checkpoint is of the table that is there now."""
    if place.table_id != table_id:
        return False
    # Its first commit was made and not noted: the table may be any one since, by RESTORE.
    return not place.replaces or place.app_id not in log.state(session, target.name)[1]


def _has_started(files: Files, place: Checkpoint) -> bool:
    """Whether anything was read with it; of Kafka, where the topics begin, though nothing came."""
    return ledger.exists(files, place.location) or files.is_there(f"{place.location}/sources")


def _base(files: Files, place: Checkpoint | None, highest: int, now: Callable[[], float]) -> int:
    """What the numbers of new batches rise from.

    Args:
        place: the checkpoint that was there.
        highest: the table's highest batch.
    """
    epoch = -1 if place is None else last_epoch(files, place)
    # A dropped table's batches are below those of the one that takes its name.
    if place is not None and epoch >= 0:
        return max(highest, place.batch_id(epoch))
    # No epoch says how far an earlier table came. It rose by less than one a millisecond.
    return max(highest, 0 if place is None else place.base, int(now() * 1000))


def is_kafka_idle(files: Files, place: Checkpoint) -> bool:
    """Whether no planned micro-batch must be finished first."""
    return checkpoints.last_epoch(files, place) < 0 or checkpoints.is_idle(files, place)


def last_epoch(files: Files, place: Checkpoint) -> int:
    """The highest epoch that was planned, whoever planned it; -1 for none."""
    return max(checkpoints.last_epoch(files, place), ledger.last_epoch(files, place.location))


def held_back(
    feed: Feed,
    events: Callable[[], DataFrame | None],
    place: Checkpoint,
    now: Callable[[], float],
) -> int | None:
    """How many of the new events wait for more to come; None where they shall be read.

    events: the new ones; None where nobody can tell.
    """
    spec = feed.spec
    if spec.min_rows <= 1 or place.replaces or place.skips_known:
        return None
    waiting = events()
    if waiting is None:
        return None
    rows, oldest = (
        waiting.limit(spec.min_rows)
        .agg(F.count(F.lit(1)), F.unix_micros(F.min("_source_timestamp")))
        .collect()[0]
    )
    if rows >= spec.min_rows:
        return None
    # A time ahead of the clock is no reason to wait for it: nobody knows since when it is there.
    if rows and abs(now() - oldest / 1e6) > (spec.max_wait or 0):
        return None
    return int(rows)
