"""dbt's flags and configs beside ours: the cells of docs/seams.md, in one project."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable
from functional.delta_rs import folder_of
from functional.project.seams import (
    MODELS,
    SCHEMA,
    SECOND,
    TABLE,
    THIRD,
    TIMED,
    TIMED_FEED,
    VERSIONED,
    batch,
)
from functional.runner import REPO, Project

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# So many data tests has the candidate.
TESTS = 4
# What reads `codes` and the merged table, and needs no stream.
READERS = ("at_codes", "pruned", "counted", "live", "of_ephemeral", "pruned_ephemeral")
# Of them, those whose SQL asks a macro of ours.
OURS = ("at_codes", "pruned")
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
    for table, said, column, comment in (
        ("items", "what readers see", "kind", "of which kind"),
        ("items_wap", "the newest of each", "id", "its key"),
        ("events", "as they came", "id", None),
    ):
        found = DeltaTable(folder_of(project.home, SCHEMA, table))
        comments = {one.name: one.metadata.get("comment") for one in found.schema().fields}
        assert (found.metadata().description, comments[column]) == (said, comment)
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


SAMPLE = ("--sample", "{'start': '2024-01-02', 'end': '2024-01-04'}")
DAYS = ("--event-time-start", "2024-01-01", "--event-time-end", "2024-01-04")


def test_of_a_sample(project: Project) -> None:
    """After the ones before: both files are read."""
    project.dbt("run", "-s", *READERS, *SAMPLE)
    assert every(project) == {
        "at_codes": [2, 3],
        "pruned": [3],
        "counted": [("a", 1), ("b", 1)],
        "live": [2],
        "of_ephemeral": [2],
        "pruned_ephemeral": [],
    }
    shows = project.versions("items")
    project.dbt("build", "-s", "items", *SAMPLE)
    assert project.said("--sample publishes nothing")
    assert project.versions("items") == shows
    project.write(TIMED)
    for model, why in (
        ("items_batch", "is filtered by event time (--sample"),
        ("at_batch", "is filtered by event time (--sample"),
        ("late_wap", "events is filtered by event time (--sample"),
        ("items_wap", "--sample filters events by its event_time"),
    ):
        assert why in refused(project, "run", "-s", model, *SAMPLE), model
    project.write({"models/s.yml": TIMED_FEED})
    assert "--sample filters feed by event_time" in refused(project, "run", "-s", "events", *SAMPLE)
    project.dbt("run", "-s", *READERS)
    assert every(project) == WHOLE


def test_in_windows(project: Project) -> None:
    """After the one before, which gave the events a time."""
    project.dbt("run", "-s", "daily", *DAYS)
    found = rows(project, "daily", "id, v, live, pruned, counted")
    assert found == [(1, 1, 1, 1, 1), (2, 1, 1, 0, 1), (3, 1, 0, 1, 1)]
    for model in ("window_batch", "window_at_batch"):
        said = refused(project, "run", "-s", model, *DAYS)
        assert "is filtered by event time (--sample, or a microbatch model)" in said
    # Without a filter: a version that ends before the progress is none to go on from.
    said = refused(project, "run", "-s", "at_batch")
    assert "items_wap has merged event batches of another table up to" in said
    assert "version as of 1 has batches below" in said
    assert "they would be passed over" in said
    project.remove(*TIMED)
    project.write({"models/s.yml": MODELS["models/s.yml"]})


def test_of_another_target(project: Project) -> None:
    """After the ones before: what is not built in `dev` is read where it is."""
    project.dbt("parse")
    state = project.root / "state"
    state.mkdir()
    shutil.copy(project.root / "target/manifest.json", state)
    defer = ("--target", "dev", "--defer", "--state", str(state))
    dev = Project(project.root, project.home, f"{SCHEMA}_dev")
    dev.session.sql(f"drop table {dev.schema}.events")
    project.dbt("build", "-s", "items", *defer)
    (line,) = project.said("--defer reads")
    assert f"of {SCHEMA}.items_wap, as {SCHEMA}.items does" in line
    assert rows(dev, "items") == [1, 2]
    project.dbt("run", "-s", *READERS, *defer)
    assert every(dev) == WHOLE
    assert set(rows(dev, "at_codes", "v")) == {1}
    # Version 0 is one of the table that is read.
    project.dbt("run", "-s", "codes", "--target", "dev", "--vars", "{v: 9}")
    for favor, v in ((), 9), (("--favor-state",), 1):
        project.dbt("run", "-s", "at_codes", *defer, *favor)
        assert set(rows(dev, "at_codes", "v")) == {v}
    # The progress is that of this target's table, whosever events are read.
    project.dbt("run", "-s", "items_batch", "items_wap", *defer, "--favor-state")
    assert rows(dev, "items_batch", "lsn") == [1, 2, 3, 4, 5, 6, 7]
    assert rows(dev, "items_wap", where="not _deleted") == [1, 2]
    project.dbt("build", "-s", "items", *defer, "--favor-state")
    (line,) = project.said("items: still shows version")
    assert f"--defer reads {SCHEMA}.items_wap, a table of another target" in line


def test_versions_and_groups(project: Project) -> None:
    project.write(VERSIONED)
    project.dbt("build", "-s", "e", "m_batch", "m", "m_shown", "of_versions", "counted_versions")
    for v in (1, 2):
        lines = rows(project, f"e_v{v}", "lsn, v")
        assert lines == [(lsn, v) for lsn in range(1, 8)]
    assert project.said("m_shown: 1 test passed → version")
    assert rows(project, "m_shown") == [1, 2]
    assert rows(project, "of_versions", "id, live, v") == [(1, 1, 1), (2, 0, 1), (3, 0, 1)]
    assert rows(project, "counted_versions", "kind, row_count") == [("a", 1), ("c", 1)]
    # Of another group nobody reads them.
    stranger = TABLE + "select * from {{ alluvium.prune(ref('m', v=2), {'kind': 'a'}) }}"
    project.write({"models/stranger.sql": stranger})
    said = refused(project, "parse")
    assert "not allowed because the referenced node is private to the 'g' group" in said
    project.remove("models/stranger.sql")
    # There are several of the name.
    project.write({"models/m_batch.sql": batch("ref('events')", "m")})
    said = refused(project, "run", "-s", "m_batch")
    assert "'m' is the name of" in said
    project.remove(*VERSIONED)


def test_contracts(project: Project) -> None:
    contract = "{materialized: streaming_table, contract: {enforced: true}}"
    plain = MODELS["models/s.yml"].replace("{materialized: streaming_table}", contract)
    kinds = {row.col_name: row.data_type for row in
             project.session.sql(f"describe {SCHEMA}.events").collect()}  # fmt: skip
    columns = [{"name": name, "data_type": kind} for name, kind in kinds.items()]
    for wrong, given in ((True, columns[:-1]), (False, columns)):
        both = plain.replace(contract, f"{contract}\n    columns: {json.dumps(given)}")
        project.write({"models/s.yml": both})
        if wrong:
            said = refused(project, "run", "-s", "events")
            assert "This model has an enforced contract that failed" in said
        else:
            project.dbt("run", "-s", "events")
    project.write(
        {
            "models/s.yml": MODELS["models/s.yml"]
            .replace("config: {persist_docs", "config: {contract: {enforced: true}, persist_docs")
            .replace("name: kind, description", "name: kind, data_type: string, description")
        }
    )
    said = refused(project, "run", "-s", "items")
    assert "items: a publish writes no row, so it checks no contract" in said
    project.write({"models/s.yml": MODELS["models/s.yml"]})


def test_failures_that_are_stored(project: Project) -> None:
    """As views: each keeps the version that was tested."""
    project.dbt("run", "-s", "events", "items_batch", "items_wap")
    view = f"select id from {SCHEMA}_dbt_test__audit.no_stranger order by id"
    stored = "store_failures_as='view'"
    looks_for(project, "> 0", stored)
    assert not project.try_dbt(*BOTH).success
    assert project.said("items_wap is held back: 1 of 4 tests")
    found = project.sql(view)["id"].tolist()
    project.session.sql(f"insert into {SCHEMA}.items_wap (id, kind) values (500, 'a')")
    assert project.sql(view)["id"].tolist() == found == [1]
    for config, is_published in (
        (f"{stored}, fail_calc='max(id)', error_if='>600', warn_if='>600'", True),
        (f"{stored}, fail_calc='max(id)', error_if='>400'", False),
        ("limit=1, error_if='>1', warn_if='>1'", True),
        ("limit=1", False),
    ):
        looks_for(project, "> 0", config)
        assert project.try_dbt(*BOTH).success is is_published, config
        if is_published:
            assert project.said(f"items: {TESTS} tests passed → version"), config
    project.session.sql(f"delete from {SCHEMA}.items_wap where id = 500")
    looks_for(project, "> 99", stored)
    project.dbt(*BOTH, *READERS, "--no-partial-parse")
    published(project)
    assert every(project) == WHOLE


def test_a_retry(project: Project) -> None:
    """After the ones before: what a failed run did not commit is read by the next command."""
    failing = {f"models/{one}.sql": MODELS[f"models/{one}.sql"] for one in ("events", *OURS)}
    project.write({"landed/c.json": THIRD, **{one: f"{sql}." for one, sql in failing.items()}})
    assert not project.try_dbt(*BOTH, "events", "items_batch", *OURS).success
    project.session.sql(f"update {SCHEMA}.wanted set kind = 'c'")
    project.write(failing)
    looks_for(project, "> 1")
    assert not project.try_dbt("retry").success
    assert project.said("items_wap is held back: 1 of 4 tests")
    assert rows(project, "items_wap", where="not _deleted") == [1, 2, 5]
    assert {one: rows(project, one) for one in OURS} == {"at_codes": [1, 2, 3], "pruned": []}
    looks_for(project, "> 99")
    project.dbt("retry")
    assert project.said(f"items: {TESTS} tests passed → version"), project.lines
    assert rows(project, "items") == [1, 2, 5]
