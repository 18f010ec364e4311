"""Rows of a table by a condition, from Python, and what is read for them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from pyspark.sql import SparkSession
from support.tagged import files_read, tag

import alluvium
from alluvium.pruning import values_of

pytestmark = pytest.mark.spark
T = "read_by.events"


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> Iterator[SparkSession]:
    """Three files, of two days, of which two have tags."""
    spark.sql("create database if not exists read_by")
    spark.sql(
        f"create table {T} (id int, service string, day date) using delta partitioned by (day)"
    )
    for day, services in (("01", ("a", "c", "z")), ("02", ("a", "d", "z")), ("02", ("b", "y"))):
        rows = ", ".join(f"({n}, '{one}', date'2026-01-{day}')" for n, one in enumerate(services))
        spark.sql(f"insert into {T} select /*+ coalesce(1) */ * from values {rows}")
    assert tag(spark, T, ["service"], leave=1) == 2
    yield spark
    spark.sql("drop database read_by cascade")


def test_a_mapping_is_what_sql_says(events: SparkSession) -> None:
    where = {"SERVICE": ["c", "d", None], "id": 1}
    rows = alluvium.scan(events, T, where).collect()
    sql = "(service in ('c', 'd') or service is null) and id = 1"
    assert sorted(rows) == sorted(events.table(T).where(sql).collect())
    assert len(rows) == 2
    assert alluvium.scan(events, T, {"service": []}).count() == 0
    assert alluvium.scan(events, T, None).count() == 8
    assert files_read(events, alluvium.scan(events, T, {"service": "nobody"})) <= 1


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"host": 1}, "has no column 'host'; accepted: id, service, day"),
        ({"service": {"a": 1}}, "service is {'a': 1}; accepted: a text, number"),
        ({"service": ["a", b"x"]}, "service is b'x'; accepted"),
    ],
)
def test_mistakes(events: SparkSession, where: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match="where: ") as raised:
        alluvium.scan(events, T, where)
    assert message in str(raised.value)


def test_what_is_said(events: SparkSession) -> None:
    given = "service = 'm' and day = date'2026-01-02'"
    lines = alluvium.explain_read(events, T, given).splitlines()
    assert lines[0] == f"{T} where {given}"
    assert lines[1].startswith("  3 files, ")
    assert lines[2].startswith("  2 files, ")
    assert "left by time and partitions" in lines[2]
    kept = next(line for line in lines if "left by automata" in line)
    assert int(kept.split()[0]) == files_read(
        events, f"select * from {T} where service = 'm' and day = date'2026-01-02'"
    )
    assert "  automata exclude 2 by (service = 'm'), of 2 files with one of the column" in lines
    # Spark's own conditions and those that help nothing are one line.
    [idle] = [line for line in lines if "exclude nothing by" in line]
    assert "exclude nothing by (service IS NOT NULL), " in idle
    assert lines[-1] == idle
    some = alluvium.explain_read(events, T, {"service": "nobody"}).splitlines()
    assert some[0] == f"{T} where service: nobody"
    assert some[-1].startswith("  automata are missing in 1 file: compaction gives them to what")
    assert "{{ alluvium.index(this) }}" in some[-1]
    other = alluvium.explain_read(events, T, "upper(service) = 'M'")
    assert "exclude nothing by (service IS NOT NULL), (upper(service) = 'M') (not a" in other
    assert "there is no condition" in alluvium.explain_read(events, T, None)


KINDS = {
    "text": "'1', '01', '1.0', ' 2', 'a'",
    "number as text": "'1', '01', ' 2'",
    "bigint": "1L, 2L, 9007199254740993L",
    "decimal": "1.0, 2.5",
    "date": "date'2026-01-01'",
}


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_values_of_another_type(events: SparkSession, ansi: str) -> None:
    """An equality of columns may compare otherwise than a list of values does."""
    session = events.newSession()
    session.conf.set("spark.sql.ansi.enabled", ansi)
    pruned = []
    for ours, theirs in product(KINDS, KINDS):
        rows, wanted = (f"(select explode(array({KINDS[one]})) as c)" for one in (ours, theirs))
        found = values_of(session, session.sql(f"select * from {rows}").schema, wanted, ["c"])
        if not found:
            continue
        pruned.append((ours, theirs))
        partners = f"{rows} as r left semi join {wanted} as w on r.c = w.c"
        # All that have a partner fulfil the condition.
        missed = session.sql(f"select * from {partners} where not coalesce({found[0]}, false)")
        assert missed.collect() == [], (ours, theirs, found)
    # What statistics may show as another value.
    for odd in ("'a', 'é'", "1234567890123456.78"):
        wanted = f"(select explode(array({odd})) as c)"
        assert (
            values_of(session, session.sql(f"select * from {wanted}").schema, wanted, ["c"]) == []
        )
    texts, numbers = list(KINDS)[:2], list(KINDS)[2:4]
    assert pruned == [*product(texts, texts), *product(numbers, numbers), ("date", "date")]
