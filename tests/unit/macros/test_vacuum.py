"""Vacuum: a hook that deletes, and an operation that only says what it would delete."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

LOGS = SimpleNamespace(render=lambda: "`s`.`logs`", identifier="logs")


@pytest.fixture
def sent(macros: Any, node: Any) -> list[str]:
    """The vacuums; a dry run finds as many files as `files` of the context says."""
    statements: list[str] = []
    said: list[str] = []

    def vacuum(relation: Any, dry_run: bool) -> list[str]:
        statements.append(f"vacuum {relation.render()}" + (" dry run" if dry_run else ""))
        return [f"part-{number}" for number in range(macros.context["files"])]

    logs = node() | {"name": "logs", "database": None, "schema": "s", "alias": "logs"}
    macros.context |= {"files": 2, "said": said, "config": {}}
    macros.context["graph"] = {"nodes": {"a": logs}, "sources": {}}
    macros.context["log"] = lambda line, info=False: said.append(line)
    macros.context["adapter"] = SimpleNamespace(
        get_relation=lambda database, **names: LOGS,
        vacuum=vacuum,
    )
    macros.context["alluvium"]["validate"] = lambda: ""
    return statements


def test_the_hook_deletes(macros: Any, sent: list[str]) -> None:
    assert macros.vacuum(LOGS) == ""
    assert sent == ["vacuum `s`.`logs`"]
    macros.context["flags"] = SimpleNamespace(EMPTY=True)
    assert macros.vacuum(LOGS) == ""
    assert len(sent) == 1


def test_other_targets_get_a_statement(macros: Any, sent: list[str]) -> None:
    macros.context["target"] = SimpleNamespace(type="databricks")
    assert macros.vacuum(LOGS) == "vacuum `s`.`logs`"
    run: list[str] = []
    paths = [SimpleNamespace(values=lambda: ["part-0"])]
    macros.context["run_query"] = lambda sql: run.append(sql) or SimpleNamespace(columns=paths)
    macros.vacuum(model="logs")
    macros.vacuum(model="logs", dry_run=False)
    assert run == ["vacuum `s`.`logs` dry run", "vacuum `s`.`logs`"]
    assert macros.context["said"][-1] == "logs: vacuumed"
    assert not sent


def test_the_operation_is_a_dry_run(macros: Any, sent: list[str]) -> None:
    macros.vacuum(model="logs")
    assert sent == ["vacuum `s`.`logs` dry run"]
    said = macros.context["said"]
    assert said[0].startswith("logs: would delete 2 files that no version within the retention")
    assert said[1:] == ["  part-0", "  part-1"]


def test_a_dry_run_shows_twenty_files(macros: Any, sent: list[str]) -> None:
    macros.context["files"] = 1000
    macros.vacuum(model="logs")
    said = macros.context["said"]
    assert said[0].startswith("logs: would delete 1,000 files")
    assert said[-1] == "  … 980 more"
    assert len(said) == 22
    # Delta by itself lists a thousand at most.
    macros.context["target"] = SimpleNamespace(type="databricks")
    paths = [SimpleNamespace(values=lambda: ["part"] * 1000)]
    macros.context["run_query"] = lambda sql: SimpleNamespace(columns=paths)
    macros.vacuum(model="logs")
    assert said[22].startswith("logs: would delete at least 1,000 files")


def test_the_operation_deletes_when_told(macros: Any, sent: list[str]) -> None:
    macros.vacuum(model="logs", dry_run=False)
    assert sent == ["vacuum `s`.`logs`"]
    assert macros.context["said"] == ["logs: vacuumed, 2 files deleted"]


@pytest.mark.parametrize("value", ["false", None, 0])
@pytest.mark.parametrize("operation", ["compact", "vacuum", "drop_old_buckets", "purge_tombstones"])
def test_nothing_is_deleted_for_a_word(
    macros: Any, sent: list[str], stop: Any, operation: str, value: Any
) -> None:
    shown = json.dumps(value)
    with pytest.raises(stop, match=f"alluvium.{operation}: dry_run is {shown}; accepted: true, f"):
        getattr(macros, operation)(model="logs", dry_run=value)
    assert not sent


def test_a_model_that_is_not_there(macros: Any, sent: list[str], stop: Any) -> None:
    with pytest.raises(stop, match="there is no enabled model 'other'; accepted: the name of one"):
        macros.vacuum(model="other", dry_run=False)
    macros.context["adapter"] = SimpleNamespace(get_relation=lambda database, **names: None)
    macros.vacuum(model="logs", dry_run=False)
    assert macros.context["said"] == ["logs: no table yet"]
    assert not sent


@pytest.mark.parametrize("operation", ["drop_old_buckets", "purge_tombstones", "explain_merge"])
def test_what_is_not_done_to_a_published_model(
    macros: Any, sent: list[str], node: Any, stop: Any, operation: str
) -> None:
    # What a comment of dbt's names is not what it shows.
    macros.context["adapter"] = SimpleNamespace(shown_by=lambda one: ["b"] if one == "a" else [])
    shown = {"name": "shown", "unique_id": "b", "depends_on": {"nodes": ["source.x", "a"]}}
    macros.context["graph"]["nodes"]["b"] = node(materialized="published") | shown
    with pytest.raises(stop, match=r"accepted: .*; shown shows the rows of logs\.$"):
        getattr(macros, operation)(model="shown")
