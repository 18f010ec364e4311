"""What a query read, and how its tables and views stand now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from alluvium.delta import log
from alluvium.delta.handles import DeltaLog
from alluvium.engine import jvm
from alluvium.plan import reuse
from alluvium.plan.reuse import TableState
from alluvium.plan.versions.commit import commit_info, id_of

_CLASS = "alluvium.Reads"
# Of a process, or of the statement before: no result hangs on them.
_OF_THE_PROCESS = (
    "spark.app.",
    "spark.databricks.delta.lastCommitVersionInSession",
    "spark.driver.host",
    "spark.driver.port",
    "spark.executor.id",
)
_OF_JAVA = ("java.version", "java.vendor", "user.language", "user.country", "file.encoding")


@dataclass(frozen=True)
class Reads:
    """What an analysed query reads.

    tables: by name; as they were when it was analysed.
    at_versions: names of those that it reads at a version that is named.
    views: by name, their digests.
    forbidden: why its result may be another though all of that is the same; None where it may not.
    """

    tables: Mapping[str, TableState]
    at_versions: frozenset[str]
    views: Mapping[str, str]
    forbidden: str | None


def of(frame: DataFrame, sql: str) -> Reads:
    """What a query read.

    Args:
        frame: its rows.
        sql: its text.

    Raises:
        ValueError: it reads a table at two versions, which a commit while it is analysed makes of
            one.
    """
    session: SparkSession = frame.sparkSession
    found = json.loads(jvm.call_own(session, _CLASS, "of", frame._jdf.queryExecution()))
    kinds = [*found["kinds"]]
    if (said := jvm.call_own(session, _CLASS, "inText", sql)) is not None:
        kinds.append(said)
    tables: dict[str, tuple[str, int, bool]] = {}
    for one in found["tables"]:
        # The newest version and one that is named may be the same by chance.
        seen = one["id"], one["version"], one["named"]
        if tables.setdefault(one["name"], seen) != seen:
            raise ValueError(f"{one['name']} is read at two versions")
    forbidden = reuse.forbidden(kinds)
    # Of a query that is never kept nothing is looked up.
    noted = {} if forbidden else tables
    return Reads(
        {
            name: _state(session, log.delta_log(session, name), *of[:2])
            for name, of in noted.items()
        },
        frozenset(one["name"] for one in found["tables"] if one["named"]),
        {name: reuse.digest(one) for name, one in found["views"].items()},
        forbidden,
    )


def view_now(session: SparkSession, name: str) -> str | None:
    """The digest of a view; None where there is none of this name.

    Raises AnalysisException where there is nothing.
    """
    found = _in_catalog(session, name)
    if found.tableType().name() != "VIEW":
        return None
    return reuse.digest(jvm.call_own(session, _CLASS, "view", found))


def moved(
    session: SparkSession, name: str, then: TableState, pinned: int | None
) -> tuple[str | None, TableState]:
    """Why a table may have other rows than it had, None where it has the same; and its state now.

    Args:
        then: as it was noted.
        pinned: the version of it that a query would read; None for the newest.

    Raises ValueError or AnalysisException where no Delta table has the name.
    """
    provider = _in_catalog(session, name).provider()
    if provider.isEmpty() or provider.get().lower() != "delta":
        raise ValueError(f"{name} is not a Delta table any more")
    snapshot = log.snapshot_of(session, name, pinned)
    table_id, version = str(snapshot.metadata().id()), int(snapshot.version())
    table_log = snapshot.deltaLog()
    now = _state(session, table_log, table_id, version)
    if table_id != then.table_id or not 0 <= version - then.version <= reuse.MOST_COMMITS:
        between = []
    else:
        between = list(log.commits_of(session, snapshot, after=then.version))
    unmoved = version == then.version
    before = now if unmoved else _state(session, table_log, table_id, then.version)
    return reuse.moved(name, then, now, before.commit, between), now


def settings(session: SparkSession) -> dict[str, str]:
    """All that a result may hang on of a session: Spark's settings, Java's, the current schema."""
    java = jvm.of(session).java.lang.System
    found = {
        key: value
        for key, value in dict(session.conf.getAll).items()
        if not key.startswith(_OF_THE_PROCESS)
    }
    manager = session._jsparkSession.sessionState().catalogManager()
    return {
        **found,
        **{name: str(java.getProperty(name)) for name in _OF_JAVA},
        "current schema": f"{manager.currentCatalog().name()}.{session.catalog.currentDatabase()}",
    }


def _in_catalog(session: SparkSession, name: str) -> Any:
    state = session._jsparkSession.sessionState()
    return state.catalog().getTableMetadata(state.sqlParser().parseTableIdentifier(name))


def _state(session: SparkSession, table_log: DeltaLog, table_id: str, version: int) -> TableState:
    """A version of a table; its commit is empty where the log no longer has that."""
    lines = log.commit_if_there(session, table_log, version)
    head = lines.head() if lines is not None and lines.nonEmpty() else None
    commit = "" if head is None else id_of(version, commit_info(head))
    return TableState(table_id, version, commit)
