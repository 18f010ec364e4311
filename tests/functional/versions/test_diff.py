"""Differences between versions beside rows that Python keeps."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.opens import counting

from alluvium.delta import log
from alluvium.publish.publish import publish
from alluvium.versions.diff import diff
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


def found(
    spark: SparkSession, before: Point, after: Point, key: Sequence[str] = ("id",), **how: bool
) -> Counter[tuple[Any, ...]]:
    """Each difference: its kind, and both rows as texts."""
    rows = diff(spark, before, after, key, **how).rows
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


# The draws of the first seed have a change of each kind.
@pytest.mark.parametrize(
    ("seed", "turns", "pairs"), [(393, 7, 4), pytest.param(11, 12, 8, marks=pytest.mark.slow)]
)
def test_any_two_versions_of_a_history(
    spark: SparkSession, seed: int, turns: int, pairs: int
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
    for _ in range(pairs):
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
        # Without a key what changed goes and comes.
        apart = Counter(
            (kind, *pair)
            for _, before, after in expected
            for kind, pair in (("removed", (before, None)), ("added", (None, after)))
            if pair != (None, None)
        )
        assert found(spark, *points, key=()) == apart
    # The raw view has the mark, and the row that bears it.
    spark.sql(f"insert into {table} values (-5, 'gone', true, 'p')")
    newest = log.version(spark, table)
    points = Point(table, newest - 1), Point(table)
    assert found(spark, *points) == Counter()
    assert found(spark, *points, hides=False) == Counter([("added", None, "{-5, gone, true, p}")])


def opened(spark: SparkSession, before: Point, after: Point) -> tuple[int, set[str]]:
    """How many rows differ, and the data files that were opened to know."""
    with counting(spark) as opens:
        number = sum(found(spark, before, after).values())
        return number, {name for name in opens() if name.startswith("part-")}


def test_what_is_opened(spark: SparkSession) -> None:
    """Only files that one version has in another way, and none of an untouched compaction."""
    columns = "id bigint, n int, part string"
    table = make(spark, "opened", columns, f"partitioned by (part) {VECTORS}")
    for first in range(0, 60, 5):
        part = ("a b", "c", "d")[first // 5 % 3]
        rows = ", ".join(
            f"({number}, {number % 5}, '{part}')" for number in range(first, first + 5)
        )
        spark.sql(f"insert into {table} select /*+ coalesce(1) */ * from values {rows}")
    base = log.version(spark, table)
    spark.sql(f"optimize {table} where part in ('a b', 'c')")
    moved = log.version(spark, table)
    for points in ((base, moved), (moved, base)):
        assert opened(spark, *(Point(table, one) for one in points)) == (0, set())
    # One partition is compacted again, with what came meanwhile.
    spark.sql(f"insert into {table} values (100, 0, 'a b')")
    spark.sql(f"optimize {table} where part = 'a b'")
    spark.sql(f"delete from {table} where part = 'c' and n = 1")  # of what was written there
    spark.sql(f"update {table} set n = 50 where id = 10")
    last = log.version(spark, table)
    old, new = (files_of(spark, table, version) for version in (base, last))
    differing = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    for points in ((base, last), (last, base)):
        number, names = opened(spark, *(Point(table, one) for one in points))
        assert number == 6  # one came, four went, one changed
        assert names == differing


def test_keys_that_are_null_or_several(spark: SparkSession) -> None:
    table = make(spark, "keys", "id bigint, n string, m map<string, double>")
    rows = "(1, 'a', map('x', 1d)), (1, 'b', null), (1, 'b', null), (null, 'n', null)"
    spark.sql(f"insert into {table} values {rows}, (2, 'two', map('x', double('NaN'), 'y', -0d))")
    # The same rows elsewhere, and in another order.
    spark.sql(
        f"insert overwrite {table} values (null, 'N', null), (1, 'b', null), (1, 'c', null),"
        " (2, 'two', map('y', 0d, 'x', double('NaN'))), (1, 'b', null), (3, 'x', null)"
    )
    expected = [
        ("added", None, "{3, x, null}"),
        ("changed", "{1, a, {x -> 1.0}}", "{1, c, null}"),
        ("changed", "{null, n, null}", "{null, N, null}"),
    ]
    assert sorted(found(spark, Point(table, 1), Point(table, 2)), key=str) == expected
    # Of several that are left over nobody knows which was which.
    spark.sql(f"insert overwrite {table} values (1, 'b', null), (1, 'd', null), (1, 'e', null)")
    changes = found(spark, Point(table, 2), Point(table, 3))
    assert changes["removed", "{1, b, null}", None] == 1
    assert {after for kind, _, after in changes if kind == "added"} == {
        "{1, d, null}",
        "{1, e, null}",
    }
    # Rows of another key are not its copies.
    spark.sql(f"insert overwrite {table} values (1, 'b', null), (1, 'b', null), (1, 'b', null)")
    assert found(spark, Point(table, 3), Point(table, 4), key=()) == Counter(
        {
            ("added", None, "{1, b, null}"): 2,
            ("removed", "{1, d, null}", None): 1,
            ("removed", "{1, e, null}", None): 1,
        }
    )


def test_columns_that_come_and_go(spark: SparkSession) -> None:
    more = MAPPED.replace(")", ", 'delta.enableTypeWidening' = 'true')")
    table = make(spark, "columns", "id int, gone string, old string, s struct<a: int>", more)
    spark.sql(f"insert into {table} values (1, 'g', 'o', named_struct('a', 1))")
    spark.sql(f"insert into {table} values (2, 'g', 'o', named_struct('a', 1))")
    first = log.version(spark, table)
    for change in (
        "add columns (new string, s.b int)",
        "drop column gone",
        "rename column old to now",
        "alter column id type bigint",
    ):
        spark.sql(f"alter table {table} {change}")
    # Columns alone make no row another one.
    for points in ((Point(table, first), Point(table)), (Point(table), Point(table))):
        assert found(spark, *points) == Counter()
    spark.sql(f"update {table} set new = 'x' where id = 2")
    spark.sql(f"insert into {table} values (3, 'o', null, 'y')")
    forward = diff(spark, Point(table, first), Point(table), ["ID"])
    assert (forward.columns.added, forward.columns.removed) == (["new"], ["gone"])
    assert found(spark, Point(table, first), Point(table)) == Counter(
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
    with pytest.raises(ValueError, match=r"gone is not in both versions; accepted: id, s$"):
        diff(spark, Point(table, first), Point(table), ["gone"])
    with pytest.raises(ValueError, match="has no version 99; accepted: 0 to"):
        diff(spark, Point(table, 99), Point(table))


def test_other_tables(spark: SparkSession) -> None:
    """A clone, and a published table, have files of their source."""
    table = make(spark, "source", "id bigint, n string, _deleted boolean")
    for start in (0, 10):
        rows = ", ".join(
            f"({number}, 'n', {number % 4 == 0})" for number in range(start, start + 10)
        )
        spark.sql(f"insert into {table} select /*+ coalesce(1) */ * from values {rows}")
    spark.sql(f"delete from {table} where id = 5")
    clone, shown = "differences.branch", "differences.shown"
    spark.sql(f"create table {clone} shallow clone {table}")
    publish(spark, table, shown, None, {}, {})
    for points in ((table, clone), (clone, table), (table, shown), (shown, clone)):
        assert opened(spark, *map(Point, points)) == (0, set())
    # Each goes on for itself, and both may be compacted.
    spark.sql(f"optimize {table}")
    assert opened(spark, Point(clone), Point(table)) == (0, set())
    assert opened(spark, Point(table), Point(clone)) == (0, set())
    spark.sql(f"update {clone} set n = 'm' where id = 1")
    spark.sql(f"delete from {shown} where id = 11")
    changed = ("changed", "{1, n}", "{1, m}")
    assert found(spark, Point(table), Point(clone)) == Counter([changed])
    assert found(spark, Point(table), Point(shown)) == Counter([("removed", "{11, n}", None)])
    assert found(spark, Point(shown), Point(clone)) == Counter(
        [("added", None, "{11, n}"), changed]
    )
    marked = found(spark, Point(table), Point(shown), hides=False)
    assert {kind for kind, *_ in marked} == {"removed"}
    assert sum(marked.values()) == 1 + 5
