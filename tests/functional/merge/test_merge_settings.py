"""The other settings of a merge, each on a table of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.spark


def model(meta: str, **config: Any) -> str:
    settings = "".join(f", {key}={value!r}" for key, value in config.items())
    return (
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id'"
        f"{settings}, meta={{'alluvium_merge': {meta}}}) }}}}\n"
        "select * from {{ target.schema }}.pending"
    )


CDC = "{'order_by': 'lsn', 'delete_when': \"op = 'd'\""
PYTHON = """
def model(dbt, session):
    dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id",
               meta={"alluvium_merge": {"order_by": "lsn", "delete_when": "op = 'd'"}})
    return session.table(f"{dbt.this.schema}.pending")
"""
LANDING = """
version: 2
sources:
  - name: landing
    tables:
      - name: feed
        config: {meta: {alluvium_stream: {format: xml, path: landing}}}
"""
HOOKS = ["OPTIMIZE"]  # as the history shows them; a vacuum that may delete nothing is no commit
MODELS = {
    "hard.sql": model(CDC + ", 'delete': 'hard'}"),
    "ignored.sql": model("{'on_match': 'ignore', 'order_by': 'lsn'}"),
    "some_columns.sql": model(CDC + "}", merge_update_columns=["op"]).replace(
        "select *", "select {{ var('columns', '*') }}"
    ),
    "hooked.sql": model(
        CDC + ", 'ranges': {'column': 'born'}}",
        post_hook=[
            "{{ alluvium.zorder(this) }}",
            "{{ alluvium.optimize(this) }}",
            "{{ alluvium.vacuum(this) }}",
        ],
    ).replace("select *", "select *, 1000 - id as born"),
    "growing.sql": model(CDC + "}", on_schema_change="append_new_columns").replace(
        "select *", "select *, id / 4D as extra, 7L as _batch_through"
    ),
    "pythonic.py": PYTHON,
}
# What an earlier batch has left; the other tables are made by the first run.
LEFT = [(1, "u", 2, "b"), (2, "c", 3, "x"), (3, "d", 4, None)]
TABLES = {
    "hard": "id, op, lsn, v from {left} where op != 'd'",
    "ignored": "id, op, lsn, v from {left}",
    "some_columns": "*, op = 'd' as _deleted, timestamp'2024-01-01' as _tombstone_time from {left}",
}
TABLES["growing"] = TABLES["some_columns"]


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any]) -> Any:
    """After one run."""
    made = make_project("settings", {f"models/{name}": text for name, text in MODELS.items()})
    made.session.sql("create schema if not exists settings")
    left = "values (1, 'u', 2L, 'b'), (2, 'c', 3L, 'x'), (3, 'd', 4L, null) as t(id, op, lsn, v)"
    for name, query in TABLES.items():
        made.session.sql(
            f"create table settings.{name} using delta tblproperties"
            f" ('delta.enableDeletionVectors'='true') as select {query.format(left=left)}"
        )
    stage(
        made,
        "(1, 'd', 5L, null), (2, 'u', 6L, 'y'), (3, 'c', 7L, 'z'), (4, 'c', 8L, 'w'),"
        " (5, 'c', 9L, 'a'), (5, 'u', 10L, 'b'), (6, 'd', 11L, null)",
    )
    made.dbt("run")
    return made


def stage(project: Any, rows: str) -> None:
    project.session.sql(
        f"create or replace table {project.schema}.pending using delta as"
        f" select * from values {rows} as t(id, op, lsn, v)"
    )


def table(project: Any, name: str) -> list[tuple[Any, ...]]:
    frame = project.read(f"select id, op, lsn, v from {{s}}.{name} order by id")
    return [tuple(row) for row in frame.astype(object).itertuples(index=False)]


ALIVE = [(2, "u", 6, "y"), (3, "c", 7, "z"), (4, "c", 8, "w"), (5, "u", 10, "b")]


def test_what_a_batch_leaves(project: Any) -> None:
    assert table(project, "hard") == ALIVE
    assert table(project, "pythonic") == [(1, "d", 5, None), *ALIVE, (6, "d", 11, None)]
    assert project.figures("pythonic")["deletes"] == 2
    # Columns that are not updated stay, and a tombstone that comes back takes them all.
    assert table(project, "some_columns")[1:-1] == [(2, "u", 6, "x"), *ALIVE[1:]]
    # Of a deduplicated key the first event stays.
    ignored = table(project, "ignored")
    assert ignored == [*LEFT, (4, "c", 8, "w"), (5, "c", 9, "a"), (6, "d", 11, None)]
    assert project.said("ignored: 7 events → 1 of 1 files (100.0 %) → 3 inserts, 3 known")


def test_hooks_sort_what_was_merged(project: Any) -> None:
    commits = project.commits("hooked")
    # Nothing is left to compact; the rows that were merged are sorted.
    assert [one["operation"] for one in commits[:2]] == [*HOOKS, "MERGE"]
    assert json.loads(commits[0]["operationParameters"]["zOrderBy"]) == ["id", "born"]
    assert commits[0].get("userMetadata") is None


def test_new_column_is_added_and_control_columns_are_not(project: Any) -> None:
    names = project.read("select * from {s}.growing").columns.tolist()
    assert names == ["id", "op", "lsn", "v", "_deleted", "_tombstone_time", "extra"]
    assert project.read("select extra from {s}.growing where id = 5")["extra"][0] == 1.25
    assert project.figures("growing")["engine"] == "one_commit"


def test_hooks_that_are_off(project: Any) -> None:
    """And a second batch of a Python model."""
    stage(project, "(2, 'd', 12L, null), (7, 'c', 13L, 'n')")
    project.dbt("run", "--select", "hooked pythonic", "--vars", "alluvium_maintenance: false")
    operations = [one["operation"] for one in project.commits("hooked")]
    assert operations[:3] == ["MERGE", *HOOKS, "MERGE"]  # the hooks are off
    assert table(project, "pythonic")[1] == (2, "u", 12, "y")  # a tombstone has what the row had
    assert table(project, "pythonic")[-1] == (7, "c", 13, "n")
    project.dbt("show", "--select", "hooked")
    assert project.versions("hooked") == len(operations)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("id, op, lsn", "no longer selects v, which the table has"),
        ("id, op, v", "order_by: the model does not select lsn"),
        ("*, true as _deleted", "keeps its own column _deleted"),
    ],
)
def test_unfit_batches_are_refused(project: Any, columns: str, said: str) -> None:
    before = project.versions("some_columns")
    asked = ("run", "--select", "some_columns", "--vars", f"columns: {columns!r}")
    assert not project.try_dbt(*asked).success
    assert project.said(said)
    assert project.versions("some_columns") == before


def test_mistakes_stop_the_run_before_any_statement(project: Any) -> None:
    wrong = {
        "models/wrong.sql": model("{'order_by': 'lsn', 'on_match': 'skip'}"),
        "models/reads.sql": "{{ config(materialized='streaming_table') }}"
        " select * from {{ source('landing', 'feed') }}",
        "models/landing.yml": LANDING,
    }
    project.write(wrong)
    before = project.versions("hard")
    result = project.try_dbt("run")
    project.remove(*wrong)
    assert not result.success
    said = str(result.exception)
    assert "2 mistakes in the settings of alluvium, nothing was run" in said
    # Which macros of ours found them says nothing more.
    assert "> in macro" not in said
    assert "called by" not in said
    assert 'meta.alluvium_merge.on_match: "skip" is not accepted' in said
    assert "source landing.feed: alluvium_stream.format: 'xml'" in said
    assert project.versions("hard") == before
