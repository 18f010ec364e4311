"""Progress lies in the merge's own commit: nothing is skipped, nothing is read twice."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from typing import Any

import pytest
from functional import delta_rs
from functional.merge.conftest import BATCH, merged

from alluvium.delta.log import log
from alluvium.delta.refs import dependents

pytestmark = pytest.mark.spark

DAY = "2024-01-0{}"


# A hook runs in the merge's session: a `txn` left there would let Delta skip its INSERT.
NOTING = "insert into {{ target.schema }}.noted select count(*) from {{ this }}"
META = {"order_by": "lsn", "delete_when": "op = 'd'"}


def noting(feed: Callable[..., Any], name: str, meta: dict[str, Any]) -> Any:
    """A feed after two merges, each with a hook that wrote its count; before the second its batch
    was staged, and then more events came."""
    made = feed(name, meta, post_hook=NOTING)
    made.session.sql(f"create schema if not exists {name}")
    made.session.sql(f"create table {name}.noted (n bigint) using delta")
    made.append_events(0, (1, "c", 1, DAY.format(1), "a"), (2, "c", 2, DAY.format(2), "b"))
    made.dbt("build")
    made.append_events(1, (2, "d", 3, None, None), (3, "c", 4, DAY.format(3), "c"))
    made.dbt("run", "--select", "batch")  # a kill before the merge
    made.append_events(2, (4, "c", 5, DAY.format(4), "d"))
    made.dbt("build")
    return made


@pytest.fixture(scope="module")
def project(feed: Callable[..., Any]) -> Any:
    made = noting(feed, "progress", META)
    made.write({"models/items.sql": merged(META)})
    return made


def live(project: Any, schema: str = "{s}") -> list[int]:
    query = f"select id from {schema}.items where not coalesce(_deleted, false) order by id"
    return project.read(query)["id"].tolist()


def recorded(project: Any, table: str = "items") -> list[int]:
    name = f"{project.schema}.{table}" if "." not in table else table
    table_id, versions = log.state(project.session, name)
    return [v for app, v in versions.items() if app.endswith(table_id)]


def test_progress_is_in_the_commit(project: Any) -> None:
    """All events since the last one, those of a batch that was never merged too."""
    assert live(project) == [1, 3, 4]
    assert recorded(project) == [2]
    merges = [one for one in project.commits("items") if one["operation"] == "MERGE"]
    said = json.loads(merges[0]["userMetadata"])["alluvium_merge"]
    assert (said["events"], said["deletes"], said["through"]) == (3, 1, 2)


def test_nothing_of_it_is_left_in_the_session(project: Any) -> None:
    check_noted(project)


@pytest.mark.slow
def test_nothing_is_left_in_the_session_by_merge_into(feed: Callable[..., Any]) -> None:
    check_noted(noting(feed, "left_merge_into", META | {"engine": "merge_into"}))


def check_noted(project: Any) -> None:
    assert sorted(project.read("select n from {s}.noted")["n"]) == [2, 4]
    commits = project.commits("noted")
    assert len(commits) == 3
    assert all(one.get("userMetadata") is None for one in commits)
    assert recorded(project, "noted") == []


def test_merged_batch_is_not_merged_twice(project: Any) -> None:
    before = project.versions("items")
    project.dbt("run", "--select", "items")
    assert project.versions("items") == before


def test_full_refresh_alone_is_refused_before_any_statement(project: Any) -> None:
    before = project.versions("items")
    result = project.try_dbt("run", "--full-refresh", "--select", "items")
    assert not result.success
    assert "batch, which stages them, is not selected" in str(result.exception)
    assert project.versions("items") == before


def test_dropped_table_does_not_start_from_the_last_batch(project: Any) -> None:
    project.append_events(3, (5, "c", 6, DAY.format(5), "e"))
    project.dbt("run", "--select", "batch")
    project.session.sql(f"drop table {project.schema}.items")
    result = project.try_dbt("run", "--select", "items")
    assert not result.success
    assert project.said("the staged batch starts after event batch 2, but the table holds none yet")
    # A full refresh of what is there is a table of another id, too.
    project.dbt("run", "--full-refresh")
    assert live(project) == [1, 3, 4, 5]
    assert recorded(project) == [3]


def test_ref_hides_tombstones_and_this_does_not(project: Any) -> None:
    at = f"alluvium.at(ref('items'), version={project.versions('items') - 1})"
    project.write(
        {
            "models/reader.sql": "select id from {{ ref('items') }} r",
            "models/at_version.sql": f"select id from {{{{ {at} }}}} r",
            "models/live_reader.sql": "select id from"
            " {{ alluvium.without_tombstones(ref('items')) }}",
            "models/limited.sql": "select count(*) as n from {{ ref('items') }}",
        }
    )
    project.dbt("run", "--select", "reader", "live_reader", "at_version")
    found = project.sql(
        "select 'r' as v, id from {s}.reader union all select 'l', id from {s}.live_reader"
        " union all select 'a', id from {s}.at_version"
    )
    for view in "rla":
        assert sorted(found[found["v"] == view]["id"]) == [1, 3, 4, 5]
    assert 2 in project.read("select id from {s}.items")["id"].tolist()
    project.dbt("run", "--empty", "--select", "reader")
    names = ("reader", "live_reader", "at_version", "limited")
    project.remove(*(f"models/{name}.sql" for name in names))


def test_explain_changes_nothing(project: Any) -> None:
    project.append_events(4, (6, "c", 7, DAY.format(6), "f"))
    project.dbt("run", "--select", "batch")
    before = project.versions("items")
    project.dbt("run-operation", "alluvium.explain_merge", "--args", "{model: items}")
    assert project.said("items: 1 event for 1 key, 0 deletes")
    assert project.versions("items") == before


def test_clone_goes_on_where_its_source_stopped(project: Any) -> None:
    """After the one before: with a batch that its source has not merged."""
    state = project.root / "state"
    state.mkdir()
    (state / "manifest.json").write_bytes((project.root / "target/manifest.json").read_bytes())
    profiles = (project.root / "profiles.yml").read_text()
    branch = project.schema + "_branch"
    project.write(
        {"profiles.yml": profiles.replace(f"schema: {project.schema}\n", f"schema: {branch}\n")}
    )
    project.session.sql(f"create schema if not exists {branch}")
    project.write({"models/sources.yml": (project.root / "models/sources.yml").read_text().replace(
        "{{ target.schema }}", project.schema)})  # fmt: skip
    project.dbt("clone", "--state", str(state))
    assert recorded(project, f"{branch}.items") == [3]
    # In the commit of the clone: no kill comes between.
    assert delta_rs.versions(project.home, branch, "items") == 1
    # Vacuum of the source knows it.
    folder = log.qualified(log.delta_log(project.session, f"{project.schema}.items"))
    assert [one.name for one in dependents.living(project.session, folder)] == [f"{branch}.items"]
    project.dbt("run")
    assert project.figures("items")["events"] == 1
    assert live(project, branch) == [1, 3, 4, 5, 6]
    assert live(project) == [1, 3, 4, 5]


def test_what_one_merge_reads_ends_with_one_batch(project: Any) -> None:
    """Its progress is one number. Bronze gets a batch behind the first look, before the second."""
    comes = f"insert into {project.schema}.events (id, op, lsn, _batch_id) values (9, 'c', 9, 9)"
    look = f"{{% if execute %}}{{% do run_query({comes!r}) %}}{{% endif %}}"
    project.write({"models/late.sql": f"-- depends_on: {{{{ ref('batch') }}}}\n{look}{BATCH}"})
    project.dbt("compile", "--select", "batch", "late")
    folder = project.root / f"target/compiled/{project.schema}/models"
    texts = [(folder / f"{name}.sql").read_text() for name in ("batch", "late")]
    ends = [re.findall(r"`_batch_id` <= (\d+)L", text) for text in texts]
    assert ends[0] == ends[1] != ["9"]
    assert project.read("select max(_batch_id) as n from {s}.events")["n"].tolist() == [9]
    project.remove("models/late.sql")


def test_a_backlog_is_merged_in_whole_batches(project: Any) -> None:
    """No more than `at_most` events a run, but for a batch that alone has more. On the branch."""
    branch = f"{project.schema}_branch"
    project.dbt("run")
    for number, ids in ((20, (30, 31)), (21, (32,)), (22, (33, 34, 35, 36))):
        events = ((id, "c", 100 + id, DAY.format(1), "e") for id in ids)
        project.append_events(number, *events)
    bounded = BATCH.replace("'items')", "'items', at_most=3)")
    assert bounded != BATCH
    project.write({"models/batch.sql": bounded})
    for through in (21, 22):
        project.dbt("run")
        assert recorded(project, f"{branch}.items") == [through]
    assert set(range(30, 37)) <= set(live(project, branch))
    # Batches of which the model takes nothing are passed over: the next run would bring the same.
    project.append_events(24, *((id, "c", 200 + id, DAY.format(1), "e") for id in (40, 41, 42)))
    project.append_events(25, (43, "c", 243, DAY.format(1), "e"))
    project.write({"models/batch.sql": f"{bounded} where id not in (40, 41, 42)"})
    for through in (24, 25, 25):
        project.dbt("run")
        assert recorded(project, f"{branch}.items") == [through]
    assert {40, 41, 42, 43} & set(live(project, branch)) == {43}
    for wrong in ("0", "true", "'3'", "1.5"):
        project.write({"models/batch.sql": bounded.replace("at_most=3", f"at_most={wrong}")})
        result = project.try_dbt("compile", "--select", "batch")
        assert not result.success
        assert project.said("accepted: a whole number from 1")
    project.write({"models/batch.sql": BATCH})


def test_a_batch_that_no_merge_saw_is_not_passed_over(project: Any) -> None:
    """After the one before: a table between was not built; a model beside reads with a bound."""
    branch = f"{project.schema}_branch"
    bounded = BATCH.replace("'items')", "'items', at_most=1)")
    clean = "{{ config(materialized='table') }} select * from {{ ref('batch') }}"
    beside = "{{ config(materialized='table') }} select count(*) as n from ("
    project.write(
        {
            "models/batch.sql": bounded,
            "models/clean.sql": clean,
            "models/items.sql": merged(META, "select * from {{ ref('clean') }}"),
            "models/a_waiting.sql": beside + bounded.partition("}}")[2] + ")",
        }
    )
    project.dbt("run", "--select", "batch", "clean")
    for number in (26, 27):
        project.append_events(number, (number, "c", 300 + number, DAY.format(1), "e"))
    project.dbt("run", "--select", "batch", "items")
    assert project.said("items: nothing came of the bounded batch, and clean may show an earlier")
    assert recorded(project, f"{branch}.items") == [25]
    project.dbt("run", "--select", "a_waiting", "items")
    assert recorded(project, f"{branch}.items") == [25]
    project.write({"models/batch.sql": bounded.replace("at_most=1", "at_most=2")})
    project.dbt("run", "--select", "batch", "clean", "items")
    assert recorded(project, f"{branch}.items") == [27]
    assert {26, 27} <= set(live(project, branch))
    project.remove("models/a_waiting.sql", "models/clean.sql")
    project.write({"models/batch.sql": BATCH, "models/items.sql": merged(META)})


VIEWS = ("other", "copied", "third")


def test_progress_is_of_one_table_of_events(project: Any) -> None:
    """After the one before. A number of another table is no progress, unless that has the batch."""
    branch = f"{project.schema}_branch"

    def make(name: str, source: str, newest: int) -> None:
        project.session.sql(
            f"create or replace view {project.schema}.{name} as select * from"
            f" {project.schema}.{source} union all"
            f" select {newest}, 'c', {10 * newest}, null, 'o', {newest}"
        )

    make("other", "events where _batch_id <> 27", 28)
    make("copied", "events", 28)
    sources = project.root / "models/sources.yml"
    sources.write_text(
        sources.read_text().rstrip() + "".join(f"\n      - name: {one}" for one in VIEWS) + "\n"
    )
    project.write({"models/batch.sql": BATCH.replace("'events'", "'other'")})
    assert not project.try_dbt("run").success
    assert project.said("items has merged event batches of another table up to 27")
    assert recorded(project, f"{branch}.items") == [27]
    project.write({"models/batch.sql": BATCH.replace("'events'", "'copied'")})
    project.dbt("run")
    assert project.said("goes on in another table of events, progress.copied, behind batch 27")
    assert recorded(project, f"{branch}.items") == [28]
    assert project.figures("items")["events"] == 1
    # So it is where a batch is staged in one command and merged in another.
    make("third", "copied", 29)
    project.write({"models/batch.sql": BATCH.replace("'events'", "'third'")})
    project.dbt("compile", "--select", "batch")
    before = recorded(project, f"{branch}.items")
    for model in ("batch", "items"):
        project.dbt("run", "--select", model)
    assert (before, recorded(project, f"{branch}.items")) == ([28], [29])
    make("copied", "events", 30)
    project.write({"models/batch.sql": BATCH.replace("'events'", "'copied'")})
    assert not project.try_dbt("run").success
    assert project.said("items has merged event batches of another table up to 29")


@pytest.mark.slow
def test_bronze_started_anew_is_no_silent_gap(feed: Callable[..., Any]) -> None:
    made = feed("anew", {"order_by": "lsn"})
    made.append_events(4, (1, "c", 1, DAY.format(1), "a"))
    made.dbt("build")
    made.session.sql(f"delete from {made.schema}.events")
    made.append_events(0, (2, "c", 2, DAY.format(2), "b"))
    assert not made.try_dbt("build").success
    assert made.said("items has merged event batches up to 4, but the newest in")
    made.dbt("build", "--full-refresh")
    assert made.sql("select id from {s}.items")["id"].tolist() == [2]
    assert recorded(made) == [0]


STREAM = """
version: 2
sources:
  - name: landing
    tables:
      - name: feed
        config:
          meta:
            alluvium_stream:
              {format: json, path: landing, schema: "id int, lsn int", max_files_per_trigger: 1}
"""


@pytest.mark.slow
def test_a_streaming_table_of_which_nothing_is_left_is_read_anew(
    make_project: Callable[..., Any],
) -> None:
    """Its numbers go on above those that were merged: none is equal, and none overtakes them."""
    made = make_project(
        "streamed",
        {
            "models/sources.yml": STREAM,
            "models/events.sql": "{{ config(materialized='streaming_table') }}"
            " select * from {{ source('landing', 'feed') }}",
            "models/batch.sql": BATCH.replace("id, op, lsn, at, v,", "id, lsn,").replace(
                "source('raw', 'events')", "ref('events')"
            ),
            "models/items.sql": merged({"order_by": "lsn"}),
        },
    )
    for files in ([1], [2], [3, 4]):  # the first number, the same one, and one more
        (made.root / "landing").mkdir(exist_ok=True)
        for file in (made.root / "landing").iterdir():
            file.unlink()
        for number in files:
            made.write({f"landing/{number}.json": f'{{"id": {number}, "lsn": {number}}}\n'})
        made.dbt("build")
        if files == [3, 4]:
            # Its history tells a batch that was deleted by hand from a table that was made again.
            made.session.sql(f"delete from {made.schema}.events where id = 4")
            made.dbt("build")
            made.session.sql(f"restore table {made.schema}.events to version as of 1")
            made.write({"landing/5.json": '{"id": 5, "lsn": 5}\n'})
            made.dbt("build")
            # A full refresh of bronze alone: all events come again, under numbers above.
            merged_to = recorded(made)[-1]
            made.dbt("run", "--select", "events", "--full-refresh")
            made.session.sql(f"delete from {made.schema}.events where id = 5")
            made.dbt("build")
            assert made.figures("items")["events"] == 2
            assert recorded(made)[-1] > merged_to
            made.write({"landing/5.json": '{"id": 5, "lsn": 6}\n'})  # read, and told
            made.write({"landing/6.json": '{"id": 6, "lsn": 6}\n'})
            made.dbt("build")
            assert made.figures("items")["events"] == 1
        made.session.sql(f"drop table {made.schema}.events")
        shutil.rmtree(made.home / "checkpoints/streamed.events")
    assert made.sql("select id from {s}.items order by id")["id"].tolist() == [*range(1, 7)]


@pytest.mark.slow
def test_a_sample_of_bronze_is_refused(feed: Callable[..., Any]) -> None:
    """Its progress would pass over the events that the sample leaves out."""
    made = feed("sampled", {"order_by": "lsn"})
    sources = made.root / "models/sources.yml"
    sources.write_text(sources.read_text().rstrip() + "\n        config: {event_time: at}\n")
    made.append_events(1, (1, "c", 1, DAY.format(1), "a"))
    assert not made.try_dbt("build", "--sample", "1 day").success
    assert made.said("is filtered by event time (--sample, or a microbatch model)")
    made.dbt("build")
    assert made.sql("select id from {s}.items")["id"].tolist() == [1]
