"""A metastore was lost: what is sound is registered again, whatever else is broken."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException

from alluvium.delta.refs import unregistered
from alluvium.delta.refs.unregistered import Unregistered
from alluvium.engine import metastore
from alluvium.engine.causes import MENDS
from alluvium.merge import progress
from dbt.adapters.alluvium import lost_tables, told

SESSION: Any = None
# Folders whose logs cannot be read.
BROKEN = ("b", "d", "e__rejected")


def node(name: str) -> Any:
    config = SimpleNamespace(materialized="incremental", meta={}, get=lambda *_: None)
    names = {"name": name, "alias": name, "schema": "shop", "unique_id": f"model.p.{name}"}
    return SimpleNamespace(config=config, resource_type="model", **names)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is registered, with some logs that cannot be read."""
    found: list[str] = []

    def look(_: Any, place: str) -> Unregistered | None:
        if place == "d":
            return json.loads('{"commitInfo": ')
        if place in BROKEN:
            raise Py4JError("[DELTA_VERSIONS_NOT_CONTIGUOUS] Versions (0, 2) are not contiguous.")
        if place.endswith("__rejected") and place != "a__rejected":
            return None
        done = {progress.app_id(f"model.p.{place}", "id"): 1}
        return Unregistered(place, "id", 3, None, done)

    monkeypatch.setattr(unregistered, "default_location", lambda _, schema, name, root=None: name)
    monkeypatch.setattr(unregistered, "look", look)
    monkeypatch.setattr(
        unregistered, "register", lambda _, name, *a, **k: found.append(name.strip("`"))
    )
    return found


def test_one_broken_log_stops_no_other_table(registered: list[str]) -> None:
    said = list(lost_tables.register_own(SESSION, Path(), set(), map(node, "abcde")))
    assert registered == [f"shop`.`{name}" for name in ("a", "a__rejected", "c", "e")]
    named = ["shop.a", "shop.a__rejected", "b:", "shop.c", "d:", "shop.e"]
    assert [one.split(" ")[0] for one in said] == named
    with pytest.raises(DbtRuntimeError) as alone:
        lost_tables.there(SESSION, node("b"))
    message = str(alone.value.msg)
    assert message == said[2]
    assert message.startswith("b: the metastore knows no table shop.b, and the log of the one in b")
    assert "are not contiguous. Nothing was changed. " in message
    assert message.count(MENDS) == 1


def test_a_table_that_was_renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    def table_id(_: Any, table: str) -> str:
        if table == "shop.broken":
            raise AnalysisException("[X] not a Delta table")
        return table

    names = ("broken", "view", "a_was", "b_was")
    there = [
        metastore.Registered(one, one == "view", "delta" if one != "view" else None)
        for one in names
    ]
    monkeypatch.setattr(lost_tables.log, "table_id", table_id)
    monkeypatch.setattr(metastore, "tables", lambda *_: there)

    def renamed_to(was: str, *nodes: str) -> str | None:
        return lost_tables.renamed_to(SESSION, node("a"), was, map(node, nodes))

    assert renamed_to("shop.a_was", "a", "b") == "shop.a_was"
    assert renamed_to("shop.a_was", "a", "A_was") is None
    assert renamed_to("shop.a") is None


def test_a_table_that_sql_does_not_find_has_a_way_back(monkeypatch: pytest.MonkeyPatch) -> None:
    known = SimpleNamespace(nodes={"model.p.Totals": node("Totals")})
    monkeypatch.setattr(told, "_project", known)

    def said(name: str, condition: str = "TABLE_OR_VIEW_NOT_FOUND") -> str:
        return told.message(AnalysisException("[X] no x", condition, {"relationName": name}))

    assert "`dbt build -s Totals` makes it" in said("`shop`.`totals`")
    assert "alluvium.recover` registers it again" in said("`shop`.`totals`")
    assert "registers" not in said("`shop`.`theirs`")
    assert "registers" not in said("`shop`.`totals`", "TABLE_OR_VIEW_ALREADY_EXISTS")
