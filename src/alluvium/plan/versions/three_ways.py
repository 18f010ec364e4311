"""What a merge of a branch takes over: rows of the branch, of the table, and of where both began.

The rules are SQL that any engine reads: they run on Spark, and their tests on another engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from alluvium.wording import counted

APPLIED, SAME, CONFLICT = "applied", "same", "conflict"
# Whose row is taken where both changed one.
BRANCH, TABLE = "branch", "table"
KINDS = ("added", "changed", "removed")


@dataclass(frozen=True)
class MergedBranch:
    """What a merge of a branch did, or would do.

    Attributes:
        added, changed, removed: rows of the table that it changes.
        same: rows that changed on both sides alike.
        conflicts: rows that changed on both sides and not alike.
        prefer: whose row was taken of those.
        moved_on: whether the table has changed since.
        since: since when the branch's changes are looked at: it "began", or "was merged last".
        version: of the table, as it was read.
    """

    added: int
    changed: int
    removed: int
    same: int
    moved_on: bool
    since: str
    version: int
    conflicts: int = 0
    prefer: str | None = None

    @property
    def rows(self) -> int:
        return self.added + self.changed + self.removed

    def line(self, name: str, branch: str, is_dry_run: bool) -> str:
        """The line of the console."""
        did = "would take over" if is_dry_run else "took over"
        parts = [f"{getattr(self, kind):,} {kind}" for kind in KINDS]
        shown = f"{did} {counted(self.rows, 'row')} of {branch} ({', '.join(parts)})"
        if not self.rows:
            shown = f"nothing of {branch} to take over"
        same = f"; {counted(self.same, 'row')} changed on both sides alike" if self.same else ""
        if self.conflicts:
            same += f"; {counted(self.conflicts, 'row')} changed on both sides and not alike:"
            whose = f"of {branch}" if self.prefer == BRANCH else f"of {name}"
            same += f" those {whose} {'would be' if is_dry_run else 'were'} taken"
        has = "has" if self.moved_on else "has not"
        return f"{name}: {shown}{same}; {name} {has} changed since {branch} {self.since}"


def verdicts(ours: str, theirs: str) -> str:
    """A query that says what becomes of each row that changed on the branch.

    Both are relations of what changed since the branch began, a row for each key. Columns are `key`
    and `change`: `added`, `removed` or `changed`. `after` is the row as it is now. `now` is that
    row as two of them can be compared, NULL where it is gone.

    - What changed on the branch alone is applied.
    - What both did alike is done already.
    - What both did to one key, and not alike, is a conflict.

    Args:
        ours: name of the relation of the branch.
        theirs: name of the relation of the table that it is merged into.

    Returns:
        The columns of `ours`, `verdict`, and `their_change` and `their_after`, both NULL where the
        table has the row as it was. `does` is what the branch's row is to the table as it is now:
        `added`, `removed` or `changed`.
    """
    return f"""\
select
    ours.*,
    case
        when theirs.change is null then '{APPLIED}'
        when ours.now is not distinct from theirs.now then '{SAME}'
        else '{CONFLICT}'
    end as verdict,
    case
        when theirs.change is null or ours.change = 'removed' then ours.change
        when theirs.change = 'removed' then 'added'
        else 'changed'
    end as does,
    theirs.change as their_change,
    theirs.after as their_after
from {ours} as ours
left join {theirs} as theirs on ours.key is not distinct from theirs.key"""


def on_key(key: Sequence[str]) -> str:
    """The condition by which a row of `applied` and one of `stored`, a table's, have one key.

    Args:
        key: names of the columns that identify a row, as SQL writes them.
    """
    return " and ".join(f"stored.{one} = applied.key.{one}" for one in key)


def unexpected(applied: str, table: str, key: Sequence[str]) -> str:
    """A query of the keys that a table has otherwise than the merge of a branch takes for granted.

    What the branch added the table must not have, and all else once. Of a key that is there twice
    nobody knows which row is meant.

    Args:
        applied: name of the relation of what is to be applied: `key` and `change`.
        table: name of the table.
        key: names of the columns that identify a row, as SQL writes them.

    Returns:
        `key`, `change` and `number`, of the rows that the table has.
    """
    # A row that has the key has no NULL in it.
    found = f"count(stored.{key[0]})"
    return f"""\
select applied.key, applied.change, {found} as number
from {applied} as applied
left join {table} as stored on {on_key(key)}
group by applied.key, applied.change
having {found} <> case when applied.change = 'added' then 0 else 1 end"""


def repeated(changes: str) -> str:
    """A query of the keys that a relation of changes has more than once: `key` and `number`."""
    return f"select key, count(*) as number from {changes} group by key having count(*) > 1"
