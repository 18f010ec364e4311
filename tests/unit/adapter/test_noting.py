"""What the adapter notes for those who look without Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JError

from alluvium.delta.log import log
from alluvium.plan.status import notes
from alluvium.plan.status.table import FailedAudit, NodeNote
from dbt.adapters.alluvium import noting

HELD = FailedAudit("id", 7, 3, {"kept": "8 rows"})


def delta_log(version: int) -> Any:
    """Of a table with this id."""
    metadata = SimpleNamespace(id=lambda: "id")
    snapshot = SimpleNamespace(version=lambda: version, metadata=lambda: metadata)
    return SimpleNamespace(unsafeVolatileSnapshot=lambda: snapshot)


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets a node end with a version of its table, None for none; the note then."""
    monkeypatch.setattr(log, "qualified", lambda _: f"file:{tmp_path}/warehouse/a.db/items")

    def found(session: Any, table: str) -> Any:
        if session is None:
            raise Py4JError("no table")
        return delta_log(session)

    monkeypatch.setattr(log, "delta_log", found)

    def ends(version: int | None, error: object = None) -> NodeNote | None:
        noting.ended(cast(Any, version), tmp_path, "`a`.`items`", "a.items", error)
        (path,) = (tmp_path / notes.FOLDER).iterdir()
        return notes.of_node(path.read_text())

    return ends


def test_what_an_audit_held_back_stays_until_there_is_another_version(
    noted: Any, tmp_path: Path
) -> None:
    first = noted(7)
    assert first.place == "warehouse/a.db/items"
    assert (first.table_id, first.outcome, first.held_back) == ("id", "success", None)
    assert (datetime.now(UTC) - first.at).total_seconds() < 60
    noting.held_back(tmp_path, "A.items", HELD)
    again = noted(7, ValueError("stopped"))
    assert (again.outcome, again.held_back) == ("error", HELD)
    assert noted(8).held_back is None


def test_a_node_without_a_table(noted: Any) -> None:
    found = noted(None, ValueError("stopped"))
    assert (found.place, found.table_id, found.outcome) == (None, None, "error")
    assert noted(-1).table_id is None
    # One that was there is one to look for; a table that is dropped on purpose is none.
    assert noted(3).table_id == noted(None, ValueError("stopped")).table_id == "id"
    assert noted(None).table_id is None


def test_a_note_that_cannot_be_written_stops_nothing(noted: Any, tmp_path: Path) -> None:
    (tmp_path / notes.FOLDER).write_text("in the way")
    noting.held_back(tmp_path, "a.items", HELD)


def test_what_is_noted_of_a_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, elsewhere = tmp_path / "shop", tmp_path / "homes"
    tiers = {"fast": {"slo": "15 minutes", "spark_conf": {"key": "secret"}}, "slow": {}}
    for home, said in ((project / ".alluvium", ".alluvium"), (elsewhere, str(elsewhere))):
        build = notes.Build(target="dev", schema="shop")
        noting.building(project, project / "target", home, build, tiers)
        text = (project / "target" / notes.BUILD).read_text()
        assert notes.of_build(text) == notes.Build(said, "dev", "shop", {"fast": 900.0})
        assert "secret" not in text
    # As `--project-dir shop` gives it.
    monkeypatch.chdir(tmp_path)
    noting.building(Path("shop"), project / "target", project / ".alluvium", build, tiers)
    assert notes.of_build((project / "target" / notes.BUILD).read_text()).home == ".alluvium"


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"at": 3}', '{"home": 1}'])
def test_what_is_no_note(text: str | None) -> None:
    assert notes.of_node(text) is None
    assert notes.of_build(text) == notes.Build()
