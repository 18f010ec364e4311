"""dbt Python models in the session."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt, write_file

SCHEMA = """
models:
  - name: uses_dbt
    config:
      meta: {owner: me}
      tags: [python]
sources:
  - name: raw
    schema: "{{ target.schema }}"
    tables: [{name: numbers}]
"""

NUMBERS = "{{ config(materialized='table') }} select id, id % 2 as odd from range(6)"

USES_DBT = """
import pandas as pd


def model(dbt, session):
    dbt.config(materialized="table", greeting="hello")
    ref, source = dbt.ref("numbers"), dbt.source("raw", "numbers")
    greeting, missing = dbt.config.get("greeting"), dbt.config.get("nothing", "default")
    owner = dbt.config.meta_get("owner")
    return pd.DataFrame(
        {
            "refs": [ref.count()],
            "sources": [source.count()],
            "this": [str(dbt.this)],
            "identifier": [dbt.this.identifier],
            "incremental": [dbt.is_incremental],
            "greeting": [greeting],
            "missing": [missing],
            "owner": [owner],
        }
    )
"""

INCREMENTAL = """
def model(dbt, session):
    dbt.config(materialized="incremental", incremental_strategy="append")
    numbers = dbt.ref("numbers")
    if dbt.is_incremental:
        seen = session.sql(f"select max(id) from {dbt.this}").first()[0]
        numbers = session.range(seen + 1, seen + 3).selectExpr("id", "id % 2 as odd")
    return numbers
"""

LAID_OUT = """
def model(dbt, session):
    dbt.config(
        materialized="table",
        partition_by=["odd"],
        tblproperties={"delta.appendOnly": "true"},
    )
    return dbt.ref("numbers")
"""

PARQUET = """
def model(dbt, session):
    dbt.config(materialized="table", file_format="parquet", partition_by="odd")
    return dbt.ref("numbers")
"""


@pytest.mark.spark
class TestPythonModels:
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "schema.yml": SCHEMA,
            "numbers.sql": NUMBERS,
            "uses_dbt.py": USES_DBT,
            "grows.py": INCREMENTAL,
            "laid_out.py": LAID_OUT,
            "plain_parquet.py": PARQUET,
        }

    def detail(self, project, table):
        rows = project.run_sql(f"describe formatted {{schema}}.{table}", fetch="all")
        return {row[0]: row[1] for row in rows}

    def test_dbt_object_and_layout(self, project):
        run_dbt(["run", "--select", "numbers"])
        run_dbt(["run", "--exclude", "numbers"])

        row = project.run_sql("select * from {schema}.uses_dbt", fetch="one")
        schema = project.test_schema
        assert row[:4] == (6, 6, f"{schema}.uses_dbt", "uses_dbt")
        assert row[4:] == (False, "hello", "default", "me")

        laid_out = self.detail(project, "laid_out")
        assert laid_out["Provider"] == "delta"
        assert "delta.appendOnly=true" in laid_out["Table Properties"]
        assert laid_out["# Partition Information"] == ""
        plain = self.detail(project, "plain_parquet")
        assert plain["Provider"] == "parquet"
        assert "# Partition Information" in plain

        count = "select count(*), count(distinct id) from {schema}.grows"
        assert project.run_sql(count, fetch="one") == (6, 6)
        run_dbt(["run", "--select", "grows"])
        assert project.run_sql(count, fetch="one") == (8, 8)
        run_dbt(["run", "--select", "grows", "--full-refresh"])
        assert project.run_sql(count, fetch="one") == (6, 6)

    def test_location_root(self, project, tmp_path):
        text = f"""
def model(dbt, session):
    dbt.config(materialized="table", location_root="{tmp_path}")
    return session.range(3)
"""
        write_file(text, project.project_root, "models", "elsewhere.py")
        try:
            run_dbt(["run", "--select", "elsewhere"])
        finally:
            (project.project_root / "models" / "elsewhere.py").remove()
        assert (tmp_path / "elsewhere" / "_delta_log").is_dir()
        project.run_sql("drop table {schema}.elsewhere")


EAGER = """


def model(dbt, session):
    rows = session.range(3)
    return rows.select("no_such_column")
"""

LAZY = """
from pyspark.sql import functions as F


def model(dbt, session):
    divide = F.udf(lambda value: 1 / value, "double")
    return session.range(2).select(divide("id").alias("x"))
"""

NO_FRAME = """
def model(dbt, session):
    return [1, 2]
"""


@pytest.mark.spark
class TestFailingModels:
    @pytest.fixture(scope="class")
    def models(self):
        return {"eager.py": EAGER, "lazy.py": LAZY, "no_frame.py": NO_FRAME}

    def test_messages_name_file_and_line(self, project):
        results = run_dbt(["run"], expect_pass=False)
        message = {r.node.name: r.message for r in results}
        line = EAGER.splitlines().index('    return rows.select("no_such_column")') + 1
        assert f"eager.py:{line} in model" in message["eager"]
        assert 'return rows.select("no_such_column")' in message["eager"]
        assert "UNRESOLVED_COLUMN" in message["eager"]

        assert "ZeroDivisionError" in message["lazy"]
        line = LAZY.splitlines().index('    divide = F.udf(lambda value: 1 / value, "double")') + 1
        assert "lazy.py" in message["lazy"]
        assert f"line {line}" in message["lazy"] or f":{line}" in message["lazy"]

        assert "model() returned list" in message["no_frame"]
        assert "pandas" in message["no_frame"]
