"""What VACUUM may delete of a table whose files other tables show."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta import log
from alluvium.delta.states import plain


def inventory(session: SparkSession, table: str, dependents: Iterable[str]) -> DataFrame:
    """The files in the folder of a table that no dependent needs, as VACUUM's inventory has them.

    A dependent needs the files and deletion vectors of its newest version, and those of the
    versions that its own retention keeps.

    Args:
        table: name of the table.
        dependents: names of the tables that show files of it.
    """
    place = log.qualified(log.delta_log(session, table))
    files = (
        session.read.format("binaryFile")
        .options(recursiveFileLookup="true", __globPaths__="false")
        .load(place)
        .select(
            "path",
            "length",
            # Delta asks for a column that may be NULL.
            F.when(F.col("length") >= 0, F.lit(False)).alias("isDir"),
            F.unix_millis("modificationTime").alias("modificationTime"),
        )
    )
    needed = (_needed(session, dependent) for dependent in dependents)
    pinned = reduce(DataFrame.union, needed).distinct()
    return files.join(pinned, plain(F.col("path")) == F.col("pinned"), "left_anti")


def _needed(session: SparkSession, dependent: str) -> DataFrame:
    """Absolute paths of files and vectors, in a column `pinned`."""
    snapshot = log.snapshot_of(session, dependent)
    frames = (
        DataFrame(actions.toDF(), session).select("path", "deletionVector")
        for actions in (snapshot.allFiles(), snapshot.tombstones())
    )
    both = reduce(DataFrame.union, frames)
    vectors = both.where("deletionVector.storageType = 'p'")
    paths = both.select("path").union(vectors.select("deletionVector.pathOrInlineDv"))
    # In the log, a blank of a path is `%20`.
    decoded = F.url_decode(F.replace(F.col("path"), F.lit("+"), F.lit("%2B")))
    return paths.select(plain(decoded).alias("pinned"))
