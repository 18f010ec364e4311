"""The reference project on dbt-databricks as far as it goes without a workspace."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).parents[3]
BIN = Path(os.environ.get("ALLUVIUM_TEST_DATABRICKS", REPO / ".venv-databricks")) / "bin"
GOLDEN = Path(__file__).parent / "golden"

pytestmark = pytest.mark.skipif(
    not (BIN / "dbt").exists(), reason="dbt-databricks is not installed; make databricks does that"
)

LANDING = "/Volumes/main/default/landing"
ENVIRON = {"ALLUVIUM_TARGET": "databricks", "ALLUVIUM_SCHEMA": "alluvium"}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("databricks")


# Arguments of dbt, and the landing folder; all run in one process.
RUNS = {
    "parse": (["parse", "--show-all-deprecations"], LANDING),
    "compile": (["compile", "--no-introspect", "--no-populate-cache"], LANDING),
    "bronze": (["run", "--select", "flights_events"], LANDING),
    "compact": (["run-operation", "alluvium.compact", "--args", "{model: edits}"], LANDING),
    "vacuum": (
        ["run-operation", "alluvium.vacuum", "--args", "{model: edits, dry_run: false}"],
        LANDING,
    ),
    "here": (["run", "--select", "flights_events"], ".alluvium"),
    "refused": (["build"], LANDING),
}
# Without `dispatch:`, and with what such a target has not.
REFUSED = {
    "edits.sql": "{{ config(materialized='incremental', unique_key='id',"
    " meta={'alluvium_merge': {'order_by': 'id'}}) }} select 1 as id",
    "shown.sql": "{{ config(materialized='published') }} select * from {{ ref('edits') }}",
}


@pytest.fixture(scope="module")
def results(target: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each of `RUNS` did, as `databricks_statements.py` says it."""
    refused = tmp_path_factory.mktemp("refused")
    for name in ("macros", "profiles"):
        (refused / name).symlink_to(REPO / name)
    text = (REPO / "dbt_project.yml").read_text()
    assert "search_order: [alluvium, dbt]" in text
    (refused / "dbt_project.yml").write_text(
        text.replace("search_order: [alluvium, dbt]", "search_order: [dbt]")
    )
    (refused / "models").mkdir()
    for name, content in REFUSED.items():
        (refused / "models" / name).write_text(content)
    runs = []
    for name, (args, landing) in RUNS.items():
        project, written = (refused, refused / "target") if name == "refused" else (REPO, target)
        folders = ["--project-dir", str(project), "--profiles-dir", str(REPO / "profiles")]
        folders += ["--target-path", str(written), "--log-path", str(target)]
        runs.append({"args": args + folders, "environ": ENVIRON | {"ALLUVIUM_LANDING": landing}})
    script = Path(__file__).parent / "databricks_statements.py"
    done = subprocess.run(
        [str(BIN / "python"), str(script), json.dumps(runs)],
        capture_output=True,
        text=True,
        cwd=refused,
        env=os.environ | {"PYTHONPATH": str(REPO / "tests")},
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return dict(zip(RUNS, json.loads(done.stdout.splitlines()[-1]), strict=True))


def test_parses_without_python_models(results: dict[str, Any], target: Path) -> None:
    ran = results["parse"]
    assert ran["success"], ran["exception"]
    assert (ran["statements"], ran["asked"]) == ([], [])
    shown = ran["shown"]
    assert any("Performance info" in line for line in shown)
    assert not [line for line in shown if "deprecat" in line.lower()]
    nodes = json.loads((target / "manifest.json").read_text())["nodes"].values()
    models = {node["name"]: node for node in nodes if node["resource_type"] == "model"}
    assert {"flights_events", "flights_batch", "flights", "edits"} <= set(models)
    assert all(node["language"] == "sql" for node in models.values())


@pytest.mark.proves("merge", on="databricks")
def test_compiles_without_a_connection(results: dict[str, Any], target: Path) -> None:
    ran = results["compile"]
    assert ran["success"], ran["exception"]
    assert (ran["statements"], ran["asked"]) == ([], [])
    compiled = target / "compiled/alluvium/models/flights"
    batch = (compiled / "flights_batch.sql").read_text()
    assert "-1L as `_batch_through`" in batch
    assert "from `main`.`alluvium`.`flights_parsed`" in batch
    marts = (target / "compiled/alluvium/models/marts/destinations.sql").read_text()
    assert "where not coalesce(`_deleted`, false)" in marts


@pytest.mark.proves("files", on="databricks")
def test_bronze_becomes_a_streaming_table_of_databricks(results: dict[str, Any]) -> None:
    assert results["bronze"]["success"], results["bronze"]["exception"]
    # What a workspace is asked for is noted, so in the runs above it was asked for nothing.
    assert {"schemas", "flights_events"} <= set(results["bronze"]["asked"])
    create = [sql for sql in results["bronze"]["statements"] if "CREATE STREAMING TABLE" in sql]
    assert len(create) == 1
    assert_golden("databricks_streaming_table", create)


@pytest.mark.parametrize("name", ["compact", "vacuum"])
@pytest.mark.proves("compaction", on="databricks")
def test_maintenance(results: dict[str, Any], name: str) -> None:
    assert results[name]["success"], results[name]["exception"]
    assert_golden(f"databricks_{name}", results[name]["statements"])


def test_what_such_a_target_has_not_is_refused(results: dict[str, Any]) -> None:
    ran = results["refused"]
    assert not ran["success"]
    # dbt makes the schema before any hook.
    assert all("create schema" in sql for sql in ran["statements"])
    assert any("shown: materialized: published, and the target is" in line for line in ran["lines"])
    assert any("dispatch: get_merge_sql is taken from dbt" in line for line in ran["lines"])


def assert_golden(name: str, statements: list[str]) -> None:
    """Compare statements with a file; delete the file to write it anew."""
    lines = [line.rstrip() for sql in statements for line in sql.strip().splitlines()]
    text = "\n".join(line for line in lines if line) + "\n"
    path = GOLDEN / f"{name}.sql"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        pytest.fail(f"{path.name} did not exist and was written: read it, then run again")
    assert text == path.read_text()


def test_a_landing_folder_of_this_machine_is_refused(results: dict[str, Any]) -> None:
    assert not results["here"]["success"]
    said = results["here"]["exception"] + "".join(results["here"]["lines"])
    assert "a path of the workspace" in said
