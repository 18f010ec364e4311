"""Where SQL asks for a table's name, the subquery of `ref` becomes it."""

from __future__ import annotations

import re

import pytest

from dbt.adapters.alluvium.live import as_names, at_versions, subquery

REF = subquery("raw.orders")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("describe table ", ""),
        ("/* {} */\nDESCRIBE\n-- of ref('orders')\n", ""),
        ("desc extended ", ""),
        ("describe history ", " limit 1"),
        ("describe detail ", ""),
        ("show tblproperties ", ""),
        ("show columns in ", ""),
        ("show create table ", ""),
        ("optimize ", " where day = '2024-01-01'"),
        ("vacuum ", " dry run"),
        ("restore table ", " to version as of 1"),
        ("alter table ", " set tblproperties ('a' = 'b')"),
        ("drop table if exists ", ""),
        ("create or replace table a.`b c` shallow clone ", " version as of 1"),
        ("create table a.b like ", ""),
    ],
)
def test_statements_about_a_table(before: str, after: str) -> None:
    assert as_names(before + REF + after) == f"{before}raw.orders{after}"
    empty = f"(select * from {REF} limit 0)"
    assert as_names(before + empty + after) == f"{before}raw.orders{after}"


@pytest.mark.parametrize(
    "sql",
    [
        f"select * from {REF}",
        f"describe query select * from {REF}",
        f"describe select * from {REF}",
        f"alter view v as select * from {REF}",
        f"create table a.b as select * from {REF}",
        f"insert into a.b select * from {REF}",
        f"select '{REF} version as of 1', \"{REF} version as of 1\"",
        f"select r'\\', '{REF} version as of 1'",
        f"select 1 -- {REF} version as of 1",
        f"select 1 /* describe {REF} version as of 1 */",
        f"select `{REF.replace('`', '``')} version as of 1`",
        f"select * from {REF}, other version as of 1",
        f"select * from (select * from {REF} where day = 1) where version > 1",
        "select 1 where not coalesce(`_deleted`, false)",
    ],
)
def test_what_stays_as_it_is(sql: str) -> None:
    assert as_names(sql) == sql


@pytest.mark.parametrize(
    ("clause", "rest"),
    [
        ("version as of 1", ""),
        ("VERSION  AS OF '1'", " as o"),
        ("for system_version as of 1", ""),
        ("version as of 1", " - 1"),
        ("timestamp as of '2024-01-01'", " as o where x"),
        ("timestamp as of timestamp'2024-01-01 00:00:00'", " o"),
        ("for system_time as of timestamp '2024-01-01'", ""),
        ("timestamp as of current_timestamp() - interval 1 day", " as o"),
        ("timestamp as of current_timestamp - interval '1:30' hour to minute", " o"),
        ("timestamp as of date_sub(cast(f(')', /* ) */ 1) as date), 1)", " where 1 = 1"),
        ("timestamp as of (select max(at) from t)", " limit 1"),
        ("/* then */ timestamp as of a.b(1) - 1", " -- not now"),
        ("timestamp as of timestamp_millis(1700000000000L)", ")"),
    ],
)
def test_time_travel_goes_to_the_name(clause: str, rest: str) -> None:
    travelled = f"(select * from raw.orders {clause} where not coalesce(`_deleted`, false))"
    assert as_names(f"select * from {REF} {clause}{rest}") == f"select * from {travelled}{rest}"
    # As dbt writes it under --empty, and twice in one statement.
    wrapped, new = (f"(select * from {one} limit 0)" for one in (REF, travelled))
    twice = "select * from {} join {} using (id)"
    assert as_names(twice.format(f"{wrapped} {clause}", f"{REF} {clause}")) == twice.format(
        new, travelled
    )


def test_a_version_that_is_older_than_tombstones() -> None:
    asked = []
    sql = as_names(f"select * from {REF} version as of 0 join {REF}", asked.append)  # type: ignore[arg-type]
    assert sql == f"select * from (select * from raw.orders version as of 0) join {REF}"
    assert asked == ["raw.orders version as of 0"]


def test_names_of_any_kind() -> None:
    odd = "`my ``schema``.`.`a (b)`"
    assert as_names(f"describe {subquery(odd)}") == f"describe {odd}"


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("select * from s.t", "select * from s.t version as of 7"),
        ("select * from `s`.`t` as x", "select * from `s`.`t` version as of 7 as x"),
        ("select * from S . T where 1", "select * from S . T version as of 7 where 1"),
        ("select s.t.id from s.t", "select s.t.id from s.t version as of 7"),
        ("select 1 from s.t2 join s.`t`", "select 1 from s.t2 join s.`t` version as of 7"),
        ("select 1 from s /* c */ . t", "select 1 from s /* c */ . t version as of 7"),
        ("select s.t from a as s", "select s.t from a as s"),
        ("insert into s.t values (1)", "insert into s.t values (1)"),
        ("select `from s.t` from other.s.t", "select `from s.t` from other.s.t"),
        ("select 's.t' -- s.t\nfrom a", "select 's.t' -- s.t\nfrom a"),
        ("select 1 from s.t version as of 3", "select 1 from s.t version as of 3"),
        ("describe history s.t", "describe history s.t"),
        (f"select * from {REF} d", f"select * from {subquery('raw.orders version as of 3')} d"),
    ],
)
def test_a_table_at_one_version(sql: str, read: str) -> None:
    assert at_versions(sql, {"`s`.`t`": 7, "raw.orders": 3})[0] == read
    assert at_versions(sql, {}) == (sql, set())


@pytest.mark.parametrize(
    "sql",
    [
        "select w.id from s.one as o, {} as w where w.id = 1",
        "select 1 from s.one o, (select a, b from x) y, {}",
        "select 1 from a join b using (x, y), {} z group by 1, 2",
        "select 1 from a join b on f(a.x, b.y) = 1, {}",
        "select 1 from (({})) join (a cross join {})",
        "select 1 from lateral (select 1), {}",
        "with x as (select 1 from a, {}) select x.a, t.b from x, lateral (select 2 from {}) t",
        "select 1 from a /* , s.t */, -- s.t\n {}",
        "from {} select id, s.id",
        "select count(*) from (\nselect * from a, {}\n) dbt_internal_test",
    ],
)
def test_a_table_in_a_list(sql: str) -> None:
    for name in ("s.t", "`s`.t", "spark_catalog.s.t", "`spark_catalog` . `s`.`t`"):
        text, read = at_versions(sql.replace("{}", name), {"s.t": 7})
        assert (text, read) == (sql.replace("{}", f"{name} version as of 7"), {"s.t"})


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("table s.t", "select * from s.t version as of 7"),
        ("select id from a minus (table s.t)", "select id from a minus (select * from {})"),
        ("select 1 from (\ntable\ns.t\n) x", "select 1 from (\nselect * from\n{}\n) x"),
        ("with x as (TABLE spark_catalog.s.t) table x", None),
        ("select 1 where 1 in (table s.t) union all table s.t", None),
    ],
)
def test_a_whole_table(sql: str, read: str | None) -> None:
    wanted = (read or sql).replace("{}", "s.t version as of 7")
    if read is None:
        wanted = re.sub(r"(?i)table (\S*s\.t)", r"select * from \1 version as of 7", sql)
    assert at_versions(sql, {"s.t": 7}) == (wanted, {"s.t"})


@pytest.mark.parametrize(
    "sql",
    [
        "select a, s.t from x as s",
        "select 1 from a where x in (1, s.t)",
        "select 1 from a as s order by 1, s.t",
        "select f(1, s.t) from a, b as s",
        "select 1 from a as s where 1 is distinct from s.t",
        "insert overwrite table s.t select 1",
        "create table s.t as select 1",
        "select * from f(table s.t)",
    ],
)
def test_what_is_no_table_that_is_read(sql: str) -> None:
    assert at_versions(sql, {"s.t": 7}) == (sql, set())


def test_what_was_read_at_one_version() -> None:
    versions = {"s.t": 7, "s.u": 8}
    assert at_versions("select 1 from (s.t) join s.u", versions)[1] == {"s.t", "s.u"}
    assert at_versions("select 1 from s.t version as of 3 join s.u", versions)[1] == {"s.u"}
    # A version that the statement names, beside the one that it is to read.
    beside = "select 1 from {0} where 1 < (select count(*) from {1})"
    earlier = "(select * from s.t version as of 0 where not coalesce(`_deleted`, false)) as o"
    for pair in (("s.t", "s.t version as of 0"), ("s.t as n", earlier), (earlier, "s.t")):
        assert at_versions(beside.format(*pair), versions)[1] == {"s.t"}
    # What may be the table, read at its newest version.
    assert (
        at_versions("select 1 from s.t where 1 in (select * from f(table s.t))", versions)[1]
        == set()
    )
    assert at_versions("select 1 from s.t join identifier('s.t')", versions)[1] == {"s.t"}
    assert at_versions("describe history s.t", versions)[1] == set()
