"""What the next merge of a branch compares with: earlier versions of its table, kept for that."""

from __future__ import annotations

from collections.abc import Mapping

from alluvium import marks
from alluvium.delta.log import log
from alluvium.delta.log.snapshots import TableSnapshot


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


def snapshots(newest: TableSnapshot) -> list[TableSnapshot]:
    """The versions of a branch's table that a later merge of it reads; none of any other table.

    The first one names what the other table had when the branch began. A full refresh of that
    table makes a merge begin there again, also where the branch was merged before.
    """
    if not any(app.startswith(marks.BRANCH) for app in newest.numbers[1]):
        return []
    commit = newest.commit(0)
    if commit.is_gone:  # it cannot be merged any more
        return []
    first, merged = newest.at(0), None
    origin = str((commit.note(marks.REF_NOTE) or {}).get("table"))
    if newest.session.catalog.tableExists(origin):
        merged = merged_last(log.state(newest.session, origin), first.table_id)
    found = [first] if merged is None else [first, newest.at(merged)]
    return [one for one in found if one.version != newest.version]
