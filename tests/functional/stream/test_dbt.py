"""`streaming_table` as dbt runs it: build, tests and freshness on the source, show, mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.cli.main import dbtRunner, dbtRunnerResult

from alluvium.engine import session as engine

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


class Project:
    def __init__(self, root: Path, home: Path):
        self.root = root
        target = {"type": "alluvium", "schema": "streams", "home": str(home), "threads": 2}
        project = {"name": "p", "version": "0.1.0", "config-version": 2, "profile": "p"}
        flags = {"flags": {"send_anonymous_usage_stats": False}}
        self.write("profiles.yml", {"p": {"target": "t", "outputs": {"t": target}}})
        self.write("dbt_project.yml", project | flags)
        self.write("models/s.yml", {"version": 2, "sources": [SOURCE], "models": [MODEL]})
        self.write("models/events.sql", "select * from {{ source('landing', 'feed') }}")
        self.lines: list[str] = []

    def write(self, name: str, content: Any) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))

    def dbt(self, *args: str) -> dbtRunnerResult:
        self.lines = []
        runner = dbtRunner(callbacks=[lambda event: self.lines.append(event.info.msg)])
        folders = ["--project-dir", str(self.root), "--profiles-dir", str(self.root)]
        return runner.invoke([*args, *folders])

    def response(self) -> dict[str, Any]:
        results = json.loads((self.root / "target/run_results.json").read_text())["results"]
        return next(r["adapter_response"] for r in results if r["unique_id"].startswith("model."))


def test_streaming_table(stream_home: Path, tmp_path: Path) -> None:
    engine.stop()
    project = Project(tmp_path, stream_home)
    checkpoints = stream_home / "checkpoints/streams.events"
    # `--empty`, before the source is there: the table and its columns, nothing else.
    assert project.dbt("run", "--empty").success, project.lines
    assert not checkpoints.exists()
    project.write("landing/1.txt", "a\nb\r\n\n")
    assert project.dbt("build").success, project.lines
    assert any("events: 3 events from 1 files → batch 1 in" in line for line in project.lines)
    response = project.response()
    assert response["rows_affected"] == 3
    assert (response["source_files"], response["batch_id"], response["files"]) == (1, 1, 1)
    assert response["source_bytes"] == 6
    assert list(checkpoints.iterdir())
    assert project.dbt("source", "freshness").success, project.lines
    assert project.dbt("show", "--select", "events").success
    assert any("_source_partition" in line for line in project.lines)
    project.write("landing/2.txt", "c\n")
    assert project.dbt("run", "--full-refresh").success, project.lines
    assert (project.response()["rows_affected"], project.response()["batch_id"]) == (4, 2)
    shown = project.dbt("show", "--inline", "select count(*) as n from {{ ref('events') }}")
    assert shown.success
    assert any("4" in line for line in project.lines)
    # No stream in the query, then mistakes in the source's keys.
    project.write("models/s.yml", {"version": 2, "sources": [SOURCE]})
    project.write("models/events.sql", "{{ config(materialized='streaming_table') }} select 1 a")
    assert not project.dbt("run").success
    assert any("exactly one source()" in line for line in project.lines)
    wrong = json.loads(json.dumps(SOURCE))
    wrong["tables"][0]["config"]["meta"]["alluvium_stream"] = {"format": "xml", "foo": 1}
    project.write("models/s.yml", {"version": 2, "sources": [wrong]})
    sql = (
        "{{ config(materialized='streaming_table') }} select * from {{ source('landing', 'feed') }}"
    )
    project.write("models/events.sql", sql)
    assert not project.dbt("run").success
    assert any("foo: unknown key" in line and "'xml'" in line for line in project.lines)
