"""The files and vectors that a version of a table names, and where they lie, as a table of Arrow.

One query for all of them: what else is asked of paths needs no Spark.
"""

from __future__ import annotations

from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta import log
from alluvium.delta.handles import DeltaSnapshot
from alluvium.delta.states import absolute_files, add_files

# What Delta asks for in an action of a file, where one that was removed does not say it.
_FILLED = {"size": "coalesce(size, 0L)", "partitionValues": "coalesce(partitionValues, map())"}


def named(session: SparkSession, snapshot: DeltaSnapshot) -> pa.Table:
    """The data files of a version, and those that were removed within retention.

    Returns:
        is_live: whether it is one of the version.
        path: as the log has it.
        location: the whole URI.
        plain: one spelling of it, as `plain` has it.
        bytes, rows: as the log has them; `rows` NULL where it does not say.
        vector: `plain` of the file of its deletion vector; NULL without one, or where it stands in
            the log.
        is_inline: whether it stands there.
    """
    live = DataFrame(snapshot.allFiles().toDF(), session)
    gone = DataFrame(snapshot.tombstones().toDF(), session)
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
    actions = add_files(session, both[0].unionByName(both[1]), snapshot)
    root = log.qualified(snapshot.deltaLog())
    kind = F.col("deletionVector.storageType")
    found = (
        absolute_files(session, root, actions)
        .select(
            F.expr("modificationTime = 1").alias("is_live"),
            F.col("tags")["path"].alias("path"),
            F.col("path").alias("location"),
            F.col("size").alias("bytes"),
            F.expr("bigint(get_json_object(stats, '$.numRecords')) as rows"),
            F.when(kind == "p", F.col("deletionVector.pathOrInlineDv")).alias("vector"),
            F.coalesce(kind == "i", F.lit(False)).alias("is_inline"),
        )
        .toArrow()
    )
    place = found.schema.get_field_index("vector")
    return found.append_column("plain", _plain(found["location"])).set_column(
        place, "vector", _plain(found["vector"])
    )


def needed(session: SparkSession, snapshot: DeltaSnapshot) -> pa.ChunkedArray:
    """The files and vectors that `named` tells, as `plain` has them."""
    return needed_of(named(session, snapshot))


def needed_of(files: pa.Table) -> pa.ChunkedArray:
    """The paths of files and of vectors of `named`."""
    vectors = files["vector"].unique().drop_null()
    return pa.chunked_array([*files["plain"].chunks, vectors], pa.string())


def inside(paths: pa.ChunkedArray, folder: str) -> pa.ChunkedArray:
    """Those paths, as `plain` has them, that lie in a folder."""
    return paths.filter(pc.starts_with(paths, f"{plain(folder).rstrip('/')}/"))


def plain(uri: str) -> str:
    """One spelling of `/a`, `file:/a` and `file:///a`, without what a URI escapes."""
    if uri.startswith(("file:", "/")):
        return "file:/" + uri.removeprefix("file:").lstrip("/")
    return uri


def _plain(uris: pa.ChunkedArray) -> pa.Array:
    return pa.array(
        (None if uri is None else plain(unquote(uri)) for uri in uris.to_pylist()), pa.string()
    )
