"""A merged table becomes the candidate of a published one, and goes on where it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from functional.delta_rs import folder_of
from functional.merge.conftest import BATCH, SOURCES, MergeProject, merged

from alluvium.delta.log import log
from alluvium.delta.refs import unregistered
from alluvium.delta.refs.needed_files import forget
from alluvium.engine import metastore
from alluvium.publish import adopt as adopting

pytestmark = pytest.mark.spark

SCHEMA_YML = """
version: 2
models:
  - name: items
    columns: [{name: id, data_tests: [not_null]}]
"""


AT = "2024-01-01"


@pytest.fixture(scope="module")
def project(make_project: Callable[[str, dict[str, str]], MergeProject]) -> MergeProject:
    made = make_project(
        "adopted",
        {
            "models/sources.yml": SOURCES,
            "models/batch.sql": BATCH,
            "models/items.sql": merged({"order_by": "lsn"}),
            "models/schema.yml": SCHEMA_YML,
            "models/plain.sql": "{{ config(materialized='table') }} select 1 as n",
        },
    )
    made.append_events(1, (1, "c", 1, AT, "one"), (2, "c", 1, AT, "two"), (None, "c", 1, AT, "x"))
    made.dbt("run", "--exclude", "plain")
    return made


def adopt(project: MergeProject, **args: object) -> bool:
    given = ", ".join(f"{key}: {value}" for key, value in {"model": "items", **args}.items())
    return project.try_dbt("run-operation", "alluvium.adopt", "--args", f"{{{given}}}").success


def test_what_would_be_adopted(project: MergeProject) -> None:
    """A dry run, which is the default, does nothing; nor does what cannot be adopted."""
    schema, table = project.schema, f"{project.schema}.items"
    before = log.table_version(project.session, table)
    assert adopt(project)
    assert project.said("items: would move progress through batch 1 to model.adopted.items_wap")
    assert log.table_version(project.session, table) == before
    assert not project.session.catalog.tableExists(f"{schema}.items_wap")
    for line in (
        "  models/items.sql → models/items_wap.sql",
        "  models/items.sql, new: {{ config(materialized='published') }} select * from {{ ref('it",
        "  models/schema.yml: `name: items` becomes `name: items_wap`, with its tests",
        "  models/batch.sql: 'items' becomes 'items_wap' in alluvium.new_events(…)",
    ):
        assert project.said(line), line
    assert not adopt(project, model="plain")
    assert project.said("plain is materialized as table; accepted: an incremental model")
    project.session.sql(f"create view {schema}.items_wap as select 1 as n")
    assert not adopt(project, dry_run="false")
    assert project.said(f"{schema}.items_wap is there already")
    project.session.sql(f"drop view {schema}.items_wap")
    clone = f"{schema}.items_clone"
    project.dbt("run-operation", "alluvium.clone", "--args", f"{{model: items, to: {clone}}}")
    assert not adopt(project, dry_run="false")
    assert project.said("read its files by their paths, which a rename changes")
    project.session.sql(f"drop table {clone}")
    assert project.read("select count(*) from {s}.items").iloc[0, 0] == 2


def test_a_table_is_adopted(project: MergeProject, monkeypatch: pytest.MonkeyPatch) -> None:
    schema, before = project.schema, log.table_id(project.session, f"{project.schema}.items")
    # Killed behind the first rename, in the second one when the folder is moved, and in what
    # completes that: the same command does the rest.
    rename, place = adopting._rename, folder_of(project.home, schema, "items")
    model = "model.adopted.items"
    one = adopting.Adoption(schema, "items", "items_wap", model, f"{model}_wap")

    def kill(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def killed(*args: Any) -> None:
        rename(*args)
        kill()

    def move(*_: object) -> None:
        place.rename(place.with_name("items_wap"))
        forget(project.session, f"file:{place}")
        kill()

    for where, name, does in (
        (adopting, "_rename", killed),
        (adopting, "_rename", move),
        (unregistered, "manage", kill),
        (unregistered, "unregister", kill),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(where, name, does)
            with pytest.raises(KeyboardInterrupt):
                adopting.adopt(project.session, one, dry_run=False)
        assert metastore.table(project.session, schema, "items") is not None
        assert metastore.table(project.session, schema, "items__rejected") is None
    assert adopt(project)
    assert project.said(f"items: would move {schema}.items to {schema}.items_wap")
    assert adopt(project, dry_run="false")
    assert project.said(f"items: moved {schema}.items to {schema}.items_wap")
    assert adopt(project, dry_run="false")
    assert project.said("items: is adopted, and nothing is left to move")
    assert not project.session.catalog.tableExists(f"{schema}.items")
    place = project.sql("describe detail {s}.items_wap")["location"][0]
    assert place.endswith("/items_wap")

    # The project changes as it was told; nothing of bronze is read again, for it is gone.
    project.remove("models/items.sql")
    project.write(
        {
            "models/batch.sql": BATCH.replace("'items'", "'items_wap'"),
            "models/items_wap.sql": merged({"order_by": "lsn"}),
            "models/items.sql": "{{ config(materialized='published') }}"
            " select * from {{ ref('items_wap') }}",
            "models/schema.yml": SCHEMA_YML.replace("name: items", "name: items_wap"),
        }
    )
    project.table("events").delete()
    project.append_events(2, (2, "u", 2, AT, "deux"), (None, "c", 2, AT, "y"))
    project.dbt("build", "--exclude", "plain")
    assert project.said("items: 1 test passed → version")
    rows = project.sql("select id, v from {s}.items order by id")
    assert rows.values.tolist() == [[1, "one"], [2, "deux"]]
    assert project.read("select count(*) from {s}.items_wap__rejected").iloc[0, 0] == 2
    assert log.table_id(project.session, f"{schema}.items_wap") == before


def test_a_table_that_is_made_again_meanwhile(
    project: MergeProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the one before had says nothing of it."""
    session, table, model = project.session, f"{project.schema}.late", "model.adopted.late"
    make = f"create table {table} (id bigint) using delta"
    session.sql(make)
    has = {f"alluvium/{model}/{log.table_id(session, table)}": 7, f"alluvium/skip/{model}/9": 1}
    log.commit_transactions(session, table, has)
    commit = log.commit_transactions

    def late(*args: Any, **how: Any) -> bool:
        monkeypatch.undo()
        session.sql(f"drop table {table}")
        session.sql(make)
        return commit(*args, **how)

    monkeypatch.setattr(log, "commit_transactions", late)
    one = adopting.Adoption(project.schema, "late", "late_wap", model, f"{model}_wap")
    said = adopting.adopt(session, one, dry_run=False)
    assert said == [f"{table} to {table}_wap"]
    assert log.state(session, f"{table}_wap")[1] == {}


VERSIONED = SCHEMA_YML.replace(
    "name: items", "name: items_wap\n    versions: [{v: 1, config: {alias: items_wap}}]"
).replace("name: id", "name: v")


def test_a_model_of_another_unique_id_goes_on_where_it_was(project: MergeProject) -> None:
    """After the one before: it becomes a version of itself, whose table keeps its name."""
    schema, settings = project.schema, {"order_by": "lsn", "null_keys": "insert"}
    project.write({"models/items_wap.sql": merged(settings)})
    project.append_events(3, (None, "c", 3, AT, "z"))
    project.append_events(4, (1, "u", 4, AT, "wrong"))
    skip = "{model: items_wap, batch: 4, skip: true}"
    project.dbt("run-operation", "alluvium.restore", "--args", skip)
    project.dbt("run", "--select", "batch", "items_wap")
    rows = [[0, "z"], [1, "one"], [2, "deux"]]
    assert stored(project) == rows

    project.remove("models/items_wap.sql")
    project.write({"models/items_wap_v1.sql": merged(settings), "models/schema.yml": VERSIONED})
    assert has(project, "model.adopted.items_wap") == {"": 4, "/4": 1}
    # What is refused takes nothing over.
    newest = project.versions("items_wap")
    absent = "{model: items_wap.v1, version: 999}"
    assert not project.try_dbt("run-operation", "alluvium.restore", "--args", absent).success
    assert project.said("999")
    assert project.versions("items_wap") == newest
    project.dbt("build", "--exclude", "plain")
    said = "items_wap.v1: goes on where model.adopted.items_wap was: behind batch 4, 1 mark of eve"
    assert project.said(said)
    assert stored(project) == rows
    assert has(project, "model.adopted.items_wap") == {"": -2, "/4": 0}
    assert has(project, "model.adopted.items_wap.v1") == {"": 4, "/4": 1}

    # Where that is not certain, a person says it.
    table = f"{schema}.items_wap"
    table_id, numbers = log.state(project.session, table)
    gone = {app: 0 if "/skip/" in app else -1 for app in numbers if "items_wap.v1" in app}
    # Another project merges into the table, and took over what this one had.
    ours = f"alluvium/model.adopted.items_wap.v1/{table_id}"
    theirs = f"alluvium/model.other.items_wap/{table_id}"
    log.commit_transactions(project.session, table, gone | {ours: -2, theirs: 4})
    assert not project.try_dbt("run", "--select", "batch", "items_wap").success
    assert project.said("has progress or marks of model.other.items_wap and no more of model.adop")
    gone |= {theirs: -1}
    there = {f"alluvium/model.adopted.plain/{table_id}": 4}
    log.commit_transactions(project.session, table, gone | there)
    assert not project.try_dbt("run", "--select", "batch", "items_wap").success
    former = "{model: items_wap.v1, former: model.adopted.plain, dry_run: false}"
    assert project.said(f"`dbt run-operation alluvium.adopt --args '{former}'`; or an alias")
    wrong = former.replace("plain", "other")
    assert not project.try_dbt("run-operation", "alluvium.adopt", "--args", wrong).success
    assert project.said("could take over; accepted: model.adopted.plain")
    project.dbt("run-operation", "alluvium.adopt", "--args", former)
    project.dbt("run", "--select", "batch", "items_wap")
    assert project.said("items_wap: nothing new")


def stored(project: MergeProject) -> list[list[object]]:
    found = project.read("select coalesce(id, 0) as id, v from {s}.items_wap")
    return sorted(found.values.tolist())


def has(project: MergeProject, model: str) -> dict[str, int]:
    """What the table has of a model: its progress, and by batch what is left out."""
    table_id, numbers = log.state(project.session, f"{project.schema}.items_wap")
    progress, mark = f"alluvium/{model}/{table_id}", f"alluvium/skip/{model}"
    return {
        app.removeprefix(progress).removeprefix(mark): number
        for app, number in numbers.items()
        if app == progress or app.startswith(f"{mark}/")
    }


MOVES = ("untag", "tag")


def test_a_tag_that_moves_behind_the_first_delete(
    make_project: Callable[[str, dict[str, str]], MergeProject],
) -> None:
    """Its first version knows no tombstones; the SQL is written before a hook moves it."""
    settings = {"order_by": "lsn", "null_keys": "match"}
    project = make_project(
        "moving_tag",
        {
            "models/sources.yml": SOURCES,
            "models/batch.sql": BATCH,
            "models/items.sql": merged(settings),
        },
    )
    project.append_events(
        1, (1, "c", 1, AT, "one"), (2, "c", 1, AT, "deux"), (None, "c", 1, AT, "z")
    )
    project.dbt("run")
    tag = "{model: items, name: good}"
    project.dbt("run-operation", "alluvium.tag", "--args", tag)
    moves = [f"{{{{ alluvium.{verb}(model='items', name='good') }}}}" for verb in MOVES]
    project.write(
        {
            "models/items.sql": merged({**settings, "delete_when": "op = 'd'"}),
            "models/at_tag.sql": f"{{{{ config(materialized='table', pre_hook={moves!r}) }}}}"
            " select v from {{ alluvium.at(ref('items'), tag='good') }} as g",
            "models/at_first.sql": "select v from {{ alluvium.at(ref('items'), tag='good') }} as g",
        }
    )
    project.append_events(5, (1, "d", 5, AT, "x"))
    project.dbt("run", "--select", "batch", "items", "at_first")
    assert sorted(project.sql("select v from {s}.at_first")["v"]) == ["deux", "one", "z"]
    project.dbt("run", "--select", "at_tag")
    for table in ("at_tag", "at_first"):
        assert sorted(project.sql(f"select v from {{s}}.{table}")["v"]) == ["deux", "z"]
