"""Partitioned tables: rows land in their partition, and partitions without a match stay unread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pytest
from functional.merge.conftest import merged

pytestmark = [pytest.mark.spark, pytest.mark.slow]

RANGES = {"column": "part", "method": "gaps", "k": 2}
# What the merge is asked for; the number of partitions, and of files that it leaves to read.
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any], int, int]] = {
    # Bounds of the key narrow the partitions, ranges on it leave gaps between them.
    "key": ({}, {"partition_by": "part", "unique_key": ["part", "id"]}, 12, 4),
    "key_ranges": (
        {"ranges": {"column": "part", "method": "cover", "k": 2}},
        {"partition_by": "part", "unique_key": ["part", "id"]},
        12,
        2,
    ),
    # Deletes say their partition, and it never changes for a key.
    "not_key": ({"ranges": RANGES}, {"partition_by": "part"}, 12, 2),
    "several": (
        {"ranges": {"column": ["at", "part"], "method": "auto"}},
        {"partition_by": "part"},
        64,
        2,
    ),
    # It changes: rows move, and no partition can be left out.
    "moving": ({"ranges": {"column": "at", "method": "min_max"}}, {"partition_by": "state"}, 3, 3),
    # No event has it, and one delete has nothing but its key.
    "generated": ({"ranges": {"column": "at", "method": "cover", "k": 2}}, {}, 5, 3),
}
# (id, op, lsn, part, day, state)
Event = tuple[int, str, int, int | None, int | None, int | None]


def first(parts: int) -> list[Event]:
    """Rows whose days are spread over the partitions."""
    return [(n, "c", 10, n % parts, n * 37 % 128, n % 3) for n in range(128)]


def second(parts: int) -> list[Event]:
    """Events in the partitions 1 and 4: an update, a delete, one that is late, one that moves."""

    def event(n: int, op: str, lsn: int, day: int | None = None, move: int = 0) -> Event:
        return (n, op, lsn, n % parts, n * 37 % 128 if day is None else day, (n + move) % 3)

    return [
        event(1 + parts, "u", 20),
        event(1 + parts, "u", 21),
        event(4 + parts, "d", 20),
        event(1, "u", 5, move=1),
        event(4, "u", 20, move=1),
        event(1 + 20 * parts, "c", 20, 127),
    ]


def generated() -> list[list[Event]]:
    """Months in the order of the key; the second batch has a delete that carries its key alone."""
    every: list[Event] = [(n, "c", 10, None, n, None) for n in range(128)]
    some = [(3, "u", 20, 3), (4, "u", 5, 4), (5, "d", 20, None), (100, "u", 20, 100)]
    some += [(200, "c", 20, 126)]
    return [every, [(n, op, lsn, None, day, None) for n, op, lsn, day in some]]


def batches(kind: str) -> list[list[Event]]:
    if kind == "generated":
        return generated()
    parts = KINDS[kind][2] if kind != "moving" else 12
    return [first(parts), second(parts)]


@pytest.fixture(scope="module", params=["auto", pytest.param("merge_into", marks=pytest.mark.slow)])
def project(request: pytest.FixtureRequest, make_project: Callable[..., Any]) -> Any:
    engine = request.param
    files = {}
    for kind, (meta, config, _, _) in KINDS.items():
        columns = "id, op, lsn, at" + ("" if kind == "generated" else ", part, state")
        settings = {"order_by": "lsn", "delete_when": "op = 'd'", "engine": engine} | meta
        body = f"select {columns} from {{{{ target.schema }}}}.{kind}_events"
        files[f"models/{kind}.sql"] = merged(settings, body, **config)
    made = make_project(f"partitions_{engine}", files)
    made.session.sql(f"create schema {made.schema}")
    made.session.sql(
        f"create table {made.schema}.generated (id bigint, op string, lsn bigint, at timestamp,"
        " _deleted boolean, month int generated always as (month(at)))"
        " using delta partitioned by (month) tblproperties ('delta.enableDeletionVectors'='true')"
    )
    for batch in (0, 1):
        for kind in KINDS:
            rows = made.session.createDataFrame(
                batches(kind)[batch],
                "id bigint, op string, lsn bigint, part int, day int, state int",
            )
            rows.selectExpr(
                "id", "op", "lsn", "part", "state",
                "timestamp'2024-01-01' + make_dt_interval(day) as at",
            ).coalesce(1).write.format("delta").mode("overwrite").saveAsTable(
                f"{made.schema}.{kind}_events"
            )  # fmt: skip
        made.dbt("run")
    return made


def replayed(kind: str) -> list[tuple[Any, ...]]:
    """By DuckDB: the newest event of each key; a tombstone keeps what its row had."""
    duck = duckdb.connect()
    duck.execute("create table e (id int, op text, lsn int, part int, day int, state int)")
    for batch in batches(kind):
        duck.executemany("insert into e values (?, ?, ?, ?, ?, ?)", batch)
    return duck.execute(
        "select id, max(lsn), arg_max(part, lsn), arg_max(state, lsn) filter (op != 'd'),"
        " cast(timestamp '2024-01-01' + to_days(arg_max(day, lsn) filter (day is not null))"
        " as date), arg_max(op, lsn) = 'd' from e group by id order by id"
    ).fetchall()


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_in_their_partition(project: Any, kind: str) -> None:
    columns = "null, null" if kind == "generated" else "part, state"
    rows = project.session.sql(
        f"select id, lsn, {columns}, cast(at as date), _deleted from {project.schema}.{kind}"
        " order by id"
    ).collect()
    assert [tuple(row) for row in rows] == replayed(kind)
    if kind == "generated":
        wrong = "select count(*) as n from {s}.generated where month <> month(at)"
        assert project.sql(wrong)["n"][0] == 0
    figures = project.figures(kind)
    engine = project.schema.removeprefix("partitions_")
    assert figures["engine"] == ("one_commit" if engine == "auto" else engine)
    _, config, partitions, kept = KINDS[kind]
    assert (figures["files_kept"], figures["files_total"]) == (kept, partitions)
    by = project.sql(f"describe detail {{s}}.{kind}")["partitionColumns"][0]
    assert list(by) == [config.get("partition_by", "month")]
