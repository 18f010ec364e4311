"""What users have reported, each in as few files as show it, in one project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from functional.runner import REPO, Project

pytestmark = pytest.mark.spark

SCHEMA = "cases"
STREAM = "{{ config(materialized='streaming_table') }} select * from {{ source('landing', '%s') }}"
PUBLISHED = "{{ config(materialized='published') }} select * from {{ ref('%s') }}"
# Two that read what one of them would delete: with them in the project nothing runs.
HALVES = {
    "models/even.sql": STREAM % "readings" + " where id % 2 = 0",
    "models/odd.sql": STREAM % "readings" + " where id % 2 = 1",
}
NEXT = ("--vars", "{n: 2}")
FILES = {
    "landing/orders/1.json": '{"id": 1}\n',
    "landing/orders/2.json": '{"id": 2}\n',
    "feeds/readings/1.json": "".join(f'{{"id": {n}}}\n' for n in (1, 2, 3, 4)),
    "feeds/notes/1.csv": 'id,qty,note\n1,5,"call back\nafter noon"\n2,7,fine\n',
    "models/orders.sql": STREAM % "orders",
    "models/notes.sql": STREAM % "notes",
    "models/parts.sql": STREAM % "parts",
    "models/stored_wap.sql": "{{ config(materialized='table') }} select {{ var('n', 1) }} as id",
    "models/stored.sql": PUBLISHED % "stored_wap",
    "models/grown_wap.sql": """
        {{ config(materialized='incremental', unique_key='id',
            on_schema_change='append_new_columns', meta={'alluvium_merge': {'order_by': 'v'}}) }}
        select 1 as id, {{ var('n', 1) }} as v{% if var('n', 1) > 1 %}, false as closed{% endif %}
    """,
    "models/grown.sql": PUBLISHED % "grown_wap",
    "models/codes.sql": """
        {{ config(materialized='table', event_time='at') }}
        select {{ var('n', 1) }} as id, timestamp'2024-01-01 10:00:00' as at
    """,
    "models/codes_before.sql": """
        {{ config(materialized='table') }} select * from {{ alluvium.at(ref('codes'), version=0) }}
    """,
    "models/codes_daily.sql": """
        {{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at',
            batch_size='day', begin='2024-01-01') }}
        select * from {{ alluvium.at(ref('codes'), version=0) }}
    """,
    "models/tests.yml": """
        models:
          - name: stored_wap
            columns: [{name: id, data_tests: [not_null]}]
          - name: grown_wap
            data_tests:
              - alluvium.rows_kept:
                  arguments: {share: 0.9}
                  config: {where: "{{ 'not closed' if var('n', 1) > 1 else 'true' }}"}
    """,
}


def sources(orders: str) -> str:
    note = "id bigint, qty int, note string, _corrupt string"
    quotes = {"header": True, "escape": '"', "columnNameOfCorruptRecord": "_corrupt"}
    streams: dict[str, dict[str, Any]] = {
        "orders": {"format": "json", "path": orders},
        "readings": {"format": "json", "schema": "id bigint", "options": {"cleanSource": "delete"}},
        "notes": {"format": "csv", "schema": note, "options": quotes},
        "parts": {"format": "parquet"},
    }
    tables = [
        {"name": name, "config": {"meta": {"alluvium_stream": {"path": f"feeds/{name}", **block}}}}
        for name, block in streams.items()
    ]
    return yaml.safe_dump({"sources": [{"name": "landing", "tables": tables}]})


@pytest.fixture(scope="module")
def project(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("cases"), home, SCHEMA)
    target = {"type": "alluvium", "schema": SCHEMA, "home": str(home), "threads": 1}
    settings: dict[str, Any] = {"name": SCHEMA, "profile": "p"}
    settings["flags"] = {"send_anonymous_usage_stats": False}
    settings["data_tests"] = {"+store_failures": True}
    made.write(
        {
            "dbt_project.yml": yaml.safe_dump(settings),
            "profiles.yml": yaml.safe_dump({"p": {"target": "t", "outputs": {"t": target}}}),
            "packages.yml": yaml.safe_dump({"packages": [{"local": str(REPO)}]}),
            "models/sources.yml": sources("landing"),
            **FILES,
        }
    )
    parts = made.root / "feeds/parts"
    parts.mkdir()
    for number, (kind, qty) in enumerate(((pa.int32(), 5), (pa.int64(), 1 << 40)), 1):
        table = pa.table({"id": [number], "qty": pa.array([qty], kind)})
        pq.write_table(table, parts / f"{number}.parquet")
    made.dbt("deps")
    return made


def column(project: Project, query: str) -> list[Any]:
    return sorted(project.read(query).iloc[:, 0])


def test_tables_that_grow(project: Project) -> None:
    project.dbt("build", "-s", "codes", "stored_wap+", "grown_wap+")
    # Failures of tests are stored; a column that readers do not have yet.
    project.dbt("build", "-s", "codes", "stored_wap+", "grown_wap+", *NEXT)
    assert column(project, "select id from {s}.stored") == [2]
    assert project.said("rows_kept: cases.grown, which readers see, cannot answer `where: not")
    for again in (False, True):
        if again:
            project.dbt("build", "-s", "grown_wap+", *NEXT)
        grown = project.read("select id, v, closed from {s}.grown")
        assert grown.values.tolist() == [[1, 2, False]]
    # An earlier version of what dbt filters by event time, or limits.
    days = ("--event-time-start", "2024-01-01", "--event-time-end", "2024-01-02")
    project.dbt("run", "-s", "codes_before", "codes_daily", *days)
    assert column(project, "select id from {s}.codes") == [2]
    assert column(project, "select id from {s}.codes_before") == [1]
    assert column(project, "select id from {s}.codes_daily") == [1]
    project.dbt("run", "-s", "codes_before", "--empty")
    assert column(project, "select id from {s}.codes_before") == []


def test_what_streams_take_in(project: Project) -> None:
    """As dbt builds it; the tests of streams have each of these too."""
    project.write(HALVES)
    stopped = str(project.try_dbt("build").exception)
    assert "cleanSource: delete: a file is taken away once one streaming" in stopped
    assert "and even, odd read these files" in stopped
    assert (project.root / "feeds/readings/1.json").exists()
    project.remove(*HALVES)
    project.dbt("build", "-s", "orders", "notes", "parts")
    # A line break inside quotes: no row looks right with half a note.
    notes = project.read("select id, qty, note, _corrupt from {s}.notes order by _source_offset")
    assert notes["_corrupt"].tolist() == ['1,5,"call back', 'after noon"', None]
    assert notes.iloc[2, :3].tolist() == [2, 7, "fine"]
    # int32 in one file, int64 in the other.
    values = [json.loads(one) for one in column(project, "select _value from {s}.parts")]
    assert values == [{"id": 1, "qty": 5}, {"id": 2, "qty": 1 << 40}]
    # A path is narrowed.
    project.write({"models/sources.yml": sources("landing/orders")})
    project.dbt("build", "-s", "orders")
    assert column(project, "select _value from {s}.orders") == ['{"id": 1}', '{"id": 2}']
