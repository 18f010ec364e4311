"""The log of Spark's file stream, by which earlier versions knew the files that they had read."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from alluvium.engine.files import Files
from alluvium.ingest import checkpoint as checkpoints
from alluvium.ingest.checkpoint import Checkpoint
from alluvium.ingest.file_source import path_of

# What Spark wrote into the checkpoint. A version that knows these alone must not go on with them.
_OF_SPARK = ("sources", "offsets", "commits", "metadata")


def next_epoch(files: Files, place: Checkpoint, committed: int) -> int:
    """The epoch after the last one that was committed.

    committed: the last one that the table's log knows.
    """
    planned = checkpoints.last_epoch(files, place)
    finished = checkpoints.last_epoch(files, place, "commits")
    return 1 + (planned if committed >= planned else finished)


def read_paths(session: SparkSession, files: Files, place: Checkpoint, epoch: int) -> set[str]:
    """Paths of the files of all epochs before `epoch`."""
    log = f"{place.location}/sources/0"
    text = files.read(f"{place.location}/offsets/{epoch - 1}")
    if text is None or not files.is_there(log):
        return set()
    # The log may list more files than the epochs have: those of an epoch that was never planned.
    last = json.loads(text.strip().splitlines()[-1])["logOffset"]
    entries = session.read.option("__globPaths__", "false")
    listed = entries.schema("path string, batchId bigint").json(log)
    found = listed.where(F.col("path").isNotNull() & (F.col("batchId") <= last))
    return {row[0] for row in found.select(path_of(F.col("path"))).distinct().collect()}


def delete(files: Files, place: Checkpoint) -> None:
    """Delete what Spark wrote."""
    for name in _OF_SPARK:
        files.delete(f"{place.location}/{name}")
