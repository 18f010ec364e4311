"""What `--empty` and `--sample` made of a table: a part of its rows, which no reader is to see.

The note is a `txn` action behind what was written. It names the table's id, so a build that
replaces the table ends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.log import committing, log
from alluvium.delta.log.log import TableVersion
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.plan.versions.commit import OF_FILES, Commit

# By what an application id ends with, the flag. Of a table that had no row: what whole builds bring
# later is all of it.
_FLAGS = {"empty": "--empty", "sample": "--sample", "begun": "--empty"}
_BEGUN = "begun"


class Part(NamedTuple):
    """The first version that a flag made of a part of the rows."""

    flag: str
    version: int


@dataclass(frozen=True)
class Before:
    """How a table was before a build; version: -1 where there was none."""

    table_id: str = ""
    version: int = -1
    has_rows: bool = False


def before(session: SparkSession, table: str) -> Before:
    """How a table is now.

    Raises Py4JJavaError or PySparkException if `table` is not a Delta table.
    """
    now = TableSnapshot.of(session, table)
    return Before(now.table_id, now.version, now.files > 0)


def note(session: SparkSession, table: str, was: Before, flag: str) -> None:
    """Note what a build with a flag wrote, if anything.

    Raises Py4JJavaError or PySparkException if `table` is not a Delta table.
    """
    now = TableSnapshot.of(session, table)
    if now.table_id != was.table_id:
        first: int | None = min(was.version + 1, now.version)
    else:
        first = _first_written(now.commits(was.version))
    # What one wrote before stays the first.
    if first is None or _part(now, TableVersion(now.table_id, now.version)) is not None:
        return
    kind = flag.removeprefix("--")
    if kind == "empty" and not was.has_rows:
        kind = _BEGUN
    app = f"{marks.PARTIAL}{now.table_id}/{kind}"
    log.commit_transactions(session, table, {app: first}, until=committing.FOREVER)


def part_of(session: SparkSession, table: str, version: TableVersion) -> Part | None:
    """What makes a version of a table a part; None where it has all its rows."""
    return _part(TableSnapshot.of(session, table), version)


def _part(newest: TableSnapshot, version: TableVersion) -> Part | None:
    _, numbers = newest.numbers
    for kind, flag in _FLAGS.items():
        first = numbers.get(f"{marks.PARTIAL}{version.table_id}/{kind}", -1)
        if not 0 <= first <= version.version or newest.is_undone(first):
            continue
        if kind == _BEGUN and newest.at(version.version).files > 0:
            continue
        return Part(flag, first)
    return None


def of_clone(source_id: str, versions: Mapping[str, int], table_id: str) -> dict[str, int]:
    """The `txn` actions that say it of a clone with an id, whose first version has those rows."""
    own = f"{marks.PARTIAL}{source_id}/"
    return {
        f"{marks.PARTIAL}{table_id}/{app.removeprefix(own)}": 0
        for app, number in versions.items()
        if app.startswith(own) and number >= 0
    }


def _first_written(commits: Iterable[Commit]) -> int | None:
    """The first version that adds or takes rows; None for none.

    What our operations delete from a hook goes whatever the flag is.
    """
    writing = (
        commit.version
        for commit in commits
        if commit.note(marks.PURGE_NOTE) is None
        and any(file.get("dataChange") for _, file in commit.actions(*OF_FILES))
    )
    return min(writing, default=None)
