"""Keys of every type: updates, inserts, deletes, late events and NULL keys, on both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pytest
from functional.merge.conftest import merged

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def text(value: str) -> str:
    """A string literal that no setting of Spark's parser changes."""
    return f"cast(x'{value.encode().hex()}' as string)"


def cast(kind: str, *values: str) -> list[str]:
    return [f"cast('{value}' as {kind})" for value in values]


# Nine keys of a type: the first one sorts before all others, and no event has it.
KEYS = {
    "tinyint": cast("tinyint", "-128", "-127", "-1", "0", "1", "2", "64", "126", "127"),
    "smallint": cast("smallint", "-32768", "-32767", "-1", "0", "1", "2", "9", "300", "32767"),
    "int": cast("int", "-2147483648", "-7", "-1", "0", "1", "2", "9", "300", "2147483647"),
    "bigint": cast(
        "bigint", "-9223372036854775808", "-9007199254740993", "-1", "0", "9007199254740992",
        "9007199254740993", "9007199254740994", "9223372036854775806", "9223372036854775807",
    ),
    "float": cast(
        "float", "-Infinity", "-1.5", "-0.0", "1e-45", "0.1", "0.5", "3e38", "Infinity", "NaN",
    ),
    "double": cast(
        "double", "-Infinity", "-1.5", "-0.0", "4.9e-324", "0.1", "0.30000000000000004", "0.3",
        "Infinity", "NaN",
    ),
    "decimal(38,0)": cast(
        "decimal(38,0)", "-" + "9" * 38, "-" + "9" * 37 + "8", "-1", "0", "1", "2", "1" + "0" * 37,
        "9" * 37 + "8", "9" * 38,
    ),
    "decimal(38,18)": cast(
        "decimal(38,18)", "-" + "9" * 20, "-1.000000000000000001", "-1", "0",
        "0.000000000000000001", "0.000000000000000002", "1", "1.5", "9" * 20 + "." + "9" * 18,
    ),
    "decimal(38,38)": cast(
        "decimal(38,38)", "-0." + "9" * 38, "-0.5", "-0." + "0" * 37 + "1", "0",
        "0." + "0" * 37 + "1", "0." + "0" * 37 + "2", "0.25", "0.5", "0." + "9" * 38,
    ),
    "string": [
        text(value)
        for value in (
            "", "a' or 1=1 --", "a\\", "${x}%", "a\0", "a ", "a\n", "p" * 40 + "1", "😀" * 20 + "ü",
        )
    ],
    "object id": [text(f"{0x65000000 + 70_001 * n:08x}{n:016x}") for n in range(9)],
    "uuid": [text(f"{n}b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed") for n in range(9)],
    "date": cast(
        "date", "0001-01-01", "1582-10-04", "1582-10-15", "1969-12-31", "1970-01-01", "2024-02-29",
        "2024-03-01", "9999-12-30", "9999-12-31",
    ),
    "timestamp": cast(
        "timestamp", "0001-01-01 00:00:00 UTC", "1900-01-01 00:00:00 UTC",
        "1969-12-31 23:59:59.999999 UTC", "2024-03-10 06:59:59.999999 UTC",
        "2024-03-10 07:00:00 UTC", "2024-03-10 07:00:00.000001 UTC", "2024-11-03 06:30:00 UTC",
        "2024-11-03 07:30:00 UTC", "9999-12-31 23:59:59.999999 UTC",
    ),
    "timestamp_ntz": cast(
        "timestamp_ntz", "0001-01-01 00:00:00", "1900-01-01 00:00:00", "1969-12-31 23:59:59.999999",
        "2024-03-10 01:59:59.999999", "2024-03-10 02:30:00", "2024-03-10 02:30:00.000001",
        "2024-11-03 01:30:00", "2024-11-03 02:30:00", "9999-12-31 23:59:59.999999",
    ),
    "boolean": ["false", "true"],
    "binary": [f"x'{digits}'" for digits in ("", "00", "0000", "27", "5C", "7F", "80", "FE", "FF")],
}  # fmt: skip
TYPES = {name: name if name not in ("object id", "uuid") else "string" for name in KEYS}
# The same key, written in another way by its events.
OTHERWISE = {"cast('-0.0' as float)": "0.0F", "cast('-0.0' as double)": "0.0D"}
COMPOSITE = "composite"
UNPRUNED = ("boolean", "binary")  # no ranges of these
# The batch has NaN, which any file may have whatever its statistics say, and a value that a double
# cannot tell from that of the first file.
KEPT_WHOLE = ("float", "double", "decimal(38,0)")
NONE = -1  # number of the key that is NULL

# (key, lsn, op) by the number of the key: rows of the table, file by file, and then the batch.
FILES = [
    [(0, 10, "c")],
    [(1, 10, "c"), (2, 10, "c")],
    [(3, 10, "c"), (4, 10, "c"), (5, 10, "d")],
    [(6, 10, "c"), (NONE, 10, "c")],
]
BATCH = [
    (1, 20, "d"),
    (2, 20, "u"),
    (3, 5, "u"),
    (4, 20, "u"),
    (4, 21, "u"),
    (5, 20, "u"),
    (6, 5, "d"),
    (7, 20, "c"),
    (8, 20, "c"),
    (8, 21, "d"),
    (NONE, 20, "u"),
    (NONE, 21, "d"),
]
CASES = [
    ("auto", "match"),
    pytest.param(("auto", "reject"), marks=pytest.mark.slow),
    pytest.param(("merge_into", "match"), marks=pytest.mark.slow),
    pytest.param(("merge_into", "reject"), marks=pytest.mark.slow),
]


def columns(kind: str) -> list[str]:
    """Declarations of the key's columns."""
    if kind == COMPOSITE:
        return ["k bigint", "`k-2` string", "k3 date"]
    return [f"k {TYPES[kind]}"]


def literals(kind: str, number: int) -> list[str]:
    """The key's values."""
    if kind == COMPOSITE:
        if number == NONE:
            return ["4", "null", "date'2024-01-04'"]
        day = f"date'2024-01-0{number // 2 + 1}'" if number else "date'2023-12-31'"
        return [str(number // 3), text(f"it's {number % 3}"), day]
    return ["null" if number == NONE else KEYS[kind][number]]


def has(kind: str, number: int) -> bool:
    return kind == COMPOSITE or number < len(KEYS[kind])


def table_name(kind: str) -> str:
    return "k_" + "".join(letter if letter.isalnum() else "_" for letter in kind)


def names(kind: str) -> list[str]:
    return [declared.rsplit(" ", 1)[0].strip("`") for declared in columns(kind)]


def rows(kind: str, events: list[tuple[int, int, str]], otherwise: bool = False) -> str:
    """A query of these events."""
    found = []
    for number, lsn, op in events:
        if has(kind, number):
            key = literals(kind, number)
            key = [OTHERWISE.get(one, one) for one in key] if otherwise else key
            found.append(f"({', '.join([*key, str(number), f'{lsn}L', repr(op)])})")
    kept = [f"cast(`{name}` as {declared.rsplit(' ', 1)[1]}) as `{name}`"
            for name, declared in zip(names(kind), columns(kind), strict=True)]  # fmt: skip
    named = ", ".join([*(f"`{name}`" for name in names(kind)), "number", "lsn", "op"])
    return f"select {', '.join(kept)}, number, lsn, op from values {', '.join(found)} as t({named})"


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def case(request: pytest.FixtureRequest, make_project: Callable[..., Any]) -> Any:
    """One table a type, made by hand, and one run that merges a batch into each."""
    engine, null_keys = request.param
    schema = f"keys_{engine}_{null_keys}"
    files = {}
    for kind in (*KEYS, COMPOSITE):
        meta = {
            "order_by": "lsn",
            "delete_when": "op = 'd'",
            "engine": engine,
            "null_keys": null_keys,
        }
        files[f"models/{table_name(kind)}.sql"] = (
            "{{ config(materialized='incremental', incremental_strategy='merge',"
            f" unique_key={names(kind)}, meta={{'alluvium_merge': {meta}}}) }}}}\n"
            + rows(kind, BATCH, otherwise=True)
        )
    project = make_project(schema, files)
    project.session.sql(f"create schema if not exists {schema}")
    for kind in (*KEYS, COMPOSITE):
        parts = [
            f"select {place} as file, *, op = 'd' as _deleted from ({rows(kind, events)})"
            for place, events in enumerate(FILES)
            if any(has(kind, number) for number, _, _ in events)
        ]
        every = project.session.sql(" union all ".join(parts))
        created = (
            every.repartitionById(len(FILES), "file")
            .drop("file")
            .writeTo(f"{schema}.{table_name(kind)}")
        )
        created.using("delta").tableProperty("delta.enableDeletionVectors", "true").create()
    result = project.try_dbt("run")
    assert result.result, result.exception
    failed = {one.node.name: one.message for one in result.result if one.status != "success"}
    return project, engine, null_keys, failed


def expected(kind: str, null_keys: str) -> list[tuple[Any, ...]]:
    """(number, lsn, deleted) by DuckDB: the newest event of each key."""
    events = [event for file in FILES for event in file]
    events += [event for event in BATCH if null_keys == "match" or event[0] != NONE]
    events = [event for event in events if has(kind, event[0])]
    duck = duckdb.connect()
    duck.execute("create table e (number int, lsn bigint, op text)")
    duck.executemany("insert into e values (?, ?, ?)", events)
    return duck.execute(
        "select number, max(lsn), arg_max(op, lsn) = 'd' from e group by number order by number"
    ).fetchall()


@pytest.mark.parametrize("kind", [*KEYS, COMPOSITE])
def test_newest_event_of_every_key(case: Any, kind: str) -> None:
    project, engine, null_keys, failed = case
    name = table_name(kind)
    assert name not in failed, failed[name]
    table = f"{project.schema}.{name}"
    found = project.session.sql(f"select number, lsn, _deleted from {table} order by 1").collect()
    assert [tuple(row) for row in found] == expected(kind, null_keys)

    # The key itself is what it was.
    numbers = range(NONE, len(KEYS.get(kind, range(9))))
    wanted = rows(kind, [(number, 0, "") for number in numbers])
    same = " and ".join(f"t.`{one}` <=> w.`{one}`" for one in names(kind))
    joined = f"select t.number, w.number from {table} t left join ({wanted}) w on {same}"
    assert all(ours == theirs for ours, theirs in project.session.sql(joined).collect())

    figures = project.figures(name)
    assert figures["engine"] == ("one_commit" if engine == "auto" else "merge_into")
    nulls = 2 if null_keys == "reject" else 0
    assert figures["rejected"] == nulls
    if nulls:
        kept = project.session.table(f"{table}__rejected").collect()
        assert len(kept) == nulls
        assert all('"number":-1' in row["event"] for row in kept)
    if kind not in UNPRUNED:
        assert figures["files_total"] == len(FILES)
        assert (figures["files_kept"] == len(FILES)) is (kind in KEPT_WHOLE)


# By its bytes ABC lies between the values of the second file; the row that it equals is elsewhere.
COLLATED_FILES = [["abc", "abd"], ["ABA", "ABZ"], ["Ünï", "zz"]]
COLLATED_BATCH = [("ABC", 2), ("aBc", 3), ("üNÏ", 2), ("ZZZ", 2)]
COLLATED = [
    ("key", {}),
    ("key_cover", {"column": "k", "method": "cover", "k": 2}),
    ("column_cover", {"column": "k", "method": "cover", "k": 2}),
    ("column_auto", {"column": "k", "method": "auto"}),
    ("columns", {"column": ["k", "id"], "method": "auto"}),
]


@pytest.fixture(scope="module")
def collated(make_project: Callable[..., Any]) -> Any:
    """A run that merges texts into such as differ from them in case only, and are equal."""
    letters = sorted({text.lower() for file in COLLATED_FILES for text in file} | {"zzz"})
    events = ", ".join(f"({letters.index(k.lower())}, '{k}', {lsn}L)" for k, lsn in COLLATED_BATCH)
    batch = f"select id, k collate utf8_lcase as k, lsn from values {events} as t(id, k, lsn)"
    engines = ("auto", "merge_into")
    files = {
        f"models/{name}_{engine}.sql": merged(
            {"order_by": "lsn", "engine": engine} | ({"ranges": ranges} if ranges else {}),
            batch,
            unique_key="k" if name.startswith("key") else "id",
        )
        for name, ranges in COLLATED
        for engine in engines
    }
    project = make_project("collated", files)
    session = project.session.newSession()
    session.sql("create schema collated")
    # Delta takes such a column only if it is told not to look.
    session.conf.set("spark.databricks.delta.schema.typeCheck.enabled", "false")
    for file in files:
        table = f"collated.{file.removeprefix('models/').removesuffix('.sql')}"
        session.sql(
            f"create table {table} (id int, k string collate utf8_lcase, lsn bigint) using delta"
            " tblproperties ('delta.enableDeletionVectors'='true')"
        )
        for texts in COLLATED_FILES:
            rows = ", ".join(f"({letters.index(k.lower())}, '{k}', 1L)" for k in texts)
            session.sql(f"insert into {table} values {rows}")
    project.dbt("run")
    return project


@pytest.mark.parametrize("engine", ["auto", "merge_into"])
@pytest.mark.parametrize("name", [name for name, _ in COLLATED])
def test_no_match_of_a_collation_is_lost(collated: Any, name: str, engine: str) -> None:
    """Statistics are of bytes: bounds and ranges of such a column would leave its rows unread."""
    rows = [(text, 1) for file in COLLATED_FILES for text in file] + COLLATED_BATCH
    wanted = {text.lower(): lsn for text, lsn in sorted(rows, key=lambda row: row[1])}
    found = collated.sql(f"select lower(k) as k, lsn from {{s}}.{name}_{engine}")
    assert sorted(found.itertuples(index=False, name=None)) == sorted(wanted.items())
    on = collated.run_sql(f"{name}_{engine}").split("\non\n")[1].split("when ")[0]
    assert on.count("`k`") == (2 if name.startswith("key") else 0)  # both sides of the equality
