"""Many files looked at without a Spark job: a few hundred take milliseconds, a job longer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from alluvium.engine import jvm

_JAVA = "alluvium.ManyFiles"
# Behind each part of what Java gives and takes: no path has it.
_END = "\0"


def listed(session: SparkSession, folder: str) -> pa.Table:
    """The files in a folder and those below that Spark does not hide; none where it is absent.

    Args:
        folder: a path or URI.

    Returns:
        `path`, with its file system and nothing escaped; `bytes`; `modified`, in milliseconds
        since 1970.
    """
    parts = _ask(session, "listed", folder)
    return pa.table(
        {
            "path": pa.array(parts[0::3], pa.string()),
            "bytes": pa.array(map(int, parts[1::3]), pa.int64()),
            "modified": pa.array(map(int, parts[2::3]), pa.int64()),
        }
    )


def indexed(frame: DataFrame) -> Iterator[tuple[str, int, int]]:
    """The files with content under a frame, by the listing that Spark made for it.

    Args:
        frame: over files, as its reader gives it.

    Returns:
        Of each what `listed` has: path, bytes, and milliseconds since 1970.
    """
    index = frame._jdf.queryExecution().analyzed().collectLeaves().head().relation().location()
    parts = iter(_parts(jvm.call_own(frame.sparkSession, _JAVA, "indexed", index)))
    for path, size, modified in zip(parts, parts, parts, strict=True):
        yield path, int(size), int(modified)


def parquet_rows(session: SparkSession, files: Sequence[tuple[str, int]]) -> dict[str, int | None]:
    """The rows of Parquet files by their URIs, as the footers say; None where there is no footer.

    Args:
        files: URI and size in bytes of each.
    """
    if not files:
        return {}
    found = _ask(session, "rows", *(str(part) for file in files for part in file))
    return {uri: int(rows) if rows else None for (uri, _), rows in zip(files, found, strict=True)}


def no_json(session: SparkSession, paths: Sequence[str]) -> list[str]:
    """Those of the files that are not JSON, an object a line, to their end."""
    if not paths:
        return []
    found = _ask(session, "json", *paths)
    return [path for path, is_json in zip(paths, found, strict=True) if not is_json]


def _ask(session: SparkSession, method: str, *parts: str) -> list[str]:
    conf: Any = session._jsparkSession.sessionState().newHadoopConf()
    return _parts(jvm.call_own(session, _JAVA, method, conf, _END.join(parts)))


def _parts(found: str) -> list[str]:
    return found.split(_END)[:-1]
