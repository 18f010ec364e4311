"""The files and vectors that a version of a table names, and where they lie, as a table of Arrow.

One query for all of them: what else is asked of paths needs no Spark.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from alluvium.delta.files import paths
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.log.states import absolute_files, add_files
from alluvium.delta.refs import merge_bases
from alluvium.paths import Place

# What Delta asks for in an action of a file, where one that was removed does not say it.
_FILLED = {"size": "coalesce(size, 0L)", "partitionValues": "coalesce(partitionValues, map())"}


def named(snapshot: TableSnapshot) -> pa.Table:
    """The data files of a version, and those that were removed within retention.

    Returns:
        is_live: whether it is one of the version.
        path: as the log has it.
        location: the whole URI.
        plain: the same as `Place` writes it.
        bytes, rows: as the log has them; `rows` NULL where it does not say.
        vector: the file of its deletion vector, as `plain`; NULL without one, or where it stands
            in the log.
        is_inline: whether it stands there.
    """
    session, delta = snapshot.session, snapshot.delta
    live = DataFrame(delta.allFiles().toDF(), session)
    gone = DataFrame(delta.tombstones().toDF(), session)
    gone = gone.selectExpr(
        *(
            f"{_FILLED.get(one, one if one in gone.columns else 'null')} as {one}"
            for one in live.columns
        )
    )
    # Paths become absolute below: what the log has is kept beside.
    both = [
        files.withColumns(
            {
                "tags": F.create_map(F.lit("path"), F.col("path")),
                "modificationTime": F.lit(is_live).cast("bigint"),
            }
        )
        for is_live, files in ((1, live), (0, gone))
    ]
    actions = add_files(session, both[0].unionByName(both[1]), delta)
    kind = F.col("deletionVector.storageType")
    vector = F.when(kind == "p", F.col("deletionVector.pathOrInlineDv"))
    return (
        absolute_files(session, snapshot.folder, actions)
        .select(
            F.expr("modificationTime = 1").alias("is_live"),
            F.col("tags")["path"].alias("path"),
            F.col("path").alias("location"),
            F.col("size").alias("bytes"),
            F.expr("bigint(get_json_object(stats, '$.numRecords')) as rows"),
            paths.plain(vector).alias("vector"),
            F.coalesce(kind == "i", F.lit(False)).alias("is_inline"),
            paths.plain(F.col("path")).alias("plain"),
        )
        .toArrow()
    )


def needed(newest: TableSnapshot) -> pa.ChunkedArray:
    """The files and vectors that `named` tells of the newest version, as `plain`.

    Those too that a later merge reads, where the table is one of a branch.
    """
    return joined([needed_of(named(newest)), for_merges(newest)])


def for_merges(newest: TableSnapshot) -> pa.ChunkedArray:
    """The files and vectors that a later merge of a branch's table reads, as `plain`.

    newest: of any table.
    """
    found = map(named, merge_bases.snapshots(newest))
    return joined([needed_of(one.filter(one["is_live"])) for one in found])


def needed_of(files: pa.Table) -> pa.ChunkedArray:
    """The paths of files and of vectors of `named`."""
    vectors = files["vector"].unique().drop_null()
    return pa.chunked_array([*files["plain"].chunks, vectors], pa.string())


def inside(files: pa.ChunkedArray, folder: str) -> pa.ChunkedArray:
    """Those of the files, as `plain`, that lie in a folder."""
    return files.filter(pc.starts_with(files, Place.of(folder).below))


def joined(files: Iterable[pa.ChunkedArray]) -> pa.ChunkedArray:
    """All of the paths, behind one another."""
    return pa.chunked_array([chunk for one in files for chunk in one.chunks], pa.string())
