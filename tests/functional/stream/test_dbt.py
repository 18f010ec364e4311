"""`streaming_table` as dbt runs it: build, tests and freshness on the source, show, mistakes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from functional.runner import Project

pytestmark = pytest.mark.spark

SOURCE: dict[str, Any] = {
    "name": "landing",
    "tables": [
        {
            "name": "feed",
            "config": {
                "loaded_at_field": "_source_timestamp",
                "freshness": {"error_after": {"count": 1, "period": "day"}},
                "meta": {"alluvium_stream": {"format": "text", "path": "landing"}},
            },
            "columns": [{"name": "_value", "data_tests": ["not_null"]}],
        }
    ],
}
COLUMNS = {
    "_key": "string",
    "_value": "string",
    "_headers": "array<struct<key:string,value:binary>>",
    "_source_partition": "string",
    "_source_offset": "bigint",
    "_source_timestamp": "timestamp",
    "_batch_id": "bigint",
}
MODEL: dict[str, Any] = {
    "name": "events",
    "description": "it's \\ raw",
    "config": {
        "materialized": "streaming_table",
        "contract": {"enforced": True},
        "persist_docs": {"relation": True, "columns": True},
    },
    "columns": [{"name": n, "data_type": t, "description": "o'"} for n, t in COLUMNS.items()],
}


def make(root: Path, home: Path) -> Project:
    target = {"type": "alluvium", "schema": "streams", "home": str(home), "threads": 2}
    config = {"name": "streams", "version": "0.1.0", "config-version": 2, "profile": "p"}
    flags = {"flags": {"send_anonymous_usage_stats": False}}
    project = Project(root, home, "streams")
    project.write(
        {
            "profiles.yml": yaml.safe_dump({"p": {"target": "t", "outputs": {"t": target}}}),
            "dbt_project.yml": yaml.safe_dump(config | flags),
            "models/s.yml": sources_yml(SOURCE, models=[MODEL]),
            "models/events.sql": "select * from {{ source('landing', 'feed') }}",
        }
    )
    return project


def sources_yml(source: dict[str, Any], **rest: Any) -> str:
    return yaml.safe_dump({"version": 2, "sources": [source], **rest})


def test_streaming_table(home: Path, tmp_path: Path) -> None:
    project = make(tmp_path, home)
    checkpoints = home / "checkpoints/streams.events"
    # `--empty`, before the source is there: the table and its columns, nothing else.
    project.dbt("run", "--empty")
    assert not checkpoints.exists()
    project.write({"landing/1.txt": "a\nb\r\n\n"})
    started = time.time()
    project.dbt("build")
    response = project.figures("events")
    first = response["batch_id"]
    assert started * 1000 < first < time.time() * 1000
    assert project.said(f"events: 3 events from 1 file → batch {first} in")
    assert response["rows_affected"] == 3
    assert (response["source_files"], response["files"]) == (1, 1)
    assert response["source_bytes"] == 6
    assert list(checkpoints.iterdir())
    project.dbt("source", "freshness")
    project.dbt("show", "--select", "events")
    assert any("_source_partition" in line for line in project.lines)
    project.write({"landing/2.txt": "c\n"})
    project.dbt("run", "--full-refresh")
    response = project.figures("events")
    assert (response["rows_affected"], response["batch_id"]) == (4, first + 1)
    project.dbt("show", "--inline", "select count(*) as n from {{ ref('events') }}")
    assert project.said("| 4 |")
    # No stream in the query, then mistakes in the source's keys.
    project.write({"models/s.yml": sources_yml(SOURCE)})
    project.write({"models/events.sql": "{{ config(materialized='streaming_table') }} select 1 a"})
    assert not project.try_dbt("run").success
    assert any("exactly one source()" in line for line in project.lines)
    sql = (
        "{{ config(materialized='streaming_table') }} select * from {{ source('landing', 'feed') }}"
    )
    # What Spark refuses is dbt's own kind of error, with the model's file.
    project.write({"models/events.sql": sql.replace("*", "nope")})
    assert not project.try_dbt("run").success
    assert project.said("Database Error in model events (models/events.sql)")
    assert not project.said("Unhandled error")
    project.write({"models/events.sql": sql})
    for block, complaints in (
        ({"format": "xml", "foo": 1}, ["foo: unknown key", "'xml'"]),
        (
            {"format": "json", "path": "landing", "schema": "id bigynt"},
            ["source landing.feed: meta.alluvium_stream is wrong", "schema: 'id bigynt'", "BIGYNT"],
        ),
    ):
        wrong = json.loads(json.dumps(SOURCE))
        wrong["tables"][0]["config"]["meta"]["alluvium_stream"] = block
        project.write({"models/s.yml": sources_yml(wrong)})
        assert not project.try_dbt("run").success
        for complaint in complaints:
            assert project.said(complaint), project.lines
        assert not project.said("Unhandled error")
    # Without the package the adapter looks for wrong keys, before any SQL.
    misspelt = json.loads(json.dumps(SOURCE))
    meta = misspelt["tables"][0]["config"]["meta"]
    meta["alluvium_steam"] = meta.pop("alluvium_stream")
    project.write({"models/s.yml": sources_yml(misspelt)})
    result = project.try_dbt("run")
    assert "meta.alluvium_steam is not known on a source" in str(result.exception)
