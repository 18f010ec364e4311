"""Differences between versions beside rows that Python keeps."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from functional.delta_rs import folder_in, newest
from pyspark.sql import DataFrame, SparkSession
from support.opens import counting

from alluvium.delta.log import log
from alluvium.publish.publish import publish
from alluvium.versions.diff import diff
from alluvium.versions.diff_lines import lines
from alluvium.versions.points import Point

pytestmark = pytest.mark.spark

VECTORS = "tblproperties ('delta.enableDeletionVectors' = 'true')"
MAPPED = (
    "tblproperties ('delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name')"
)


@pytest.fixture(scope="module", autouse=True)
def _schema(spark: SparkSession) -> None:
    spark.sql("create database if not exists differences")


def make(spark: SparkSession, name: str, columns: str, more: str = VECTORS) -> str:
    table = f"differences.{name}"
    spark.sql(f"create table {table} ({columns}) using delta {more}")
    return table


def append(
    spark: SparkSession, table: str, rows: list[dict[str, Any]], mode: str = "append"
) -> None:
    """Rows in a file of each partition, by delta-rs: a twentieth of the time of Spark's INSERT."""
    folder = folder_in(spark, table)
    columns = pa.schema(DeltaTable(folder).schema())
    write_deltalake(folder, pa.Table.from_pylist(rows, columns), mode=mode)


def found(
    spark: SparkSession, before: Point, after: Point, key: Sequence[str] = ("id",), **how: bool
) -> Counter[tuple[Any, ...]]:
    """Each difference: its kind, and both rows as texts."""
    return texts_of(diff(spark, before, after, key, **how).rows)


def texts_of(rows: DataFrame) -> Counter[tuple[Any, ...]]:
    texts = rows.selectExpr("change", "cast(before as string)", "cast(after as string)")
    return Counter(tuple(row) for row in texts.collect())


def files_of(spark: SparkSession, table: str, version: int) -> dict[str, tuple[str, Any]]:
    """By the name of each file, its partition and its deletion vector."""
    none = spark._jvm.scala.Option.empty()
    snapshot = log.delta_log(spark, table).getSnapshotAt(version, none, none, False)
    actions = [json.loads(one.json())["add"] for one in snapshot.allFiles().collectAsList()]
    return {
        one["path"].rpartition("/")[2]: (
            one["partitionValues"].get("part"),
            json.dumps(one.get("deletionVector")),
        )
        for one in actions
    }


# The draws of the first seed have a change of each kind, and pairs with rows that went and changed
# across a compaction, a restore and either kind of delete. One pair is of a version whose files the
# compaction moved, and of a later one that has other rows of what it wrote. What is quick of it:
# `test_what_is_opened`.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "turns", "pairs", "without_key"), [(1605343, 6, 2, 1), (393, 7, 4, 4), (11, 12, 8, 8)]
)
def test_any_two_versions_of_a_history(
    spark: SparkSession, seed: int, turns: int, pairs: int, without_key: int
) -> None:
    columns = "id bigint, `a name` string, _deleted boolean, part string"
    table = make(spark, f"drawn_{seed}", columns, f"partitioned by (part) {MAPPED}")
    draw, rows = random.Random(seed), dict[int, str]()
    kept = {log.version(spark, table): dict(rows)}
    for turn in range(turns):
        kind = draw.choice(("insert", "delete", "tombstone", "update", "optimize", "restore"))
        ids = [number for number in rows if draw.random() < 0.2]
        where = f"where id in ({', '.join(map(str, [-1, *ids]))})"
        if kind == "insert" or not rows:
            new = {100 * turn + number: f"n{number % 3}" for number in range(8)}
            values = (f"({k}, '{v}', false, 'p {k % 2}%')" for k, v in new.items())
            spark.sql(f"insert into {table} values {', '.join(values)}")
            rows |= new
        elif kind == "update":
            spark.sql(f"update {table} set `a name` = 'up {turn}' {where}")
            rows |= dict.fromkeys(ids, f"up {turn}")
        elif kind == "optimize":
            spark.sql(f"optimize {table}")
        elif kind == "restore":
            version = draw.choice(list(kept))
            spark.sql(f"restore table {table} to version as of {version}")
            rows = dict(kept[version])
        else:
            change = "delete from {t}" if kind == "delete" else "update {t} set _deleted = true"
            spark.sql(f"{change.format(t=table)} {where}")
            rows = {number: name for number, name in rows.items() if number not in ids}
        kept[log.version(spark, table)] = dict(rows)
    for pair in range(pairs):
        first, last = draw.sample(list(kept), 2)
        expected = Counter[tuple[Any, ...]]()
        for number in kept[first].keys() | kept[last].keys():
            both = [
                None if one is None else f"{{{number}, {one}, p {number % 2}%}}"
                for one in (kept[first].get(number), kept[last].get(number))
            ]
            if both[0] != both[1]:
                kind = "added" if both[0] is None else "removed" if both[1] is None else "changed"
                expected[kind, both[0], both[1]] += 1
        points = Point(table, first), Point(table, last)
        assert found(spark, *points) == expected, (first, last)
        if pair >= without_key:
            continue
        # Without a key what changed goes and comes.
        apart = Counter(
            (kind, *both)
            for _, before, after in expected
            for kind, both in (("removed", (before, None)), ("added", (None, after)))
            if both != (None, None)
        )
        assert found(spark, *points, key=()) == apart
    # The raw view has the mark, and the row that bears it; `test_other_tables` looks once.
    if pairs < 3:
        return
    spark.sql(f"insert into {table} values (-5, 'gone', true, 'p')")
    newest = log.version(spark, table)
    points = Point(table, newest - 1), Point(table)
    assert found(spark, *points) == Counter()
    assert found(spark, *points, hides=False) == Counter([("added", None, "{-5, gone, true, p}")])


def opened(
    spark: SparkSession, before: Point, after: Point
) -> tuple[Counter[tuple[Any, ...]], set[str]]:
    """The rows that differ, and the data files that were opened to know."""
    with counting(spark) as opens:
        rows = found(spark, before, after)
        return rows, {name for name in opens() if name.startswith("part-")}


def to_open(spark: SparkSession, before: str | Point, after: str | Point) -> tuple[int, int]:
    """How many files of each are to be opened, before any is: no row is read."""
    points = (Point(one) if isinstance(one, str) else one for one in (before, after))
    return diff(spark, *points, ["id"]).opened


@pytest.mark.proves("diff", on="embedded")
def test_what_is_opened(spark: SparkSession) -> None:
    """Only files that one version has in another way, and none of an untouched compaction."""
    columns = "id bigint, n int, part string, _deleted boolean"
    table = make(spark, "opened", columns, f"partitioned by (part) {VECTORS}")
    folder = folder_in(spark, table)
    for start in range(0, 60, 5):
        part = ("a b", "c", "d")[start // 5 % 3]
        ids = range(start, start + 5)
        append(spark, table, [{"id": one, "n": one % 5, "part": part} for one in ids])
    base = newest(folder)
    spark.sql(f"optimize {table} where part in ('a b', 'c')")
    first, then = Point(table, base), Point(table, newest(folder))
    assert opened(spark, first, then) == (Counter(), set())
    assert to_open(spark, then, first) == (0, 0)
    # One partition is compacted again, with what came meanwhile.
    append(spark, table, [{"id": 100, "n": 0, "part": "a b"}])
    spark.sql(f"optimize {table} where part = 'a b'")
    spark.sql(f"delete from {table} where part = 'c' and n = 1")  # of what was written there
    spark.sql(f"update {table} set n = n + 50, _deleted = (id = 25) where id in (10, 25)")
    last = Point(table, newest(folder))
    old, new = (files_of(spark, table, one.version) for one in (first, last))
    differing = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    gone = [f"{{{one}, 1, c}}" for one in (6, 21, 36, 51)] + ["{25, 0, d}"]
    changed = "{10, 0, d}", "{10, 50, d}"
    expected = Counter(
        [
            ("added", None, "{100, 0, a b}"),
            ("changed", *changed),
            *(("removed", one, None) for one in gone),
        ]
    )
    assert opened(spark, first, last) == (expected, differing)
    each = tuple(len(differing & side.keys()) for side in (new, old))
    assert to_open(spark, last, first) == each
    # Without a key what changed goes and comes.
    del expected["changed", *changed]
    expected["removed", changed[0], None] = expected["added", None, changed[1]] = 1
    assert found(spark, first, last, key=()) == expected
    # Back again, all is the other way round.
    spark.sql(f"restore table {table} to version as of {base}")
    back = [("removed", "{100, 0, a b}", None), ("changed", *reversed(changed))]
    assert found(spark, last, Point(table)) == Counter(
        [*back, *(("added", None, one) for one in gone)]
    )


def test_keys_that_are_null_or_several(spark: SparkSession) -> None:
    table = make(spark, "keys", "id bigint, n string, m map<string, double>")

    def put(*rows: tuple[int | None, str, dict[str, float] | None]) -> None:
        """In the place of those that are there."""
        made = [{"id": key, "n": n, "m": None if m is None else [*m.items()]} for key, n, m in rows]
        append(spark, table, made, "overwrite")

    nan, b = float("nan"), (1, "b", None)
    put((1, "a", {"x": 1.0}), b, b, (None, "n", None), (2, "two", {"x": nan, "y": -0.0}))
    # The same rows elsewhere, and in another order.
    two = (2, "two", {"y": 0.0, "x": nan})
    put((None, "N", None), b, (1, "c", None), two, b, (3, "x", None))
    expected = [
        ("added", None, "{3, x, null}"),
        ("changed", "{1, a, {x -> 1.0}}", "{1, c, null}"),
        ("changed", "{null, n, null}", "{null, N, null}"),
    ]
    assert sorted(found(spark, Point(table, 1), Point(table, 2)), key=str) == expected
    shown = list(lines(spark, "keys", Point(table, 1), Point(table, 2), ["id"], 9))
    assert shown[1] == "  rows changed by column: n 2, m 1"
    # Of several that are left over nobody knows which was which.
    put(b, (1, "d", None), (1, "e", None))
    changes = found(spark, Point(table, 2), Point(table, 3))
    assert changes["removed", "{1, b, null}", None] == 1
    assert {after for kind, _, after in changes if kind == "added"} == {
        "{1, d, null}",
        "{1, e, null}",
    }
    # Rows of another key are not its copies.
    put(b, b, b)
    assert found(spark, Point(table, 3), Point(table, 4), key=()) == Counter(
        {
            ("added", None, "{1, b, null}"): 2,
            ("removed", "{1, d, null}", None): 1,
            ("removed", "{1, e, null}", None): 1,
        }
    )


def test_values_are_shown_as_sql_has_them(spark: SparkSession) -> None:
    columns = {
        "id": "int",
        "s": "struct<`the.day`: date, n: decimal(5, 2), at: timestamp, none: int>",
        "a": "array<struct<x: double>>",
        "m": "map<string, int>",
        "raw": "binary",
        "is_so": "boolean",
        "same": "array<struct<m: map<string, map<int, variant>>>>",
        "v": "variant",
    }
    table = make(spark, "shown", ", ".join(f"{name} {kind}" for name, kind in columns.items()))
    day, at = "date'2024-01-02'", "timestamp'2024-01-02 03:04:05.000006'"
    x, j = "named_struct('x', 1e10)", "parse_json('2')"
    old, new = (
        f"named_struct('the.day', {day}, 'n', {n}, 'at', {at}, 'none', null), {a}, {m}, {raw},"
        f" {is_so}, array(named_struct('m', map('k', map({same})))), {v}"
        for n, a, m, raw, is_so, same, v in (
            (
                *("1.50", f"array({x}, null)", "map('k', null)", "X'CAFE'", "true"),
                *(f"1, {j}, 3, null", "null"),
            ),
            ("2", "null", "map('k', 1)", "X''", "null", f"3, null, 1, {j}", "parse_json('null')"),
        )
    )
    spark.sql(f"insert into {table} values (1, {old})")
    spark.sql(f"insert overwrite {table} values (1, {new})")
    counts, changed, *shown = lines(spark, "t", Point(table, 1), Point(table), ["id"], 9)
    assert counts == "t: 0 added, 0 removed, 1 changed; 2 files read"
    assert changed == "  rows changed by column: a 1, is_so 1, m 1, raw 1, s 1, v 1"
    at = "2024-01-02T03:04:05.000006Z"
    texts = [
        f'{{"the.day":"2024-01-02","n":{n},"at":"{at}","none":null}}' for n in ("1.50", "2.00")
    ]
    assert shown == [
        f'  - id: 1, s: {texts[0][:59]}…, a: [{{"x":1.0E10}},null], m: {{"k":null}},'
        " raw: X'CAFE', is_so: true, v: NULL",
        f"  + id: 1, s: {texts[1][:59]}…, a: NULL, m: {{\"k\":1}}, raw: X'', is_so: NULL, v: null",
    ]


@pytest.mark.slow
def test_columns_that_come_and_go(spark: SparkSession) -> None:
    more = MAPPED.replace(")", ", 'delta.enableTypeWidening' = 'true')")
    table = make(spark, "columns", "id int, gone string, old string, s struct<a: int>", more)
    spark.sql(f"insert into {table} values (1, 'g', 'o', named_struct('a', 1))")
    spark.sql(f"insert into {table} values (2, 'g', 'o', named_struct('a', 1))")
    first = log.version(spark, table)
    for change in (
        "add columns (`a new` string, s.b int)",
        "drop column gone",
        "rename column old to now",
        "alter column id type bigint",
    ):
        spark.sql(f"alter table {table} {change}")
    # Columns alone make no row another one.
    assert found(spark, Point(table, first), Point(table)) == Counter()
    assert to_open(spark, table, table) == (0, 0)
    spark.sql(f"update {table} set `a new` = 'x' where id = 2")
    spark.sql(f"insert into {table} values (3, 'o', null, 'y')")
    forward = diff(spark, Point(table, first), Point(table), ["ID"])
    assert (forward.columns.added, forward.columns.removed) == (["a new"], ["gone"])
    assert texts_of(forward.rows) == Counter(
        [
            ("added", None, "{3, o, null, y}"),
            ("changed", "{2, g, o, {1}}", "{2, o, {1, null}, x}"),
        ]
    )
    # The dropped column is in files that both have, which are read then.
    assert found(spark, Point(table), Point(table, first)) == Counter(
        [
            ("removed", "{3, o, null, y}", None),
            ("changed", "{2, o, {1, null}, x}", "{2, g, o, {1}}"),
            ("changed", "{1, o, {1, null}, null}", "{1, g, o, {1}}"),
        ]
    )
    spark.sql(f"alter table {table} drop column now")
    spark.sql(f"alter table {table} add column now string")
    again = found(spark, Point(table, log.version(spark, table) - 2), Point(table))
    assert {kind for kind, *_ in again} == {"changed"}
    assert sum(again.values()) == 3
    # So may a field: another one has its name now.
    point = log.version(spark, table)
    for change in ("rename column s.a to r", "add column s.a int"):
        spark.sql(f"alter table {table} {change}")
    spark.sql(f"update {table} set now = 'k' where id = 1")
    assert found(spark, Point(table, point), Point(table)) == Counter(
        [("changed", "{1, {1, null}, null, null}", "{1, {1, null, null}, null, k}")]
    )
    with pytest.raises(ValueError, match=r"gone is not in both versions; accepted: id, s$"):
        diff(spark, Point(table, first), Point(table), ["gone"])
    with pytest.raises(ValueError, match="has no version 99; accepted: 0 to"):
        diff(spark, Point(table, 99), Point(table))


@pytest.mark.slow
def test_other_tables(spark: SparkSession) -> None:
    """A clone, and a published table, have files of their source."""
    table = make(spark, "source", "id bigint, n string, _deleted boolean")
    for start in (0, 10):
        ids = range(start, start + 10)
        append(spark, table, [{"id": one, "n": "n", "_deleted": one % 4 == 0} for one in ids])
    spark.sql(f"delete from {table} where id = 5")
    clone, shown = "differences.branch", "differences.shown"
    spark.sql(f"create table {clone} shallow clone {table}")
    publish(spark, table, shown, None, {}, {})
    for points in ((clone, table), (table, shown), (shown, clone)):
        assert to_open(spark, *points) == (0, 0)
    # Each goes on for itself, and both may be compacted.
    spark.sql(f"optimize {table}")
    for points in ((clone, table), (table, clone)):
        assert to_open(spark, *points) == (0, 0)
    spark.sql(f"update {clone} set n = 'm' where id = 1")
    spark.sql(f"delete from {shown} where id = 11")
    changed = ("changed", "{1, n}", "{1, m}")
    assert found(spark, Point(table), Point(clone)) == Counter([changed])
    assert found(spark, Point(shown), Point(clone)) == Counter(
        [("added", None, "{11, n}"), changed]
    )
    # The raw view has the mark, and the rows that bear it.
    marked = found(spark, Point(table), Point(shown), hides=False)
    assert marked == Counter(
        [
            ("removed", "{11, n, false}", None),
            *(("removed", f"{{{one}, n, true}}", None) for one in range(0, 20, 4)),
        ]
    )
