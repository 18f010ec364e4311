"""What the next merge of a branch compares with: earlier versions of its table, kept for that."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.handles import DeltaSnapshot
from alluvium.delta.log import log


def app_of(first_id: str, table_id: str) -> str:
    """The `txn` application by which a table tells up to where a branch was merged into it.

    Args:
        first_id: the id that the branch's table began with.
        table_id: of the table.
    """
    return f"{marks.BRANCH_MERGED}{first_id}/{table_id}"


def merged_last(state: tuple[str, Mapping[str, int]], first_id: str) -> int | None:
    """The version of a branch's table that was merged last; None where none was.

    Args:
        state: of the table that it is merged into, as `log.numbers` gives it.
        first_id: as `app_of` has it.
    """
    table_id, numbers = state
    # The table's id was not noted once.
    earlier = numbers.get(f"{marks.BRANCH_MERGED}{first_id}", -1)
    found = numbers.get(app_of(first_id, table_id), earlier)
    return found if found >= 0 else None  # a restore may have taken it back


def snapshots(session: SparkSession, newest: DeltaSnapshot) -> list[DeltaSnapshot]:
    """The versions of a branch's table that a later merge of it reads; none of any other table.

    The first one names what the other table had when the branch began. A full refresh of that
    table makes a merge begin there again, also where the branch was merged before.
    """
    if not any(app.startswith(marks.BRANCH) for app in log.numbers(newest)[1]):
        return []
    table_log = newest.deltaLog()
    commit = log.commit_of(session, table_log, 0)
    if commit.is_gone:  # it cannot be merged any more
        return []
    first = log.snapshot_at(session, table_log, 0)
    note = commit.note(marks.REF_NOTE) or {}
    origin, merged = str(note.get("table")), None
    if session.catalog.tableExists(origin):
        merged = merged_last(log.state(session, origin), str(first.metadata().id()))
    found = [first] if merged is None else [first, log.snapshot_at(session, table_log, merged)]
    return [one for one in found if one.version() != newest.version()]
