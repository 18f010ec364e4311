"""Sources, folders, tables and frames that are in the way: each works, or says what to do.

So do models whose SQL, files or hooks fail: one line of cause, and the place in the user's file.
"""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest
import yaml
from functional.runner import Project

pytestmark = [pytest.mark.spark, pytest.mark.slow]

STREAM = {"alluvium_stream": {"format": "json", "path": "landing"}}
CUT_OFF = {"alluvium_stream": {"format": "text", "path": "cut_off"}}
SOURCE = {
    "name": "landing",
    "tables": [
        {"name": "orders", "config": {"meta": STREAM}},
        {"name": "cut_off", "config": {"meta": CUT_OFF}},
    ],
}
FROM = "from {{ source('landing', 'orders') }}"
STREAMING = f"{{{{ config(materialized='streaming_table') }}}} select * {FROM}"


# Models that fail, by name: the text, and what is said of each below dbt's own line.
FAILING = {
    "divides": (
        "{{ config(materialized='table') }}\n{% set by = 0 %}\nselect\n    _source_offset,\n"
        "    _source_offset / {{ by }} as n\nfrom {{ ref('tab') }}",
        [
            "[DIVIDE_BY_ZERO] Division by zero.",
            "at models/divides.sql:5: _source_offset / {{ by }} as n",
        ],
    ),
    "selects": (
        "select _source_offset,\n    nope\nfrom {{ ref('tab') }}",
        ["[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, ", "at models/selects.sql:2: nope"],
    ),
    "hooked": (
        "{{ config(materialized='table', post_hook=\"insert into {{ this.schema }}.not_there\n"
        'values (1)") }}\nselect 1 as id',
        [
            "[TABLE_OR_VIEW_NOT_FOUND] The table or view `way`.`not_there` cannot be found.",
            "at post-hook in models/hooked.sql:1: insert into {{ this.schema }}.not_there",
        ],
    ),
    # A query of which nobody fetches the rows runs too.
    "guarded": (
        "{{ config(materialized='table', post_hook=\"select assert_true(count(*) > 1, 'too few') "
        'from {{ this }}") }}\nselect 1 as id',
        ["[USER_RAISED_EXCEPTION] too few", "at post-hook in models/guarded.sql:1: select asser"],
    ),
    "headed": (
        "{{ config(materialized='table', sql_header='select assert_true(1 > 2); set a = 1;') }}\n"
        "select 1 as id",
        ["[USER_RAISED_EXCEPTION] '(1 > 2)' is not true!"],
    ),
    "stream_divides": (
        "{{ config(materialized='streaming_table') }}\nselect _source_offset,\n"
        "    1 / _source_offset as n\n" + FROM,
        [
            "way.stream_divides: [DIVIDE_BY_ZERO] Division by zero.",
            "at models/stream_divides.sql:3: 1 / _source_offset as n",
        ],
    ),
    "stream_hooked": (
        "{{ config(materialized='streaming_table', pre_hook='selec 1') }}\nselect * " + FROM,
        [
            "[PARSE_SYNTAX_ERROR] Syntax error at or near 'selec'.",
            "at pre-hook in models/stream_hooked.sql:1: selec 1",
        ],
    ),
    "stream_cut_off": (
        "{{ config(materialized='streaming_table') }} "
        "select * from {{ source('landing', 'cut_off') }}",
        ["way.stream_cut_off: ROOT/cut_off/1.txt.gz is cut off (Unexpected end of input stream)"],
    ),
}


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
            **{f"models/{name}.sql": text for name, (text, _) in FAILING.items()},
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
    (root / "cut_off").mkdir()
    (root / "cut_off/1.txt.gz").write_bytes(gzip.compress(b"b\nc\n" * 2000)[:-30])
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
    for name, (_, parts) in FAILING.items():
        told = said[name].splitlines()[1:]
        assert len(told) <= 3, said[name]
        for line, part in zip(told, parts, strict=False):
            assert line.strip().startswith(part.replace("ROOT", str(project.root))), said[name]
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
    # What a statement says can be shown, whether SQL knows a limit for it or not.
    for sql, shown in {
        "describe {{ ref('tab') }}": "_source_offset",
        "-- all\nshow tables in way": "tab",
        "explain select 41 + 1 as x": "Physical Plan",
        "select 42 as x from range(9) limit 3;": "42",
    }.items():
        project.dbt("show", "--inline", sql, "--limit", "2")
        assert project.said(shown), sql
    refused = project.try_dbt("show", "--inline", "drop table way.tab")
    assert "this statement is not a query" in str(refused.exception) + "".join(project.lines)
    assert session.catalog.tableExists("way.tab")
    session.sql("drop schema way cascade")
