"""dbt Python models in the session."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt
from functional import delta_rs

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


ELSEWHERE = """
def model(dbt, session):
    dbt.config(materialized="table", location_root="%s")
    return session.range(3)
"""

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
class TestPythonModels:
    """Those that fail run beside those that do not."""

    @pytest.fixture(scope="class")
    def root(self, tmp_path_factory):
        return tmp_path_factory.mktemp("elsewhere")

    @pytest.fixture(scope="class")
    def models(self, root):
        return {
            "schema.yml": SCHEMA,
            "numbers.sql": NUMBERS,
            "uses_dbt.py": USES_DBT,
            "grows.py": INCREMENTAL,
            "laid_out.py": LAID_OUT,
            "plain_parquet.py": PARQUET,
            "elsewhere.py": ELSEWHERE % root,
            "eager.py": EAGER,
            "lazy.py": LAZY,
            "no_frame.py": NO_FRAME,
        }

    @pytest.fixture(scope="class")
    def messages(self, project):
        """Of the nodes that failed in a run of all."""
        results = run_dbt(["run"], expect_pass=False)
        return {one.node.name: one.message for one in results if one.status != "success"}

    def detail(self, project, table):
        rows = project.run_sql(f"describe formatted {{schema}}.{table}", fetch="all")
        return {row[0]: row[1] for row in rows}

    def test_dbt_object_and_layout(self, project, home, root, messages):
        assert messages.keys() == {"eager", "lazy", "no_frame"}
        schema = project.test_schema
        row = project.run_sql("select * from {schema}.uses_dbt", fetch="one")
        assert row[:4] == (6, 6, f"{schema}.uses_dbt", "uses_dbt")
        assert row[4:] == (False, "hello", "default", "me")

        laid_out = self.detail(project, "laid_out")
        assert laid_out["Provider"] == "delta"
        assert "delta.appendOnly=true" in laid_out["Table Properties"]
        assert laid_out["# Partition Information"] == ""
        plain = self.detail(project, "plain_parquet")
        assert plain["Provider"] == "parquet"
        assert "# Partition Information" in plain
        assert (root / "elsewhere" / "_delta_log").is_dir()
        project.run_sql("drop table {schema}.elsewhere")

        def count():
            query = f"select count(*) as rows, count(distinct id) as ids from {schema}.grows"
            return tuple(delta_rs.read(home, query).iloc[0])

        assert count() == (6, 6)
        run_dbt(["run", "--select", "grows"])
        assert count() == (8, 8)
        run_dbt(["run", "--select", "grows", "--full-refresh"])
        assert count() == (6, 6)

    def test_messages_name_file_and_line(self, messages):
        line = EAGER.splitlines().index('    return rows.select("no_such_column")') + 1
        assert f"eager.py:{line} in model" in messages["eager"]
        assert 'return rows.select("no_such_column")' in messages["eager"]
        assert "UNRESOLVED_COLUMN" in messages["eager"]

        assert "ZeroDivisionError" in messages["lazy"]
        line = LAZY.splitlines().index('    divide = F.udf(lambda value: 1 / value, "double")') + 1
        assert "lazy.py" in messages["lazy"]
        assert f"line {line}" in messages["lazy"] or f":{line}" in messages["lazy"]

        assert "model() returned list" in messages["no_frame"]
        assert "pandas" in messages["no_frame"]
