"""`keep_by`: rows keep what events lack, as a fold of all events in plain Python says.

Each key has its own history and its own cut: the events before it are in the table, as the fold
leaves them, those behind it are the batch. So one merge meets many splits.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest
from functional.delta_rs import folder_of
from functional.merge.conftest import merged
from functional.merge.kept_rows import ROWS, row_of

pytestmark = pytest.mark.spark

KEYS = 400
# In the order of the table. `at` never changes for a key, and a delete may be without it.
KEPT = ("at", "a", "b", "C c")
COLUMNS = {
    "id": ("bigint", pa.int64()),
    "lsn": ("bigint", pa.int64()),
    "place": ("int", pa.int32()),
    "op": ("string", pa.string()),
    "at": ("timestamp", pa.timestamp("us", "UTC")),
    "a": ("string", pa.string()),
    "b": ("struct<x: int, y: string>", pa.struct({"x": pa.int32(), "y": pa.string()})),
    "C c": ("decimal(9,2)", pa.decimal128(9, 2)),
    "Lacked": ("array<string>", pa.list_(pa.string())),
}
META: dict[str, Any] = {
    "order_by": ["lsn", "place"],
    "delete_when": "op = 'd'",
    "keep_by": "lacked",
    "ranges": {"column": "at"},
}
BODY = "select * except (again) from kept.feed"
MODELS = {
    "soft": (META, BODY, {"file_format": "delta"}),
    # A row that was deleted took its order with it: nothing comes again.
    "hard": (META | {"delete": "hard", "engine": "merge_into"}, BODY + " where not again", {}),
    "only": (META | {"ranges": False}, BODY, {"merge_update_columns": ["a"]}),
    # The other engine of each.
    "into_soft": (META | {"engine": "merge_into"}, BODY, {}),
    "commit_hard": (META | {"delete": "hard"}, BODY + " where not again", {}),
}
TABLES = [*(f"kept.{name}" for name in MODELS), "kept_stock.soft"]
# Its table is made by the first run; the second has all events again. Its buckets follow a column
# that events leave out.
FRESH = BODY + "{% if not is_incremental() %} where place < 3{% endif %}"
BUCKETS = "'alluvium_layout': {'sort_by': 'id', 'bucket_by': {'column': 'at', 'window': 'month'}}, "
WRONG = (
    "select 1 as id, 1 as lsn, 1 as place, 'u' as op, now() as at, array('nope', 'ID') as lacked"
)
TESTS = """
models:
  - name: fresh
    columns:
      - name: Lacked
        data_tests: [alluvium.known_columns]
"""


@dataclass(frozen=True)
class Row:
    """What a table has of a key."""

    order: tuple[int | None, int]
    values: dict[str, Any] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    deleted: bool = False


def fold(events: list[dict[str, Any]], row: Row | None = None) -> Row | None:
    """A row after events in their order, each as it comes."""
    for event in events:
        order = (event["lsn"], event["place"])
        if event["op"] == "d":
            row = replace(row, order=order, deleted=True) if row else Row(order, deleted=True)
            continue
        lacks = {column for column in KEPT if event["lacks"] and column in event["lacks"]}
        alive = row is not None and not row.deleted
        values, unknown = {}, set()
        for column in KEPT:
            if column not in lacks:
                values[column] = event[column]
            else:
                values[column] = row.values.get(column) if row and alive else None
                if not row or not alive or column in row.unknown:
                    unknown.add(column)
        row = Row(order, values, frozenset(unknown))
    return row


def drawn_history(rng: random.Random, key: int) -> list[dict[str, Any]]:
    """Events of one key in their order."""
    at = dt.datetime(2020 + key % 2, 1 + key % 3, 1 + key % 28, tzinfo=dt.UTC)
    found = []
    for number in range(rng.choice([1, 2, 3, 5, 8])):
        event: dict[str, Any] = dict.fromkeys(COLUMNS)
        lsn = None if number == 0 and rng.random() < 0.1 else number // 2
        event |= {"id": key, "lsn": lsn, "place": number, "lacks": None, "again": False}
        event["op"] = "d" if rng.random() < 0.2 else "u"
        if event["op"] == "u":
            lacks = [column for column in KEPT if rng.random() < 0.45]
            event |= {
                "at": None if "at" in lacks else at,
                # A value of what an event lacks means nothing.
                "a": rng.choice([None, f"a{number}"]),
                "b": rng.choice([None, {"x": number, "y": "b"}]),
                "C c": number,
                "lacks": lacks,
            }
            names = [rng.choice([str.lower, str.upper, str])(one) for one in lacks]
            event["Lacked"] = rng.sample([*names, *names[:1], None], len([*names, *names[:1]]) + 1)
            if not lacks:
                event["Lacked"] = rng.choice([None, None, [], [None]])
        found.append(event)
    return found


@dataclass
class Drawn:
    """A key: the events that its table has, and those of the batch."""

    before: list[dict[str, Any]]
    batch: list[dict[str, Any]]
    again: list[dict[str, Any]]


@pytest.fixture(scope="module")
def drawn() -> dict[int, Drawn]:
    rng = random.Random(48)
    found = {}
    for key in range(KEYS):
        events = drawn_history(rng, key)
        cut = rng.randrange(len(events) + 1)
        first = rng.randrange(cut + 1)
        again = [one | {"again": True} for one in events[first:cut] if rng.random() < 0.8]
        found[key] = Drawn(events[:cut], events[cut:], again)
    return found


def frame(rows: list[dict[str, Any]], **more: pa.DataType) -> pa.Table:
    schema = pa.schema({name: kind for name, (_, kind) in COLUMNS.items()} | more)
    return pa.Table.from_pylist(
        [{name: one[name] for name in schema.names} for one in rows], schema
    )


def stored(key: int, row: Row) -> dict[str, Any]:
    names = [column for column in KEPT if column in row.unknown] or None
    values = dict.fromkeys(KEPT) | row.values
    order = {"lsn": row.order[0], "place": row.order[1]}
    return {"id": key, "op": "u", "_deleted": row.deleted, "Lacked": names} | order | values


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any], drawn: dict[int, Drawn]) -> Any:
    files = {
        f"models/{name}.sql": merged(meta, body, **config)
        for name, (meta, body, config) in MODELS.items()
    }
    fresh = merged(META, FRESH, tblproperties={"delta.columnMapping.mode": "name"})
    files["models/fresh.sql"] = fresh.replace("meta={", "meta={" + BUCKETS)
    files["models/wrong.sql"] = merged(META, WRONG)
    files["models/tests.yml"] = TESTS
    made = make_project("kept", files)
    types = ", ".join(f"`{name}` {kind}" for name, (kind, _) in COLUMNS.items())
    vectors = (
        "using delta tblproperties ('delta.enableDeletionVectors' = 'true',"
        " 'delta.columnMapping.mode' = 'name')"
    )
    rng = random.Random(7)
    events = [one for key in drawn.values() for one in key.batch + key.again]
    rng.shuffle(events)
    rows = {key: fold(one.before) for key, one in drawn.items()}
    made.rows = rows
    session = made.session
    session.sql("create schema kept")
    session.sql("create schema kept_stock")
    session.sql(f"create table kept.feed ({types}, again boolean) {vectors}")
    fill(made, "kept.feed", events, {"again": pa.bool_()})
    for name in TABLES:
        deleted = "" if name.endswith("hard") else ", _deleted boolean"
        session.sql(f"create table {name} ({types}{deleted}) {vectors}")
        there = [
            stored(key, row)
            for key, row in rows.items()
            if row is not None and not (row.deleted and name.endswith("hard"))
        ]
        fill(made, name, there, {"_deleted": pa.bool_()} if deleted else {})
    made.try_dbt("run")
    made.wrong = made.said("wrong cannot be merged")
    made.done = {name: made.figures(name) for name in MODELS}
    made.dbt("build", "--select", "fresh")
    made.warned = made.said("known_columns_fresh")
    made.dbt("run", "--select", "soft", "--target", "stock")
    return made


def fill(project: Any, name: str, rows: list[dict[str, Any]], more: dict[str, Any]) -> None:
    project.session.createDataFrame(frame(rows, **more)).write.insertInto(name)


def expected(name: str, key: Drawn, row: Row | None) -> Row | None:
    if name.endswith("hard") and row is not None and row.deleted:
        row = None
    whole = fold(key.batch, row)
    if whole is None or not key.batch:
        return row
    if whole.deleted:
        return None if name.endswith("hard") else whole
    if name.endswith("only") and row is not None and not row.deleted:
        others = set(KEPT) - {"a"}
        return replace(
            whole,
            values=row.values | {"a": whole.values["a"]},
            unknown=(row.unknown & others) | (whole.unknown & {"a"}),
        )
    if not name.endswith("only") and row is not None and row.values.get("at"):
        # What never changes outlives its row's delete.
        values = whole.values | {"at": row.values["at"]}
        return replace(whole, values=values, unknown=whole.unknown - {"at"})
    return whole


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_the_fold_of_its_events(
    project: Any, drawn: dict[int, Drawn], name: str
) -> None:
    found = {}
    for one in project.session.table(name).toArrow().to_pylist():
        assert one["id"] not in found
        found[one["id"]] = one
    met, lines = set(), set()
    for key, events in drawn.items():
        there = project.rows[key]
        if events.batch:
            every = sorted(events.again + events.batch, key=lambda event: event["place"])
            place = there and there.order[1]
            is_live = there is not None and not there.deleted
            lines |= {row_of(column, every, place, is_live=is_live) for column in KEPT}
        row = expected(name, events, there)
        assert (row is None) == (key not in found), key
        if row is None:
            continue
        one = found[key]
        assert (one["lsn"], one["place"]) == row.order, key
        assert one.get("_deleted", False) == row.deleted, key
        if row.deleted:
            continue
        values = {column: one[column] for column in KEPT}
        assert values == dict.fromkeys(KEPT) | row.values, (key, events)
        assert one["Lacked"] == ([c for c in KEPT if c in row.unknown] or None), (key, events)
        met |= {(column, column in row.unknown) for column in KEPT}
    assert met == {(column, known) for column in KEPT for known in (True, False)}
    assert lines == {None, *ROWS}


def test_a_table_that_a_merge_has_made(project: Any, drawn: dict[int, Drawn]) -> None:
    found = {one["id"]: one for one in project.session.table("kept.fresh").toArrow().to_pylist()}
    for key, events in drawn.items():
        every = sorted(events.again + events.batch, key=lambda event: event["place"])
        first = fold([one for one in every if one["place"] < 3])
        if first is not None and first.deleted:
            first = replace(first, values={})  # a new tombstone has what its delete carried
        row = expected("fresh", Drawn([], every, []), first)
        assert (row is None) == (key not in found), key
        if row is not None and not row.deleted:
            assert {column: found[key][column] for column in KEPT} == row.values, (key, every)
            assert found[key]["Lacked"] == ([c for c in KEPT if c in row.unknown] or None)
            at = row.values["at"]
            assert found[key]["at_month"] == (at and at.replace(day=1).date())
    assert any("WARN 4" in line for line in project.warned)


def test_names_of_no_column_stop_the_model_before_it_has_a_table(project: Any) -> None:
    (line, *_) = project.wrong
    assert "keep_by: events leave out nope, which the model does not select" in line
    assert "keep_by: events leave out ID, which unique_key names" in line
    assert not folder_of(project.home, "kept", "wrong").exists()


def test_what_is_there_already_is_not_written(project: Any, drawn: dict[int, Drawn]) -> None:
    some = sum(bool(one.batch) for one in drawn.values())
    changed = dict.fromkeys(("soft", "into_soft", "only"), some)
    for name, rows in changed.items():
        assert project.done[name]["rows_affected"] == rows
    engines = {name: project.done[name]["engine"] for name in MODELS}
    into = {"hard", "into_soft"}
    assert engines == {name: "merge_into" if name in into else "one_commit" for name in MODELS}
