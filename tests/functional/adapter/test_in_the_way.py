"""Sources, folders, tables and frames that are in the way: each works, or says what to do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from functional.runner import Project

pytestmark = pytest.mark.spark

STREAM = {"alluvium_stream": {"format": "json", "path": "landing"}}
SOURCE = {"name": "landing", "tables": [{"name": "orders", "config": {"meta": STREAM}}]}
FROM = "from {{ source('landing', 'orders') }}"
STREAMING = f"{{{{ config(materialized='streaming_table') }}}} select * {FROM}"


def frame(value: str, materialized: str = "table") -> str:
    return (
        "import pandas as pd\nimport pyspark.pandas as ps\n\ndef model(dbt, session):\n"
        f"    dbt.config(materialized='{materialized}')\n    return {value}\n"
    )


def make(root: Path, home: Path) -> Project:
    target = {"type": "alluvium", "schema": "way", "home": str(home), "threads": 2}
    config = {"name": "way", "version": "1.0", "profile": "p"}
    project = Project(root, home, "way")
    project.write(
        {
            "profiles.yml": yaml.safe_dump({"p": {"target": "t", "outputs": {"t": target}}}),
            "dbt_project.yml": yaml.safe_dump(
                config | {"flags": {"send_anonymous_usage_stats": False}}
            ),
            "landing/1.json": '{"id": 1}\n',
            "models/s.yml": yaml.safe_dump({"version": 2, "sources": [SOURCE]}),
            "models/view.sql": f"select * {FROM}",
            "models/inner.sql": f"{{{{ config(materialized='ephemeral') }}}} select * {FROM}",
            "models/outer.sql": "select * from {{ ref('inner') }}",
            "models/tab.sql": f"{{{{ config(materialized='table') }}}} select * {FROM}",
            "models/incr.sql": f"{{{{ config(materialized='incremental') }}}} select * {FROM}",
            "models/gone.sql": "{{ config(materialized='incremental') }} select 1 as x",
            "models/events.sql": STREAMING,
            "models/taken.sql": STREAMING,
            "models/empty.py": frame(
                "pd.DataFrame({'a': [1], 't': [pd.Timestamp('2024-01-01')]}).iloc[:0]"
            ),
            "models/none.py": frame("pd.DataFrame({'a': [1, 2], 'b': [None, None]})"),
            "models/untyped.py": frame("pd.DataFrame(columns=['a', 'b'])"),
            "models/no_columns.py": frame("pd.DataFrame()"),
            "models/nested.py": frame("pd.DataFrame({'a': [1], 'b': [[]]})"),
            "models/on_spark.py": frame("ps.DataFrame({'b': [None]})"),
            "models/spark_nested.py": frame(
                "session.sql(\"select 1 as a, named_struct('x', null) as c\")"
            ),
        }
    )
    return project


def test_what_is_in_the_way(home: Path, tmp_path: Path) -> None:
    project = make(tmp_path, home)
    session = project.session
    folder = home / "warehouse/way.db"
    session.sql("create schema if not exists way")
    session.sql("create table way.incr using parquet as select 5 as x")
    session.sql("create table way.events using parquet as select 5 as x")
    session.sql("create table way.gone using delta as select 5 as x")
    shutil.rmtree(folder / "gone")
    (folder / "taken").mkdir()
    (folder / "taken/part-0.parquet").write_bytes(b"x")
    result = project.try_dbt("run")
    said = {r.node.name: str(r.message) for r in result.result.results}
    status = {r.node.name: str(r.status) for r in result.result.results}
    readers = "streaming_table, table, incremental, snapshot, ephemeral"
    for name, parts in {
        "view": ["a view cannot read the stream landing.orders", readers],
        "outer": ["a view cannot read the stream landing.orders", readers],
        "incr": ["a table of format parquet", "convert to delta way.incr"],
        "events": ["a table of format parquet", "convert to delta way.events"],
        "gone": ["way.gone is known", "drop table way.gone"],
        "taken": ["way.taken cannot be made", str(folder / "taken"), "delete them"],
        "untyped": ["a (void), b (void)", "createDataFrame"],
        "no_columns": ["a frame without columns"],
        "nested": ["b (array<void>)", "createDataFrame"],
        "on_spark": ["b (void)"],
        "spark_nested": ["c (struct<x:void>)"],
    }.items():
        assert status[name] == "error", name
        for part in parts:
            assert part in said[name], said[name]
    assert not project.said("Traceback")
    assert not project.said("Unhandled error")
    assert {name for name, one in status.items() if one == "success"} == {"tab", "empty", "none"}
    assert len(session.table("way.tab").collect()) == 1
    assert session.table("way.empty").dtypes == [("a", "bigint"), ("t", "timestamp_ntz")]
    rows = session.table("way.none").orderBy("a").collect()
    assert [tuple(row) for row in rows] == [(1, None), (2, None)]
    # What stood there stands there.
    assert [row.x for row in session.table("way.events").collect()] == [5]
    assert (folder / "taken/part-0.parquet").read_bytes() == b"x"
    # The way out works; and the catalog has what can be described.
    session.sql("drop table way.gone")
    session.sql("drop table way.events")
    shutil.rmtree(folder / "taken")
    project.dbt("run", "--select", "gone", "events", "taken")
    session.sql("create table way.others (id int) using delta")
    shutil.rmtree(folder / "others")
    project.dbt("docs", "generate")
    nodes = json.loads((project.root / "target/catalog.json").read_text())["nodes"]
    assert {"model.way.tab", "model.way.gone", "model.way.events"} <= set(nodes)
    assert project.said("way.others is left out of the catalog: [DELTA_PATH_DOES_NOT_EXIST]")
    session.sql("drop schema way cascade")
