"""Merges of branches beside a merge of Python dicts, on DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alluvium.delta.log import log
from alluvium.delta.refs import refs
from alluvium.plan.versions import three_ways

Rows = Mapping[int, str | None]
# NULL is a value like any other, and few values make many of them alike.
ROWS = st.dictionaries(st.integers(0, 5), st.sampled_from(["a", "b", None]))


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for name in ("ours", "theirs"):
            connection.sql(
                f"create table {name} (key struct(id int), change text, after struct(v text),"
                " now text)"
            )
        connection.sql("create table stored_rows (id int, v text)")
        yield connection


def changes(base: Rows, now: Rows) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for key in sorted(base.keys() | now.keys()):
        if key not in now:
            found.append(({"id": key}, "removed", None, None))
        elif key not in base or base[key] != now[key]:
            change = "changed" if key in base else "added"
            found.append(({"id": key}, change, {"v": now[key]}, repr(now[key])))
    return found


def fill(duck: duckdb.DuckDBPyConnection, table: str, rows: list[tuple[object, ...]]) -> None:
    duck.sql(f"delete from {table}")
    if rows:
        marks = ", ".join("?" for _ in rows[0])
        every = ", ".join(f"({marks})" for _ in rows)
        duck.execute(
            f"insert into {table} values {every}", [value for row in rows for value in row]
        )


def merged(
    base: Rows, branch: Rows, table: Rows, prefer: str | None = None
) -> tuple[dict[int, str | None], set[int]]:
    """Each key on its own, as `git merge` does lines: the new table, and the conflicts."""
    gone = object()
    new, conflicts = dict(table), set()
    for key in base.keys() | branch.keys() | table.keys():
        was, ours, theirs = (one.get(key, gone) for one in (base, branch, table))  # type: ignore[call-overload]
        if ours in (was, theirs):
            continue
        if theirs != was:
            conflicts.add(key)
            if prefer != "branch":
                continue
        if ours is gone:
            del new[key]
        else:
            new[key] = ours
    return new, conflicts


@given(base=ROWS, branch=ROWS, table=ROWS, prefer=st.sampled_from([None, "branch"]))
def test_like_a_merge_of_dicts(
    duck: duckdb.DuckDBPyConnection, base: Rows, branch: Rows, table: Rows, prefer: str | None
) -> None:
    fill(duck, "ours", changes(base, branch))
    fill(duck, "theirs", changes(base, table))
    found = duck.sql(three_ways.verdicts("ours", "theirs")).fetchall()
    assert [row[:4] for row in sorted(found, key=lambda row: row[0]["id"])] == [
        tuple(row) for row in changes(base, branch)
    ]
    taken = {three_ways.APPLIED} | ({three_ways.CONFLICT} if prefer else set())
    applied = {row[0]["id"]: row for row in found if row[4] in taken}
    new = dict(table)
    for key, row in applied.items():
        assert (row[5] == "added") == (key not in table)
        if row[5] == "removed":
            del new[key]
        else:
            new[key] = row[2]["v"]
    conflicts = {row[0]["id"] for row in found if row[4] == three_ways.CONFLICT}
    assert (new, conflicts) == merged(base, branch, table, prefer)
    # Both sides of a conflict are shown.
    for key in conflicts:
        shown = next(row for row in found if row[0]["id"] == key)
        assert shown[7] == ({"v": table[key]} if key in table else None)
    # What is to be applied fits the table, unless it has a key twice, or one that it should not.
    fill(duck, "ours", [(row[0], row[5], *row[2:4]) for row in applied.values()])
    fill(duck, "stored_rows", [(key, value) for key, value in table.items()])
    unexpected = three_ways.unexpected("ours", "stored_rows", ["id"])
    assert duck.sql(unexpected).fetchall() == []
    duck.sql("insert into stored_rows select key.id, 'again' from ours")
    assert {row[0]["id"] for row in duck.sql(unexpected).fetchall()} == applied.keys()


def test_keys_that_are_there_twice(duck: duckdb.DuckDBPyConnection) -> None:
    fill(
        duck, "ours", [({"id": n}, "added", {"v": v}, v) for n, v in ((1, "a"), (2, "b"), (1, "c"))]
    )
    assert duck.sql(three_ways.repeated("ours")).fetchall() == [({"id": 1}, 2)]


@pytest.mark.parametrize(
    ("commit", "table_id", "has_it"),
    [("c3", "t", True), ("of a backup", "t", False), ("c3", "made again", False)],
)
def test_a_version_of_the_same_number_is_not_the_base(
    monkeypatch: pytest.MonkeyPatch, commit: str, table_id: str, has_it: bool
) -> None:
    """A table that was put back from a copy, or made again, has other rows in it."""
    monkeypatch.setattr(log, "state", lambda *_: (table_id, {}))
    now: Any = SimpleNamespace(session=None, commit=lambda _: SimpleNamespace(id=commit))
    assert refs.has_version(now, "t", log.TableVersion("t", 3), "c3") is has_it
