"""A session per node: what one model sets, another never sees."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt

ZONES = ["Asia/Tokyo", "Europe/Paris", "America/Lima", "Asia/Kolkata", "Africa/Cairo"]

SETS = """
{{ config(
    materialized='table',
    pre_hook=["set time zone '%s'", "create or replace temporary view leaked as select 1 as id"],
) }}
select current_timezone() as zone, id from leaked
"""
PLAIN = "{{ config(materialized='table') }} select current_timezone() as zone -- %s"
READS_LEAKED = "-- depends_on: {{ ref('sets_0') }}\nselect * from leaked"


@pytest.mark.spark
class TestSettingsStayWithTheirModel:
    @pytest.fixture(scope="class")
    def models(self):
        sets = {f"sets_{place}.sql": SETS % zone for place, zone in enumerate(ZONES)}
        plain = {f"plain_{place}.sql": PLAIN % "{{ ref('sets_0') }}" for place in range(3)}
        return {**sets, **plain, "reads_leaked.sql": READS_LEAKED}

    @pytest.mark.parametrize("threads", ["1", "4"])
    def test_eight_models(self, project, threads):
        results = run_dbt(["run", "--threads", threads, "--exclude", "reads_leaked"])
        assert len(results) == 8
        zones = {
            name: project.run_sql(f"select zone from {{schema}}.{name}", fetch="one")[0]
            for name in [f"sets_{place}" for place in range(5)] + ["plain_0", "plain_1", "plain_2"]
        }
        assert [zones[f"sets_{place}"] for place in range(5)] == ZONES
        assert [zones[f"plain_{place}"] for place in range(3)] == ["UTC"] * 3

    @pytest.mark.parametrize("threads", ["1", "4"])
    def test_temporary_view_of_another_model_is_unknown(self, project, threads):
        select = ["--select", "sets_0", "reads_leaked", "--threads", threads]
        results = run_dbt(["run", *select], expect_pass=False)
        (failed,) = [r for r in results if r.status == "error"]
        assert failed.node.name == "reads_leaked"
        assert "TABLE_OR_VIEW_NOT_FOUND" in failed.message


@pytest.mark.slow
@pytest.mark.spark
class TestAnsi:
    """A value that does not fit fails the model; it does not become NULL."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "table_cast.sql": "{{ config(materialized='table') }} select cast('x' as int) as id",
            "view_cast.sql": "select cast('x' as int) as id",
            "schema.yml": "models: [{name: view_cast, columns: [{name: id,"
            " data_tests: [not_null]}]}]",
        }

    def test_bad_cast(self, project):
        results = run_dbt(["build"], expect_pass=False)
        status = {r.node.name: r for r in results}
        assert status["table_cast"].status == "error"
        assert "CAST_INVALID_INPUT" in status["table_cast"].message
        # A view is not read before its test does: that error is the database's too, no traceback.
        assert status["not_null_view_cast_id"].status == "error"
        assert "Database Error" in status["not_null_view_cast_id"].message
        assert "CAST_INVALID_INPUT" in status["not_null_view_cast_id"].message
        assert "Traceback" not in status["not_null_view_cast_id"].message
