"""Nodes that are kept where they would read what they read before, and those that are not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from dbt.tests.util import read_file, run_dbt_and_capture, write_file
from deltalake import DeltaTable, write_deltalake
from functional import delta_rs
from pyspark.sql import SparkSession

from alluvium.delta.log import reads
from alluvium.engine import jvm

pytestmark = pytest.mark.spark

CHANGED = "has changed since version"
# By table: what is done to it between two runs of its test, and why the test is not kept; None
# where it is. In each the test would pass again, so only what is noted tells.
CHANGES: dict[str, tuple[list[str], str | None]] = {
    "untouched": ([], None),
    "compacted": (["optimize {t}"], None),
    "appended": (["insert into {t} values (9)"], CHANGED),
    "altered": (["alter table {t} set tblproperties ('x' = 'y')"], CHANGED),
    "replaced": (["create or replace table {t} as select 1L as id"], "was made again"),
    "viewed": (["drop table {t}", "create view {t} as select 1L as id"], "is not a Delta table"),
    # These are done past SQL.
    "claims": ([], CHANGED),
    "put_back": ([], "has another history"),
}
# Singular tests `select 1 where …`, and why they are not kept in the second run.
QUERIES = {
    "constant": ("1 = 2", None),
    "in_subquery": ("1 in (select id + 50 from {s}.untouched)", None),
    "by_view": ("exists (select 1 from {s}.seen where id < 0)", None),
    "by_changed_view": ("exists (select 1 from {s}.seen_too where id < 0)", "the view"),
    "by_clock": ("now() < timestamp '2020-01-01'", "it uses Now"),
    "by_version": ("exists (select 1 from {s}.untouched version as of 0 where id < 0)", "version"),
    "touches": (
        "1 = 2 {% if execute %}{% do run_query('set a.b = 1') %}{% endif %}",
        "changed its session",
    ),
}
# Tables, what is done to each itself between two builds, and why it is not kept; None where it is.
TABLES: dict[str, tuple[str, list[str], str | None]] = {
    # Its input is compacted meanwhile. Comments and constraints are commits behind its own.
    "stays": ("select id, 1 as one from {s}.compacted", [], None),
    "reads_new": ("select id from {s}.appended", [], CHANGED),
    "clocked": ("select now() as at", [], "it uses Now"),
    "dropped": ("select 1L as id", ["drop table {t}"], "it is not there"),
    # As a build that was killed before its note leaves it.
    "unnoted": (
        "select 1L as id",
        ["create or replace table {t} using delta as select 1L as id"],
        "nothing is noted of version",
    ),
    "described": ("select 1L as id", ["comment on table {t} is 'x'"], "nothing is noted of"),
    # Another writer's rows: between its statement and its note, and later.
    "raced": ("select 1L as id", [], "nothing is noted of version"),
    "appended_to": ("select 1L as id", [], "nothing is noted of version"),
    "items": ("select 1L as id union all select null", [], None),
}
SEEDS = {"same_rows": None, "other_rows": "its file is another"}
STAYS = {
    "name": "stays",
    "config": {
        "contract": {"enforced": True},
        "persist_docs": {"columns": True},
        "pre_hook": "set my.own = 1",
        "post_hook": "insert into {{ target.schema }}.hooked values ('{{ invocation_id }}')",
    },
    "columns": [
        {
            "name": "id",
            "data_type": "bigint",
            "description": "Its number",
            "constraints": [{"type": "check", "expression": "id > 0", "name": "positive"}],
        },
        {"name": "one", "data_type": "int"},
    ],
}
UNIQUE = {"unique": {"name": "unique_ids"}}
WARNS = {"not_null": {"name": "warns", "config": {"severity": "warn"}}}
STORES = {"not_null": {"name": "stores", "config": {"store_failures": True, "where": "id > 0"}}}
SCHEMA = {
    "models": [
        STAYS,
        {"name": "items", "columns": [{"name": "id", "data_tests": [UNIQUE, WARNS, STORES]}]},
    ]
}
OWN = """
{% materialization test, default %}
  {% call statement('main', fetch_result=True) %}
    {{ get_test_sql(sql, config.get('fail_calc'), config.get('warn_if'), config.get('error_if'),
                    none) }}
  {% endcall %}
  {{ return({'relations': []}) }}
{% endmaterialization %}
"""


def append(folder: Path, number: int) -> None:
    write_deltalake(folder, pa.table({"id": pa.array([number], pa.int64())}), mode="append")


class TestReuse:
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        asks = {"+meta": {"alluvium_reuse": True}}
        return {"models": asks, "seeds": asks, "data_tests": asks}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        table = "{{ config(materialized='table') }} "
        tables = {
            f"{name}.sql": table + sql.replace("{s}", "{{ target.schema }}")
            for name, (sql, _, _) in TABLES.items()
        }
        return {**tables, "looks.sql": "select 1 as x", "schema.yml": json.dumps(SCHEMA)}

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {f"{name}.csv": "id,v\n1,a\n2,b\n" for name in SEEDS}

    @pytest.fixture(scope="class")
    def tests(self) -> dict[str, str]:
        schema = "{{ target.schema }}"
        tests = {
            f"{name}_kept.sql": f"select * from {schema}.{name} where id < 0" for name in CHANGES
        }
        for name, (where, _) in QUERIES.items():
            tests[f"{name}.sql"] = f"select 1 as x where {where.replace('{s}', schema)}"
        return tests

    def dbt(self, *args: str) -> tuple[dict[str, Any], str]:
        """By test, what run_results.json says of it; and what dbt said."""
        _, out = run_dbt_and_capture(list(args))
        results = json.loads(read_file("target", "run_results.json"))["results"]
        return {r["unique_id"].split(".")[2]: r["adapter_response"] for r in results}, out

    def check(self, response: dict[str, Any], why: str | None, since: str | None = None) -> None:
        if why is None:
            assert "not_kept" not in response, response
            assert datetime.fromisoformat(response["kept_since"]), response
        else:
            assert why in response["not_kept"], response
            assert "kept_since" not in response, response

    def test_kept_and_not_kept(
        self, project: Any, home: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each kind of change, and each kind of query and table, in two builds."""
        schema = project.test_schema

        def of(table: str) -> Path:
            return delta_rs.folder_of(home, schema, table)

        folder = delta_rs.folder_of(home, schema, "put_back")
        for name in CHANGES:
            project.run_sql(f"create table {schema}.{name} using delta as select 1L as id")
        for name in ("seen", "seen_too"):
            project.run_sql(f"create view {schema}.{name} as select * from {schema}.untouched")
        shutil.copytree(folder, folder.with_name("aside"))
        append(folder, 5)
        compacted = delta_rs.folder_of(home, schema, "compacted")
        append(compacted, 5)
        project.run_sql(f"create table {schema}.hooked (at string) using delta")
        with monkeypatch.context() as patched:
            note = reads.note

            def raced(session: SparkSession, table: str, *rest: Any) -> str | None:
                if table.endswith("raced"):
                    append(of("raced"), 7)
                return note(session, table, *rest)

            patched.setattr(reads, "note", raced)
            first, out = self.dbt("build")
        number = len(CHANGES) + len(QUERIES) + 3 + len(TABLES) + len(SEEDS)
        assert f"kept 0 of {number} nodes" in out
        assert first["untouched_kept"]["not_kept"] == "nothing is noted of it"
        assert first["stays"]["not_kept"] == first["same_rows"]["not_kept"] == "it is not there"
        assert "written by more than its own statement" in first["raced"]["not_kept"]
        built = DeltaTable(of("stays"))

        for name, (statements, _) in CHANGES.items():
            for sql in statements:
                project.run_sql(sql.replace("{t}", f"{schema}.{name}"))
        project.run_sql(
            f"create or replace view {schema}.seen_too as"
            f" select * from {schema}.untouched where 1=1"
        )
        claim = spark.range(5, 6).write.format("delta").option("dataChange", "false")
        claim.mode("append").saveAsTable(f"{schema}.claims")
        for name, (_, statements, _) in TABLES.items():
            for sql in statements:
                project.run_sql(sql.replace("{t}", f"{schema}.{name}"))
        append(of("appended_to"), 5)
        write_file("id,v\n1,a\n2,c\n", project.project_root, "seeds", "other_rows.csv")
        assert DeltaTable(compacted).version() == 2  # so a commit is to be looked at
        # The same table id and version, as in a copied home or out of a backup.
        shutil.rmtree(folder)
        folder.with_name("aside").rename(folder)
        append(folder, 6)
        spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        again, out = self.dbt("build")
        for name, (_, why) in CHANGES.items():
            self.check(again[f"{name}_kept"], why)
        for name, (_, why) in QUERIES.items():
            self.check(again[name], why)
        self.check(again["unique_ids"], None)
        self.check(again["warns"], "nothing is noted of it")
        self.check(again["stores"], "it stores its failures")
        for name, (_, _, why) in TABLES.items():
            self.check(again[name], why)
        for name, why in SEEDS.items():
            self.check(again[name], why)
        assert not {"kept_since", "not_kept"} & again["looks"].keys()
        kept = sum("kept_since" in one for one in again.values())
        assert kept == 9
        assert f"kept {kept} of {number} nodes" in out
        # What was left alone is whole, and its hooks ran.
        stays = DeltaTable(of("stays"))
        assert stays.version() == built.version() == 3
        assert stays.metadata().configuration["delta.constraints.positive"].split() == [
            "id",
            ">",
            "0",
        ]
        assert stays.schema().fields[0].metadata["comment"] == "Its number"
        assert again["stays"]["rows_affected"] == 0
        assert delta_rs.rows(home, schema, "hooked").num_rows == 2
        for name in ("raced", "appended_to", "unnoted"):
            assert delta_rs.rows(home, schema, name).to_pylist() == [{"id": 1}]
        # What ran passed, so it is kept now: it is noted as it is.
        third, _ = self.dbt("test", "-s", "appended_kept", "put_back_kept", "compacted_kept")
        for name in third:
            self.check(third[name], None)
        assert third["compacted_kept"]["kept_since"] == again["compacted_kept"]["kept_since"]

    def test_flags(self, project: Any) -> None:
        """After the runs above."""
        one = ("-s", "untouched_kept", "stays", "same_rows")
        kept, _ = self.dbt("build", *one)
        for name in one[1:]:
            self.check(kept[name], None)
        shown, out = self.dbt("seed", "--show", "-s", "same_rows")
        self.check(shown["same_rows"], "--show")
        assert "Random sample of table" in out
        full, _ = self.dbt("build", "--full-refresh", *one)
        for name in one[1:]:
            self.check(full[name], "--full-refresh")
        stored, _ = self.dbt("test", "--store-failures", *one)
        self.check(stored["untouched_kept"], "it stores its failures")
        empty, _ = self.dbt("build", "--empty", *one)
        for name in ("untouched_kept", "stays"):
            self.check(empty[name], "--empty builds tables with a part of their rows")
        off, out = self.dbt("test", "--vars", "alluvium_reuse: false", *one)
        assert not {"kept_since", "not_kept"} & off["untouched_kept"].keys()
        assert "kept 0" not in out
        kept, _ = self.dbt("build", *one)
        self.check(kept["untouched_kept"], None)
        # --empty left nothing that could be kept.
        self.check(kept["stays"], "nothing is noted of version")

    def test_a_materialization_of_the_project_goes_on_working(self, project: Any) -> None:
        write_file(OWN, project.project_root, "macros", "own.sql")
        own, out = self.dbt("test", "-s", "untouched_kept")
        self.check(own["untouched_kept"], "test has a materialization `test` of its own")
        assert "kept 0 of 1 node: test has a materialization `test` of its own" in out


# Queries of `t`, `u` and the views `w` and `now`, and what else they hang on; None for nothing.
READS = {
    "select * from {s}.w where id not in (select id from {s}.u)": None,
    "select exists (select 1 from {s}.u where u.id = t.id) as x from {s}.t": None,
    "with c as (select id from {s}.t) select v, sum(id) from c join {s}.t using (id) group by v": (
        None
    ),
    "select *, row_number() over (partition by v order by id) as n from {s}.t limit 3": None,
    "select to_date('2024-01-01'), date '2024-01-01', cast(v as date) from {s}.t": None,
    "select upper(v), v like 'a%', coalesce(v, 'x'), ts - interval 5 minutes from {s}.t": None,
    "select cast('today' as date)": "a date or time in words",
    "select cast(concat('to', 'day') as date)": "a date or time in words",
    "select to_date('today')": "a date or time in words",
    "select /* ' */ date /* x */ -- y\n 'today'": "a date or time in words",
    "select * from {s}.t where ts > 'yesterday'": "a date or time in words",
    "select * from {s}.now": "a date or time in words",
    "select now(), localtimestamp()": "LocalTimestamp, Now",
    "select unix_timestamp()": "CurrentTimestamp",
    "select current_user()": "CurrentUser",
    "select a_variable": "VariableReference",
    "select {s}.f(id) from {s}.t": "SQLScalarFunction",
    "select {s}.g(id) from {s}.t": "SQLScalarFunction",
    "select * from {s}.h(1)": "SQLFunctionNode",
    "select pyf(id) from {s}.t": "PythonUDF",
    "select rand(), uuid()": "Rand, Uuid",
    "select _metadata.file_path from {s}.t": "a column of metadata",
    "select input_file_name() from {s}.t": "InputFileName",
    "select * from {s}.t tablesample (10 percent)": "Sample",
    "select from_json(v, 'a int', map('mode', 'FAILFAST')).a, is_valid_utf8(v) from {s}.t": None,
    "select to_json(struct(id, v)), try_make_timestamp(2024, 1, id, 0, 0, 0) from {s}.t": None,
    # Of these the plan has values alone.
    "select system.builtin.`from_json`(v, ddl) from {s}.t": (
        "an argument of from_json that is computed"
    ),
    "select to_csv(struct(id), map('sep', concat('a', 'b'))) from {s}.t": (
        "an argument of to_csv that is computed"
    ),
    "select '${spark.app.name}'": "a variable in its text",
    "select * from values (1)": "LocalRelation",
    "select * from range(unix_timestamp() % 10)": "Range",
    "select * from identifier('{s}.t')": "a name that is computed",
    "select * from temporary": "a temporary view",
    "select * from {s}.parquet": "what is not a Delta table with a name",
    "select * from delta.`{t}`": "what is not a Delta table with a name",
    "select * from table_changes('{s}.t', 0)": "what is not a Delta table with a name",
    "select count(*) from {s}.cached": "InMemoryRelation",
}


class TestReads:
    """What is told of a query's plan."""

    @pytest.fixture(scope="class")
    def frame_of(self, spark: SparkSession, home: Path) -> Iterator[Callable[[str], Any]]:
        schema = "reading"
        folder = delta_rs.folder_of(home, schema, "t")

        def filled(sql: str) -> str:
            return sql.replace("{s}", schema).replace("{t}", str(folder))

        for sql in (
            "create schema if not exists {s}",
            "create table {s}.t using delta tblproperties (delta.enableChangeDataFeed = true) as"
            " select id, string(id) as v, timestamp '2024-01-01' as ts from range(3)",
            "create table {s}.u using delta as select 1L as id",
            "create table {s}.parquet using parquet as select 1L as id",
            "create table {s}.cached using delta as select 1L as id",
            "create view {s}.w as select * from {s}.t",
            "create view {s}.now as select date 'today' as d",
            "create temporary view temporary as select * from {s}.t",
            "create function {s}.f(x bigint) returns bigint return x + 1",
            "create function {s}.g(x bigint) returns bigint return x + (select max(id) from {s}.u)",
            "create function {s}.h(x bigint) returns table (y bigint) return select x as y",
            "declare a_variable int default 5",
            "declare ddl string default 'a int'",
        ):
            spark.sql(filled(sql))
        spark.udf.register("pyf", lambda x: x)
        spark.table(f"{schema}.cached").cache()
        yield lambda sql: (spark.sql(filled(sql)), filled(sql))
        spark.catalog.clearCache()

    @pytest.mark.parametrize("sql", READS)
    def test_what_else_a_query_hangs_on(self, frame_of: Any, sql: str) -> None:
        found = reads.of(*frame_of(sql)).forbidden
        assert found == (READS[sql] and f"it uses {READS[sql]}")

    def test_tables_and_views(self, frame_of: Any, spark: SparkSession) -> None:
        found = reads.of(*frame_of("select * from {s}.w where exists (select 1 from {s}.u)"))
        assert set(found.tables) == {"`reading`.`t`", "`reading`.`u`"}
        assert set(found.views) == {"`reading`.`w`"}
        assert found.views["`reading`.`w`"] == reads.view_now(spark, "`reading`.`w`")
        assert reads.view_now(spark, "`reading`.`t`") is None
        # Only its columns, and only what Spark keeps with it.
        known = {found.views["`reading`.`w`"]}
        for sql in (
            "create or replace view reading.w (id comment 'x', v, ts) as select * from reading.t",
            "alter view reading.w set tblproperties ('x' = 'y')",
        ):
            spark.sql(sql)
            now = reads.view_now(spark, "`reading`.`w`") or ""
            assert now not in known, sql
            known.add(now)
        assert found.tables["`reading`.`t`"].version == 0
        with pytest.raises(ValueError, match="read at two versions"):
            reads.of(*frame_of("select * from {s}.t join {s}.t version as of 0 as o using (id)"))

    def test_settings(self, spark: SparkSession) -> None:
        before = reads.settings(spark)
        assert reads.settings(spark) == before
        for setting, value in (("spark.sql.ansi.enabled", "false"), ("my.own", "1")):
            spark.conf.set(setting, value)
            assert reads.settings(spark) != before, setting
            spark.conf.unset(setting)
        java = jvm.of(spark).java.lang.System
        for name in ("java.version", "user.language"):
            value = java.setProperty(name, "other")
            assert reads.settings(spark) != before, name
            java.setProperty(name, value)
        spark.sql("use reading")
        assert reads.settings(spark) != before
        spark.sql("use default")
        assert reads.settings(spark) == before
