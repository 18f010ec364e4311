"""`alluvium run` at its start: what no round can mend is told at once, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from functional.runner import Project

from alluvium.status import cli

EVERY = ["--every", "1h"]
ONE = ["--select", "one", *EVERY]
FILES = {
    "profiles.yml": "p: {target: t, outputs: {t: {type: alluvium, schema: s}}}",
    "dbt_project.yml": "{name: starts, profile: p, flags: {send_anonymous_usage_stats: false}}",
    "models/one.sql": "select 1 as id",
}


def test_mistakes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path, tmp_path / ".alluvium", "s")
    project.write(FILES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DBT_PROFILES_DIR", str(tmp_path))

    def told(*arguments: str) -> str:
        assert cli.main(["run", *arguments]) == 2
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
    project.write({"models/bad.yml": "models: ["})
    assert "bad.yml" in told(*ONE)
    assert not project.home.exists()
