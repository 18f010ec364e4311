"""Models whose layout makes buckets from a timestamp: created, merged, widened, refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from functional.merge.conftest import BATCH, SOURCES, merged
from functional.sorted_files import files_of, is_sorted

from alluvium.merge import one_commit

pytestmark = pytest.mark.spark

# The time comes behind it by itself.
LAYOUT = {"sort_by": ["v"], "bucket_by": {"column": "at", "window": "day"}}
META = {"alluvium_layout": LAYOUT}
PLAIN = """
{{{{ config(materialized='{materialized}', meta={meta!r}{more}) }}}}
select id, op, lsn, at, v{extra} from {{{{ source('raw', 'events') }}}}
"""


def laid(body: str = "select * from {{ ref('batch') }}", meta: dict[str, Any] = META) -> str:
    sql = merged(
        {"order_by": "lsn", "delete_when": "op = 'd'"}, body, on_schema_change="append_new_columns"
    )
    return sql.replace("meta={", f"meta={{'alluvium_layout': {meta['alluvium_layout']!r}, ")


def plain(materialized: str, meta: dict[str, Any] = META, extra: str = "", **more: Any) -> str:
    settings = "".join(f", {key}={value!r}" for key, value in more.items())
    return PLAIN.format(materialized=materialized, meta=meta, extra=extra, more=settings)


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any]) -> Any:
    made = make_project(
        "bucketed",
        {"models/sources.yml": SOURCES, "models/batch.sql": BATCH, "models/items.sql": laid()},
    )
    made.append_events(0, *(event(i, i, day=1 + i % 3) for i in range(60)))
    made.append_events(0, (900, "c", 1, None, "no time"))
    # What it was before its layout.
    made.session.sql("create table bucketed.items using delta as select 1L as id, true as _deleted")
    made.dbt("run", "--full-refresh")
    return made


def event(key: int, lsn: int, day: int, op: str = "c") -> tuple[Any, ...]:
    return (key, op, lsn, f"2024-03-{day:02} 12:{key % 60:02}:00", f"v{(key * 7) % 10}")


def check(project: Any, table: str, window: str = "D") -> pd.DataFrame:
    """Each row's bucket is that of its timestamp, by pandas."""
    rows = project.read(f"select * from {{s}}.{table}")
    name = {"D": "at_day", "M": "at_month"}[window]
    expected = rows["at"].dt.to_period(window).dt.start_time
    found = pd.to_datetime(rows[name])
    assert (found.isna() == rows["at"].isna()).all()
    assert (found.dropna() == expected.dropna()).all()
    return rows


def partitions(project: Any, table: str) -> list[str]:
    return list(project.table(table).metadata().partition_columns)


def test_a_merged_model_is_created_merged_and_widened(project: Any) -> None:
    table = "bucketed.items"
    assert partitions(project, "items") == ["at_day"]
    assert len(check(project, "items")) == 61
    first = files_of(project.session, table)
    assert len(first) == 4  # three days, and NULL
    assert all(is_sorted(path, ("v", "at")) for path in first)
    # Rows that change their day, one without a time that gets one, a delete, new ones; and the
    # batch gets a column: it is added, and that of the buckets stays.
    changes = [event(i, 1000 + i, day=5) for i in range(0, 30, 2)]
    project.append_events(
        1, *changes, event(900, 1000, day=6), event(1, 1000, day=2, op="d"), event(77, 1, day=5)
    )
    project.append_events(2, *(event(i, 2000 + i, day=1 + i % 9) for i in range(40, 90)))
    project.write(
        {"models/items.sql": laid("select *, concat('x', id) as x from {{ ref('batch') }}")}
    )
    before = files_of(project.session, table)
    project.dbt("run")
    assert project.figures("items")["engine"] == "one_commit"
    rows = check(project, "items").set_index("id")
    assert (pd.to_datetime(rows.loc[[0, 2, 28], "at_day"]).dt.day == 5).all()
    assert pd.to_datetime(rows.loc[900, "at_day"]).day == 6
    assert rows.loc[1, "_deleted"]
    assert rows.loc[45, "x"] == "x45"
    assert rows["x"].notna().sum() == len(changes) + 1 + 50
    assert partitions(project, "items") == ["at_day"]
    new = files_of(project.session, table) - before
    assert len(new) == 9
    assert all(is_sorted(path, ("v", "at")) for path in new)
    project.dbt("run-operation", "alluvium.compact", "--args", "{model: items}")
    assert len(check(project, "items")) == 91


@pytest.mark.slow
def test_large_batches_are_sorted_by_every_task(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_commit, "_SMALL", 0)
    before = files_of(project.session, "bucketed.items")
    project.append_events(3, *(event(i, 9000 + i, day=1 + i % 4) for i in range(400)))
    project.dbt("run")
    new = files_of(project.session, "bucketed.items") - before
    assert len(new) == 4
    assert all(is_sorted(path, ("v", "at")) for path in new)
    assert len(check(project, "items")) == 401


# Incremental models whose tables have the column of the buckets already, and a row of each event.
GROWN: dict[str, dict[str, Any]] = {
    "overwritten": {"incremental_strategy": "insert_overwrite"},
    "upserted": {
        "incremental_strategy": "merge",
        "unique_key": ["id", "lsn"],
        "on_schema_change": "sync_all_columns",
    },
}


def test_a_table_that_lacks_the_column_is_left_as_it_is(project: Any) -> None:
    """And a full refresh gives it the column."""
    added = plain(
        "incremental", incremental_strategy="append", on_schema_change="append_new_columns"
    )
    for name in ("added", "lacking"):
        project.session.sql(
            f"create table bucketed.{name} using delta as select id, op, lsn, at, v"
            " from bucketed.events"
        )
    # Whether the table may get other columns or not.
    lacking = plain("incremental", incremental_strategy="append")
    project.write({"models/added.sql": added, "models/lacking.sql": lacking})
    assert not project.try_dbt("run", "--select", "added", "lacking").success
    for name in ("added", "lacking"):
        assert project.said(f"bucketed.{name} has no generated partition column at_day, made from")
        assert project.versions(name) == 1
    assert project.said("Accepted: one build with --full-refresh")
    project.remove("models/lacking.sql")
    project.dbt("run", "--select", "added", "--full-refresh")
    assert partitions(project, "added") == ["at_day"]
    check(project, "added")


def test_tables_appends_and_overwrites(project: Any) -> None:
    """After the ones before, which have made `added`, and events of ten days."""
    month = {"alluvium_layout": LAYOUT | {"bucket_by": {"column": "at", "window": "month"}}}
    contract = {"contract": {"enforced": True}}
    types = {"id": "bigint", "op": "string", "lsn": "bigint", "at": "timestamp", "v": "string"}
    columns = [{"name": name, "data_type": kind} for name, kind in types.items()]
    files = {
        "models/built.sql": plain("table", month, sql_header="set alluvium.test = 1;", **contract),
        "models/added.sql": (project.root / "models/added.sql").read_text(),
        "models/built.yml": str({"models": [{"name": "built", "columns": columns}]}),
    }
    for name, of in GROWN.items():
        files[f"models/{name}.sql"] = plain("incremental", **of)
        project.session.sql(
            f"create table bucketed.{name} (id bigint, op string, lsn bigint, at timestamp,"
            " v string, at_day date generated always as (cast(at as date))) using delta"
            " partitioned by (at_day)"
        )
        project.session.sql(
            f"insert into bucketed.{name} (id, op, lsn, at, v)"
            " select id, op, lsn, at, v from bucketed.events"
        )
    wider = {
        name: files[name].replace("at, v", "at, v, lsn as more")
        for name in ("models/added.sql", "models/upserted.sql")
    }
    project.write(files | wider)
    before = files_of(project.session, "bucketed.added")
    project.dbt("run", "--select", "built", "added", *GROWN)
    assert project.versions("built") == 1  # rows and column in one commit
    new = files_of(project.session, "bucketed.added") - before
    assert len(new) >= 10
    overwritten = files_of(project.session, "bucketed.overwritten")
    assert all(is_sorted(path, ("v", "at")) for path in new | overwritten)
    tables = {"built": "M", "added": "D", "overwritten": "D", "upserted": "D"}
    count = len(project.read("select * from {s}.events"))
    for table, window in tables.items():
        rows = check(project, table, window)
        assert len(rows) == (2 * count if table == "added" else count)
        assert ("more" in rows) == (f"models/{table}.sql" in wider)
        assert partitions(project, table) == ["at_month" if window == "M" else "at_day"]


PYTHON = """
def model(dbt, session):
    dbt.config(materialized='incremental', incremental_strategy='append')
    return dbt.source('raw', 'events').select('id', 'op', 'lsn', 'at', 'v')
"""


@pytest.mark.slow
def test_buckets_that_are_taken_away_stay_until_a_full_refresh(project: Any) -> None:
    """The table goes on computing their column, and dbt's statements write all of its columns."""
    append = {"incremental_strategy": "append"}
    overwrite = {"incremental_strategy": "insert_overwrite"}
    merge = {"incremental_strategy": "merge", "unique_key": ["id", "lsn"]}
    settings: dict[str, dict[str, Any]] = {
        "appended": append,
        "still_sorted": append,
        "synced": append | {"on_schema_change": "sync_all_columns"},
        "by_python": append,
        "replaced": overwrite,
        "in_parts": overwrite | {"partition_by": ["op"]},
        "matched": merge,
        "evolved": merge | {"on_schema_change": "append_new_columns"},
    }
    less = {name: {"alluvium_layout": {"sort_by": ["v"]}} for name in ("still_sorted", "in_parts")}
    select = ("run", "--select", *settings)
    built = {f"models/{name}.sql": plain("incremental", **of) for name, of in settings.items()}
    project.write(built)
    project.dbt(*select)
    count = len(project.read("select * from {s}.events"))
    project.write(
        {
            f"models/{name}.sql": plain("incremental", less.get(name, {}), **of)
            for name, of in settings.items()
        }
        | {"models/by_python.py": PYTHON}
    )
    project.remove("models/by_python.sql")
    before = files_of(project.session, "bucketed.still_sorted")
    result = project.try_dbt(*select).result
    assert [one.node.name for one in result if one.status != "success"] == ["replaced"]
    assert project.said("replaced: bucketed.replaced is partitioned by at_day, which Delta")
    assert project.said(
        "Accepted: the bucket_by that it was built with, a query with these columns"
    )
    assert project.versions("replaced") == 1
    for name, of in settings.items():
        assert len(check(project, name)) == count * (1 + (of["incremental_strategy"] == "append"))
        assert partitions(project, name)[-1] == "at_day"
    new = files_of(project.session, "bucketed.still_sorted") - before
    assert len(new) > 1
    assert all(is_sorted(path, ("v",)) for path in new)
    # Another window is another column.
    month = {"alluvium_layout": LAYOUT | {"bucket_by": {"column": "at", "window": "month"}}}
    project.write({"models/appended.sql": plain("incremental", month, **append)})
    assert not project.try_dbt("run", "--select", "appended").success
    assert project.said("no generated partition column at_month, made from at")
    assert project.versions("appended") == 2
    project.dbt("run", "--full-refresh", "--select", "replaced", "matched")
    assert partitions(project, "replaced") == partitions(project, "matched") == []
    project.remove(*built, "models/by_python.py")


@pytest.mark.slow
def test_a_merge_without_the_layout_of_its_table(project: Any) -> None:
    project.append_events(20, event(7, 20_000, day=8))
    project.write({"models/items.sql": laid().replace(f"'alluvium_layout': {LAYOUT!r}, ", "")})
    project.dbt("run", "--select", "batch items")
    rows = check(project, "items").set_index("id")
    assert pd.to_datetime(rows.loc[7, "at_day"]).day == 8
    project.write({"models/items.sql": laid()})


@pytest.mark.slow
def test_batches_of_microbatch(project: Any) -> None:
    sources = SOURCES.replace("- name: events", "- {name: events, config: {event_time: at}}")
    batches = {
        "incremental_strategy": "microbatch", "event_time": "at", "begin": "2024-03-01",
        "batch_size": "day", "partition_by": ["op"],
    }  # fmt: skip
    times = ("--event-time-start", "2024-03-01", "--event-time-end", "2024-03-04")
    expected = project.sql("select * from {s}.events where at < '2024-03-04'")
    for meta in (META, {}):  # and then the buckets are taken away
        model = plain("incremental", meta, **batches)
        project.write({"models/sources.yml": sources, "models/daily.sql": model})
        project.dbt("run", "--select", "daily", *times)
        assert partitions(project, "daily") == ["op", "at_day"]
        assert len(check(project, "daily")) == len(expected)
    project.remove("models/daily.sql")
    project.write({"models/sources.yml": SOURCES})


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("v", "'v' is string; accepted for the window day: timestamp, date"),
        ("nothing", "no column 'nothing'; accepted: id, op, lsn, at, v"),
    ],
)
def test_what_no_bucket_can_be_made_of(project: Any, column: str, said: str) -> None:
    meta = {"alluvium_layout": LAYOUT | {"bucket_by": {"column": column, "window": "day"}}}
    project.write({"models/wrong.sql": plain("table", meta)})
    assert not project.try_dbt("run", "--select", "wrong").success
    assert project.said(said)
    project.remove("models/wrong.sql")


NO_COLUMN = {"alluvium_layout": LAYOUT | {"sort_by": ["nope", "v"]}}
EARLY: dict[str, dict[str, Any]] = {
    "early_table": {"materialized": "table"},
    "early_append": {"materialized": "incremental", "incremental_strategy": "append"},
    "early_merge": {
        "materialized": "incremental",
        "incremental_strategy": "merge",
        "unique_key": ["id"],
    },
    # Their tables are there.
    "built": {"materialized": "table"},
    "added": {"materialized": "incremental", "incremental_strategy": "append"},
    "upserted": {"materialized": "incremental", **GROWN["upserted"]},
}


def test_what_no_table_can_be_sorted_by_is_refused_before_anything_is_written(project: Any) -> None:
    """After the ones before, which have made tables."""
    unfit = {f"models/{name}.sql": plain(meta=NO_COLUMN, **of) for name, of in EARLY.items()}
    project.write(unfit)
    project.remove("models/built.yml")
    grown = ("added", "upserted")
    for name in grown:
        project.session.sql(
            f"alter table bucketed.{name} set tblproperties ('delta.enableRowTracking' = 'true')"
        )
    versions = {name: project.versions(name) for name in EARLY}
    result = project.try_dbt("run", "--select", *EARLY).result
    said = {one.node.name: one.message for one in result if one.status == "error"}
    assert said.keys() == EARLY.keys()
    for name, message in said.items():
        assert f"{name}: meta.alluvium_layout does not fit the table" in message
        assert "sort_by: nope: no such column; accepted: id, op, lsn, at, v" in message
        tracks = "the table tracks rows (delta.enableRowTracking)" in message
        assert tracks == (name in grown)
        if name.startswith("early_"):
            assert not project.session.catalog.tableExists(f"bucketed.{name}")
    assert {name: project.versions(name) for name in EARLY} == versions
    project.remove(*unfit)


@pytest.mark.slow
def test_a_merge_that_could_not_be_sorted_is_refused(project: Any) -> None:
    versions = project.versions("items")
    project.append_events(50, event(1, 99_000, day=1))
    project.write({"models/items.sql": laid(meta=NO_COLUMN)})
    assert not project.try_dbt("run", "--select", "batch items").success
    assert project.said("items: meta.alluvium_layout does not fit the table")
    assert project.said("nope: no such column")
    assert project.versions("items") == versions
    # A column that the merge itself adds is none that is missing.
    meta = {"alluvium_layout": LAYOUT | {"sort_by": ["more", "v"]}}
    wider = "select *, lsn as more from {{ ref('batch') }}"
    project.write({"models/items.sql": laid(wider, meta)})
    project.dbt("run", "--select", "batch items")
    assert project.versions("items") > versions
    project.write({"models/items.sql": laid()})
