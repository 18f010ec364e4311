"""What a dbt project may hold: contracts, comments, snapshots, unit tests, odd names, docs."""

from __future__ import annotations

import json
import os
import time

import pytest
from dbt.tests.util import read_file, run_dbt, run_dbt_and_capture, write_file
from deltalake import DeltaTable
from functional import delta_rs

SCHEMA = """
models:
  - name: contracted
    description: "It's a \\\\ table"
    config:
      contract: {enforced: true}
      materialized: table
      persist_docs: {relation: true, columns: true}
    columns:
      - name: id
        data_type: bigint
        description: "the 'key'"
        constraints: [{type: not_null}]
        data_tests: [{unique: {name: Twice, config: {store_failures: true}}}]
      - {name: v, data_type: string}
  - name: promised
    config:
      contract: {enforced: true}
      materialized: incremental
      on_schema_change: append_new_columns
    columns: [{name: ID, data_type: int}]
  - name: seen
    description: a view
    config: {persist_docs: {relation: true, columns: true}}
    columns: [{name: ID, description: of the view}]

unit_tests:
  - name: doubles
    model: doubled
    given:
      - input: ref('contracted')
        rows: [{id: 2, v: "it's"}, {id: null, v: null}]
    expect:
      rows: [{twice: 4, v: "it's"}, {twice: null, v: null}]

snapshots:
  - name: History
    relation: ref('contracted')
    config: {unique_key: id, strategy: check, check_cols: all, hard_deletes: invalidate}
  - name: Mapped
    relation: ref('contracted')
    config:
      unique_key: id
      strategy: check
      check_cols: all
      tblproperties: {delta.columnMapping.mode: name}
  - name: Several
    relation: ref('parts')
    config: {unique_key: [id, part], strategy: check, check_cols: [n], hard_deletes: invalidate}
"""

PARTS = "select * from values {} as t(id, part, n)"
MODELS = {
    "schema.yml": SCHEMA,
    "contracted.sql": "select cast(id as bigint) as id, concat('v', id) as v from range(3)",
    "promised.sql": "select 1 as id {% if is_incremental() %}, 2 as more {% endif %}",
    "seen.sql": "select id from {{ ref('contracted') }}",
    "parts.sql": PARTS.format("(1, 'a', 1), (1, 'b', 1), (2, 'a', 1)"),
    "doubled.sql": "select id * 2 as twice, v from {{ ref('contracted') }}",
    "odd.sql": "{{ config(alias='Select', materialized='table') }}"
    " select id as `group`, v as `a-column` from {{ ref('contracted') }}",
    # At first its second column has no type, and its third is not selected again.
    "Grown.sql": "{{ config(materialized='incremental', on_schema_change='append_new_columns') }}"
    " select id, {{ 'v' if is_incremental() else 'null as v, 1' }} as"
    " {{ 'v' if is_incremental() else 'w' }} from {{ ref('contracted') }} where id = 0",
    "reads_odd.sql": "select `group`, `a-column` from {{ ref('odd') }}",
}


@pytest.mark.spark
class TestNodes:
    """In a schema with capital letters, which Spark's catalog keeps without."""

    @pytest.fixture(scope="class")
    def models(self):
        return MODELS

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"Codes.csv": "code\n1\n", "Nothing.csv": "code\n"}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        keys = ("models", "seeds", "snapshots", "data_tests")
        return {key: {"+schema": "Marts"} for key in keys}

    def test_build_and_rebuild(self, project, home):
        schema = f"{project.test_schema}_marts"

        def history():
            contracted = DeltaTable(delta_rs.folder_of(home, schema, "contracted"))
            return [(one["version"], one["timestamp"]) for one in contracted.history()]

        results = run_dbt(["build"])
        assert {r.node.name: r.status for r in results}["doubles"] == "pass"
        before = history()
        # Tables are there, and so is that of the stored failures.
        again = ["contracted", "Grown", "History", "Mapped", "Codes", "Nothing"]
        again += ["parts", "Several"]
        parts = PARTS.format("(1, 'a', 1), (1, 'b', 2)")
        write_file(parts, project.project_root, "models", "parts.sql")
        results = run_dbt(["build", "--exclude-resource-type", "unit_test", "--select", *again])
        done = {r.node.name: r.adapter_response for r in results}
        figures = ("rows_affected", "files", "bytes")
        assert {name: done["History"][name] for name in figures} == dict.fromkeys(figures, 0)
        # What writes no row leaves no file.
        for table in ("history", "mapped", "codes", "nothing", "grown", "twice"):
            assert delta_rs.unused_files(delta_rs.folder_of(home, schema, table)) == set(), table
        # A Delta table that is built anew keeps its history.
        after = history()
        assert len(after) > len(before)
        assert after[-len(before) :] == before
        grown = project.run_sql("select id, v, w from {schema}_Marts.GROWN order by v", fetch="all")
        assert grown == [(0, None, 1), (0, "v0", None)]
        assert delta_rs.read(home, f"select code from {schema}.codes")["code"].tolist() == [1]
        assert delta_rs.read(home, f"select * from {schema}.twice").empty
        assert project.run_sql(
            "select max(`group`) from {schema}_marts.reads_odd", fetch="one"
        ) == (2,)
        # A contract holds for each batch, not for the first alone. Grants fail before any work.
        models = project.project_root, "models"
        kept = delta_rs.versions(home, schema, "select")
        granted = "{{ config(grants={'select': ['reader']}) }}" + MODELS["odd.sql"]
        write_file(granted, *models, "odd.sql")
        results = run_dbt(["run", "--select", "promised", "odd"], expect_pass=False)
        write_file(MODELS["odd.sql"], *models, "odd.sql")
        broken = {r.node.name: r.message for r in results}
        assert "enforced contract that failed" in broken["promised"]
        promised = delta_rs.read(home, f"select * from {schema}.promised")
        assert promised.to_numpy().tolist() == [[1]]
        assert "odd: grants: Spark's own catalog has no grants" in broken["odd"]
        assert delta_rs.versions(home, schema, "select") == kept
        sql = f"select count(*) as n from {schema}.history where dbt_valid_to is null"
        assert delta_rs.read(home, sql)["n"].tolist() == [3]
        # A row is known by all columns of its key: one has changed, and one is gone.
        sql = f"select id, part, n, dbt_valid_to is null as now from {schema}.several order by all"
        assert delta_rs.read(home, sql).to_numpy().tolist() == [
            [1, "a", 1, True],
            [1, "b", 1, False],
            [1, "b", 2, True],
            [2, "a", 1, False],
        ]

    def test_docs(self, project):
        """After the build."""
        run_dbt(["docs", "generate"])
        catalog = json.loads(read_file("target", "catalog.json"))
        kept = {f"model.test.{name.split('.')[0]}" for name in MODELS if name != "schema.yml"}
        assert set(catalog["nodes"]) > kept | {"seed.test.Codes", "snapshot.test.History"}
        contracted = catalog["nodes"]["model.test.contracted"]
        assert contracted["metadata"]["comment"] == "It's a \\ table"
        assert contracted["metadata"]["type"] == "table"
        assert {n: c["type"] for n, c in contracted["columns"].items()} == {
            "id": "bigint",
            "v": "string",
        }
        assert contracted["columns"]["id"]["comment"] == "the 'key'"
        seen = catalog["nodes"]["model.test.seen"]
        assert seen["metadata"]["type"] == "view"
        assert seen["metadata"]["comment"] == "a view"
        assert seen["columns"]["id"]["comment"] == "of the view"

    def test_contract_is_kept(self, project):
        broken = (
            "select id, v, 1 as more from (select cast(id as int) as id, 'x' as v from range(2))"
        )
        write_file(broken, project.project_root, "models", "contracted.sql")
        _, out = run_dbt_and_capture(["run", "--select", "contracted"], expect_pass=False)
        write_file(MODELS["contracted.sql"], project.project_root, "models", "contracted.sql")
        assert "missing in contract" in out
        assert "data type mismatch" in out

    def test_empty(self, project):
        run_dbt(["run", "--empty", "--select", "doubled"])
        assert project.run_sql("select count(*) from {schema}_marts.doubled", fetch="one") == (0,)


# At first `v` has no type and `w` has one; then it is the other way round.
UNTYPED = """
{%- set again = var('again', false) %}
select {{ 2 if again else 1 }} as id, {{ "'x'" if again else 'null' }} as v,
    {{ 'null' if again else 1 }} as w
"""
TYPED = {
    f"{change}_{strategy}": f"{{{{ config(materialized='incremental', unique_key='id',"
    f" on_schema_change='{change}', incremental_strategy='{strategy}') }}}} {UNTYPED}"
    for change in ("append_new_columns", "sync_all_columns", "fail", "ignore")
    for strategy in ("append", "merge", "insert_overwrite")
    if strategy == "append" or change == "append_new_columns"
}


@pytest.mark.slow
@pytest.mark.spark
class TestColumnsWithoutAType:
    @pytest.fixture(scope="class")
    def models(self):
        snapshot = {"name": "history", "relation": "ref('seen')"}
        snapshot["config"] = {"unique_key": "id", "strategy": "check", "check_cols": "all"}
        return {
            **{f"{name}.sql": text for name, text in TYPED.items()},
            "seen.sql": UNTYPED.replace("{{ 2 if again else 1 }}", "1"),
            "fails_not.sql": TYPED["fail_append"].replace("'x'", "null"),
            "snapshots.yml": json.dumps({"snapshots": [snapshot]}),
        }

    def test_they_take_that_of_the_first_value(self, project, home):
        run_dbt(["build"])
        again = ["build", "--vars", "{again: true}"]
        results = run_dbt(again, expect_pass=False)
        wrong = {one.node.name: one.message for one in results if one.status == "error"}
        assert set(wrong) == {"fail_append", "ignore_append"}
        assert "schemas on this incremental model are out of sync" in wrong["fail_append"]
        assert "column v has no type in the table (VOID)" in wrong["ignore_append"]
        for name in {*TYPED, "history"} - set(wrong):
            rows = project.run_sql(f"select v, w from {{schema}}.{name}", fetch="all")
            first = [] if "overwrite" in name else [(None, 1)]
            assert sorted(rows, key=str) == [("x", None), *first], name


INSTANTS = """
{{ config(materialized='table') }}
select timestamp'2024-07-01 12:00:00' as at, struct(timestamp'2024-07-01 12:00:00' as at) as s,
    array(timestamp'2024-07-01 12:00:00') as l, map('k', timestamp'2024-07-01 12:00:00') as m
"""
SEEN_IN_PYTHON = """
import datetime


def model(dbt, session):
    import pandas as pd
    from pyspark.sql import functions as F

    @F.pandas_udf("string")
    def vector(at: pd.Series) -> pd.Series:
        return at.astype(str)

    dbt.config(materialized="table")
    table = dbt.ref("instants")
    row = table.collect()[0]
    text = F.udf(str, "string")
    (udf,) = table.select(text("at"), text(F.col("s.at")), text(F.col("l")[0])).collect()
    # Functions of plain columns alone take another way to Python.
    for function in text, F.udf(str, "string", useArrow=False), vector:
        udf += table.select(function("at")).collect()[0]
    made = session.createDataFrame(
        [(datetime.datetime(2024, 7, 1, 12), [datetime.datetime(2024, 7, 1, 12)])],
        "at timestamp, l array<timestamp>",
    ).selectExpr("cast(at as string)", "cast(l[0] as string)").collect()[0]
    pandas = table.toPandas().iloc[0]
    frames = table.pandas_api()["at"].iloc[0]
    seen = [row["at"], row["s"]["at"], row["l"][0], row["m"]["k"], *udf, *made]
    seen += [pandas["at"], pandas["s"]["at"], pandas["l"][0], pandas["m"]["k"], frames]
    return session.createDataFrame([(str(one),) for one in seen], "seen string")
"""

FRESHNESS = """
sources:
  - name: raw
    schema: "{{ target.schema }}"
    loaded_at_field: at
    freshness: {error_after: {count: 1, period: hour}}
    tables: [{name: events}]
"""


@pytest.mark.slow
@pytest.mark.spark
class TestTimeZone:
    """dbt reads instants as UTC, wherever the process runs."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "sources.yml": FRESHNESS,
            "instants.sql": INSTANTS,
            "seen_in_python.py": SEEN_IN_PYTHON,
        }

    def test_instants_in_structs_arrays_and_maps(self, project, monkeypatch):
        monkeypatch.setenv("TZ", "America/New_York")
        time.tzset()
        try:
            run_dbt(["run"])
            # A scheduler that runs dbt in its own process keeps its zone.
            assert (os.environ["TZ"], time.tzname[0]) == ("America/New_York", "EST")
            _, out = run_dbt_and_capture(
                ["show", "--inline", "select * from {{ ref('instants') }}", "--output", "json"]
            )
            assert out.count("2024-07-01T12:00:00") + out.count("2024-07-01 12:00:00") == 4
            seen = project.run_sql("select seen from {schema}.seen_in_python", fetch="all")
            assert [row[0] for row in seen] == ["2024-07-01 12:00:00"] * 17
        finally:
            monkeypatch.undo()
            time.tzset()

    @pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/Lima"])
    def test_freshness_and_fetch(self, project, monkeypatch, zone):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        try:
            project.run_sql(
                "create or replace table {schema}.events as"
                " select current_timestamp() - interval 5 minutes as at"
            )
            run_dbt(["source", "freshness"])
            sources = json.loads(read_file("target", "sources.json"))
            age = sources["results"][0]["max_loaded_at_time_ago_in_s"]
            assert 290 < age < 600
            fixed = "select timestamp'2024-07-01 12:00:00', timestamp_ntz'2024-07-01 12:00:00'"
            assert [str(v) for v in project.run_sql(fixed, fetch="one")] == [
                "2024-07-01 12:00:00",
                "2024-07-01 12:00:00",
            ]
        finally:
            monkeypatch.undo()
            time.tzset()


FIGURES = {
    "grows.sql": "{{ config(materialized='incremental', incremental_strategy='merge',"
    " unique_key='id') }} select id from range({{ var('n', 5) }})",
    "made.sql": "{{ config(materialized='table') }} select id from {{ ref('numbers') }}",
    "python_made.py": "def model(dbt, session):\n    dbt.config(materialized='table')\n"
    "    return dbt.ref('numbers')\n",
    "looks.sql": "select * from {{ ref('made') }}",
}


@pytest.mark.spark
class TestFigures:
    """run_results.json says what each node wrote."""

    @pytest.fixture(scope="class")
    def models(self):
        return FIGURES

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"numbers.csv": "id\n" + "".join(f"{n}\n" for n in range(7))}

    def written(self):
        results = json.loads(read_file("target", "run_results.json"))["results"]
        return {r["unique_id"].split(".")[-1]: r["adapter_response"] for r in results}

    def test_rows_files_bytes_seconds(self, project):
        run_dbt(["build"])
        written = self.written()
        for name, rows in (("numbers", 7), ("made", 7), ("python_made", 7), ("grows", 5)):
            figures = written[name]
            assert figures["rows_affected"] == rows, name
            assert figures["files"] >= 1, name
            assert figures["bytes"] > 0, name
            assert figures["seconds"] > 0, name
        assert "rows_affected" not in written["looks"]
        run_dbt(["run", "--select", "grows", "--vars", "n: 8"])
        assert self.written()["grows"]["rows_affected"] == 8
