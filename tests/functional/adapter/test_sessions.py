"""A session per node: what one model sets, another never sees."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt
from functional import delta_rs

ZONES = ["Asia/Tokyo", "Europe/Paris", "America/Lima"]

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
        plain = {f"plain_{place}.sql": PLAIN % "{{ ref('sets_0') }}" for place in range(2)}
        return {**sets, **plain, "reads_leaked.sql": READS_LEAKED}

    # With two a thread has models behind each other, and another's beside them.
    @pytest.mark.parametrize(
        "threads", ["2", *(pytest.param(one, marks=pytest.mark.slow) for one in "14")]
    )
    def test_neither_settings_nor_temporary_views_are_seen_by_others(self, project, home, threads):
        results = run_dbt(["run", "--threads", threads], expect_pass=False)
        failed = {r.node.name: r.message for r in results if r.status == "error"}
        assert (len(results), list(failed)) == (6, ["reads_leaked"])
        assert "TABLE_OR_VIEW_NOT_FOUND" in failed["reads_leaked"]
        tables = [*(f"sets_{place}" for place in range(3)), "plain_0", "plain_1"]
        zones = " union all ".join(
            f"select {place} as place, zone from {project.test_schema}.{name}"
            for place, name in enumerate(tables)
        )
        found = delta_rs.read(home, f"select zone from ({zones}) order by place")
        assert found["zone"].tolist() == [*ZONES, "UTC", "UTC"]


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
