"""The staged batch of a merge, which is read several times: by ranges, figures and the merge."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from alluvium.delta.log import log
from alluvium.engine.jvm import items, reads_files, relations

# Bytes that Spark expects to read. Up to so many it keeps the rows, in memory or on its disks. Of
# more it keeps none. All that read a batch before the merge ask for a few columns, and a copy has
# them all. Nobody knows how much the executors' disks hold.
_KEPT = 2**30
# Up to so many one task reads them sooner than several that have to exchange rows.
_SMALL = 16 * 2**20


def keep(batch: DataFrame) -> None:
    """Let Spark compute the rows once, when they are first read, until `batch.unpersist()`.

    Queries that begin with the same plan, in any session, then read what was kept.
    """
    if _volume(batch) <= _KEPT:
        batch.persist()


def is_small(batch: DataFrame) -> bool:
    """Whether a single task should read it."""
    return _volume(batch) <= _SMALL


def version_read(batch: DataFrame, table: str) -> int | None:
    """The version that `table` has now, if the batch is computed from it; None if it is not."""
    plan: Any = batch._jdf.queryExecution().analyzed()
    delta_log = log.delta_log(batch.sparkSession, table)
    for leaf in relations(plan):
        relation = leaf.relation()
        if not reads_files(batch.sparkSession, relation):
            continue
        if delta_log.dataPath() in items(relation.location().rootPaths()):
            return log.version(batch.sparkSession, table)
    return None


def _volume(batch: DataFrame) -> int:
    """Bytes of the tables that it is computed from, or fewer where that is looked into."""
    execution: Any = batch._jdf.queryExecution()
    leaves = items(execution.analyzed().collectLeaves())
    tables = sum(int(leaf.stats().sizeInBytes()) for leaf in leaves)
    # Delta leaves files out, but looking for them takes as long as reading a few.
    return tables if tables <= _SMALL else int(execution.optimizedPlan().stats().sizeInBytes())
