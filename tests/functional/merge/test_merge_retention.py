"""`retain`: old buckets go, whole and without a file being opened; what may be young stays."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

MODEL = """
{{{{ config(materialized='incremental', partition_by='Made at', meta={{'alluvium_layout': {{
    'sort_by': 'id', 'bucket_by': {{'column': 'made at', 'window': '{window}'}},
    'retain': '30 days',
}}}}) }}}}
select 1 as id
"""
NOW = dt.datetime.now(dt.UTC).replace(tzinfo=None)


def days(ago: float) -> dt.datetime:
    return NOW - dt.timedelta(days=ago)


def day(ago: float) -> dt.date:
    return days(ago).date()


# Name of a model: type of its buckets, their window, and the values of each: those to be dropped
# and those to be kept.
TABLES: dict[str, tuple[str, str, list[Any], list[Any]]] = {
    "by_day": ("date", "day", [dt.date(1, 1, 1), day(400), day(32)], [day(30), day(0), None]),
    "by_month": ("date", "month", [day(400).replace(day=1)], [day(25).replace(day=1), None]),
    "by_hour": (
        "timestamp",
        "hour",
        [days(31), days(30.1), dt.datetime(1999, 12, 31, 23, 59, 59, 999999)],
        [days(29.9), days(-1), None],
    ),
    "by_text": (
        "string",
        "day",
        ["2001-02-03", "1999-12-31 23:00:00", "2001-02"],
        # A number is no year, and a text that is no day may be anything.
        ["2001", "20010203", "it's 2001-02-03", "2001-02-30", "2001-x", "ü", f"{day(0)}", None],
    ),
    "by_number": ("int", "day", [], [20010203, 2001, 0, -1, None]),
}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any]) -> Any:
    models = {
        f"models/{name}.sql": MODEL.format(window=window)
        for name, (_, window, _, _) in TABLES.items()
    }
    made = make_project("retaining", models)
    session = made.session
    session.sql("create schema retaining")
    for name, (kind, _, old, young) in TABLES.items():
        session.sql(
            f"create table retaining.{name} (id int, `Made at` {kind}) using delta partitioned by"
            " (`Made at`) tblproperties ('delta.columnMapping.mode' = 'name')"
        )
        rows = [(number, value) for value in (*old, *young) for number in range(3)]
        as_kind = "timestamp_ntz" if kind == "timestamp" else kind
        frame = session.createDataFrame(rows, f"id int, `Made at` {as_kind}")
        frame = frame.withColumn("Made at", frame["Made at"].cast(kind)).coalesce(1)
        for _ in range(2):
            frame.writeTo(f"retaining.{name}").append()
    return made


def operate(project: Any, name: str, **args: Any) -> None:
    said = ", ".join(f"{key}: {value}" for key, value in {"model": name, **args}.items())
    project.dbt("run-operation", "alluvium.drop_old_buckets", "--args", f"{{{said}}}")


def values(project: Any, name: str) -> list[str]:
    rows = project.sql(f"select cast(`Made at` as string) as v from {{s}}.{name}")
    return sorted(rows["v"].fillna("NULL"))


@pytest.mark.parametrize("name", TABLES)
def test_whole_old_buckets_are_dropped(project: Any, name: str) -> None:
    _, _, old, young = TABLES[name]
    before, commits = values(project, name), project.versions(name)

    operate(project, name)
    assert project.said(f"{name}: would drop {len(old)} bucket")
    assert (values(project, name), project.versions(name)) == (before, commits)

    operate(project, name, dry_run="false")
    assert project.said(f"{name}: dropped {len(old)} bucket")
    if old:
        assert project.said(f"{2 * len(old)} files")
        assert project.said(f"{6 * len(old)} rows")
    expected = [value for value in young for _ in range(6)]
    frame = project.session.createDataFrame([(value,) for value in expected], f"v {_text_of(name)}")
    texts = frame.selectExpr("cast(v as string)").toPandas()["v"].fillna("NULL")
    assert values(project, name) == sorted(texts)

    assert project.versions(name) == commits + bool(old)
    if old:
        newest = project.sql(f"describe history {{s}}.{name} limit 1")
        metrics = dict(newest["operationMetrics"][0])
        assert newest["operation"][0] == "DELETE"
        # By the log alone: files are removed, and none is read or written.
        assert metrics["numRemovedFiles"] == str(2 * len(old))
        assert {metrics["numAddedFiles"], metrics["numDeletionVectorsAdded"]} == {"0"}
    # And nothing more to do.
    operate(project, name, dry_run="false")
    assert project.said(f"{name}: dropped 0 buckets over for 30 days")
    assert project.versions(name) == commits + bool(old)


def _text_of(name: str) -> str:
    kind = TABLES[name][0]
    return "timestamp_ntz" if kind == "timestamp" else kind


def test_mistakes_stop_it(project: Any) -> None:
    path = "models/by_day.sql"
    text = (project.root / path).read_text()
    project.write({path: text.replace("30 days", "a month")})
    args = ("--args", "{model: by_day, dry_run: false}")
    assert not project.try_dbt("run-operation", "alluvium.drop_old_buckets", *args).success
    assert project.said('by_day: meta.alluvium_layout.retain: "a month" is not accepted')
    project.write({path: text})
