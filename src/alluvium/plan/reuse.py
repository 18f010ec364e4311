"""Whether a node would read what it read before: what is noted of it, and what has changed.

What is not known is not kept. So there are lists of the plan nodes and of the expressions whose
result hangs on the rows that they read, on their text and on Spark's settings alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from alluvium import marks
from alluvium.plan.versions.commit import NOTES, OF_FILES, Commit
from alluvium.wording import listed

# In the home: a file for each test.
FOLDER = "reuse"
# Commits between two versions are read one by one, up to so many.
MOST_COMMITS = 100
_VERSION = 2

# Classes of Spark by their packages: nodes of plans, expressions, aggregates.
# Not among them: clocks, users, sessions and their variables, random numbers, functions of users,
# files, `aes_encrypt` (its vector is random), `reflect`, and what hangs on how tasks are cut. Nor
# what keeps only the values of its arguments, which may be any of these: VALUES, `range`, PIVOT,
# `variant_get`. Of `from_json` and its kind the text tells: their arguments must be written out.
_CLASSES = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
_KNOWN = frozenset(
    [
        "org.apache.spark.sql.execution.datasources.LogicalRelation",
        *(
            f"org.apache.spark.sql.catalyst.{package}.{name}"
            for package, names in _CLASSES.items()
            for name in names
        ),
    ]
)
# By operation, commits that may keep all rows: a commit can claim it and bring rows.
_KEEP_ROWS = {"COMPUTE STATS", "OPTIMIZE", "REORG", "VACUUM END", "VACUUM START"}
_MANUAL = "Manual Update"  # ours, of a number alone


@dataclass(frozen=True)
class TableState:
    """A version of a table.

    commit: id of the commit that made it, empty where it is not known. A copied home has the same
        table ids and numbers.
    """

    table_id: str
    version: int
    commit: str


@dataclass(frozen=True)
class Record:
    """What a result hung on.

    parts: by what they are, such as `its SQL`, digests of all but tables and views.
    tables: what it read, by name, as it was when the query was analysed; so at most too old.
    views: by name, digests of all that Spark keeps of them.
    failures: dbt's first column of the query of a test that passed; 0 of a table.
    at: when, ISO 8601 in UTC.
    """

    parts: Mapping[str, str]
    tables: Mapping[str, TableState]
    views: Mapping[str, str]
    failures: int
    at: str


def digest(value: Any) -> str:
    """Of a value as JSON, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def text(record: Record, name: str) -> str:
    """A record as a file has it; name: of the node, for people who open it."""
    return json.dumps(_values(record, name), indent=1)


def of_text(found: str) -> Record | None:
    """What a note says; None where it cannot be read, or is another version's."""
    try:
        return _of_values(json.loads(found))
    except ValueError:
        return None


def mark(record: Record, name: str, version: int) -> str:
    """A record as the commit behind a version of the node's own table has it."""
    return json.dumps({marks.REUSE_NOTE: _values(record, name) | {"of": version}})


def in_log(newest_first: Iterable[Commit]) -> Record | str:
    """What the commits of a table note of how it was built; why that is not how it stands."""
    for commit in islice(newest_first, MOST_COMMITS):
        if not keeps_rows(commit):
            return f"nothing is noted of version {commit.version:,} of its table"
        note = commit.note(marks.REUSE_NOTE)
        if note is not None:
            # A text that somebody copied into a commit of their own is not of that table.
            is_of_this = note.pop("of", None) == commit.version - 1
            found = _of_values(note) if is_of_this else None
            said = f"what is noted of version {commit.version:,} of its table cannot be read"
            return found or said
    return "nothing is noted in the newest commits of its table"


def _values(record: Record, name: str) -> dict[str, Any]:
    return {"version": _VERSION, "node": name, **asdict(record)}


def _of_values(values: Any) -> Record | None:
    try:
        if values.pop("version") != _VERSION:
            return None
        del values["node"]
        tables = {name: TableState(**one) for name, one in values.pop("tables").items()}
        return Record(tables=tables, **values)
    except (KeyError, TypeError, AttributeError):
        return None


def forbidden(kinds: Iterable[str]) -> str | None:
    """Why a query may give something else though its tables are the same; None where it may not.

    kinds: classes of the nodes and expressions of its plan; texts without a dot are what else was
        seen, in words.
    """
    unknown = sorted({one for kind in kinds if (one := kind.removesuffix("$")) not in _KNOWN})
    if not unknown:
        return None
    # What is said in words says more than the name of a class.
    words = [one for one in unknown if "." not in one]
    return f"it uses {listed(words or [one.rsplit('.', 1)[-1] for one in unknown], 3)}"


def difference(
    before: Record, parts: Mapping[str, str], views: Mapping[str, str | None]
) -> str | None:
    """What is not as it was noted, apart from tables; None for nothing.

    views: digests of what is now under the names of the record's views; None for no view.
    """
    then = {**before.parts, **{f"the view {name}": one for name, one in before.views.items()}}
    now = {**parts, **{f"the view {name}": views.get(name) for name in before.views}}
    changed = (name for name in {**now, **then} if now.get(name) != then.get(name))
    return next((f"{name} is another" for name in changed), None)


def moved(
    name: str,
    then: TableState,
    now: TableState,
    commit_then: str | None,
    between: Sequence[Commit],
) -> str | None:
    """Why a table may have other rows than it had; None where it has the same.

    Args:
        commit_then: the id of the commit that the log has now for the noted version.
        between: each later commit up to `now`.
    """
    if now.table_id != then.table_id:
        return f"{name} was made again"
    if not then.commit or commit_then != then.commit:
        return f"{name} has another history"
    if len(between) != now.version - then.version or not all(map(keeps_rows, between)):
        return f"{name} has changed since version {then.version:,}"
    return None


def keeps_rows(commit: Commit) -> bool:
    """Whether a commit left all rows, and the table, as they were.

    Neither its operation nor its actions tell that alone: an append may claim that it changes no
    data, and an ALTER TABLE has no action of a file.
    """
    if commit.operation == _MANUAL:
        return commit.kinds <= NOTES
    files = (file for _, file in commit.actions(*OF_FILES))
    return (
        commit.operation in _KEEP_ROWS
        and commit.kinds <= NOTES | OF_FILES
        and all(file.get("dataChange") is False for file in files)
    )


def only_describes(commit: Commit) -> bool:
    """Whether a commit left all files, as one of comments and constraints does."""
    return not commit.is_gone and commit.kinds <= NOTES | {"domainMetadata", "metaData", "protocol"}
