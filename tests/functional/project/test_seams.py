"""dbt's flags and configs beside ours: the cells of docs/seams.md, in one project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable
from functional.delta_rs import folder_of
from functional.project.seams import MODELS, SCHEMA, SECOND, TABLE
from functional.runner import REPO, Project

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# So many data tests has the candidate.
TESTS = 4
# What reads `codes` and the merged table, and needs no stream.
READERS = ("at_codes", "pruned", "counted", "live", "of_ephemeral", "pruned_ephemeral")
# What they hold once both files are read.
WHOLE: dict[str, list[Any]] = {
    "at_codes": [1, 2, 3],
    "pruned": [1, 3],
    "counted": [("a", 2), ("b", 1)],
    "live": [1, 2],
    "of_ephemeral": [1, 2],
    "pruned_ephemeral": [1],
}
# Without the package's own models, and what not each build can run.
WHOLE_BUILD = ("build", "--vars", "{v: 2}", "-s", f"package:{SCHEMA}", "--exclude")
NOT_IN_IT = ("daily", "own_version", "own_plain")
BOTH = ("build", "-s", "items_wap", "items")


@pytest.fixture(scope="module")
def project(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Built twice: `codes` has two versions; `items_wap` has three rows and a tombstone."""
    made = Project(tmp_path_factory.mktemp("seams"), home, SCHEMA)
    target = {"type": "alluvium", "schema": SCHEMA, "home": str(home), "threads": 2}
    outputs = {
        name: {**target, "schema": f"{SCHEMA}{more}"}
        for name, more in (("t", ""), ("dev", "_dev"), ("fix", "__fix"))
    }
    settings = {"name": SCHEMA, "profile": "p", "flags": {"send_anonymous_usage_stats": False}}
    made.write(
        {
            "dbt_project.yml": yaml.safe_dump(settings),
            "profiles.yml": yaml.safe_dump({"p": {"target": "t", "outputs": outputs}}),
            "packages.yml": yaml.safe_dump({"packages": [{"local": str(REPO)}]}),
            **MODELS,
        }
    )
    made.dbt("deps")
    made.dbt("run", "-s", "codes")
    made.dbt(*WHOLE_BUILD, *NOT_IN_IT)
    return made


def refused(project: Project, *args: str) -> str:
    """All that a command says which fails."""
    result = project.try_dbt(*args)
    assert not result.success, project.lines
    return "\n".join([*project.lines, str(result.exception or "")])


def rows(project: Project, table: str, columns: str = "id", where: str = "true") -> list[Any]:
    """The rows of a table; values of one column stand alone."""
    found = project.read(f"select {columns} from {{s}}.{table} where {where}").fillna(0)
    names = list(found)
    return sorted(
        found[names[0]] if len(names) == 1 else map(tuple, found.astype(object).to_numpy())
    )


def every(project: Project) -> dict[str, list[Any]]:
    columns = {"counted": "kind, row_count"}
    return {name: rows(project, name, columns.get(name, "id")) for name in READERS}


def published(project: Project) -> None:
    """The build before moved what readers see, or found nothing to move."""
    assert project.said(f"items: {TESTS} tests passed → version"), project.lines
    assert rows(project, "items") == [1, 2]


def looks_for(project: Project, ids: str, config: str = "") -> None:
    """Let the singular test of the candidate look for other rows, with a config."""
    good = MODELS["tests/no_stranger.sql"].replace("> 99", ids)
    project.write({"tests/no_stranger.sql": f"{{{{ config({config}) }}}}" * bool(config) + good})


def test_without_a_flag(project: Project) -> None:
    assert project.said(f"items: {TESTS} tests passed → version")
    assert rows(project, "items") == [1, 2, 4]
    ephemeral = {"live": [1, 2, 4], "of_ephemeral": [1, 2, 4], "pruned_ephemeral": [1, 4]}
    assert every(project) == WHOLE | ephemeral
    assert set(rows(project, "at_codes", "v")) == {1}
    assert rows(project, "counted_ephemeral", "kind, row_count") == [("a", 2), ("b", 1)]
    assert rows(project, "late_wap", where="not _deleted") == [1, 2, 4]
    for name in ("pruned", "at_codes", "counted", "items_batch", "items_wap", "live", "events"):
        assert any("PASS" in line for line in project.said(f"{name}_unit")), name
    # Snapshots of a published, of a merged and of a streaming table; one that is a candidate.
    assert [rows(project, f"history_of_{one}") for one in ("items", "items_wap")] == [[1, 2, 4]] * 2
    assert rows(project, "history_of_events", "lsn") == [1, 2, 3, 4, 5]
    assert project.said("past: 1 test passed → version")
    assert rows(project, "past", "id, v, live") == [(1, 1, 1), (2, 1, 2), (3, 1, 0)]
    for name in ("hooked", "headed"):
        found = rows(project, name, "id, kind, row_count, v, live")
        assert found == [(1, "a", 1, 1, 1), (2, "b", 1, 1, 2), (3, "a", 1, 1, 0)], name
    # A view asks each time.
    assert project.sql("select id, v from {s}.seen").to_numpy().tolist() == [[1, 1]]
    project.session.sql(f"insert into {SCHEMA}.wanted values ('b')")
    seen = project.sql("select id, v from {s}.seen order by id").to_numpy().tolist()
    project.session.sql(f"delete from {SCHEMA}.wanted where kind = 'b'")
    assert seen == [[1, 1], [2, 1]]
    said = DeltaTable(folder_of(project.home, SCHEMA, "items"))
    comments = {one.name: one.metadata.get("comment") for one in said.schema().fields}
    assert (said.metadata().description, comments["kind"]) == ("what readers see", "of which kind")
    for asked, why in (
        ("at(ref('inner_items'), version=0)", "inner_items is ephemeral, so no version"),
        ("new_events(ref('inner_events'), 'items_wap')", "inner_events is ephemeral, and its new"),
        ("prune(ref('inner_items'), join=ref('wanted'))", "share no column, or are not there yet"),
    ):
        inline = f"select * from {{{{ alluvium.{asked} }}}}"
        assert why in refused(project, "show", "--inline", inline)
    newest = project.versions("items_wap") - 1
    project.dbt("run", "-s", "own_version", "--vars", f"{{at: {newest}}}")
    assert rows(project, "own_version") == [1, 2, 4]


def test_without_rows(project: Project) -> None:
    project.write({"landed/b.json": SECOND})
    # dbt's unit tests take no --empty; to a snapshot all rows would be gone.
    no_snapshots = ("resource_type:unit_test", "resource_type:snapshot")
    tables = ("events", "items")
    before = [project.versions(one) for one in tables]
    project.dbt(*WHOLE_BUILD, *NOT_IN_IT, *no_snapshots, "--empty")
    assert project.said("--empty publishes nothing")
    assert every(project) == {name: [] for name in WHOLE}
    assert rows(project, "items_batch") == []
    assert [project.versions(one) for one in tables] == before
    assert rows(project, "items_wap") == [1, 2, 3, 4]
    assert "SYNTAX_ERROR" in refused(project, "run", "--empty", "-s", "own_plain")
    # All that it passed over comes now. In a snapshot a tombstone is a row that is gone.
    project.dbt(*WHOLE_BUILD, *NOT_IN_IT)
    published(project)
    assert rows(project, "items", "kind") == ["a", "c"]
    assert rows(project, "late_wap", where="not _deleted") == [1, 2]
    assert every(project) == WHOLE
    for one in ("items", "items_wap"):
        gone = rows(project, f"history_of_{one}", where="dbt_valid_to is not null")
        assert gone == [2, 4], one
    assert rows(project, "history_of_events", "lsn") == [1, 2, 3, 4, 5, 6, 7]
    project.dbt("run", "--empty", "-s", "events", "--target", "dev")
    assert rows(Project(project.root, project.home, f"{SCHEMA}_dev"), "events") == []


def test_which_tests_count(project: Project) -> None:
    for flags in (
        ("--exclude-resource-type", "test"),
        ("--resource-type", "model"),
        ("--indirect-selection", "empty"),
        ("--exclude", "items_wap+,test_type:data"),
    ):
        project.dbt(*BOTH, *flags)
        assert project.said(f"{TESTS} of {TESTS} tests did not run"), flags
    warn = '{"error": ["LogTestResult"]}'
    for config, flags, is_published in (
        ("", ["--fail-fast"], False),
        ("", [], False),
        ("severity='warn'", [], True),
        ("severity='warn'", ["--warn-error-options", warn], False),
        ("severity='warn'", ["--warn-error"], False),
        ("error_if='>5', warn_if='>5'", [], True),
        ("error_if='>=0'", [], False),
    ):
        looks_for(project, "> 0", config)
        assert project.try_dbt(*BOTH, *flags).success is is_published, (config, flags)
        if is_published:
            published(project)
        else:
            assert project.said("items_wap is held back: 1 of 4 tests"), (config, flags)
    other = "select * from {{ alluvium.at(ref('items_wap'), version=0) }} as first where id > 99"
    project.write({"tests/no_stranger.sql": other})
    project.dbt(*BOTH)
    (line,) = project.said("items: still shows version")
    assert "1 of 4 tests did not read version" in line
    looks_for(project, "> 99")
    project.dbt(*BOTH)
    published(project)


def test_a_branch_drops_failures_that_its_builds_stored(project: Project) -> None:
    more = {
        "models/depot_wap.sql": TABLE + "select 1 as id",
        "models/depot.sql": MODELS["models/items.sql"].replace("items_wap", "depot_wap"),
        "models/depot.yml": yaml.safe_dump(
            {
                "models": [
                    {"name": "depot_wap", "columns": [{"name": "id", "data_tests": ["unique"]}]}
                ]
            }
        ),
    }
    project.write(more)
    both = ("build", "-s", "depot_wap", "depot", "--store-failures")
    project.dbt(*both)
    branch = "{name: fix, models: [depot_wap, depot], dry_run: false}"
    project.dbt("run-operation", "alluvium.branch", "--args", branch)
    project.dbt(*both, "--target", "fix")
    assert project.said("depot: 1 test passed → version")
    project.dbt("run-operation", "alluvium.discard", "--args", "{name: fix, dry_run: false}")
    left = project.session.sql(f"show schemas like '{SCHEMA}__fix*'").collect()
    assert [row[0] for row in left] == []
    project.remove(*more)
