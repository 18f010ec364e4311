"""Ranges that look at the table: from a Python model, without one, and after the table moved on."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from functional.compaction import tables
from functional.delta_rs import folder_of
from functional.merge.conftest import BATCH, SOURCES, disturb, merged
from functional.sorted_files import files_of
from support.opens import counting

pytestmark = pytest.mark.spark

PLANNER = """
from alluvium.merge import plan_ranges


def model(dbt, session):
    return plan_ranges(session, dbt.ref("batch"))
"""
DAY_59 = "timestamp'2024-03-04 00:00:00'"
BODY = "-- depends_on: {{ ref('plans') }}\nselect * from {{ ref('batch') }}"


@pytest.fixture(scope="module")
def project(feed: Callable[..., Any]) -> Any:
    """`items` in files of ten ids each; `at` is a day an id."""
    ranges = {"column": "at", "method": "cover", "k": 2}
    made = feed("covered", {"order_by": "lsn", "ranges": ranges})
    given_table(made, 60, day)
    return made


def given_table(project: Any, rows: int, day: Callable[[int], str], more: str = "") -> None:
    """`items` that nothing was merged into yet, in files of ten ids each."""
    project.session.sql(f"create schema if not exists {project.schema}")
    project.session.sql(
        f"create table {project.schema}.items (id bigint, op string, lsn bigint, at timestamp,"
        f" v string{more}) using delta tblproperties ('delta.enableDeletionVectors'='true')"
    )
    ids = range(rows)
    days = (dt.datetime.fromisoformat(day(one)).replace(tzinfo=dt.UTC) for one in ids)
    values = pd.DataFrame({"id": ids, "op": "c", "lsn": ids, "at": days, "v": "old"})
    values["_deleted"] = False
    made = pa.Table.from_pandas(values, pa.schema(project.table("items").schema()))
    folder = folder_of(project.home, project.schema, "items")
    tables.commit(folder, [made.slice(first, 10) for first in range(0, rows, 10)])


def day(number: int) -> str:
    return f"2024-{1 + number // 28:02}-{1 + number % 28:02}"


def update(project: Any, batch: int, *ids: int) -> None:
    project.append_events(batch, *((i, "u", 1000 * batch, day(i), str(batch)) for i in ids))


def figures(project: Any) -> tuple[Any, ...]:
    found = project.figures("items")
    return found["method"], found["ranges"], found["files_kept"], found["files_total"]


def updated(project: Any, batch: int) -> list[int]:
    frame = project.read(f"select id from {{s}}.items where v = '{batch}' order by id")
    return list(frame["id"])


def test_planned_by_the_merge(project: Any) -> None:
    update(project, 6, 5, 6, 55)
    project.dbt("run", "--select", "batch")
    before = project.versions("items")
    project.dbt("run-operation", "alluvium.explain_merge", "--args", "{model: items}")
    files = project.table("items").get_add_actions(flatten=True)
    sizes = dict(zip(files["min.id"].to_pylist(), files["size_bytes"].to_pylist(), strict=True))
    assert sorted(sizes) == [0, 10, 20, 30, 40, 50]
    where = next(i for i, line in enumerate(project.lines) if line.startswith("items: 3 events"))
    assert project.lines[where : where + 4] == [
        "items: 3 events for 3 keys, 0 deletes, 0 without the range column",
        f"  at {day(5)} 00:00:00.000000 … {day(6)} 00:00:00.000000  (cover)",
        f"  at {day(55)} 00:00:00.000000 … {day(55)} 00:00:00.000000  (cover)",
        f"  2 of 6 files, {sizes[0] + sizes[50]:,} of {sum(sizes.values()):,} bytes",
    ]
    [engine] = project.said("  engine: ")
    assert engine.endswith("  engine: one_commit")
    assert project.versions("items") == before
    project.dbt("run", "--select", "items")
    assert figures(project) == ("cover", 2, 2, 6)
    assert "refused" not in project.figures("items")
    assert updated(project, 6) == [5, 6, 55]


def test_planned_by_a_python_model(project: Any) -> None:
    items = (project.root / "models/items.sql").read_text()
    items = items.replace("'k': 2", "'k': 2, 'model': 'plans'")
    items = items.replace("select * from {{ ref('batch') }}", BODY)
    project.write({"models/items.sql": items, "models/plans.py": PLANNER})
    update(project, 7, 15, 45)
    project.dbt("run")
    # The file with 5 to 55 that the last merge wrote is one of them.
    assert figures(project) == ("cover", 2, 3, 7)
    assert updated(project, 7) == [15, 45]
    plan = project.read("select * from {s}.plans")
    assert plan["requested"].tolist() == ["cover"] * 2
    assert plan["files_kept"].tolist() == [3] * 2


def test_the_table_moved_on(project: Any) -> None:
    update(project, 8, 25, 35)
    project.dbt("run", "--select", "batch", "plans")
    project.session.sql(f"optimize {project.schema}.items")
    project.dbt("run", "--select", "items")
    # All rows lie in one file now, so that two ranges save no more than one.
    assert figures(project) == ("cover", 1, 1, 1)
    assert updated(project, 8) == [25, 35]


def test_a_conflict_plans_anew(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer's row comes in while the merge runs: its file is one to look at."""
    disturb(monkeypatch, f"insert into {project.schema}.items select 59, 'c', 1, {DAY_59}, 'other'")
    update(project, 10, 59)
    project.dbt("run")
    assert project.said(", after 1 conflict")
    assert figures(project)[2:] == (2, 3)
    # The row that was not there when the merge was planned first.
    rows = project.read("select v from {s}.items where id = 59")["v"].tolist()
    assert rows == ["10", "10"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "loses", "engine"),
    [
        ("loses", True, "auto"),
        ("begins_later", False, "auto"),
        pytest.param("begins_later_too", False, "merge_into", marks=pytest.mark.slow),
    ],
)
def test_a_conflict_computes_the_batch_anew(
    make_project: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    loses: bool,
    engine: str,
) -> None:
    """A batch that reads the merged table sees what another writer put there meanwhile."""
    body = (
        "select id, op, lsn, at, _batch_through, _batch_after,"
        " v{% if is_incremental() %} || (select count(*) from {{ this }}){% endif %} as v"
        " from {{ ref('batch') }}"
    )
    made = make_project(
        name,
        {
            "models/sources.yml": SOURCES,
            "models/batch.sql": BATCH,
            "models/items.sql": merged({"order_by": "lsn", "engine": engine}, body),
        },
    )
    made.append_events(0, (1, "c", 1, "2024-01-01", "a"))
    made.dbt("run")
    other = f"insert into {name}.items select 59, 'c', 1, timestamp'2024-01-01', 'other'"
    disturb(monkeypatch, other, loses)
    made.append_events(1, (1, "u", 2, "2024-01-01", "b"))
    made.dbt("run")
    assert made.sql("select v from {s}.items where id = 1")["v"].tolist() == ["b2"]


@pytest.mark.slow
def test_auto_takes_none_where_nothing_is_saved(project: Any) -> None:
    """Quick: `test_a_batch_spread_over_everything_gets_no_ranges` of its plan."""
    project.session.sql(f"optimize {project.schema}.items")
    ranges = {"column": "at", "method": "auto"}
    project.write({"models/items.sql": merged({"order_by": "lsn", "ranges": ranges})})
    update(project, 11, 1, 58)
    project.dbt("run", "--select", "batch", "items")
    assert figures(project)[:2] == ("none", 0)
    assert updated(project, 11) == [1, 58]
    project.dbt("run-operation", "alluvium.explain_merge", "--args", "{model: items}")


@pytest.mark.slow
def test_the_batch_is_computed_once(project: Any) -> None:
    """For the look at it, for the ranges that the merge plans, and for the merge."""
    items = (project.root / "models/items.sql").read_text()
    items = items.replace("'auto'", "'cover', 'k': 2")
    project.write({"models/items.sql": items})
    update(project, 12, 12, 42)
    project.dbt("run", "--select", "batch")
    staged = [path.name for path in files_of(project.session, f"{project.schema}.batch")]
    with counting(project.session) as opens:
        project.dbt("run", "--select", "items")
        assert [opens()[name] for name in staged] == [1]
    assert figures(project)[0] == "cover"
    assert updated(project, 12) == [12, 42]


RANGED = {"order_by": "lsn", "ranges": {"column": "at", "method": "gaps"}}
MONTHS = """
select id, 'u' as op, id + 100 as lsn, at, 'new' as v from values
    (1L, timestamp'2024-02-05'), (3L, timestamp'2024-04-05'), (4L, timestamp'2024-05-05')
    as t(id, at)
"""


@pytest.fixture(scope="module")
def two(feed: Callable[..., Any]) -> Any:
    """`items` in 64 files of ten ids each, by `at` and, for events without it, by the key; a
    second model whose table has a file in each of four months."""
    ranges = {"column": ["at", "id"], "method": "auto"}
    meta = {"order_by": "lsn", "delete_when": "op = 'd'", "ranges": ranges}
    made = feed("two", meta)
    made.write({"models/monthly.sql": merged(RANGED, MONTHS)})
    given_table(made, 640, after, ", _deleted boolean")
    made.session.sql(
        f"create table {made.schema}.monthly (id bigint, op string, lsn bigint, at timestamp,"
        " v string, month int generated always as (month(at))) using delta partitioned by (month)"
        " tblproperties ('delta.enableDeletionVectors'='true')"
    )
    made.session.sql(
        f"insert into {made.schema}.monthly (id, op, lsn, at, v) select /*+ coalesce(1) */ id, 'c',"
        " id, timestamp'2024-01-05' + make_ym_interval(0, cast(id as int)), 'old' from range(4)"
    )
    made.append_events(
        1,
        *((number, "u", 5000, after(number), "new") for number in (35, 36, 37)),
        *((number, "d", 5000, None, None) for number in (405, 615)),
    )
    made.dbt("run")
    return made


def after(days: int) -> str:
    return str(dt.date(2024, 1, 1) + dt.timedelta(days))


def test_several_columns(two: Any) -> None:
    method, _, kept, total = figures(two)
    # The file of 35 to 37 by its time; those of the deletes by their keys, and none between.
    assert (method, kept, total) == ("auto", 3, 64)
    # The commit says what the run says.
    said, [commit, *_] = two.figures("items"), two.commits("items")
    metadata = json.loads(commit["userMetadata"])["alluvium_merge"]
    both = {"events", "deletes", "method", "ranges", "rejected", "files_kept", "files_total"}
    both |= {"files_skipped"}
    assert metadata.keys() & said.keys() == both
    assert {key: metadata[key] for key in both} == {key: said[key] for key in both}
    assert (said["events"], said["upserts"], said["deletes"]) == (5, 3, 2)
    assert metadata["key_count"] == said["upserts"] + said["deletes"]
    assert "`id`" in two.run_sql("items").split("using (")[1].split("when matched")[0]
    rows = two.read('select id, v, _deleted, "at" is null from {s}.items where lsn = 5000')
    assert sorted(rows.itertuples(index=False, name=None)) == [
        (35, "new", False, False),
        (36, "new", False, False),
        (37, "new", False, False),
        (405, "old", True, False),
        (615, "old", True, False),
    ]
    assert len(two.read("select id from {s}.items")) == 640


@pytest.mark.slow
def test_several_columns_keep_what_they_know(two: Any) -> None:
    """A delete without a row leaves a tombstone that lacks the time; its later event finds it."""
    two.append_events(2, (900, "d", 6000, None, None))
    two.dbt("run")
    two.append_events(3, (900, "c", 7000, after(900), "back"), (405, "u", 6000, None, "again"))
    two.dbt("run")
    rows = two.sql("select id, v, cast(at as date) as at from {s}.items where lsn >= 6000")
    assert sorted(rows.astype(str).itertuples(index=False, name=None)) == [
        ("405", "again", after(405)),
        ("900", "back", after(900)),
    ]
    two.dbt("run-operation", "alluvium.explain_merge", "--args", "{model: items}")


def test_a_generated_partition_column(two: Any) -> None:
    """No event carries it; files of other partitions are left by the column that it comes from."""
    found = two.figures("monthly")
    assert (found["files_kept"], found["files_total"]) == (2, 4)
    rows = two.read("select id, month, v from {s}.monthly order by id")
    assert list(rows.itertuples(index=False, name=None)) == [
        (0, 1, "old"),
        (1, 2, "new"),
        (2, 3, "old"),
        (3, 4, "new"),
        (4, 5, "new"),
    ]


@pytest.mark.slow
def test_a_key_of_another_type_is_not_ranged(make_project: Callable[..., Any]) -> None:
    """'01' of the table is 1 of the batch, and as text it lies not between '1' and '1'."""
    meta = {"order_by": "lsn", "ranges": {"column": "id"}}
    made = make_project("typed", {"models/items.sql": merged(meta, "select '01' as id, 1L as lsn")})
    made.dbt("run")
    made.write({"models/items.sql": merged(meta, "select 1 as id, 2L as lsn")})
    made.dbt("run")
    assert made.said("column id of the key is int in the batch and string in the table")
    assert made.sql("select id, lsn from {s}.items").to_dict("list") == {"id": ["01"], "lsn": [2]}


@pytest.mark.slow
@pytest.mark.parametrize("planner", [False, True])
def test_values_without_ranges_are_merged_without(
    make_project: Callable[..., Any], planner: bool
) -> None:
    """A string that is no UTF-8, in the batch, stops neither the ranges model nor the merge."""
    name = f"unfit_{planner}".lower()
    ranges = {"column": "v", "method": "cover", "k": 2} | ({"model": "plans"} if planner else {})
    batch = "{{ config(materialized='table') }} select 1 as id, 1L as lsn, 'a' as v"
    depends = "-- depends_on: {{ ref('plans') }}\n" if planner else ""
    items = merged(
        {"order_by": "lsn", "ranges": ranges}, depends + "select * from {{ ref('batch') }}"
    )
    files = {"models/batch.sql": batch, "models/items.sql": items}
    made = make_project(name, files | ({"models/plans.py": PLANNER} if planner else {}))
    made.dbt("run")
    unfit = batch.replace("1L", "2L").replace("'a'", "cast(x'ff' as string)")
    made.write({"models/batch.sql": unfit})
    made.dbt("run")
    found = made.sql("select lsn, hex(v) as v from {s}.items").to_dict("list")
    assert found == {"lsn": [2], "v": ["FF"]}
    assert made.figures("items")["files_kept"] == made.figures("items")["files_total"]


@pytest.mark.slow
def test_a_column_of_a_type_without_ranges_is_merged_without(
    make_project: Callable[..., Any],
) -> None:
    batch = "{{ config(materialized='table') }} select 1 as id, LSN as lsn, true as v"
    ranges = {"column": "v", "method": "kmeans", "model": "plans"}
    items = merged(
        {"order_by": "lsn", "ranges": ranges},
        "-- depends_on: {{ ref('plans') }}\nselect * from {{ ref('batch') }}",
    )
    made = make_project(
        "unranged",
        {
            "models/batch.sql": batch.replace("LSN", "1L"),
            "models/items.sql": items,
            "models/plans.py": PLANNER,
        },
    )
    made.dbt("run")
    made.write({"models/batch.sql": batch.replace("LSN", "2L")})
    made.dbt("run")
    assert made.said("column v is boolean, a type without ranges")
    assert made.sql("select lsn from {s}.items")["lsn"].tolist() == [2]

    several = {"order_by": "lsn", "ranges": {"column": ["v", "id"], "method": "auto"}}
    made.write({"models/items.sql": merged(several, "select * from {{ ref('batch') }}")})
    made.dbt("run-operation", "alluvium.explain_merge", "--args", "{model: items}")
    assert made.said("column v is boolean, a type without ranges")
