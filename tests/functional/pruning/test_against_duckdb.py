"""Random conditions on a day of edits: what pruned reads give is what DuckDB gives."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from importlib.resources import files

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from support.tagged import rows_and_files, tag

import alluvium
from alluvium.publish.publish import publish

pytestmark = pytest.mark.spark
T, SHOWN = "drawn.edits", "drawn.edits_shown"
TEXTS = ("channel", "namespace", "countryName", "user", "page")
COLUMNS = (*TEXTS, "added", "deleted", "share", "isRobot")
# What SQL texts, identifiers and LIKE read as more than a sign.
SIGNS = set("'\\%_\"`")
ROWS, FILES, UNTAGGED = 1_000, 6, 1


def edits(number: int = ROWS) -> pa.Table:
    """The first events of the day, which all have an id, and a share with two digits."""
    raw = gzip.decompress((files("alluvium.demo") / "data" / "wikiticker.json.gz").read_bytes())
    events = [json.loads(line) for line in raw.splitlines()[:number]]
    columns: dict[str, pa.Array] = {"id": pa.array(range(len(events)), pa.int64())}
    for name in TEXTS:
        columns[name] = pa.array([one.get(name) for one in events], pa.string())
    for name in ("added", "deleted"):
        columns[name] = pa.array([one.get(name) for one in events], pa.int32())
    share = pc.divide(columns["added"].cast(pa.float64()), 8).cast(pa.decimal128(12, 3))
    columns["share"] = share
    columns["isRobot"] = pa.array([one.get("isRobot") in (True, "true") for one in events])
    return pa.table(columns)


@pytest.fixture(scope="module")
def drawn(spark: SparkSession) -> Iterator[tuple[SparkSession, pa.Table]]:
    """A table of files with and without tags, vectors and a later column; and its rows."""
    rows = edits()
    spark.sql("create database if not exists drawn")
    frame = spark.createDataFrame(rows).repartitionByRange(FILES, "id")
    writer = frame.write.format("delta").option("delta.enableDeletionVectors", "true")
    writer.option("delta.columnMapping.mode", "none").saveAsTable(T)
    # A small budget: most automata of users and pages are trimmed.
    assert tag(spark, T, COLUMNS, budget=300, leave=UNTAGGED) == FILES - UNTAGGED
    spark.sql(f"delete from {T} where id % 9 = 4")
    spark.sql(f"alter table {T} add column later string")
    spark.sql(f"update {T} set page = 'a changed page', later = 'x' where id % 500 = 7")
    rows = duckdb.sql(
        "select * replace (case when id % 500 = 7 then 'a changed page' else page end as page),"
        " case when id % 500 = 7 then 'x' end as later from rows where id % 9 <> 4"
    ).to_arrow_table()
    publish(spark, T, SHOWN, None, {}, {})
    yield spark, rows
    spark.sql("drop database drawn cascade")


class Conditions:
    """SQL that both engines read, about values that are there, near ones and absent ones."""

    def __init__(self, rows: pa.Table, seed: int) -> None:
        self._draw = random.Random(seed)
        self._values = {
            name: [
                value
                for value in pc.unique(rows[name]).to_pylist()
                if value is not None
                and not (isinstance(value, str) and set(value) & set("'\\%_\"`"))
            ]
            for name in (*COLUMNS, "later")
        }

    def one(self, depth: int = 0) -> str:
        kind = self._draw.random()
        if depth < 3 and kind < 0.4:
            joined = self._draw.choice([" and ", " or "])
            return "(" + joined.join(self.one(depth + 1) for _ in range(2)) + ")"
        return f"not {self.one(depth + 1)}" if depth < 3 and kind < 0.5 else self._leaf()

    def _leaf(self) -> str:
        name = self._draw.choice([*COLUMNS, *TEXTS, "later"])
        column = f'"{name}"' if name == "user" else name
        if self._draw.random() < 0.1:
            return f"{column} is {self._draw.choice(['', 'not '])}null"
        if name in (*TEXTS, "later") and self._draw.random() < 0.3:
            value = self._draw.choice(self._values[name])
            at, more = self._draw.randrange(len(value)), self._draw.randrange(1, 5)
            part = value[:more] if self._draw.random() < 0.6 else "%" + value[at : at + more]
            return f"{column} like '{part}%'"
        if self._draw.random() < 0.3:
            some = [self._literal(name) for _ in range(self._draw.choice([1, 3, 14]))]
            return f"{column} {self._draw.choice(['', 'not '])}in ({', '.join(some)})"
        operator = self._draw.choice(
            ["=", "=", "=", "<>", "<", ">=", "is not distinct from", "is distinct from"]
        )
        return f"{column} {operator} {self._literal(name)}"

    def _literal(self, name: str) -> str:
        value = self._draw.choice(self._values[name])
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            return f"'{value + self._draw.choice(['', '', '0', 'zz'])}'"
        return str(value + self._draw.choice([0, 0, 1]))


FOUND = "count(*) as n, coalesce(sum(id), 0) as ids, coalesce(sum(id * id % 9973), 0) as squares"


def compare(session: SparkSession, rows: pa.Table, asked: dict[str, list[str]]) -> tuple[int, int]:
    """Files that pruned reads of tables read, and all that they could have read.

    asked: conditions, by table.
    """
    engine = duckdb.connect()
    engine.register("edits", rows)
    read = could = 0
    for table, conditions in asked.items():
        # In Spark a name in double quotes is a text.
        query = " union all ".join(
            f"select {place} as place, id from {table} where {one}".replace('"', "`")
            for place, one in enumerate(conditions)
        )
        found, number = rows_and_files(
            session, f"select place, {FOUND} from ({query}) group by place"
        )
        read += number
        could += len(conditions) * len(session.table(T).inputFiles())
        got = {row.place: tuple(row)[1:] for row in found}
        for place, one in enumerate(conditions):
            theirs = engine.sql(f"select {FOUND} from edits where {one}").fetchall()[0]
            assert got.get(place, (0, 0, 0)) == theirs, f"{table}: {one}"
    return read, could


@pytest.mark.proves("pruning", on="embedded")
def test_drawn_conditions(drawn: tuple[SparkSession, pa.Table]) -> None:
    session, rows = drawn
    conditions = Conditions(rows, 1)
    asked = {table: [conditions.one() for _ in range(6)] for table in (T, SHOWN)}
    read, could = compare(session, rows, asked)
    assert 0 < read < 0.9 * could
    check_scan(session, rows, asked[T][-1])


def check_scan(session: SparkSession, rows: pa.Table, condition: str) -> None:
    expected = duckdb.sql(f"select count(*) from rows where {condition}").fetchall()
    assert [(alluvium.scan(session, T, condition.replace('"', "`")).count(),)] == expected


@pytest.mark.slow
def test_many_drawn_conditions(drawn: tuple[SparkSession, pa.Table]) -> None:
    session, rows = drawn
    conditions = Conditions(rows, 2)
    read = could = 0
    for _ in range(20):
        some = [conditions.one() for _ in range(25)]
        more = compare(session, rows, {T: some, SHOWN: some})
        read, could = read + more[0], could + more[1]
        check_scan(session, rows, some[-1])
    assert 0 < read < 0.9 * could
