"""Merges skip files whose automata have none of their keys; their rows are those of MERGE."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from functional.delta_rs import by_query
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support.tagged import tag

from alluvium.delta.log import log
from alluvium.delta.merge import matching_files
from alluvium.merge import one_commit
from alluvium.merge.one_commit import Prepared
from alluvium.plan.merge.figures import Merged
from alluvium.plan.ranges.locate import Kept
from alluvium.pruning.reading import SETTING

pytestmark = pytest.mark.spark

NUMBER = itertools.count()
T = "matching.events"
PROPERTIES = "delta.enableDeletionVectors = true, delta.columnMapping.mode = 'name'"


@pytest.fixture(autouse=True)
def _always_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of tests are read sooner than anything is looked up."""
    monkeypatch.setattr(matching_files, "COST", replace(matching_files.COST, planning=0))


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    spark.sql("create database if not exists matching")
    yield spark
    spark.sql("drop database matching cascade")


@pytest.fixture(scope="module")
def events(session: SparkSession) -> SparkSession:
    """Six files of 30 rows by their services: three of c, r, z; two of a, r, w and NULL; one of
    all of these without a tag."""
    session.sql(
        f"create table {T} (id bigint, service string, status int, short varchar(3), day date,"
        f" note string) using delta tblproperties ({PROPERTIES})"
    )
    for place, services in enumerate(["c r z"] * 3 + ["a r w"] * 2 + ["a c"]):
        names = ", ".join(f"'{one}'" for one in services.split())
        lost = "null" if services == "a r w" else "'r'"
        session.sql(
            f"insert into {T} select /*+ coalesce(1) */ id, element_at(array({names}, {lost}),"
            f" int(id % {len(services.split()) + 1}) + 1), int(id % 4) * 100 + {place % 2},"
            f" 'b', date_add(date'2026-01-01', int(id % 3) * 10), 'x'"
            f" from range({30 * place}, {30 * place + 30})"
        )
    indexed = ["service", "status", "short", "day"]
    # A file's name says nothing of when it was written.
    last = session.sql(f"select _metadata.file_name as f from {T} where id = 179").first()["f"]
    snapshot = log.snapshot_of(session, T)
    tag(session, T, [log.physical_name(snapshot, name) for name in indexed], without=last)
    # What is deleted here hides rows of all files.
    session.sql(f"delete from {T} where id % 10 = 3")
    return session


def looked_at(
    session: SparkSession, on: str, batch: str, columns: str, automata: bool = True
) -> Kept:
    found = one_commit.looked_at(
        session,
        f"merge into {T} t using (select * from values {batch} as s({columns})) s on {on}"
        " when matched then update set note = 'y' when not matched then insert (id) values (0)",
        automata,
    )
    assert isinstance(found, Kept), found
    assert found.files_total == 6
    return found


ONE = "s.k = t.service"
# Condition, batch and the files that are left; the last of the six has no tag.
LEFT = [
    (ONE, "('c')", 4),
    (ONE, "('a')", 3),
    (ONE, "('r'), ('q')", 6),
    (ONE, "('q')", 1),
    ("t.service = s.k", "('q')", 1),
    (ONE, "('C'), ('c '), ('')", 1),
    (ONE, "('q'), (null)", 1),
    ("s.k <=> t.service", "('q')", 1),
    ("s.k <=> t.service", "('q'), (null)", 3),
    ("s.k <=> t.service", "(cast(null as string))", 3),
    ("s.k = t.service and t.id >= 60", "('c')", 2),
    ("(t.id < 500 and (s.k = t.service)) and t.note = 'x'", "('a')", 3),
    ("s.k = t.service and s.k <> t.note", "('q')", 1),
    # A text of a limited length is no other text; MERGE takes no CHAR.
    ("s.k = t.short", "('q'), ('b ')", 1),
    ("s.k = t.short", "('b')", 6),
    # Of these nothing is known.
    ("upper(s.k) = t.service", "('q')", 6),
    ("s.k = upper(t.service)", "('q')", 6),
    ("s.k = t.service collate utf8_lcase", "('Q')", 6),
    ("s.k = t.service or s.k = t.note", "('q')", 6),
    ("s.k <= t.service", "('q')", 6),
    ("s.k = t.note and s.k is not null", "('q')", 6),
    ("s.k = cast(t.status as string)", "('150')", 6),
    ("cast(s.k as int) = t.status", "('150')", 6),
]


@pytest.fixture(scope="module")
def without(events: SparkSession) -> Callable[[str, str], Kept]:
    """What is looked at without automata, where the condition alone decides."""
    known: dict[str, Kept] = {}

    def look(on: str, batch: str) -> Kept:
        if on not in known:
            known[on] = looked_at(events, on, batch, "k", automata=False)
        return known[on]

    return look


@pytest.mark.parametrize(("on", "batch", "files"), LEFT)
def test_what_is_left(
    events: SparkSession, without: Callable[[str, str], Kept], on: str, batch: str, files: int
) -> None:
    plain = without(on, batch)
    found = looked_at(events, on, batch, "k")
    assert found.files == files
    assert found.skipped == plain.files - files
    assert plain.skipped == 0
    assert (found.bytes < plain.bytes) == (found.files < plain.files)


def test_other_types(events: SparkSession) -> None:
    one = "s.k = t.status"
    assert looked_at(events, one, "(150)", "k").files == 1
    assert looked_at(events, one, "(100), (150)", "k").files == 4
    assert looked_at(events, one, "(150L)", "k").files == 6  # the target is cast
    assert looked_at(events, "s.k = t.day", "(date'2026-01-02')", "k").files == 1
    both = "s.k = t.service and s.n = t.status"
    # c stands with 100 or 101, a with 101 or 100; each column alone has its say.
    assert looked_at(events, both, "('c', 100), ('q', 101)", "k, n").files < 6


def test_when_nothing_is_looked_up(events: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    events.sql(f"set {SETTING} = false")
    assert looked_at(events, ONE, "('q')", "k").files == 6
    events.sql(f"reset {SETTING}")
    assert looked_at(events, ONE, "('q')", "k").files == 1
    monkeypatch.setattr(matching_files, "_MOST_VALUES", 2)
    assert looked_at(events, ONE, "('q'), ('p'), ('p')", "k").files == 1
    assert looked_at(events, ONE, "('q'), ('p'), (null)", "k").files == 6
    # Five indexed files of a few kilobytes: some 15 ms, by the model.
    dear = replace(matching_files.COST, planning=0.1)
    monkeypatch.setattr(matching_files, "COST", dear)
    assert looked_at(events, ONE, "('q')", "k").files == 6
    monkeypatch.setattr(matching_files, "COST", replace(dear, file=0.03))
    assert looked_at(events, ONE, "('q')", "k").files == 1


def test_names_are_those_in_files(events: SparkSession) -> None:
    table = "matching.renamed"
    events.sql(f"create table {table} shallow clone {T}")
    events.sql(f"alter table {table} rename column service to was")
    events.sql(f"alter table {table} add column service string")

    def files(column: str) -> int:
        sql = f"merge into {table} t using (select 'q' as k) s on s.k = t.{column}"
        found = one_commit.looked_at(events, f"{sql} when matched then delete", True)
        assert isinstance(found, Kept)
        return found.files

    assert files("was") == 1
    # Delta's own statistics say nothing of a column that the files do not have.
    assert files("service") == 6


def outcome(run: Callable[[], Any]) -> str:
    """`done`, or the class of the error."""
    try:
        run()
    except Py4JJavaError as error:
        return str(error.java_exception.getClass().getSimpleName())
    except PySparkException as error:
        return type(error).__name__
    return "done"


OTHERS = {
    "the key comes": "insert into {t} values (900, 'b', 1, 'b', null, 'x')",
    "another row comes": "insert into {t} values (901, 'c', 1, 'b', null, 'x')",
    "a row goes that was not read": "delete from {t} where id = 1",
    "nothing": "select 1",
}


@pytest.mark.parametrize(
    "other",
    [
        one if one == "the key comes" else pytest.param(one, marks=pytest.mark.slow)
        for one in OTHERS
    ],
)
def test_other_writers(events: SparkSession, other: str) -> None:
    """They conflict as with a merge that reads all files, between its reads and its commit."""
    said = []
    for automata in (False, True):
        table = f"matching.raced_{next(NUMBER)}"
        events.sql(f"create table {table} shallow clone {T}")
        prepared = one_commit.prepare(
            events,
            f"merge into {table} t using (select 'b' as k) s on s.k = t.service when matched"
            " then update set note = 'y' when not matched then insert (service) values (s.k)",
            automata=automata,
        )
        assert isinstance(prepared, Prepared)
        assert prepared.kept.files == (1 if automata else 6)
        events.sql(OTHERS[other].format(t=table)).collect()
        with prepared:
            said.append(outcome(prepared.commit))
        found = events.sql(f"select count(*) from {table} where service = 'b'").first()
        assert found[0] == (other == "the key comes" or said[-1] == "done"), other
    assert said[0] == said[1]
    # What a delete leaves of a file is written to the log as a file that comes.
    assert ("ConcurrentAppendException" in said[1]) == (other != "nothing")


# Property: rows beside plain MERGE and beside Python. -----------------------------------------
# Quick are the cases above, and `test_a_merge_asks_the_automata_of_its_key` of another file.

TEXTS = [*"abcdefgh", "A", "a ", " a", "", "ab", "é", "a'b", "a\\b", "\U0001f600", None]
Row = tuple[int, str | None, str | None, int | None, str]
KEYS = {"k": 1, "g": 2, "n": 3}
# What a condition compares, whether NULL equals NULL, and whether files can be left out.
DRAWN = [
    ("s.k = t.k", ("k",), False, True),
    ("s.k <=> t.k", ("k",), True, True),
    ("s.k = t.k and s.g = t.g", ("k", "g"), False, True),
    ("t.g <=> s.g and s.k <=> t.k", ("k", "g"), True, True),
    ("s.n = t.n", ("n",), False, True),
    ("substring(s.k, 1) = t.k", ("k",), False, False),
]


def drawn_rows(draw: random.Random, number: int, first: int) -> list[Row]:
    """Rows of few keys, as a file of one service has them."""
    texts, groups = (draw.sample(TEXTS, 3) for _ in range(2))
    numbers = [*draw.sample(range(40), 3), None]
    return [
        (first + place, draw.choice(texts), draw.choice(groups), draw.choice(numbers), "old")
        for place in range(number)
    ]


def write(session: SparkSession, table: str, rows: list[Row], columns: str) -> None:
    folder = urlparse(log.qualified(log.delta_log(session, table))).path
    every = [dict(zip(("id", "k", "g", "n", "v"), row, strict=True)) for row in rows]
    made = [{name: row[name] for name in columns.split()} for row in every]
    declared = pa.schema(DeltaTable(folder).schema())
    write_deltalake(folder, pa.Table.from_pylist(made, declared), mode="append")


def merged(
    rows: list[Row], batch: list[Row], columns: tuple[str, ...], nulls: bool, number: int
) -> list[Row]:
    """What MERGE makes of the rows, in Python."""
    places = [KEYS[name] for name in columns]

    def key(row: Row) -> tuple[Any, ...] | None:
        found = tuple(row[place] for place in places)
        return found if nulls or None not in found else None

    new = {key(row) for row in batch} - {None}
    own = {key(row) for row in rows}
    kept = [(*row[:4], f"m{number}") if key(row) in new else row for row in rows]
    return kept + [row for row in batch if key(row) is None or key(row) not in own]


def check_drawn(session: SparkSession, seed: int, merges: int, beside_plain: bool) -> None:
    draw, ids = random.Random(seed), itertools.count(1000)
    tables = [f"matching.drawn_{seed}", f"matching.plain_{seed}"][: 1 + beside_plain]
    rows: list[Row] = []
    files = [drawn_rows(draw, 12, 100 * place) for place in range(4)]
    # The first two files are older than the column g.
    files[:2] = [[(*row[:2], None, *row[3:]) for row in file] for file in files[:2]]
    for table in tables:
        session.sql(
            f"create table {table} (id int, k string, n int, v string) using delta"
            " tblproperties (delta.enableDeletionVectors = true)"
        )
        for place, file in enumerate(files):
            if place == 2:
                session.sql(f"alter table {table} add column g string")
            write(session, table, file, "id k n v" if place < 2 else "id k g n v")
        session.sql(f"delete from {table} where id % 7 = 3")
    rows = [row for file in files for row in file if row[0] % 7 != 3]
    tag(session, tables[0], ["k", "g", "n"], leave=1)
    skipped = 0
    for number in range(merges):
        on, columns, nulls, prunes = DRAWN[number % len(DRAWN)]
        batch, seen = [], set()
        for row in drawn_rows(draw, draw.choice([1, 2, 4]), 0):
            key = tuple(row[KEYS[name]] for name in columns)
            if key not in seen:
                batch.append((next(ids), *row[1:4], "new"))
                seen.add(key)
        session.createDataFrame(
            batch, "id int, k string, g string, n int, v string"
        ).createOrReplaceTempView("drawn_batch")
        sql = (
            f"merge into {{}} t using drawn_batch s on {on}"
            f" when matched then update set v = 'm{number}'"
            " when not matched then insert (id, k, g, n, v) values (s.id, s.k, s.g, s.n, s.v)"
        )
        found = one_commit.prepare(session, sql.format(tables[0]), automata=True)
        assert isinstance(found, Prepared), found
        with found:
            found.commit()
        assert prunes or not found.kept.skipped, on
        skipped += found.kept.skipped
        rows = merged(rows, batch, columns, nulls, number)
        if beside_plain:
            session.sql(sql.format(tables[1])).collect()
        for table in tables:
            place = urlparse(log.qualified(log.delta_log(session, table))).path
            got = by_query(DeltaTable(place), "select id, k, g, n, v from t").to_pylist()
            found_rows = sorted(repr(tuple(row.values())) for row in got)
            assert found_rows == sorted(map(repr, rows)), (on, batch)
        if number % 4 == 3:
            # Files of merges have no tags until they are indexed.
            tag(session, tables[0], ["k", "g", "n"], leave=draw.randrange(3))
    assert skipped > 0


@pytest.mark.slow
def test_drawn_merges(session: SparkSession) -> None:
    check_drawn(session, 1, 4, beside_plain=False)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 4))
def test_many_drawn_merges(session: SparkSession, seed: int) -> None:
    check_drawn(session, seed, 3 * len(DRAWN), beside_plain=True)


def test_it_is_asked_for(events: SparkSession) -> None:
    table = "matching.asked"
    events.sql(f"create table {table} shallow clone {T}")
    sql = f"merge into {table} t using (select 'q' as k) s on s.k = t.service"
    for automata, files in ((False, 6), (True, 1)):
        done = one_commit.merge(
            events, f"{sql} when matched then update set note = 'z'", automata=automata
        )
        assert isinstance(done, Merged)
        assert done.kept is not None
        assert done.kept.files == files
