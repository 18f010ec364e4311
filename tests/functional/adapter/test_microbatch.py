"""Microbatches overwrite their window of event time, and nothing beside it.

What a table must hold is told by the rows of the source, in Python.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from deltalake import write_deltalake
from functional import delta_rs
from functional.runner import Project

pytestmark = pytest.mark.spark

SCHEMA = "batches"
TIMES = {
    1: "2024-01-03 21:59:59.999999",
    2: "2024-01-03 22:00:00",
    3: "2024-01-03 22:30:00",
    4: "2024-01-03 23:00:00",
    5: "2024-01-03 23:59:59.999999",
    6: "2024-01-04 00:00:00",
    7: "2024-01-04 09:00:00",
}
SOURCES = {
    "sources": [
        {
            "name": "raw",
            "schema": "{{ target.schema }}",
            "tables": [{"name": "clicks", "config": {"event_time": "at"}}],
        }
    ]
}
CLICKS = "select id, at, v from {{ source('raw', 'clicks') }}"
BUCKETS = {"sort_by": ["id"], "bucket_by": {"column": "at", "window": "day"}}


def model(body: str = CLICKS, **config: Any) -> str:
    settings = {
        "materialized": "incremental",
        "incremental_strategy": "microbatch",
        "event_time": "at",
        "batch_size": "hour",
        "begin": "2024-01-03",
    } | config
    return "{{ config(" + ", ".join(f"{k}={v!r}" for k, v in settings.items()) + ") }}\n" + body


def during(start: str, end: str) -> list[str]:
    """dbt's arguments; it takes dates, or times with seconds."""
    return ["--event-time-start", start, "--event-time-end", end]


EVENING = during("2024-01-03 22:00:00", "2024-01-04")
NIGHT = during("2024-01-03 22:00:00", "2024-01-04 01:00:00")


class Clicks(Project):
    """A project over one table, whose rows the tests write."""

    def land(self, times: dict[int, str], v: str = "first") -> None:
        parsed = [dt.datetime.fromisoformat(at).replace(tzinfo=dt.UTC) for at in times.values()]
        rows = pa.table(
            {
                "id": pa.array(times, pa.int32()),
                "at": pa.array(parsed, pa.timestamp("us", "UTC")),
                "v": pa.array([v] * len(times), pa.string()),
            }
        )
        write_deltalake(delta_rs.folder_of(self.home, SCHEMA, "clicks"), rows, mode="overwrite")

    def rows(self, name: str, columns: str = "id, v") -> list[tuple[Any, ...]]:
        found = self.read(f"select {columns} from {{s}}.{name} order by id").astype(object)
        return [tuple(row) for row in found.where(found.notna(), None).to_numpy()]

    def only(self, models: dict[str, str]) -> None:
        for path in (self.root / "models").glob("*.*"):
            path.unlink()
        self.write({"models/sources.yml": yaml.safe_dump(SOURCES)})
        self.write({f"models/{name}": text for name, text in models.items()})


@pytest.fixture(scope="module")
def project(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clicks]:
    made = Clicks(tmp_path_factory.mktemp("microbatch"), home, SCHEMA)
    target = {"type": "alluvium", "schema": SCHEMA, "threads": 4, "home": str(home)}
    made.write(
        {
            "dbt_project.yml": yaml.safe_dump(
                {
                    "name": SCHEMA,
                    "profile": "p",
                    "flags": {"send_anonymous_usage_stats": False},
                }
            ),
            "profiles.yml": yaml.safe_dump({"p": {"target": "t", "outputs": {"t": target}}}),
        }
    )
    made.session.sql(f"create schema {SCHEMA}")
    made.session.sql(f"create table {SCHEMA}.clicks (id int, at timestamp, v string) using delta")
    yield made
    made.session.sql(f"drop schema {SCHEMA} cascade")


def between(times: dict[int, str], start: str, end: str) -> list[int]:
    def parsed(text: str) -> dt.datetime:
        return dt.datetime.fromisoformat(text)

    return [one for one, at in times.items() if parsed(start) <= parsed(at) < parsed(end)]


@pytest.mark.proves("microbatch", on="embedded")
def test_a_batch_overwrites_its_window_alone(project: Clicks) -> None:
    ntz = "select id, cast(at as timestamp_ntz) as at, v from {{ source('raw', 'clicks') }}"
    date = "select id, cast(at as date) as `the day`, v from {{ source('raw', 'clicks') }}"
    mapped = {"delta.columnMapping.mode": "name"}
    project.only(
        {
            "bucketed.sql": model(meta={"alluvium_layout": BUCKETS}),
            "plain.sql": model(ntz, concurrent_batches=True),
            "daily.sql": model(date, batch_size="day", event_time="the day", tblproperties=mapped),
            "outside.sql": model(
                "select id, at + interval 1 hour as at, v from {{ source('raw', 'clicks') }}"
            ),
        }
    )
    project.land(TIMES)
    # As batches of that evening would have made it; in one file, so that rows are copied.
    project.session.sql(
        f"create table {SCHEMA}.plain using delta as select id, cast(at as timestamp_ntz) as at, v"
        f" from {SCHEMA}.clicks where at >= '2024-01-03 22:00:00' and at < '2024-01-04'"
    )
    result = project.try_dbt("run", "--exclude", "plain", *EVENING)
    assert {one.node.name: one.status.value for one in result.result} == {
        "bucketed": "success",
        "daily": "success",
        "outside": "error",
    }
    assert project.said(
        "outside: 2 rows of the batch have `at` outside of its window, 2024-01-03 22:00:00 up to"
        " 2024-01-03 23:00:00 (UTC); nothing was written."
    )
    assert "outside" not in project.sql("show tables in {s}")["tableName"].tolist()
    evening = between(TIMES, "2024-01-03 22:00", "2024-01-04")
    for name in ("bucketed", "plain"):
        assert [one for one, _ in project.rows(name)] == evening
    assert [one for one, _ in project.rows("daily")] == [1, *evening]
    # The hour of 2 and 3 is empty now; that of the same day beside it is not asked for again.
    project.land({4: TIMES[4], 8: "2024-01-03 20:30:00"}, "second")
    hour = during("2024-01-03 22:00:00", "2024-01-03 23:00:00")
    project.dbt("run", "--exclude", "outside", *hour)
    assert len(project.said("OK 0 rows, 2 taken away")) == 1
    assert len(project.said("OK 0 rows in 1 file, 2 taken away")) == 1
    assert [line for line in project.said("OK 2 rows in ") if ", 5 taken away" in line]
    for name in ("bucketed", "plain"):
        assert project.rows(name) == [(4, "first"), (5, "first")]
    assert project.rows("daily") == [(4, "second"), (8, "second")]
    # A window without rows leaves no file, neither beside rows that are copied nor alone.
    project.dbt("run", "--select", "plain", *hour)
    plain = delta_rs.folder_of(project.home, SCHEMA, "plain")
    assert delta_rs.unused_files(plain) == set()


def test_what_stands_is_neither_replaced_nor_doubled(project: Clicks) -> None:
    """After the one before, whose `bucketed` has the rows of an hour, by a part of their source."""
    some = "{'start': '2024-01-03 23:00:00', 'end': '2024-01-03 23:30:00'}"
    for less in (["--empty", *during("2024-01-03 23:00:00", "2024-01-04")], ["--sample", some]):
        project.dbt("run", "--select", "bucketed", *less)
        assert project.said("bucketed: 2 rows stand in 2024-01-03 23:00:00 up to")
        assert project.said("OK 0 rows, 2 kept")
        assert project.rows("bucketed") == [(4, "first"), (5, "first")]


@pytest.mark.slow
def test_a_sample_fills_a_window_that_is_empty(project: Clicks) -> None:
    project.land(TIMES)
    project.only({"sampled.sql": model()})
    project.dbt("run", *during("2024-01-03 22:00:00", "2024-01-03 23:00:00"))
    some = "{'start': '2024-01-03 22:10:00', 'end': '2024-01-03 23:30:00'}"
    for _ in range(2):
        project.dbt("run", "--sample", some)
        assert [one for one, _ in project.rows("sampled")] == [2, 3, 4]


@pytest.mark.slow
def test_batches_at_once_lose_nothing(project: Clicks) -> None:
    """On one unpartitioned table each two of them meet."""
    times = {hour: f"2024-01-05 {hour:02}:10:00" for hour in range(8)}
    project.land(times)
    python = (
        "def model(dbt, session):\n"
        "    dbt.config(materialized='incremental', incremental_strategy='microbatch',\n"
        "               event_time='at', batch_size='hour', begin='2024-01-05',\n"
        "               concurrent_batches=True)\n"
        "    return dbt.source('raw', 'clicks')\n"
    )
    project.only({"at_once.sql": model(concurrent_batches=True), "by_python.py": python})
    whole = during("2024-01-05", "2024-01-05 08:00:00")
    project.dbt("run", *whole)
    project.dbt("run", *whole)
    assert project.said("is being run concurrently")
    for name in ("at_once", "by_python"):
        assert [one for one, _ in project.rows(name)] == list(times)
    tables = project.sql("show tables in {s}")["tableName"].tolist()
    assert not [name for name in tables if "dbt_tmp" in name]


@pytest.mark.slow
def test_retry_writes_the_batches_that_failed(project: Clicks) -> None:
    at = "if(id = 4 and '{{ var(\"bad\", 0) }}' = '1', null, at) as at"
    body = f"select id, {at}, v from {{{{ source('raw', 'clicks') }}}}"
    project.only({"again.sql": model(body)})
    project.land(TIMES)
    for full in ([], ["--full-refresh"]):
        assert not project.try_dbt("run", *full, "--vars", "{bad: 1}", *NIGHT).success
        assert project.said(
            "again: 1 row of the batch has `at` (1 of them NULL) outside of its window,"
            " 2024-01-03 23:00:00 up to 2024-01-04 00:00:00 (UTC); nothing was written."
        )
        assert [one for one, _ in project.rows("again")] == [2, 3, 6]
        project.dbt("retry", "--vars", "{bad: 0}")
        assert [one for one, _ in project.rows("again")] == [2, 3, 4, 5, 6]


@pytest.mark.slow
@pytest.mark.parametrize("size", ["day", "month", "year"])
def test_longer_batches(project: Clicks, size: str) -> None:
    times = {n: f"202{n % 4}-{n % 12 + 1:02}-01 00:00:00" for n in range(12)}
    times |= {n + 20: f"202{n % 4}-{n % 12 + 1:02}-28 23:59:59.999999" for n in range(12)}
    partitioned = "select *, year(at) as year from {{ source('raw', 'clicks') }}"
    begin = {"day": "2021-06-01", "month": "2021-05-01", "year": "2021-01-01"}[size]
    end = {"day": "2021-06-03", "month": "2021-08-01", "year": "2023-01-01"}[size]
    project.only({"cut.sql": model(partitioned, batch_size=size, begin=begin, partition_by="year")})
    project.land(times)
    project.dbt("run", "--full-refresh", *during("2020-01-01", "2020-01-02"))
    project.dbt("run", *during(begin, end))
    first = set(
        between(
            times,
            "2020-01-01",
            {"day": "2020-01-02", "month": "2020-02-01", "year": "2021-01-01"}[size],
        )
    )
    assert {one for one, _ in project.rows("cut")} == first | set(between(times, begin, end))
    kept = {one: at for one, at in times.items() if one % 2}
    project.land(kept, "second")
    project.dbt("run", *during(begin, end))
    again = set(between(kept, begin, end))
    assert set(project.rows("cut")) == {(one, "first") for one in first} | {
        (one, "second") for one in again
    }


@pytest.mark.slow
def test_columns_that_come_and_go(project: Clicks) -> None:
    hour = during("2024-01-03 22:00:00", "2024-01-03 23:00:00")
    project.land(TIMES)
    project.only({"changed.sql": model(on_schema_change="append_new_columns")})
    project.dbt("run", *NIGHT)
    more = "select id, at, 1 as more from {{ source('raw', 'clicks') }}"
    project.only({"changed.sql": model(more, on_schema_change="append_new_columns")})
    project.dbt("run", *hour)
    assert project.rows("changed", "id, v, more") == [
        (2, None, 1), (3, None, 1), (4, "first", None), (5, "first", None), (6, "first", None),
    ]  # fmt: skip
    project.only({"changed.sql": model(more)})
    assert not project.try_dbt("run", *hour).success
    assert project.said("`v`")
    assert len(project.rows("changed")) == 5


@pytest.mark.slow
def test_what_no_window_can_be_of(project: Clicks) -> None:
    project.land(TIMES)
    text = "select id, cast(at as string) as at, v from {{ source('raw', 'clicks') }}"
    project.only(
        {
            "texts.sql": model(text),
            "none.sql": model(event_time="nope"),
            "further.sql": model(incremental_predicates=["id > 1"]),
        }
    )
    assert not project.try_dbt("run", *NIGHT).success
    assert project.said(
        "texts: event_time: 'at' is string; accepted: timestamp, timestamp_ntz, date"
    )
    assert project.said("none: event_time: no column 'nope'; accepted: id, at, v")
    assert project.said("further: incremental_predicates is ['id > 1']")
    tables = set(project.sql("show tables in {s}")["tableName"])
    assert not tables & {"texts", "none", "further"}


@pytest.mark.slow
def test_without_a_constraint_of_deltas_and_with_dynamic_overwrite(project: Clicks) -> None:
    """Settings of Spark that a project may have for its other models."""
    hooks = [
        "set spark.databricks.delta.replaceWhere.constraintCheck.enabled = false",
        "set spark.sql.sources.partitionOverwriteMode = dynamic",
    ]
    at = "if(v = 'bad', at - interval 2 hours, at) as at"
    body = f"select id, {at}, v from {{{{ source('raw', 'clicks') }}}}"
    project.only({"set.sql": model(body, pre_hook=hooks, meta={"alluvium_layout": BUCKETS})})
    project.land(TIMES)
    hour = during("2024-01-03 22:00:00", "2024-01-03 23:00:00")
    project.dbt("run", *during("2024-01-03 21:00:00", "2024-01-04 01:00:00"))
    project.land({2: TIMES[2]}, "second")
    project.sql("optimize {s}.set")  # rows of other hours are copied now
    project.dbt("run", *hour)
    assert project.said("OK 1 rows")
    assert project.said(", 2 taken away")
    rows = [(1, "first"), (2, "second"), (4, "first"), (5, "first"), (6, "first")]
    assert project.rows("set") == rows
    project.land({2: TIMES[2]}, "bad")
    assert not project.try_dbt("run", *hour).success
    assert project.said("set: 1 row of the batch has `at` outside of its window")
    assert project.rows("set") == rows


@pytest.mark.slow
def test_formats_that_replace_partitions_only(project: Clicks) -> None:
    body = "select *, date_format(at, 'HH') as hour from {{ source('raw', 'clicks') }}"
    project.only({"other.sql": model(body, file_format="parquet", partition_by="hour")})
    project.land(TIMES)
    project.dbt("run", *NIGHT)
    project.dbt("run", *NIGHT)
    rows = project.sql("select id from {s}.other order by id")  # no Delta table
    assert rows["id"].tolist() == [2, 3, 4, 5, 6]
