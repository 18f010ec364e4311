"""Names of feeds: capital letters in them, and versions of one model, whose names are alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from functional.merge.conftest import merged

from alluvium.stream import checkpoint
from alluvium.stream.files import Files

pytestmark = pytest.mark.spark

ORDERS = """
select o.*, _batch_after, _batch_through
from {{ alluvium.new_events(ref('Events'), 'orders') }}
lateral view inline(array(from_json(_value, 'id bigint, v bigint'))) o
"""
YML = """
models:
  - name: orders
    latest_version: 2
    versions: [{v: 1}, {v: 2, config: {schema: Marts}}]
sources:
  - name: landing
    tables:
      - name: Orders
        config: {meta: {alluvium_stream: {format: json, path: landing}}}
"""
FILES = {
    "models/all.yml": YML,
    "models/Events.sql": "{{ config(materialized='streaming_table') }}"
    "select * from {{ source('landing', 'Orders') }}",
    "models/orders_v1.sql": merged({"order_by": "v"}, ORDERS),
    "models/orders_v2.sql": merged({"order_by": "v"}, ORDERS),
    "landing/1.json": '{"id": 1, "v": 1}\n',
}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any]) -> Any:
    made = make_project("Shop", FILES)
    made.dbt("run")
    made.write({"landing/2.json": '{"id": 2, "v": 1}\n'})
    made.dbt("run", "--select", "Events", "orders.v2")
    return made


def ids(project: Any, table: str) -> list[int]:
    return list(project.sql(f"select id from {table} order by id")["id"])


def test_each_version_reads_every_event(project: Any) -> None:
    assert project.said("orders.v2: 1 event → ")
    assert ids(project, "shop.orders_v1") == [1]
    project.dbt("run")
    assert project.said("orders.v1: 1 event → ")
    assert project.said("orders.v2: nothing new")
    project.dbt("run", "--full-refresh", "--select", "orders.v1")
    for table in ("shop.orders_v1", "Shop_Marts.orders_v2"):
        assert ids(project, table) == [1, 2]


def test_one_table_under_two_names_is_refused(project: Any) -> None:
    project.write({"models/more/events.sql": "select 2 as id"})
    try:
        assert not project.try_dbt("run", "--select", "events").success
        assert project.said("model.Shop.Events, model.Shop.events: one table to Spark, shop.events")
    finally:
        project.remove("models/more/events.sql")


def test_a_checkpoint_is_found_under_any_case(project: Any, tmp_path: Path) -> None:
    files = Files(project.session)
    begun = {"Shop.Events": 5, "shop.Events": 7, "shop.events_2": 9, "SHOP.EVENTS": 3}
    assert checkpoint.root_of(files, f"{tmp_path}/none", "Shop.Events").endswith("/shop.events")
    (tmp_path / "shop.events").mkdir()  # without a pointer
    for name, base in begun.items():
        checkpoint.save(files, checkpoint.begin(f"{tmp_path}/{name}", base, "id"))
    assert checkpoint.root_of(files, str(tmp_path), "shop.events") == f"{tmp_path}/shop.Events"
    assert checkpoint.root_of(files, str(tmp_path), "shop.Events_2") == f"{tmp_path}/shop.events_2"
    assert checkpoint.root_of(files, str(tmp_path), "b.Events") == f"{tmp_path}/b.events"


@pytest.mark.slow
def test_a_backfill_and_operations_of_one_version(project: Any) -> None:
    project.dbt("run")
    project.session.sql("delete from shop.orders_v1")
    project.session.sql("delete from shop_marts.orders_v2 where id = 1")
    window = {"alluvium_backfill": {"orders.v1": {"from_batch": 0}}}
    project.dbt("run", "--vars", json.dumps(window), "--select", "orders")
    assert ids(project, "shop.orders_v1") == [1, 2]
    assert ids(project, "shop_marts.orders_v2") == [2]
    project.write({"landing/3.json": '{"id": 3, "v": 1}\n'})
    project.dbt("run", "--select", "Events", "orders.v2")
    # It reads for the version that is explained.
    project.dbt("run-operation", "alluvium.explain_merge", "--args", "{model: Shop.orders.v1}")
    assert project.said("Shop.orders.v1: 1 event for 1 key")
    project.dbt("run-operation", "alluvium.explain_merge", "--args", "{model: orders.v2}")
    assert project.said("orders.v2: nothing new in the staged batch")
    result = project.try_dbt("run-operation", "alluvium.vacuum", "--args", "{model: orders}")
    assert not result.success
    assert project.said("accepted: orders.v1 (model.Shop.orders.v1), orders.v2 (model.Shop.ord")
    project.dbt("compile")
    project.dbt("run-operation", "alluvium.suggest_layout")
    assert project.said("orders.v1: ")
    assert project.said("orders.v2: ")


@pytest.mark.slow
def test_a_profile_in_another_case_is_the_same_schema(project: Any) -> None:
    project.dbt("run")
    before = {table: ids(project, table) for table in ("shop.orders_v1", "shop_marts.orders_v2")}
    state = project.root / "state"
    state.mkdir()
    (project.root / "target/manifest.json").rename(state / "manifest.json")
    profiles = project.root / "profiles.yml"
    given = profiles.read_text()
    # Earlier versions wrote the folder's name as the model writes the table's.
    checkpoints = project.home / "checkpoints"
    (checkpoints / "shop.events").rename(checkpoints / "Shop.Events")
    profiles.write_text(given.replace("schema: Shop\n", "schema: sHOP\n"))
    try:
        # Else the clone would drop what it clones.
        project.dbt("clone", "--full-refresh", "--state", str(state), "--select", "orders")
        assert len(project.said("is the table of the state too: nothing to clone")) == 2
        project.dbt("run")
        assert project.said("Events: nothing new")
    finally:
        profiles.write_text(given)
    for table, rows in before.items():
        assert ids(project, table) == rows
