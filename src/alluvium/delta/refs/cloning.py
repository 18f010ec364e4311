"""A shallow clone in one commit: a new table's log names the files of a version of another one.

Delta's command makes a checkpoint beside it, and puts the state of both tables together. A table of
one commit needs neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alluvium.delta.handles import DeltaSnapshot
from alluvium.delta.internals import CLONE, DELTA_LOG, DOMAIN_METADATA
from alluvium.delta.log import committing, log
from alluvium.delta.log.states import absolute_files, add_files, elsewhere
from alluvium.delta.refs.needed_files import forget
from alluvium.engine import jvm
from alluvium.plan.versions.mapped import tells_changes

# Features that a clone takes over as they are. Of others Delta's command knows what a clone has.
_PLAIN = {
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "clustering",
    "columnMapping",
    "deletionVectors",
    "domainMetadata",
    "generatedColumns",
    "inCommitTimestamp",
    "invariants",
    "timestampNtz",
    "typeWidening",
    "v2Checkpoint",
    "vacuumProtocolCheck",
}

# The version, and the time, since which a table's log has times of commits.
_TIMES_SINCE = "delta.inCommitTimestampEnablement"


def is_plain(snapshot: DeltaSnapshot) -> bool:
    """Whether `clone` can be used of a version."""
    names = str(snapshot.protocol().readerAndWriterFeatureNames().mkString(" ")).split()
    # Delta lets no plain commit bring columns with ids into a table that tells its changes.
    has_both = tells_changes(log.metadata_action(snapshot)["configuration"])
    return _PLAIN.issuperset(names) and not has_both


def clone(
    copy: jvm.SessionCopy,
    snapshot: DeltaSnapshot,
    source: str,
    location: str,
    table_id: str,
    numbers: Mapping[str, int],
    properties: Mapping[str, str],
) -> int:
    """Make a table in a folder that shows a version of another one; the catalog learns nothing.

    As in Delta's clones, rows and vectors stay where they are, and nothing of the source's `txn`
    actions comes along.

    Args:
        copy: whose setting `COMMIT_METADATA` the commit notes.
        snapshot: the version, for which `is_plain` holds.
        source: its table's name, which the history tells.
        table_id: of the new table.
        numbers: of its `txn` actions, by application.
        properties: that it has beside those of the version.

    Returns:
        The number of its files.

    Raises:
        ValueError: there is a table already.
        Delta's concurrency exceptions (delta.exceptions): somebody else made one meanwhile.
    """
    session, java = copy.session, jvm.of(copy.session)
    # Nothing below may look up a table, which makes another session the thread's: without the
    # settings of `copy` the commit would note nothing.
    with copy.active():
        # What lay there before may be kept.
        forget(session, location)
        path = jvm.java_class(java, "org.apache.hadoop.fs.Path")(location)
        table_log = jvm.internal(session, DELTA_LOG).forTable(copy.spark, path)
        none = java.scala.Option.empty()
        transaction = table_log.startTransaction(none, none)
        if int(transaction.readVersion()) >= 0:
            raise ValueError(f"{location} holds a table already; accepted: another name")
        transaction.readWholeTable()
        metadata = {**log.metadata_action(snapshot), "id": table_id, "name": None}
        metadata["description"] = None
        metadata["configuration"] = {**_kept(metadata["configuration"]), **properties}
        transaction.updateMetadata(committing.action(session, "metaData", metadata), True)
        # After the metadata, which would set it.
        transaction.updateProtocol(snapshot.protocol())
        actions = jvm.java_class(java, "java.util.ArrayList")(_files(copy, snapshot))
        number = int(actions.size())
        domains = jvm.internal(session, DOMAIN_METADATA)
        for one in jvm.items(
            domains.handleDomainMetadataForCloneTable(snapshot, transaction.snapshot())
        ):
            actions.add(one)
        for app, one in numbers.items():
            actions.add(committing.set_transaction(session, app, one))
        operation = jvm.internal(session, CLONE)(source, snapshot.version())
        transaction.commit(jvm.as_scala(session, actions), operation)
        return number


def _kept(of_source: Mapping[str, str]) -> dict[str, str]:
    """Properties that a clone has too. Its log has times of commits from the first one on, if ever.

    Delta's command takes over since when its source has them. Then no version of the clone is found
    by a time.
    """
    return {key: one for key, one in of_source.items() if not key.startswith(_TIMES_SINCE)}


def _files(copy: jvm.SessionCopy, snapshot: DeltaSnapshot) -> Any:
    """AddFile actions of a version, paths and vectors absolute: a Java list."""
    root = log.qualified(snapshot.deltaLog())
    files = absolute_files(copy.session, root, snapshot.allFiles()).withColumns(elsewhere())
    return add_files(copy.session, files, snapshot).collectAsList()
