"""`alluvium run` before its rounds: what no round can mend is told at once, without Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from dbt.cli.main import dbtRunner
from functional.runner import Project

from alluvium.command import main as command
from dbt.adapters.alluvium import rounds

EVERY = ["--every", "1h"]
ONE = ["--select", "one", *EVERY]
FILES = {
    "profiles.yml": "p: {target: t, outputs: {t: {type: alluvium, schema: s}}}",
    "dbt_project.yml": "{name: starts, profile: p, flags: {send_anonymous_usage_stats: false}}",
    "selectors.yml": "selectors: [{name: all, definition: {method: fqn, value: starts}}]",
    "models/one.sql": "select 1 as id",
    "models/between.sql": "{{ config(materialized='ephemeral') }} select * from {{ ref('one') }}",
    "models/two.sql": "select * from {{ ref('between') }}",
    "models/beside.sql": "select 1 as id",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    root = tmp_path_factory.mktemp("starts")
    made = Project(root, root / ".alluvium", "s")
    made.write(FILES)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setenv("DBT_PROFILES_DIR", str(root))
        yield made


def test_what_is_left_out(project: Project) -> None:
    """Beside a selector, what waits and what is below it, also by an ephemeral model."""
    for waiting, left in (
        ({"model.starts.one", "model.starts.gone"}, ["starts.beside"]),
        ({"model.starts.two"}, ["starts.beside", "starts.between", "starts.one"]),
        (set[str](), ["starts.beside", "starts.between", "starts.one", "starts.two"]),
    ):
        with rounds._leaving_out(frozenset(waiting)) as asked:
            listed = dbtRunner().invoke(["ls", "--selector", "all", "--quiet"])
        assert listed.success, listed.exception
        assert sorted(listed.result) == left
        names = ("beside", "between", "one", "two")
        assert asked.nodes == {f"model.starts.{name}" for name in names}
        assert asked.left_out == 4 - len(left)


def test_mistakes(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    def told(*arguments: str) -> str:
        assert command.main(["run", *arguments]) == 2
        return capsys.readouterr().err

    assert "No such option" in told(*ONE, "--", "--thread", "2")
    said = told(*ONE, "--", "--exclude", "below")
    assert "--exclude behind --; accepted before it: --select, --selector and --project-dir" in said
    said = told(*ONE, "--", "--target", "none")
    assert "does not have a target named 'none'" in said
    # Of several the wrong one is told.
    said = told(*ONE, "--selector", "nobody", *EVERY)
    assert "Could not find selector named nobody" in said
    assert "selects nothing that dbt builds" in told("--select", "nothing", *EVERY)
    said = told(*ONE, "--", "--resource-type", "seed", "--threads", "2")
    assert "--select one selects nothing that dbt builds" in said
    project.write({"models/bad.yml": "models: ["})
    assert "bad.yml" in told(*ONE)
    assert not project.home.exists()
