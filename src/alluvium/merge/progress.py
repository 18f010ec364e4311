"""How far a merged table has come, kept as `txn` actions in its own log.

The application id names the model and the table's id. A (re)created table has a new id, so what
an older one had recorded never counts for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from delta.exceptions import ConcurrentTransactionException
from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.log import log, partial
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.plan.versions.batches import app_id as app_id
from alluvium.plan.versions.commit import OF_FILES

# Commits that make a table of a query.
_MADE = ("CREATE TABLE AS", "CREATE OR REPLACE TABLE AS", "REPLACE TABLE AS")


def read(session: SparkSession, table: str, model: str) -> int | None:
    """The newest event batch that `model` merged into `table`; None before the first.

    table: rendered name of a Delta table; model: dbt's unique id.
    """
    return of_model(*log.state(session, table), model)


def of_model(table_id: str, versions: Mapping[str, int], model: str) -> int | None:
    """`read` of a table with this id and these `txn` actions; less than 0 stands for none."""
    found = versions.get(app_id(model, table_id), -1)
    return found if found >= 0 else None


def pass_over(session: SparkSession, table: str, model: str, after: int, through: int) -> None:
    """Note batches of which there is nothing to merge, as if they were merged.

    Nothing is noted where another process moved the progress from `after`.
    """
    app = app_id(model, log.table_id(session, table))
    with suppress(ConcurrentTransactionException):
        log.commit_transactions(session, table, {app: through}, before={app: after})


def by_model(table_id: str, versions: Mapping[str, int]) -> dict[str, int]:
    """By model, the newest event batch that is merged into the table with this id.

    versions: of the table's `txn` actions, by application.
    """
    suffix = f"/{table_id}"
    return {
        app.removeprefix(marks.MERGED_THROUGH).removesuffix(suffix): number
        for app, number in versions.items()
        if app.startswith(marks.MERGED_THROUGH) and app.endswith(suffix) and number >= 0
    }


def has_begun(session: SparkSession, table: str) -> bool:
    """Whether anything came into `table` since it was made empty, to be merged into.

    Where its first merge failed or was killed, nothing did.
    """
    now = TableSnapshot.of(session, table)
    if now.files:
        return True
    for commit in now.commits():
        if str(commit.operation).startswith(_MADE):
            return False
        # An ALTER brings nothing, and no VACUUM does.
        if commit.is_gone or not commit.kinds.isdisjoint({*OF_FILES, "txn"}):
            return True
    return True


def copy(session: SparkSession, source: str, target: str) -> int:
    """Carry the progress of `source` to its clone `target`, which Delta's own command made.

    Returns how many models had any.

    It is that of the version that it is a clone of: the source may have merged more, or been
    rebuilt, since.
    """
    cloned = log.last_commit(session, target).parameters.get("sourceVersion")
    if cloned is None:
        return 0  # another writer was here first
    target_id = log.table_id(session, target)
    carried = of_clone(*log.state(session, source, int(cloned)), target_id)
    if carried:
        log.commit_transactions(session, target, carried)
    # The id of a table ends what a model has of it, and nothing else that is carried.
    return sum(app.endswith(f"/{target_id}") for app in carried)


def of_clone(source_id: str, versions: Mapping[str, int], table_id: str) -> dict[str, int]:
    """The `txn` actions that a clone with an id needs to go on as its source would.

    A clone starts with an empty list of transactions and an id of its own.

    source_id, versions: of the source, as `log.state` has them.
    """
    merged = by_model(source_id, versions)
    carried = {app_id(model, table_id): number for model, number in merged.items()}
    # The clone's fragments are sorted by the cuts of the source's Z-order. What the source leaves
    # out for good, its clone does too. Of a published table it shows what that one showed, until
    # its own candidate is published.
    kept = {
        app: one
        for app, one in versions.items()
        if app.partition(":")[0] == marks.ZORDER_CUTS
        or app.startswith((marks.SKIPPED, marks.PUBLISHED, marks.READ_FROM))
    }
    return carried | kept | partial.of_clone(source_id, versions, table_id)
