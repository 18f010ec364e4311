"""Events without a key, a range column that changes after all, and tombstones that are purged."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from functional import delta_rs
from functional.merge.conftest import disturb

pytestmark = pytest.mark.spark


def model(**meta: Any) -> str:
    meta = {"order_by": "lsn", "ranges": {"column": "at"}} | meta
    return (
        "{{ config(materialized='incremental', incremental_strategy='merge',"
        f" unique_key=['id', 'part'], meta={{'alluvium_merge': {meta}}}) }}}}\n"
        "select * from {{ target.schema }}.pending"
    )


TESTS = """
version: 2
models:
  - name: verified
    columns:
      - name: at
        data_tests:
          - alluvium.immutable_column:
              arguments:
                unique_key: [id, part]
                events: source('raw', 'pending')
                sample: 1
sources:
  - name: raw
    schema: "{{ target.schema }}"
    tables: [{name: pending}]
"""
MODELS = {
    "rejecting.sql": model(),
    "matching.sql": model(null_keys="match"),
    "inserting.sql": model(null_keys="insert"),
    "verified.sql": model(verify=True),
    "fresh.sql": model(verify="reject", engine="merge_into"),
    "deleting.sql": model(
        delete_when="op = 'd'", null_keys="match", tombstone_time="timestamp_seconds(lsn)"
    ),
    "tests.yml": TESTS,
}


# What earlier batches have left: rows as `stage` takes them.
LEFT = {
    "rejecting": ["(1, 'a', 'c', 1, '2024-01-01')"],
    "matching": [
        "(1, 'a', 'c', 1, '2024-01-01')",
        "(1, null, 'u', 3, '2024-01-02')",
        "(null, null, 'c', 4, null)",
    ],
}
LEFT |= {"inserting": LEFT["matching"], "verified": LEFT["rejecting"]}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any]) -> Any:
    made = make_project("keys", {f"models/{name}": text for name, text in MODELS.items()})
    made.session.sql("create schema if not exists keys")
    for name, rows in LEFT.items():
        stage(made, *rows, table=name)
    return made


def stage(project: Any, *rows: str, table: str = "pending", more: str = "") -> None:
    project.session.sql(
        f"create or replace table {project.schema}.{table} using delta tblproperties"
        " ('delta.enableDeletionVectors' = 'true') as select"
        " cast(id as int) as id, cast(part as string) as part, op, cast(lsn as bigint) as lsn,"
        f" cast(day as date) as at{more}"
        f" from values {', '.join(rows)} as t(id, part, op, lsn, day)"
    )


def table(project: Any, name: str) -> list[tuple[Any, ...]]:
    frame = project.read(f"select id, part, lsn from {{s}}.{name}").astype(object)
    frame = frame.where(frame.notna(), None)
    return sorted(frame.itertuples(index=False, name=None), key=str)


def test_keys_with_null(project: Any) -> None:
    stage(
        project,
        "(1, null, 'u', 5, null)",
        "(null, null, 'u', 6, null)",
        "(1, null, 'u', 7, null)",
    )
    project.dbt("run", "--select", "rejecting", "matching", "inserting")
    assert table(project, "rejecting") == [(1, "a", 1)]
    assert project.said("rejecting: nothing new, 3 rejected (kept in rejecting__rejected)")
    assert project.said(
        "rejecting: the batch holds no event that may be merged: 3 events rejected and kept in"
        " rejecting__rejected, whose column reason says why"
    )
    figures = project.figures("rejecting")
    assert (figures["rejected"], figures["rejected_table"]) == (3, "rejecting__rejected")
    assert "rejected_table" not in project.figures("matching")
    assert table(project, "matching") == [(1, "a", 1), (1, None, 7), (None, None, 6)]
    assert table(project, "inserting") == [
        (1, "a", 1), (1, None, 3), (1, None, 5), (1, None, 7), (None, None, 4), (None, None, 6),
    ]  # fmt: skip


def test_rejected_events_are_kept_once(project: Any) -> None:
    project.dbt("run", "--select", "rejecting")  # the same batch again, as after a kill
    kept = project.read("select reason, event from {s}.rejecting__rejected")
    assert set(kept["reason"]) == {"null_key"}
    assert sorted(json.loads(event)["lsn"] for event in kept["event"]) == [5, 6, 7]
    folder = delta_rs.folder_of(project.home, project.schema, "rejecting__rejected")
    assert delta_rs.unused_files(folder) == set()


def test_a_range_column_that_changes_is_found(project: Any) -> None:
    stage(project, *LEFT["verified"])
    project.dbt("test", "--select", "verified")
    stage(project, "(1, 'a', 'u', 7, '2024-05-05')")
    before = project.versions("verified")
    assert not project.try_dbt("run", "--select", "verified").success
    assert project.said("1 row of the table whose key is in the batch lies outside its ranges")
    assert project.said('{"id":1,"part":"a"}')
    assert project.said("on an alluvium target `verify: reject`: it keeps such events aside")
    assert project.versions("verified") == before
    assert not project.try_dbt("test", "--select", "verified").success
    # The way out: the event is kept aside, and the others are merged.
    stage(project, "(1, 'a', 'u', 7, '2024-05-05')", "(2, 'b', 'c', 8, '2024-05-06')")
    project.write({"models/verified.sql": model(verify="reject")})
    # A first merge has no row that it does not see.
    project.dbt("run", "--select", "verified", "fresh")
    assert table(project, "fresh") == [(1, "a", 7), (2, "b", 8)]
    assert table(project, "verified") == [(1, "a", 1), (2, "b", 8)]
    assert project.said(", 1 rejected (kept in verified__rejected)")
    kept = project.read("select reason, event from {s}.verified__rejected")
    [event] = kept[kept["reason"] == "changed_range_column"]["event"]
    assert json.loads(event)["at"] == "2024-05-05"
    project.write({"models/verified.sql": model(verify=True)})


@pytest.mark.slow
def test_a_range_column_that_changes_before_merge_into(project: Any) -> None:
    """After the one before."""
    stage(project, "(1, 'a', 'u', 9, '2024-07-01')", "(2, 'b', 'u', 10, '2024-05-06')")
    project.dbt("run", "--select", "fresh")
    assert table(project, "fresh") == [(1, "a", 7), (2, "b", 10)]
    assert project.said(", 1 rejected (kept in fresh__rejected)")
    kept = project.read("select reason, event from {s}.fresh__rejected")
    assert [*kept["reason"]] == ["changed_range_column"]
    assert json.loads(kept["event"][0])["at"] == "2024-07-01"
    assert project.figures("fresh")["engine"] == "merge_into"


@pytest.mark.slow
def test_a_row_that_comes_after_the_look_is_found(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = "select 9, 'z', 'c', 1L, date'2020-02-02'"
    disturb(monkeypatch, f"insert into {project.schema}.verified {row}", loses=False)
    stage(project, "(9, 'z', 'u', 7, '2024-01-01')")
    assert not project.try_dbt("run", "--select", "verified").success
    assert project.said('{"id":9,"part":"z"}')
    assert [row for row in table(project, "verified") if row[0] == 9] == [(9, "z", 1)]


def test_old_tombstones_are_purged(project: Any) -> None:
    stage(
        project,
        "(1, 'a', 'c', 1, '2024-01-01')",
        "(2, 'b', 'd', 8, null)",
        "(3, 'c', 'd', unix_seconds(now()), null)",
        table="deleting",
        more=", op = 'd' as _deleted",
    )
    purge = ("run-operation", "alluvium.purge_tombstones", "--args")
    before = table(project, "deleting")
    assert len(before) == 3
    project.dbt(*purge, "{model: deleting, older_than: 2 days}")
    assert project.said("deleting: would delete 1 of 2 tombstones older than 2 days (dry run;")
    assert table(project, "deleting") == before
    project.dbt(*purge, "{model: deleting, older_than: 2 days, dry_run: false}")
    assert table(project, "deleting") == [row for row in before if row[0] != 2]


def test_tombstones_without_a_time_are_counted(project: Any) -> None:
    table_now = project.table("deleting")
    row = {"id": 7, "part": "x", "_deleted": True}
    undated = pa.Table.from_pylist([row], pa.schema(table_now.schema()))
    write_deltalake(table_now, undated, mode="append")
    before = len(table(project, "deleting"))
    purge = ("run-operation", "alluvium.purge_tombstones", "--args")
    project.dbt(*purge, "{model: deleting, older_than: 2 days, dry_run: false}")
    assert project.said(
        "deleting: deleted 0 of 2 tombstones older than 2 days,"
        " 1 cannot be dated: their tombstone_time is NULL"
    )
    assert len(table(project, "deleting")) == before


def test_a_table_that_never_had_tombstones(project: Any) -> None:
    project.session.sql(
        f"create or replace table {project.schema}.deleting using delta"
        f" as select * except (_deleted) from {project.schema}.deleting"
    )
    project.dbt("run-operation", "alluvium.purge_tombstones", "--args", "{model: deleting}")
    assert project.said("deleting: there are no tombstones")


@pytest.mark.parametrize("sample", ["5", "-1", "0", "0.0000001", "a tenth"])
def test_samples_that_are_refused(project: Any, sample: str) -> None:
    project.write({"models/tests.yml": TESTS.replace("sample: 1", f"sample: {sample}")})
    outcome = project.try_dbt("test", "--select", "verified")
    project.write({"models/tests.yml": TESTS})
    said = str(outcome.exception) + "\n".join(project.lines)
    assert not outcome.success
    shown = {"0.0000001": "1e-07", "a tenth": '"a tenth"'}.get(sample, sample)
    assert f"alluvium.immutable_column: sample is {shown}; accepted: the part of the keys" in said


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("{model: matching}", "is not a model that keeps tombstones"),
        (
            "{model: deleting, older_than: 2 days or true}",
            "a number of minutes, hours, days or weeks",
        ),
    ],
)
def test_purges_that_are_refused(project: Any, args: str, said: str) -> None:
    operation = ("run-operation", "alluvium.purge_tombstones", "--args", args)
    assert not project.try_dbt(*operation).success
    assert project.said(said)
