"""Keys that a table stores otherwise than their events wrote them: a row a key, or a kept event."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from functional.merge.conftest import merged
from pyspark.sql import SparkSession
from support.rendered import Macros

pytestmark = pytest.mark.spark

# By name: the table's declaration of the key, and whether a partition holds it; keys of the batch,
# as Spark SQL; which of them are one row each, and which are kept aside.
Case = tuple[str, bool, list[str], list[str], list[str]]
NUL = "cast(x'610062' as string)"
ODD = "cast(x'61ff' as string)"
HIVE = "'__HIVE_DEFAULT_PARTITION__'"
STAMP = "timestamp'2024-01-01 {}'".format
CASES: dict[str, Case] = {
    "text_in_partition": ("string", True,
                          ["''", HIVE, ODD, NUL, "'a'", "'a '", "' '", "'null'", "'A'"],
                          ["'a'", "'a '", "' '", "'null'", "'A'"], ["''", HIVE, ODD, NUL]),
    "bytes_in_partition": ("binary", True, ["x''", "x'ff'", "x'00'", "x'61'"], ["x'61'"],
                           ["x''", "x'ff'", "x'00'"]),
    "varchar": ("varchar(3)", False, ["'ab'", "'ab '", "'abc  '", "'abcd'", "''"],
                ["'ab'", "'ab '", "''"], ["'abc  '", "'abcd'"]),
    "time_to_date": ("date", False,
                     [STAMP("00:00:00"), STAMP("12:00:00"), STAMP("00:00:00.000001")],
                     ["date'2024-01-01'"], [STAMP("12:00:00"), STAMP("00:00:00.000001")]),
    "text_to_date": ("date", False, ["'2024-01-01'", "'2024-01-01T12:00'", "'soon'", "'2024-1-1'"],
                     ["date'2024-01-01'"], ["'2024-01-01T12:00'", "'soon'"]),
    "text_to_time": ("timestamp", False, ["'2024-01-01'", "'2024-01-01 00:00:00Z'", "'soon'"],
                     [STAMP("00:00:00")], ["'soon'"]),
    "text_to_number": ("int", False, ["'1'", "'01'", "'1.5'", "'x'", "'3000000000'"],
                       ["1"], ["'1.5'", "'x'", "'3000000000'"]),
    "scale": ("decimal(10,2)", False, ["1.2300BD", "1.2345BD", "9999999999.0000BD"],
              ["1.23BD"], ["1.2345BD", "9999999999.0000BD"]),
    "text_to_scale": ("decimal(10,2)", False, ["'1.230'", "'1.239'"], ["1.23BD"], ["'1.239'"]),
    "real_to_whole": ("int", False, ["1.0D", "1.5D", "double('NaN')", "-0.0D", "0.0D"],
                      ["1", "0"], ["1.5D", "double('NaN')"]),
    "narrow": ("int", False, ["1L", "3000000000L"], ["1"], ["3000000000L"]),
    "long_to_text": ("string", False, ["9007199254740993BD", "9007199254740992BD", "1BD"],
                     ["'9007199254740993'", "'9007199254740992'", "'1'"], []),
    "single_to_text": ("string", False, ["0.1F", "0.1F", "0.5F"], ["'0.1'", "'0.5'"], []),
    "single": ("float", False, ["0.5D", "0.1D", "double('NaN')"],
               ["0.5F", "float('NaN')"], ["0.1D"]),
    "collated": ("string collate utf8_lcase", False, ["'a'", "'A'", "'b'"], ["'a'", "'b'"], []),
}  # fmt: skip
LIMITS = {"varchar": 3}


@pytest.fixture(scope="module")
def macros() -> Macros:
    return Macros()


@pytest.mark.parametrize("case", CASES)
def test_a_key_is_stored_as_it_is_judged(spark: SparkSession, macros: Macros, case: str) -> None:
    declared, in_partition, keys, stored, kept = CASES[case]
    kind = "string" if declared.startswith("varchar") else declared
    rows = ", ".join(f"({key}, {place})" for place, key in enumerate(keys))
    spark.sql(f"select * from values {rows} as t(k, place)").createOrReplaceTempView("judging")
    given = dict(spark.table("judging").dtypes)["k"]
    one = macros.stored_key("`k`", given, kind, in_partition, LIMITS.get(case))
    judged = macros.judged("judging", {"k": one})
    found = spark.sql(f"select place, `__alluvium_reason` from {judged}").collect()
    places = sorted(row[0] for row in found if row[1])
    assert places == sorted(keys.index(key) for key in kept)
    assert {row[1] for row in found} <= {None, "changed_key"}
    wanted = " union all ".join(f"select cast({key} as {kind}) as k" for key in stored)
    fit = macros.events_judged(judged, fit=True)
    both = spark.sql(
        f"select * from (select distinct k, 1 as fit from {fit}) f"
        f" full join ({wanted}) w on f.k = w.k"
    ).collect()
    assert len(both) == len(stored)
    assert all(row["fit"] for row in both)


@pytest.mark.slow
@pytest.mark.parametrize("given", ["int", "double", "timestamp", "date"])
def test_what_spark_compares_as_the_event_s_type_stays_as_it_is(macros: Macros, given: str) -> None:
    assert macros.stored_key("`k`", given, "string", True) is None
    assert "length(`k`) > 3" in macros.stored_key("`k`", given, "string", False, 3)["changed"]


MODELS = {
    "text": ("text_in_partition", {}),
    "matching": ("text_in_partition", {"null_keys": "match", "engine": "merge_into"}),
}
# Columns of one key, whose table is there before; an event has an odd value in one of them.
MIXED = {
    "day": ("time_to_date", "date"),
    "short": ("varchar", "varchar(3)"),
    "long": ("long_to_text", "string"),
    "single": ("single_to_text", "string"),
}
VECTORS = "using delta tblproperties ('delta.enableDeletionVectors'='true')"


def mixed(place: int) -> list[tuple[str, ...]]:
    """Keys of MIXED as SQL: those of the batch (2), those stored (3) or those kept aside (4)."""
    usual = [CASES[case][2 if place == 4 else place][0] for case, _ in MIXED.values()]
    return [
        (*usual[:column], str(key), *usual[column + 1 :])
        for column, (case, _) in enumerate(MIXED.values())
        for key in CASES[case][place]
    ]


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any]) -> Any:
    """Each batch is merged where its keys are, with a newer order: a merge has put those of `text`
    there, an INSERT those of the others."""
    files = {}
    for name, (case, meta) in MODELS.items():
        rows = ", ".join(f"({key}, {place})" for place, key in enumerate(CASES[case][2]))
        body = f"select k, place, {{{{ var('lsn') }}}} as lsn from values {rows} as t(k, place)"
        files[f"models/{name}.sql"] = merged(
            {"order_by": ["lsn", "place"]} | meta, body, unique_key="k", partition_by="k"
        )
    rows = ", ".join(f"({', '.join(key)}, {place})" for place, key in enumerate(mixed(2)))
    files["models/mixed.sql"] = merged(
        {"order_by": ["lsn", "place"]},
        f"select *, {{{{ var('lsn') }}}} as lsn from values {rows} as t({', '.join(MIXED)}, place)",
        unique_key=list(MIXED),
    )
    made = make_project("stored_keys", files)
    made.dbt("run", "--select", "text", "--vars", "{lsn: 1}")
    declared = ", ".join(f"{name} {kind}" for name, (_, kind) in MIXED.items())
    made.session.sql(f"create table stored_keys.mixed ({declared}, place int, lsn int) {VECTORS}")
    made.session.sql(
        "create table stored_keys.matching (k string, place int, lsn int) using delta"
        " partitioned by (k) tblproperties ('delta.enableDeletionVectors'='true')"
    )
    there = {
        "mixed": dict.fromkeys(", ".join(key) for key in mixed(3)),
        "matching": [*CASES["text_in_partition"][3], "''"],
    }
    for name, keys in there.items():
        rows = ", ".join(f"({key}, 0, 1)" for key in keys)
        made.session.sql(f"insert into stored_keys.{name} values {rows}")
    made.dbt("run", "--vars", "{lsn: 2}")
    return made


@pytest.fixture(scope="module")
def odd(make_project: Callable[..., Any]) -> Any:
    """Models that are refused, or whose order is odd; each is run twice."""
    files = {}
    files["models/padded.sql"] = merged(
        {"order_by": "v"}, "select 'ab' as k, 2 as v", unique_key="k"
    )
    files["models/mapped.sql"] = merged(
        {"order_by": "v"}, "select map(1, 2) as k, 2 as v", unique_key="k"
    )
    files["models/inside.sql"] = merged(
        {"order_by": "v"},
        "select named_struct('at', timestamp'2024-01-01 10:00:00', 'n', 1) as k, 2 as v",
        unique_key="k",
    )
    files["models/promised.sql"] = files["models/padded.sql"]
    files["models/promised.yml"] = (
        "models: [{name: promised, config: {contract: {enforced: true}, on_schema_change: fail},"
        " columns: [{name: k, data_type: CHAR(5)}, {name: v, data_type: int}]}]"
    )
    # Its table cuts the time, and counts what the batch writes as text.
    files["models/cut.sql"] = merged(
        {"order_by": ["at", "n"]},
        "select k, timestamp'2024-01-01' + make_interval(0, 0, 0, 0, hour) as at, n, hour from"
        " values (1, 12, '9'), (1, 9, '10'), (2, 12, 'x'), (3, 12, '05'), (3, 9, '5'), (4, 0, '1')"
        " as t(k, hour, n)",
        unique_key="k",
    )
    # The newest of a key tie, and its content says which one wins; the second run is older.
    order = "{'order_by': 'at', 'delete_when': \"op = 'd'\", 'reject_by': '_wrong'}"
    files["models/tied.sql"] = (
        "{{ config(materialized='incremental', unique_key='k', on_schema_change='sync_all_columns',"
        f" meta={{'alluvium_merge': {order}}}) }}}}\n"
        "select k, at - {{ var('lsn') }} as at, op, _wrong from values (1, 9, 'd', null),"
        " (1, 9, 'c', null), (2, 9, 'x', null), (2, 9, 'd', null), (3, 9, 'd', null),"
        " (4, 9, 'c', null), (4, 9, 'z', 'no type'), (5, 9, 'z', 'no type')"
        " as t(k, at, op, _wrong)"
    )
    made = make_project("odd_keys", files)
    made.session.sql("create schema odd_keys")
    made.session.sql(f"create table odd_keys.cut (k int, at date, n int, hour int) {VECTORS}")
    made.session.sql(
        f"create table odd_keys.inside (k struct<at: date, n: bigint>, v int) {VECTORS}"
    )
    made.session.sql(f"create table odd_keys.padded (k char(5), v int) {VECTORS}")
    made.session.sql("insert into odd_keys.padded values ('ab', 1)")
    made.try_dbt("run", "--vars", "{lsn: 1}")
    made.first = made.figures("tied")
    made.warned = made.said("cut: order_by: ")
    made.try_dbt("run", "--vars", "{lsn: 2}")
    return made


def test_a_row_for_each_key_or_a_kept_event(project: Any) -> None:
    _, _, keys, stored, kept = CASES["text_in_partition"]
    check(project, "text", ["k"], *([(key,) for key in some] for some in (keys, stored, kept)))


def test_a_row_for_each_key_of_several_columns(project: Any) -> None:
    check(project, "mixed", list(MIXED), mixed(2), mixed(3), mixed(4))


def check(
    project: Any,
    name: str,
    columns: list[str],
    keys: list[tuple[str, ...]],
    stored: list[tuple[str, ...]],
    kept: list[tuple[str, ...]],
) -> None:
    assert kept
    rows = ", ".join(f"({', '.join(key)})" for key in dict.fromkeys(stored))
    wanted = f"select * from values {rows} as w({', '.join(columns)})"
    shown = project.sql(
        f"select t.lsn, w.{columns[0]} is not null as wanted from {{s}}.{name} t full join"
        f" ({wanted}) w on {' and '.join(f't.{one} = w.{one}' for one in columns)}"
    )
    assert shown["lsn"].tolist() == [2] * len(set(stored))
    assert shown["wanted"].all()
    figures = project.figures(name)
    assert figures["engine"] == "one_commit"
    assert figures["rejected"] == len(kept)
    found = project.sql(
        "select distinct reason, cast(get_json_object(event, '$.place') as int) as place"
        f" from {{s}}.{name}__rejected"
    )
    assert set(found["reason"]) == {"changed_key"}
    assert sorted(found["place"]) == sorted(keys.index(key) for key in kept)


def test_a_null_that_matches_is_what_the_partition_makes_of_it(project: Any) -> None:
    found = project.sql("select k, lsn from {s}.matching")
    assert found["lsn"].tolist() == [2] * 6
    assert found["k"].isna().sum() == 1
    assert project.figures("matching")["rejected"] == 2


@pytest.mark.slow
def test_tables_that_no_event_can_find_its_row_in(odd: Any) -> None:
    assert odd.said("the table has the column k char(5), and MERGE knows no CHAR; accepted: STRING")
    assert odd.said("unique_key: k is map<int,int>, which compares with nothing")
    assert odd.said("the table has the column k CHAR(5), and MERGE knows no CHAR")
    assert odd.said("k is struct<at:timestamp,n:int> in the batch and struct<at:date,n:bigint>")
    for name in ("mapped", "promised"):
        assert not odd.session.catalog.tableExists(f"odd_keys.{name}")
    assert odd.sql("select v from {s}.padded")["v"].tolist() == [1]


@pytest.mark.slow
def test_an_order_that_the_table_cuts(odd: Any) -> None:
    """Compared as it is stored: the second run, of the same events, changes nothing."""
    rows = odd.session.sql("select k, n, hour from odd_keys.cut order by k").collect()
    assert [tuple(row) for row in rows] == [(1, 10, 9), (3, 5, 12), (4, 1, 0)]
    assert odd.figures("cut")["rows_affected"] == 0
    kept = odd.session.table("odd_keys.cut__rejected").collect()
    assert [row["reason"] for row in kept] == ["unfit_order"]
    assert '"at":"2024-01-01 12:00:00.000000Z","n":"x"' in kept[0]["event"]
    said = "at is timestamp in the batch and date in the table, n is string in the batch and int in"
    assert all(said in line and "the order of 4 events" in line for line in odd.warned)
    assert odd.warned


@pytest.mark.slow
def test_figures_count_the_events_that_won(odd: Any) -> None:
    rows = odd.session.sql("select k, op, _deleted from odd_keys.tied").collect()
    deleted = sum(row["_deleted"] for row in rows)
    assert odd.session.table("odd_keys.tied").columns == ["k", "at", "op", "_deleted"]
    assert sorted(row["k"] for row in rows) == [1, 2, 3, 4]
    assert deleted == 2  # by their JSON 'd' comes after 'c', and 'x' after 'd'
    first = odd.first
    assert (first["deletes"], first["upserts"]) == (deleted, len(rows) - deleted)
    assert (first["rows_affected"], first["unchanged"], first["rejected"]) == (4, 0, 2)
    history = odd.sql("describe history {s}.tied")
    told = [json.loads(one)["alluvium_merge"] for one in history["userMetadata"] if one]
    assert {one["deletes"] for one in told} == {deleted}


@pytest.mark.slow
def test_a_run_that_changed_nothing_says_so(odd: Any) -> None:
    assert odd.said("→ nothing changed (6 older events), 2 rejected (kept in tied__rejected)")
    figures = odd.figures("tied")
    assert (figures["rows_affected"], figures["unchanged"], figures["rejected"]) == (0, 4, 2)
    assert figures["rejected_table"] == "tied__rejected"
    kept = odd.session.table("odd_keys.tied__rejected").collect()
    assert {row["reason"] for row in kept} == {"reject_by"}
    assert all('"_wrong":"no type"' in row["event"] for row in kept)
