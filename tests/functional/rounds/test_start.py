"""`alluvium run` at its start: what no round can mend is told at once, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from functional.rounds.day import make

from alluvium.status import cli

EVERY = ["--every", "1h"]


def test_mistakes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    day = make(tmp_path, tmp_path / "home")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DBT_PROFILES_DIR", str(tmp_path))

    def told(*arguments: str) -> str:
        assert cli.main(["run", *arguments]) == 2
        return capsys.readouterr().err

    assert "No such option" in told("--select", "beside", *EVERY, "--", "--thread", "2")
    said = told("--select", "beside", *EVERY, "--", "--exclude", "below")
    assert "--exclude behind --; accepted before it: --select, --selector and --project-dir" in said
    said = told("--select", "beside", *EVERY, "--", "--target", "none")
    assert "does not have a target named 'none'" in said
    assert "selects nothing that dbt builds" in told("--select", "nothing", *EVERY)
    # Of several the wrong one is told.
    said = told("--select", "beside", *EVERY, "--selector", "nobody", *EVERY)
    assert "Could not find selector named nobody" in said
    day.write({"models/bad.yml": "models: ["})
    assert "bad.yml" in told("--select", "beside", *EVERY)
    assert not (tmp_path / "home").exists()
