"""Drawn batches: a merge's figures against its table before and after, and keys of odd values."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest
from functional.merge.conftest import merged

pytestmark = [pytest.mark.spark, pytest.mark.slow]

DRAWS = 4
FEED = "id int, lsn int, op string, v string, wrong string, _batch_through bigint"
BODY = "select * from {{ this.schema }}.feed"
FIGURED: dict[str, dict[str, Any]] = {
    "soft": {},
    "hard": {"delete": "hard", "engine": "merge_into", "null_keys": "match"},
    "first": {"on_match": "ignore", "delete_when": None, "null_keys": "insert"},
}
# Type of each key column in the batch and in the table, and values that are drawn of it.
KEYS: dict[str, tuple[str, str, list[Any]]] = {
    "region": ("string", "string", [
        "", " ", "a", "a", "a ", "A", "é/=%", "null", None, "__HIVE_DEFAULT_PARTITION__", "a\0"]),
    "ratio": ("double", "double", [0.0, -0.0, float("nan"), float("inf"), 1e-320, 1.5, None]),
    "amount": ("decimal(12,4)", "decimal(10,2)", [
        Decimal(text) for text in ("0", "-0.00", "1.2300", "1.2300", "1.23", "1.2345", "9e7")]),
    "day": ("timestamp", "date", [
        datetime(2024, 2, 29), datetime(2024, 2, 29), datetime(2024, 3, 1),
        datetime(2024, 2, 29, 0, 0, 0, 1), datetime(1969, 12, 31)]),
    "code": ("string", "varchar(3)", ["ab", "ab ", "ab", "abcd", "", "ßßß", "😀😀😀"]),
    "number": ("string", "int", ["1", "01", " 1 ", "+1", "-0", "0", "1.5", "x", "3000000000"]),
}  # fmt: skip


@dataclass(frozen=True)
class Draw:
    """A run: what its batch held, the tables before and after, and what the run said."""

    feed: list[tuple[Any, ...]]
    keyed: list[tuple[Any, ...]]
    before: dict[str, list[Any]]
    after: dict[str, list[Any]]
    aside: dict[int, str]
    figures: dict[str, dict[str, Any]]
    lines: dict[str, str]
    warned: list[str]
    commits: dict[str, Any]


def drawn_events(rng: random.Random, through: int) -> list[tuple[Any, ...]]:
    """Few keys and orders, so that events tie, are late, and meet rows and tombstones."""
    return [
        (
            rng.choice([*range(8), None]),
            rng.choice([None, *range(10)]),
            rng.choice(["c", "u", "d", "x", None]),
            rng.choice("pqr"),
            rng.choice([None] * 6 + ["no type"]),
            through,
        )
        for _ in range(rng.choice([1, 12, 25]))
    ]


def drawn_keys(rng: random.Random, run: int) -> list[tuple[Any, ...]]:
    """Events that differ in their order, before it is rounded to tenths."""
    orders = rng.sample(range(run * 20, run * 20 + 120), 60)
    # Mostly the first value of a column: else hardly a key would come twice, or be fit at all.
    return [
        (*(rng.choice([values[0]] * 3 * len(values) + values) if name != "region"
           else rng.choice(values) for name, (_, _, values) in KEYS.items()),
         Decimal(order) / 100, run * 1000 + place)
        for place, order in enumerate(orders)
    ]  # fmt: skip


def files() -> dict[str, str]:
    found = {}
    for name, meta in FIGURED.items():
        settings = {"order_by": "lsn", "delete_when": "op = 'd'", "reject_by": "wrong"} | meta
        settings = {key: value for key, value in settings.items() if value is not None}
        found[f"models/{name}.sql"] = merged(settings, BODY)
    found["models/keyed.sql"] = merged(
        {"order_by": "moment"}, "select * from {{ this.schema }}.odd", unique_key=list(KEYS)
    )
    return found


@pytest.fixture(scope="module")
def draws(make_project: Callable[..., Any]) -> list[Draw]:
    project = make_project("drawn", files())
    session = project.session
    session.sql("create schema drawn")
    stored = ", ".join(f"{name} {kind}" for name, (_, kind, _) in KEYS.items())
    session.sql(
        f"create table drawn.keyed ({stored}, moment decimal(6,1), place int) using delta"
        " partitioned by (region) tblproperties ('delta.enableDeletionVectors'='true')"
    )
    given = ", ".join(f"{name} {kind}" for name, (kind, _, _) in KEYS.items())
    given = given.replace("timestamp", "string")
    rng = random.Random(29)
    found: list[Draw] = []
    names = (*FIGURED, "keyed")
    before: dict[str, list[Any]] = {name: [] for name in names}
    for run in range(DRAWS):
        feed, keyed = drawn_events(rng, run), drawn_keys(rng, run)
        # What came before comes once more.
        keyed += rng.sample(found[-1].keyed, 20) if found else []
        session.createDataFrame(feed, FEED).write.saveAsTable("drawn.feed", mode="overwrite")
        # A time of Python would be one of this process's zone.
        texts = [(*event[:3], str(event[3]), *event[4:]) for event in keyed]
        frame = session.createDataFrame(texts, f"{given}, moment decimal(6,2), place int")
        frame.withColumn("day", frame["day"].cast("timestamp")).write.saveAsTable(
            "drawn.odd", mode="overwrite"
        )
        project.dbt("run")
        # When a merge made a tombstone, no event says.
        after = {
            name: session.table(f"drawn.{name}").drop("_tombstone_time").collect() for name in names
        }
        aside = session.sql(
            "select cast(get_json_object(event, '$.place') as int), reason"
            " from drawn.keyed__rejected"
        )
        found.append(
            Draw(
                feed, keyed, before, after, dict(map(tuple, aside.collect())),
                {name: project.figures(name) for name in names},
                {name: line_of(project, name) for name in FIGURED},
                [one for one in project.lines if "keyed: order_by: " in one and "On " not in one],
                {name: newest_commit(session, f"drawn.{name}") for name in names},
            )
        )  # fmt: skip
        before = after
    return found


def line_of(project: Any, name: str) -> str:
    said = (one for one in project.lines if one.startswith(f"{name}: "))
    # Beside it may stand what takes long, and that a batch holds nothing to be merged.
    (line,) = (one for one in said if " → " in one)
    return str(line)


def newest_commit(session: Any, table: str) -> dict[str, Any]:
    row = session.sql(f"describe history {table} limit 1").first()
    said = json.loads(row["userMetadata"] or "{}")
    return said.get("alluvium_merge", {}) | dict(row["operationMetrics"])


def by_key(rows: list[Any], inserts: bool) -> dict[Any, Any]:
    """Rows by their id; each one without is a key of its own where such events are inserted."""
    found: dict[Any, Any] = {}
    for row in rows:
        key = row["id"]
        if key is None and inserts:
            alike = sum(1 for other in found.values() if other == tuple(row))
            key = ("none", tuple(row), alike)
        assert key not in found
        found[key] = tuple(row)
    return found


def place_of(event: tuple[Any, ...]) -> int:
    return -1 if event[1] is None else int(event[1])


@pytest.mark.parametrize("name", FIGURED)
def test_figures_are_what_the_table_says(draws: list[Draw], name: str) -> None:
    for draw in draws:
        check_figures(draw, name)


def check_figures(draw: Draw, name: str) -> None:
    nulls = FIGURED[name].get("null_keys", "reject")
    then, now = (by_key(rows[name], nulls == "insert") for rows in (draw.before, draw.after))
    fit = [
        event
        for event in draw.feed
        if event[4] is None and (event[0] is not None or nulls != "reject")
    ]
    keyless = [event for event in fit if event[0] is None and nulls == "insert"]
    groups: dict[Any, list[Any]] = {}
    for event in fit:
        if event not in keyless:
            groups.setdefault(event[0], []).append(event)
    inserted = len([key for key in now if key not in then])
    removed = len([key for key in then if key not in now])
    changed = len([key for key in then if key in now and then[key] != now[key]])
    affected = inserted + removed + changed

    # Whether a key's newest event deletes it. Of several its row says which one won, if it changed.
    fewest = most = 0
    for key, events in groups.items():
        newest = max(place_of(event) for event in events)
        ends = {event[2] == "d" for event in events if place_of(event) == newest}
        if name != "first" and then.get(key) != now.get(key):
            # `_deleted` is the last column of a soft table.
            ends &= {key not in now or now[key][-1] is True}
        fewest += min(ends)
        most += max(ends)

    figures, commit, line = draw.figures[name], draw.commits[name], draw.lines[name]
    count = len(groups) + len(keyless)
    assert figures["events"] == len(fit)
    assert figures["rows_affected"] == affected, (draw, name)
    assert figures["unchanged"] == count - affected
    assert figures["rejected"] == len(draw.feed) - len(fit)
    assert figures["rejected_table"] == (f"{name}__rejected" if figures["rejected"] else None)
    if name == "first":
        assert (figures["upserts"], figures["deletes"], affected) == (inserted, 0, inserted)
    else:
        assert fewest <= figures["deletes"] <= most
        assert figures["upserts"] == count - figures["deletes"]
    if fit:
        metrics = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
        assert [int(commit[one]) for one in metrics] == [inserted, changed, removed]
        assert (commit["events"], commit["key_count"]) == (len(fit), count)
        assert (commit["deletes"], commit["rejected"]) == (figures["deletes"], figures["rejected"])

    def said(noun: str) -> int:
        one = re.search(rf"([\d,]+) {noun}", line)
        return int(one[1].replace(",", "")) if one else 0

    assert said("rejected") == figures["rejected"]
    assert said("event") == len(fit)
    if name == "first":
        assert (said("insert"), said("known")) == (inserted, figures["unchanged"])
    elif affected:
        assert (said("upsert"), said("delete")) == (figures["upserts"], figures["deletes"])
        assert said("of them without effect") == figures["unchanged"]
    else:
        assert "nothing changed" in line


def stored_key(event: tuple[Any, ...]) -> tuple[Any, ...] | str:
    """The key as a table of these types keeps it, or why it cannot."""
    region, ratio, amount, day, code, number = event[:6]
    text = number.strip()
    if (
        region in ("", "__HIVE_DEFAULT_PARTITION__", "a\0")
        or amount != round(amount, 2)
        or day.time() != time()
        or len(code) > 3
        or not re.fullmatch("[+-]?\\d{1,9}", text)
    ):
        return "changed_key"
    if region is None or ratio is None:
        return "null_key"
    one = "NaN" if ratio != ratio else ratio + 0.0
    return region, one, round(amount, 2), day.date(), code, int(text)


def test_each_key_once_and_its_newest_event(draws: list[Draw]) -> None:
    """An order that the table rounds is compared as it is stored, and only then as it was."""
    rows: dict[Any, tuple[Decimal, int]] = {}
    met = set()
    for draw in draws:
        events: dict[Any, list[tuple[Decimal, Decimal, int]]] = {}
        blurred = 0
        for event in draw.keyed:
            key, order, place = stored_key(event), event[6], event[7]
            if isinstance(key, str):
                assert draw.aside.pop(place, key) == key
                met.add(key)
                continue
            tenths = order.quantize(Decimal("0.1"), ROUND_HALF_UP)
            blurred += tenths != order
            events.setdefault(key, []).append((tenths, order, place))
        changes = 0
        found = {stored_key((*row[:3], datetime.combine(row[3], time()), row[4], str(row[5]))): row
                 for row in draw.after["keyed"]}  # fmt: skip
        assert len(found) == len(draw.after["keyed"])
        for key, one in events.items():
            tenths, order, _ = max(one)
            if key in rows and rows[key][0] >= tenths:
                met.add("as new" if rows[key][0] == tenths else "older")
                continue
            changes += 1
            assert found[key][6] == tenths
            assert (tenths, order, found[key][7]) in one
            rows[key] = (tenths, found[key][7])
        assert {key: tuple(row[6:]) for key, row in found.items()} == rows
        assert draw.figures["keyed"]["rows_affected"] == changes
        (warning,) = draw.warned
        assert f"stores the order of {blurred} events otherwise" in warning
        assert "moment is decimal(6,2) in the batch and decimal(6,1) in the table" in warning
    assert met == {"changed_key", "null_key", "as new", "older"}
    assert not any(draw.aside for draw in draws[:1])
