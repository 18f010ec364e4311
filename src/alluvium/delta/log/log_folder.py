"""The folder of a table's log, file by file: Delta itself gives up at the first damage."""

from __future__ import annotations

import json
from collections.abc import Iterator

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from alluvium.delta.files import footers
from alluvium.engine import many_files
from alluvium.engine.files import Files
from alluvium.paths import Place, name_of
from alluvium.plan import log_names
from alluvium.plan.recovery.log_health import HINT, Hint, LogCheckpoint, LogHealth

_SIDECARS = "_sidecars"
# What is read of one to see that it can be: Spark need not look for its columns.
_CHECKPOINT_COLUMNS = (
    "metaData struct<id:string>, add struct<path:string,stats:string>, sidecar struct<path:string>"
)


def is_draft(files: Files, log: str) -> bool:
    """Whether a log has no commit: a kill inside the first leaves a folder and a draft."""
    return all(
        name.startswith(".") or (name.startswith("_") and not files.names(f"{log}/{name}"))
        for name in files.names(log)
    )


class LogFolder:
    """The log of the table in a folder.

    Args:
        place: the table's folder, a path or URI.
    """

    def __init__(self, session: SparkSession, place: str) -> None:
        self._session = session
        self._files = Files(session)
        self.place = f"{place.rstrip('/')}/_delta_log"

    def exists(self) -> bool:
        return not is_draft(self._files, self.place)

    def look(self) -> LogHealth:
        """What is there, and what of it can be read; nothing is changed."""
        found = many_files.listed(self._session, self.place)
        named = (name_of(path) for path in found["path"].to_pylist())
        sizes = dict(zip(named, found["bytes"].to_pylist(), strict=True))
        names = [*sizes, *([HINT] if self._files.is_there(f"{self.place}/{HINT}") else [])]
        return LogHealth(
            tuple(sorted(names)),
            self._commits(sizes),
            list(self._checkpoints(sizes)),
            self._hint() if HINT in names else None,
        )

    def _commits(self, sizes: dict[str, int]) -> dict[int, str | None]:
        named = log_names.commits(sizes)
        found = {one: None if sizes[name] else "empty" for one, name in named.items()}
        paths = [f"{self.place}/{named[one]}" for one, damage in found.items() if not damage]
        for path in many_files.no_json(self._session, paths):
            found[int(name_of(path)[:20])] = "unreadable"
        return found

    def _checkpoints(self, sizes: dict[str, int]) -> Iterator[LogCheckpoint]:
        found = list(log_names.checkpoints(sizes))
        every = (name for one in found for name in one.names if name.endswith("parquet"))
        broken = self._broken({name: sizes[name] for name in every})
        newest = max((one.version for one in found), default=-1)
        for one in found:
            damage = None
            if not one.is_whole:
                damage = f"has {len(one.names)} of its {one.wanted} parts"
            elif broken & set(one.names):
                damage = "is not a whole file"
            elif one.version == newest and not self._gives_files(one.names):
                damage = "cannot be read"
            yield LogCheckpoint(one.version, one.names, damage)

    def _broken(self, sizes: dict[str, int]) -> set[str]:
        """Those of Parquet files that have no footer."""
        uris = {Place.of(f"{self.place}/{name}").uri: name for name in sizes}
        found = footers.rows_of(self._session, [(uri, sizes[name]) for uri, name in uris.items()])
        return {name for uri, name in uris.items() if found[uri] is None}

    def _gives_files(self, names: tuple[str, ...]) -> bool:
        """Whether a checkpoint whose files have footers gives the table's files when it is read."""
        paths = [f"{self.place}/{name}" for name in names]
        read = self._session.read.options(__globPaths__="false").schema(_CHECKPOINT_COLUMNS)
        columns = ("metaData.id", "sidecar.path", "add.path", "add.stats")
        try:
            frame = read.json(paths) if names[0].endswith("json") else read.parquet(*paths)
            ids, sidecars, *_ = frame.agg(
                F.count(columns[0]), F.collect_set(columns[1]), *map(F.count, columns[2:])
            ).collect()[0]
            if not ids:
                return False
            if sidecars:
                paths = [f"{self.place}/{_SIDECARS}/{name_of(one)}" for one in sidecars]
                read.parquet(*paths).agg(*map(F.count, columns[2:])).collect()
        except (PySparkException, Py4JJavaError):
            return False
        return True

    def _hint(self) -> Hint:
        try:
            found = json.loads(self._files.read(f"{self.place}/{HINT}") or "")
            return Hint(int(found["version"]))
        except (ValueError, TypeError, KeyError, Py4JJavaError):
            return Hint(None)
