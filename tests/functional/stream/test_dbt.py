"""`streaming_table` as dbt runs it: build, tests and freshness on the source, show, mistakes,
a layout.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable
from functional.delta_rs import folder_of
from functional.runner import Project
from functional.sorted_files import is_sorted

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
LAYOUT = {
    "sort_by": ["_value"],
    "bucket_by": {"column": "_source_timestamp", "window": "hour"},
}
LAID: dict[str, Any] = {
    "name": "laid_events",
    "config": {"materialized": "streaming_table", "meta": {"alluvium_layout": LAYOUT}},
}
QUERY = "select * from {{ source('landing', 'feed') }}"


def make(root: Path, home: Path) -> Project:
    target = {"type": "alluvium", "schema": "streams", "home": str(home), "threads": 2}
    config = {"name": "streams", "version": "0.1.0", "config-version": 2, "profile": "p"}
    flags = {"flags": {"send_anonymous_usage_stats": False}}
    project = Project(root, home, "streams")
    project.write(
        {
            "profiles.yml": yaml.safe_dump({"p": {"target": "t", "outputs": {"t": target}}}),
            "dbt_project.yml": yaml.safe_dump(config | flags),
            "models/s.yml": sources_yml(SOURCE, models=[MODEL, LAID]),
            "models/events.sql": QUERY,
            "models/laid_events.sql": QUERY,
        }
    )
    return project


def sources_yml(source: dict[str, Any], **rest: Any) -> str:
    return yaml.safe_dump({"version": 2, "sources": [source], **rest})


def check_layout(project: Project, rows: int, files: int) -> None:
    found = project.read("select * from {s}.laid_events")
    assert len(found) == rows
    assert (found["_source_timestamp_hour"] == found["_source_timestamp"].dt.floor("h")).all()
    uris = DeltaTable(folder_of(project.home, project.schema, "laid_events")).file_uris()
    assert len(uris) == files
    assert all(is_sorted(Path(uri), ("_value", "_source_timestamp")) for uri in uris)


def test_streaming_table(home: Path, tmp_path: Path) -> None:
    project = make(tmp_path, home)
    checkpoints = home / "checkpoints/streams.events"
    # `--empty`, before the source is there: the table and its columns, nothing else.
    project.dbt("run", "--empty")
    assert not checkpoints.exists()
    project.write({"landing/1.txt": "b\na\r\n\n"})
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
    check_layout(project, rows=3, files=1)
    project.dbt("source", "freshness")
    project.dbt("show", "--select", "events")
    assert any("_source_partition" in line for line in project.lines)
    project.write({"landing/2.txt": "c\n"})
    project.dbt("run", "--select", "laid_events")
    check_layout(project, rows=4, files=2)
    project.dbt("run", "--full-refresh", "--select", "events")
    response = project.figures("events")
    assert (response["rows_affected"], response["batch_id"]) == (4, first + 1)
    assert len(project.read("select * from {s}.events")) == 4
    # No stream in a query; what Spark refuses; a schema that is none.
    project.remove("models/laid_events.sql")
    config = "{{ config(materialized='streaming_table') }}"
    typed = {
        "name": "typed",
        "config": {
            "meta": {
                "alluvium_stream": {"format": "json", "path": "landing", "schema": "id bigynt"}
            }
        },
    }
    queries = {
        "events": "select 1 a",
        "refused": QUERY.replace("*", "nope"),
        "typed": QUERY.replace("'feed'", "'typed'"),
    }
    project.write({f"models/{name}.sql": f"{config} {sql}" for name, sql in queries.items()})
    project.write({"models/s.yml": sources_yml({**SOURCE, "tables": [*SOURCE["tables"], typed]})})
    assert not project.try_dbt("run").success
    for complaint in (
        "exactly one source()",
        # It is dbt's own kind of error, with the model's file.
        "Database Error in model refused (models/refused.sql)",
        "source landing.typed: meta.alluvium_stream is wrong",
        "schema: 'id bigynt'",
        "BIGYNT",
    ):
        assert project.said(complaint), project.lines
    assert not project.said("Unhandled error")
    project.remove("models/refused.sql", "models/typed.sql")
    project.write({"models/events.sql": f"{config} {QUERY}"})
    # Two that read what one of them deletes.
    wrong = json.loads(json.dumps(SOURCE))
    block = wrong["tables"][0]["config"]["meta"]["alluvium_stream"]
    block["options"] = {"cleanSource": "delete"}
    project.write({"models/s.yml": sources_yml(wrong), "models/even.sql": f"{config} {QUERY}"})
    assert not project.try_dbt("run", "--select", "events").success
    assert project.said("options.cleanSource: delete: a file is taken away once one streaming")
    assert project.said("and even, events read these files")
    assert (project.root / "landing/1.txt").exists()
    project.remove("models/even.sql")
    # Mistakes in the keys of a source.
    wrong = json.loads(json.dumps(SOURCE))
    wrong["tables"][0]["config"]["meta"]["alluvium_stream"] = {"format": "xml", "foo": 1}
    project.write({"models/s.yml": sources_yml(wrong)})
    assert not project.try_dbt("run").success
    for complaint in ("unknown key foo", '"xml" is not accepted'):
        assert project.said(complaint), project.lines
    assert not project.said("Unhandled error")
    # Without the package the adapter looks for wrong keys, before any SQL.
    misspelt = json.loads(json.dumps(SOURCE))
    meta = misspelt["tables"][0]["config"]["meta"]
    meta["alluvium_steam"] = meta.pop("alluvium_stream")
    project.write({"models/s.yml": sources_yml(misspelt)})
    result = project.try_dbt("run")
    assert "meta.alluvium_steam is not known on a source" in str(result.exception)
