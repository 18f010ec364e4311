"""What a query read, and how its tables and views stand now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from delta.exceptions import ConcurrentWriteException
from pyspark.sql import DataFrame, SparkSession

from alluvium import marks
from alluvium.delta.internals import MANUAL_UPDATE
from alluvium.delta.log import committing, log
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.engine import jvm
from alluvium.plan import reuse
from alluvium.plan.reuse import Record, TableState
from alluvium.plan.versions.commit import Commit

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
    """What a query read, or that of a CREATE TABLE AS.

    Args:
        frame: its rows, or what the statement gave.
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
            name: _state(table_id, log.commit(session, name, version))
            for name, (table_id, version, _) in noted.items()
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
    snapshot = _snapshot(session, name, pinned)
    now = _state(snapshot.table_id, snapshot.commit(snapshot.version))
    is_near = 0 <= now.version - then.version <= reuse.MOST_COMMITS
    is_same = now.table_id == then.table_id
    between = list(snapshot.commits(then.version)) if is_same and is_near else []
    unmoved = now.version == then.version
    commit_then = now.commit if unmoved else snapshot.commit(then.version).id
    return reuse.moved(name, then, now, commit_then, between), now


def noted(session: SparkSession, table: str) -> Record | str:
    """What the log of a table notes of how it was built; why that is not how it stands.

    Raises ValueError or AnalysisException where no Delta table has the name.
    """
    return reuse.in_log(_snapshot(session, table).commits())


def note(
    session: SparkSession, table: str, record: Record, name: str, made: set[int]
) -> str | None:
    """Note in the log of a table how it was built, behind all of it; why not, if it is not noted.

    Args:
        name: of the node, for people who read the log.
        made: the versions that the session committed since the build began.
    """
    snapshot = _snapshot(session, table)
    newest, first = snapshot.version, min(made, default=-1)
    behind = snapshot.commits(first)
    if made != set(range(first, newest + 1)) or not all(map(reuse.only_describes, behind)):
        return "its table was written by more than its own statement"
    copy = jvm.SessionCopy(session)
    copy.set(committing.COMMIT_METADATA, reuse.mark(record, name, newest))
    with copy.active():
        transaction = committing.transaction(session, snapshot.delta)
        number = committing.set_transaction(session, marks.REUSE, newest)
        operation: Any = jvm.internal(session, MANUAL_UPDATE)
        try:
            committing.commit_next(copy, transaction, [number], operation)
        except ConcurrentWriteException:
            return "somebody else has written its table meanwhile"
    return None


def settings(session: SparkSession) -> dict[str, str]:
    """All that a result may hang on of a session: settings, and where Spark looks for names."""
    java = jvm.of(session).java.lang.System
    # First what makes the session's state: it brings settings of its own.
    manager = session._jsparkSession.sessionState().catalogManager()
    names = {
        "current path": manager.currentPathString(),
        "current schema": f"{manager.currentCatalog().name()}.{session.catalog.currentDatabase()}",
    }
    # As two texts: py4j would ask for one after another, and end with an error of Java's.
    conf = session._jsparkSession.sessionState().conf().getAllConfs()
    keys, values = (part.mkString("\0").split("\0") for part in (conf.keys(), conf.values()))
    found = {
        key: value
        for key, value in zip(keys, values, strict=True)
        if not key.startswith(_OF_THE_PROCESS)
    }
    return {**found, **{name: str(java.getProperty(name)) for name in _OF_JAVA}, **names}


def _snapshot(session: SparkSession, name: str, version: int | None = None) -> TableSnapshot:
    provider = _in_catalog(session, name).provider()
    if provider.isEmpty() or provider.get().lower() != "delta":
        raise ValueError(f"{name} is not a Delta table any more")
    return TableSnapshot.of(session, name, version)


def _in_catalog(session: SparkSession, name: str) -> Any:
    state = session._jsparkSession.sessionState()
    return state.catalog().getTableMetadata(state.sqlParser().parseTableIdentifier(name))


def _state(table_id: str, commit: Commit) -> TableState:
    """The version of a table that a commit made; empty of one that the log no longer has."""
    return TableState(table_id, commit.version, commit.id or "")
