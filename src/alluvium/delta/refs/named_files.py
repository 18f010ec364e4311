"""The files and vectors that a version of a table names, and where they lie, as a table of Arrow.

One query for all of them: what else is asked of paths needs no Spark.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from alluvium.delta.files import paths
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.refs import merge_bases
from alluvium.paths import Place


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
    # One pass over the state: as Delta's objects, files that are gone take longer than all else.
    state = DataFrame(snapshot.delta.stateDF(), snapshot.session)
    vector = "coalesce(add.deletionVector, remove.deletionVector)"
    found = (
        state.where("add is not null or remove is not null")
        .selectExpr(
            "add is not null as is_live",
            "coalesce(add.path, remove.path) as path",
            "add.size as bytes",
            "bigint(get_json_object(add.stats, '$.numRecords')) as rows",
            f"{vector}.storageType as kind",
            f"{vector}.pathOrInlineDv as place",
        )
        .toArrow()
    )
    root = Place.of(snapshot.folder)
    files = [Place.of_uri(path, root) for path in found["path"].to_pylist()]
    written = zip(found["kind"].to_pylist(), found["place"].to_pylist(), strict=True)
    vectors = [paths.vector_file(kind, place, root) for kind, place in written]
    return pa.table(
        {
            **{one: found[one] for one in ("is_live", "path", "bytes", "rows")},
            "location": pa.array([one.uri for one in files], pa.string()),
            "plain": pa.array(map(str, files), pa.string()),
            "vector": pa.array([one and str(one) for one in vectors], pa.string()),
            "is_inline": pc.fill_null(pc.equal(found["kind"], "i"), False),
        }
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
