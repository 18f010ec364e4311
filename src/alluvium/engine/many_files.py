"""Many files looked at without a Spark job: a few hundred take milliseconds, a job longer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

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
    found = found_at(session, folder) or []
    path, size, modified = zip(*found, strict=True) if found else ((), (), ())
    return pa.table(
        {
            "path": pa.array(path, pa.string()),
            "bytes": pa.array(size, pa.int64()),
            "modified": pa.array(modified, pa.int64()),
        }
    )


def found_at(
    session: SparkSession, path: str, *, is_glob: bool = False, names: str = ""
) -> list[tuple[str, int, int]] | None:
    """The same rows of what a path means; None where nothing is there.

    Args:
        path: a path or URI.
        is_glob: whether it has wildcards.
        names: a wildcard for the names of files; empty for all.
    """
    found = jvm.call_own(session, _JAVA, "listed", _conf(session), path, is_glob, names)
    if found is None:
        return None
    parts = iter(_parts(found))
    rows = zip(parts, parts, parts, strict=True)
    return [(one, int(size), int(modified)) for one, size, modified in rows]


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
    return _parts(jvm.call_own(session, _JAVA, method, _conf(session), _END.join(parts)))


def _conf(session: SparkSession) -> Any:
    return session._jsparkSession.sessionState().newHadoopConf()


def _parts(found: str) -> list[str]:
    return found.split(_END)[:-1]
