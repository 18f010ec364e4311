"""What our commits are made of: Delta's actions, and settings of the session that commits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from delta.exceptions import ConcurrentWriteException
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.delta.handles import (
    DeltaAction,
    DeltaFile,
    DeltaOperation,
    DeltaSnapshot,
    DeltaTransaction,
)
from alluvium.delta.internals import ACTION, OPTIMIZE, SET_TRANSACTION
from alluvium.engine import jvm

# What Delta puts into the next commit of a session: the user's metadata, and a `txn` action.
COMMIT_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
TXN_APP = "spark.databricks.delta.write.txnAppId"
TXN_VERSION = "spark.databricks.delta.write.txnVersion"
# How often Delta tries a commit again behind those of others.
_RETRIES = "spark.databricks.delta.maxCommitAttempts"
# Year 9999, in ms since 1970: delta.setTransactionRetentionDuration forgets what is older.
NEVER_FORGOTTEN = 253_402_300_799_000
# The same in seconds.
FOREVER = NEVER_FORGOTTEN / 1000


def set_transaction(
    session: SparkSession, app_id: str, version: int, until: int = NEVER_FORGOTTEN
) -> DeltaAction:
    """A `txn` action; `until` in ms since 1970: when it is said to be last updated."""
    at = jvm.of(session).scala.Option.apply(until)
    made: DeltaAction = jvm.internal(session, SET_TRANSACTION)(app_id, version, at)
    return made


def optimize(session: SparkSession) -> DeltaOperation:
    """The operation of a commit that changes no row."""
    none, empty = jvm.of(session).scala.Option.empty(), jvm.scala_seq(session, [])
    made: DeltaOperation = jvm.internal(session, OPTIMIZE)(empty, empty, False, none, False)
    return made


def transaction(session: SparkSession, snapshot: DeltaSnapshot) -> DeltaTransaction:
    """Delta's transaction on a version of a table."""
    option = jvm.of(session).scala.Option
    return snapshot.deltaLog().startTransaction(option.empty(), option.apply(snapshot))


def commit_next(
    copy: jvm.SessionCopy,
    transaction: DeltaTransaction,
    actions: Iterable[Any],
    operation: DeltaOperation,
) -> int:
    """Commit right behind the version that was looked at; the new version.

    Delta lets other commits come between where it sees no conflict: progress alone, for one. What
    says that it goes back to a version would then undo what nobody looked at.

    Raises:
        ConcurrentWriteException: somebody else has committed since. Nothing was changed.
    """
    copy.set(_RETRIES, 0)
    with copy.active():
        try:
            return int(transaction.commit(jvm.scala_seq(copy.session, actions), operation))
        except (Py4JJavaError, PySparkException) as error:
            if "DELTA_MAX_COMMIT_RETRIES_EXCEEDED" not in str(error):
                raise
            raise ConcurrentWriteException(
                "a concurrent commit came behind the version that was read"
            ) from error


def action(session: SparkSession, kind: str, content: Mapping[str, Any]) -> DeltaAction:
    """An action of Delta's, as a line of the log has it: `kind` is the line's one key."""
    made: DeltaAction = jvm.internal(session, ACTION).fromJson(json.dumps({kind: content}))
    return made


def add_file(session: SparkSession, content: Mapping[str, Any]) -> DeltaFile:
    """An AddFile action, from its fields."""
    made: DeltaFile = jvm.internal(session, ACTION).fromJson(json.dumps({"add": content}))
    return made


def fields(file: DeltaFile) -> dict[str, Any]:
    """Of an AddFile action, as the log has them."""
    found: dict[str, Any] = json.loads(file.json())["add"]
    return found


def edited(session: SparkSession, file: DeltaFile, **changes: object) -> DeltaFile:
    """An AddFile action with other fields."""
    return add_file(session, fields(file) | changes)
