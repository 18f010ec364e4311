"""Tables whose folders are there and whose entries in the metastore are lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from functional import delta_rs
from functional.merge.conftest import MergeProject, merged
from functional.recovery.damage import cut
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.delta.refs import unregistered
from alluvium.engine.causes import MENDS

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SOURCES = {
    "sources": [
        {
            "name": "landing",
            "tables": [
                {
                    "name": "orders",
                    "config": {"meta": {"alluvium_stream": {"format": "json", "path": "landing"}}},
                }
            ],
        }
    ]
}
ORDERS = """
select o.*, _batch_after, _batch_through
from {{ alluvium.new_events(ref('events'), 'orders') }}
lateral view inline(array(from_json(_value, 'id bigint, v bigint'))) o
"""
FILES = {
    "models/sources.yml": yaml.safe_dump(SOURCES),
    "models/events.sql": "{{ config(materialized='streaming_table') }}"
    " select * from {{ source('landing', 'orders') }}",
    "models/orders.sql": merged({"order_by": "v"}, ORDERS),
    "models/shown.sql": "{{ config(materialized='published', meta={'alluvium_publish':"
    " {'audit': 'none'}}) }} select * from {{ ref('orders') }}",
    "models/names.sql": "{{ config(materialized='view') }} select id from {{ ref('shown') }}",
    "models/history.sql": "{{ config(materialized='incremental') }} select {{ var('n', 1) }} as n",
    "models/totals.sql": "{{ config(materialized='table') }} select count(*) as n"
    " from {{ ref('orders') }}",
    "snapshots/states.yml": yaml.safe_dump(
        {
            "snapshots": [
                {
                    "name": "states",
                    "relation": "ref('totals')",
                    "config": {"unique_key": "n", "strategy": "check", "check_cols": ["n"]},
                }
            ]
        }
    ),
}


def forget(session: SparkSession, table: str) -> None:
    """Take a table out of the metastore, and leave its files."""
    state: Any = session._jsparkSession.sessionState()
    java: Any = session._jvm
    catalog = state.catalog()
    entry = catalog.getTableMetadata(state.sqlParser().parseTableIdentifier(table))
    location = Path(entry.location().getPath())
    kept = location.with_name(f"{location.name}.kept")
    shutil.copytree(location, kept)
    session.sql(f"drop table {table}")
    shutil.rmtree(location, ignore_errors=True)
    kept.rename(location)
    java.org.apache.spark.sql.delta.DeltaLog.clearCache()


def test_what_is_provably_its_own_is_back(
    make_project: Callable[[str, dict[str, str]], MergeProject],
) -> None:
    project = make_project("lost", FILES)

    def land(number: int, *orders: dict[str, Any]) -> None:
        path = project.root / f"landing/{number}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{json.dumps(order)}\n" for order in orders))

    land(1, {"id": 1, "v": 1}, {"id": None, "v": 1})
    project.dbt("build")
    tables = ("events", "orders", "orders__rejected", "shown", "history", "states", "totals")
    for table in tables:
        forget(project.session, f"{project.schema}.{table}")

    land(2, {"id": 1, "v": 2}, {"id": 2, "v": 1}, {"id": None, "v": 2})
    failed = project.try_dbt("build", "--vars", "{n: 2}")
    assert not failed.success
    said = "\n".join(project.lines)
    for table in ("events", "orders", "orders__rejected", "shown"):
        assert f"{project.schema}.{table} was lost to the metastore, and is back" in said
    errors = {one.node.name: one.message for one in failed.result if one.status == "error"}
    assert set(errors) == {"history", "states"}
    for name, message in errors.items():
        assert f"{name}: the metastore knows no table {project.schema}.{name}" in message
        assert "holds a Delta table (id " in message
        assert "Nothing was changed." in message
    assert project.sql("select id, v from {s}.orders order by id").values.tolist() == [
        [1, 2],
        [2, 1],
    ]
    assert project.sql("select count(*) from {s}.events").iloc[0, 0] == 5
    assert project.sql("select count(*) from {s}.orders__rejected").iloc[0, 0] == 2
    assert project.sql("select n from {s}.totals").iloc[0, 0] == 2
    managed = project.sql("describe extended {s}.orders")
    assert "MANAGED" in managed["data_type"].tolist()

    # The statement of the message, in a hook, makes the others tables again.
    again = [message.split("`create table")[1].split("` (say")[0] for message in errors.values()]
    hooks = yaml.safe_load((project.root / "dbt_project.yml").read_text())
    hooks["on-run-start"] = [f"create table{statement}" for statement in again]
    (project.root / "dbt_project.yml").write_text(yaml.safe_dump(hooks))
    project.dbt("build", "--select", "history", "states", "--vars", "{n: 3}")
    assert sorted(project.sql("select n from {s}.history")["n"]) == [1, 3]
    assert len(project.sql("select * from {s}.states")) == 2

    # What proves nothing, and what the project does not know, is back when it is asked for.
    project.session.sql(f"create table {project.schema}.theirs using delta as select 7 as x")
    for table in (*tables, "theirs"):
        forget(project.session, f"{project.schema}.{table}")
    project.session.sql(f"drop view {project.schema}.names")
    hooks["on-run-start"] = []
    (project.root / "dbt_project.yml").write_text(yaml.safe_dump(hooks))
    assert not project.try_dbt("run-operation", "alluvium.fsck").success
    for table in tables:
        assert project.said(f"{table}: the metastore does not know it")
    assert project.said("7 damages in 7 tables")
    project.dbt("run-operation", "alluvium.recover")
    assert project.said("history: would register it with the metastore again")
    assert project.said("nothing was changed (dry run; dry_run: false does it)")
    assert "history" not in project.sql("show tables in {s}")["tableName"].tolist()
    project.dbt("run-operation", "alluvium.recover", "--args", "{dry_run: false}")
    for table in (*tables, f"{project.schema}.theirs"):
        assert project.said(f"{table}: registers it with the metastore again")
    assert project.said("`dbt run --select names`")
    assert project.sql("select x from {s}.theirs")["x"].tolist() == [7]
    project.dbt("run-operation", "alluvium.fsck", "--args", "{full: true}")
    assert project.said("7 tables, ")
    assert project.said("no damage in ")
    # A kill within that leaves an entry that would leave the files.
    history = f"{project.schema}.history"
    place = log.folder(project.session, history)
    forget(project.session, history)
    unregistered.register(project.session, history, place, managed=False)
    project.dbt("run-operation", "alluvium.fsck", "--args", "{models: history}")
    assert project.said("history: no damage: its files stay when it is dropped")
    project.dbt("run-operation", "alluvium.recover", "--args", "{models: history, dry_run: false}")
    assert project.said("history: lets its files go with it when it is dropped")
    assert unregistered.is_managed(project.session, history)
    land(3, {"id": 3, "v": 1})
    project.dbt("build", "--vars", "{n: 4}")
    assert sorted(project.sql("select n from {s}.history")["n"]) == [1, 3, 4]
    for table in ("orders", "shown", "names"):
        assert sorted(project.sql(f"select id from {{s}}.{table}")["id"]) == [1, 2, 3]
    project.dbt("run-operation", "alluvium.recover", "--args", "{models: shown}")
    assert project.said("alluvium.recover: nothing to do")

    # One that somebody renamed is not made anew, and each build says where it is.
    project.session.sql("alter table lost.orders rename to lost.was")
    for _ in range(2):
        failed = project.try_dbt("build", "--select", "orders")
        [message] = [one.message for one in failed.result if one.status == "error"]
        assert "orders: it was renamed, and is lost.was now" in message
    # Nor is what shows it damaged: to go back would take from readers what is there.
    both = "{models: [orders, shown]}"
    assert not project.try_dbt("run-operation", "alluvium.fsck", "--args", both).success
    assert project.said("orders: it was renamed, and is lost.was now: its files moved along")
    assert project.said("shown: orders, which it shows, was renamed, and is lost.was now: ")
    assert not project.said("missing")
    project.dbt("run-operation", "alluvium.recover", "--args", "{models: shown, dry_run: false}")
    project.session.sql(message.split("Accepted: `")[1].split("`")[0])
    assert project.sql("select id from {s}.shown order by id")["id"].tolist() == [1, 2, 3]

    # Logs that are really broken stop no other model, and each fails alone.
    states = project.sql("select * from {s}.states")
    log.snapshot_of(project.session, f"{project.schema}.states").deltaLog().checkpoint()
    for table in (*tables, "theirs"):
        forget(project.session, f"{project.schema}.{table}")
    broken = {
        name: delta_rs.folder_of(project.home, project.schema, name) / "_delta_log"
        for name in ("history", "shown", "states")
    }
    # Sums of files, and those of versions, would tell of it, or be read in place of a checkpoint.
    for sums in [*broken["states"].glob("*.crc"), *broken["history"].glob(".*.crc")]:
        sums.unlink()
    cut(max(broken["history"].glob("*.json")))
    sorted(broken["shown"].glob("*.json"))[-2].unlink()
    cut(*broken["states"].glob("*.checkpoint.parquet"))
    # Delta reads the commits in place of a checkpoint, where they are there.
    (backup := project.root / "commits").mkdir()
    for path in broken["states"].glob("*.json"):
        path.rename(backup / path.name)
    land(4, {"id": 4, "v": 1})
    chosen = ("--select", "events", "orders", *broken, "--vars", "{n: 5}")
    failed = project.try_dbt("build", *chosen)
    errors = {one.node.name: one.message for one in failed.result if one.status == "error"}
    assert set(errors) == set(broken), errors
    for name, message in errors.items():
        assert f"{name}: the metastore knows no table {project.schema}.{name}, and the" in message
        assert "Nothing was changed. " in message
        assert message.count(MENDS) == 1
    assert project.sql("select id from {s}.orders order by id")["id"].tolist() == [1, 2, 3, 4]
    for path in backup.iterdir():
        path.rename(broken["states"] / path.name)
    project.dbt("run-operation", "alluvium.recover", "--args", "{dry_run: false}")
    assert project.said("history: goes back to version ")
    project.dbt("build", *chosen)
    assert sorted(project.sql("select n from {s}.history")["n"]) == [1, 3, 5]
    assert project.sql("select id from {s}.shown order by id")["id"].tolist() == [1, 2, 3, 4]
    assert len(project.sql("select * from {s}.states")) == len(states)
