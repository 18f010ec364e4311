"""`meta.alluvium_layout` of a merged model: its hook, its operation, its mistakes."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from functional.delta_rs import folder_of
from functional.merge.conftest import BATCH, SOURCES, merged
from support.tagged import tag

from alluvium.delta.merge import matching_files
from alluvium.marks import AUTOMATA_TAG, LAYOUT_TAG

pytestmark = pytest.mark.spark

HOOK = "{{ alluvium.compact(this) }}"
LAYOUT = {"sort_by": ["v", "at"], "target_rows": 100_000, "fan_in": 4}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any]) -> Any:
    items = merged({"order_by": "lsn"}, post_hook=HOOK)
    block = f"'alluvium_tier': 'realtime', 'alluvium_layout': {LAYOUT!r}, "
    items = items.replace("meta={", f"meta={{{block}")
    made = make_project(
        "laid",
        {"models/sources.yml": SOURCES, "models/batch.sql": BATCH, "models/items.sql": items},
    )
    made.session.sql("create schema if not exists laid")
    made.session.sql(
        "create table laid.items using delta"
        " tblproperties ('delta.enableDeletionVectors'='true') as"
        " select /*+ coalesce(1) */ id, 'c' as op, id as lsn, timestamp'2024-01-01' as at,"
        " concat('v', id % 3) as v from range(10)"
    )
    return made


def files(project: Any) -> int:
    return len(project.table("items").file_uris())


def add_fragments(project: Any, *ids: int) -> None:
    """Let another writer put a row into `items` for each id, a file each."""
    at = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    for number in ids:
        row = {"id": number, "op": "c", "lsn": 100, "at": at, "v": "new"}
        table = project.table("items")
        added = pa.Table.from_pylist([row], pa.schema(table.schema()))
        write_deltalake(table, added, mode="append")


def test_the_hook_waits_until_a_merge_is_worth_it(project: Any) -> None:
    add_fragments(project, 101)
    project.append_events(2, (102, "c", 100, "2024-01-01", "new"))
    project.dbt("run")
    assert files(project) == 3
    assert not project.said("compacted")
    project.append_events(3, (103, "c", 100, "2024-01-01", "new"))
    project.dbt("run")
    assert project.said("items: compacted 4 fragments → 1")
    assert files(project) == 1
    rows = project.read("select id, v from {s}.items order by id")
    assert rows["id"].tolist() == [*range(10), 101, 102, 103]


def test_a_dry_run_prints_the_plan_and_changes_nothing(project: Any) -> None:
    add_fragments(project, *range(104, 109))
    before = files(project)
    assert before >= 6
    project.dbt("run-operation", "alluvium.compact", "--args", "{model: items, dry_run: true}")
    assert project.said("items: would compact (dry run)")
    assert project.said("count")
    assert files(project) == before
    project.dbt("run-operation", "alluvium.compact", "--args", "{tier: realtime}")
    assert project.said("items: compacted")
    assert files(project) < before
    for args in ("{model: items, dry_run: true}", "{model: items}"):
        project.dbt("run-operation", "alluvium.compact", "--args", args)
        assert project.said("items: nothing to compact")
        # No bucket_by, no quiet_after.
        said = project.said("no final form: the layout has neither bucket_by nor quiet_after")
        assert bool(said) is ("dry_run" in args)


def test_the_log_says_what_was_done(project: Any) -> None:
    said = [
        one
        for commit in project.commits("items")
        if "alluvium_compaction" in (commit.get("userMetadata") or "")
        for one in json.loads(commit["userMetadata"])["alluvium_compaction"]
    ]
    assert {one["reason"] for one in said} == {"count"}
    assert all(one["model"] == "items" for one in said)
    assert any(LAYOUT_TAG in commit.read_text() for commit in log_of(project))


def log_of(project: Any) -> list[Path]:
    return sorted((folder_of(project.home, project.schema, "items") / "_delta_log").glob("*.json"))


def test_files_without_an_index_get_one(project: Any) -> None:
    add_fragments(project, 109)
    tags: dict[str, dict[str, str]] = {}
    for commit in log_of(project):
        for action in map(json.loads, commit.read_text().splitlines()):
            if "remove" in action:
                tags.pop(action["remove"]["path"], None)
            if "add" in action:
                tags[action["add"]["path"]] = action["add"].get("tags") or {}
    without = sum(AUTOMATA_TAG not in one for one in tags.values())
    # Of what was compacted every file has one, and of what others wrote none.
    assert without == sum(LAYOUT_TAG not in one for one in tags.values())
    assert 0 < without < len(tags)
    said = {
        "{model: items, dry_run: true}": f"items: would index {without} file",
        "{model: items}": f"items: indexed {without} file",
        "{model: items, dry_run: false}": "items: every file has its index",
    }
    for args, line in said.items():
        project.dbt("run-operation", "alluvium.index", "--args", args)
        assert project.said(line)
    refused = project.try_dbt("run-operation", "alluvium.index", "--args", "{model: batch}")
    assert not refused.success
    assert project.said("'batch' is not a model with meta.alluvium_layout; accepted: items")


def test_a_merge_asks_the_automata_of_its_key(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files between the keys have none of them; `explain_merge` and the line say so. The merge
    finds a row that was compacted; the hook is off."""
    monkeypatch.setattr(matching_files, "COST", replace(matching_files.COST, planning=0))
    add_fragments(project, 110, 111, 112)
    tag(project.session, f"{project.schema}.items", ["id"])
    before = files(project)
    assert before > 4
    # One file holds key 5: no merge changed it yet, so no file holds a hidden row of it.
    project.append_events(10, (115, "c", 100, "2024-01-01", "new"), (5, "u", 900, None, "again"))
    project.dbt("run", "--select", "batch")
    project.dbt("run-operation", "alluvium.explain_merge", "--args", "{model: items}")
    [explained] = project.said("files fewer by automata")
    project.dbt("run", "--select", "items", "--vars", "{alluvium_maintenance: false}")
    found = project.figures("items")
    assert not project.said("compacted")
    assert found["files_kept"] == 1
    assert 0 < found["files_skipped"] < before == found["files_total"]
    assert f"1 of {before} files" in explained
    assert f", {found['files_skipped']} files fewer by automata" in explained
    assert project.said(f"%, {found['files_skipped']} fewer by automata) → 2 upserts")
    metadata = json.loads(project.commits("items")[0]["userMetadata"])
    assert metadata["alluvium_merge"]["files_skipped"] == found["files_skipped"]
    rows = project.read("select id, v from {s}.items where id in (5, 115) order by id")
    assert rows.to_numpy().tolist() == [[5, "again"], [115, "new"]]


@pytest.mark.slow
def test_a_table_that_fails_stops_no_other_of_its_tier(project: Any) -> None:
    query = (
        "{{ config(materialized='incremental', meta={'alluvium_tier': 'hourly',"
        " 'alluvium_layout': {'sort_by': 'id', 'fan_in': 2}}) }}\nselect 1 as id"
    )
    models = {f"models/aside_{number}.sql": query for number in range(4)}
    # No merge of it is committed before all are written.
    together = query.replace("'fan_in': 2", "'fan_in': 2, 'partial_progress': false")
    project.write(models | {"models/aside_2.sql": together})
    for _ in range(2):
        project.dbt("run", "--select", "aside_0 aside_1 aside_2 aside_3")
    gone = {}
    for model in ("aside_1", "aside_2"):
        location = project.sql(f"describe detail {{s}}.{model}")["location"].iloc[0]
        gone[model] = next(Path(location.removeprefix("file:")).glob("*.parquet"))
        gone[model].unlink()
    done = project.try_dbt("run-operation", "alluvium.compact", "--args", "{tier: hourly}")
    assert not done.success
    assert project.said("aside_0: compacted 2 fragments")
    assert project.said("aside_3: compacted 2 fragments")
    assert project.said("aside_1: a merge failed")
    assert project.said("aside_2: the compaction was stopped by")
    assert all(project.said(broken.name) for broken in gone.values())
    for model in models:
        (project.root / model).unlink()


@pytest.mark.slow
def test_a_hook_whose_merge_fails_fails_its_model_and_leaves_its_rows(project: Any) -> None:
    query = (
        "{{ config(materialized='incremental', post_hook='{{ alluvium.compact(this) }}',"
        " meta={'alluvium_layout': {'sort_by': 'id', 'fan_in': 3}}) }}\nselect 1 as id"
    )
    project.write({"models/hooked.sql": query})
    for _ in range(2):
        project.dbt("run", "--select", "hooked")
    location = project.sql("describe detail {s}.hooked")["location"].iloc[0]
    broken = next(Path(location.removeprefix("file:")).glob("*.parquet"))
    content = broken.read_bytes()
    broken.unlink()
    assert not project.try_dbt("run", "--select", "hooked").success
    assert project.said("hooked: a merge failed, the others went on")
    assert project.said("its only bucket, 3 fragments (count)")
    assert project.said(broken.name)
    broken.write_bytes(content)
    assert len(project.sql("select * from {s}.hooked")) == 3
    project.dbt("run", "--select", "hooked")
    assert project.said("hooked: compacted 3 fragments")
    assert len(project.sql("select * from {s}.hooked")) == 4
    project.remove("models/hooked.sql")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("{model: batch}", "'batch' is not a model with meta.alluvium_layout; accepted: items"),
        ("{tier: daily}", "'daily' is not a tier of a model with meta.alluvium_layout"),
        ("{tier: yearly}", "'yearly' is not a tier; accepted: realtime, hourly, daily"),
        ("{}", "accepted: model, the name of one, or tier"),
        ("{model: items, dry_run: perhaps}", 'dry_run is "perhaps"; accepted: true, false'),
    ],
)
def test_what_has_no_layout_is_refused(project: Any, args: str, said: str) -> None:
    assert not project.try_dbt("run-operation", "alluvium.compact", "--args", args).success
    assert project.said(said)


def test_every_mistake_is_listed_before_anything_runs(project: Any) -> None:
    items = (project.root / "models/items.sql").read_text()
    wrong = items.replace("'fan_in': 4", "'fan_in': 1, 'tiers': 2, 'bucket_by': {'colum': 'at'}")
    project.write({"models/items.sql": wrong})
    assert not project.try_dbt("run").success
    project.write({"models/items.sql": items})
    assert project.said("items: meta.alluvium_layout.fan_in: 1 is not accepted; accepted: a whole")
    assert project.said("items: meta.alluvium_layout.bucket_by: unknown key colum; accepted: col")
    assert project.said("items: meta.alluvium_layout: unknown key tiers; accepted: sort_by")


@pytest.mark.slow
def test_hooks_that_would_undo_the_layout_compact_instead(project: Any) -> None:
    items = (project.root / "models/items.sql").read_text()
    hooks = [HOOK.replace("compact", name) for name in ("optimize", "zorder")]
    project.write({"models/items.sql": items.replace(repr(HOOK), repr(hooks))})
    project.append_events(9, (109, "c", 100, "2024-01-01", "new"))
    project.dbt("run")
    project.write({"models/items.sql": items})
    warned = [line for line in project.said("OPTIMIZE knows nothing of") if "items: " in line]
    assert len(warned) == 1
    history = project.sql("describe history {s}.items")
    rewrites = history[history["operation"] == "OPTIMIZE"]["userMetadata"]
    assert all("alluvium_compaction" in text for text in rewrites.fillna(""))
