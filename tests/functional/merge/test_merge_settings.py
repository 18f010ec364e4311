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
    "some_columns.sql": model(CDC + "}", merge_update_columns=["op"]),
    "hooked.sql": model(
        CDC + ", 'ranges': {'column': 'born'}}",
        post_hook=[
            "{{ alluvium.zorder(this) }}",
            "{{ alluvium.optimize(this) }}",
            "{{ alluvium.vacuum(this) }}",
        ],
    ).replace("select *", "select *, 1000 - id as born"),
    "growing.sql": model(CDC + "}", on_schema_change="append_new_columns"),
    "pythonic.py": PYTHON,
}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any]) -> Any:
    made = make_project("settings", {f"models/{name}": text for name, text in MODELS.items()})
    made.session.sql("create schema if not exists settings")
    return made


def stage(project: Any, rows: str, columns: str = "id, op, lsn, v") -> None:
    project.session.sql(
        f"create or replace table {project.schema}.pending using delta as"
        f" select * from values {rows} as t({columns})"
    )


def table(project: Any, name: str) -> list[tuple[Any, ...]]:
    frame = project.read(f"select id, op, lsn, v from {{s}}.{name} order by id")
    return [tuple(row) for row in frame.astype(object).itertuples(index=False)]


def add_table(project: Any, name: str, like: str) -> None:
    """A model's table that is there before, with the rows of another one."""
    project.session.sql(
        f"create table {project.schema}.{name} using delta tblproperties"
        f" ('delta.enableDeletionVectors'='true') as select * from {project.schema}.{like}"
    )


def test_first_batch(project: Any) -> None:
    stage(project, "(1, 'c', 1L, 'a'), (1, 'u', 2L, 'b'), (2, 'c', 3L, 'x'), (3, 'd', 4L, null)")
    project.dbt("run", "--exclude", "growing", "some_columns", "hooked")
    alive = [(1, "u", 2, "b"), (2, "c", 3, "x")]
    assert table(project, "hard") == alive
    assert table(project, "pythonic") == [*alive, (3, "d", 4, None)]
    # Of a deduplicated key the first event stays.
    assert table(project, "ignored")[0] == (1, "c", 1, "a")


def test_hooks_sort_what_was_merged(project: Any) -> None:
    """After the one before: of the first batch."""
    project.dbt("run", "--select", "hooked")
    commits = project.commits("hooked")
    # Nothing is left to compact; the rows that were merged are sorted.
    assert [one["operation"] for one in commits[:2]] == [*HOOKS, "MERGE"]
    assert json.loads(commits[0]["operationParameters"]["zOrderBy"]) == ["id", "born"]
    assert commits[0].get("userMetadata") is None


def test_second_batch(project: Any) -> None:
    add_table(project, "some_columns", "pythonic")
    stage(project, "(1, 'd', 5L, null), (2, 'u', 6L, 'y'), (3, 'c', 7L, 'z'), (4, 'c', 8L, 'w')")
    project.dbt("run", "--exclude", "growing", "hooked")
    assert table(project, "hard") == [(2, "u", 6, "y"), (3, "c", 7, "z"), (4, "c", 8, "w")]
    assert table(project, "pythonic")[1:] == table(project, "hard")
    assert project.figures("pythonic")["deletes"] == 1
    # Columns that are not updated stay, and a tombstone that comes back takes them all.
    assert table(project, "some_columns")[1:] == [
        (2, "u", 6, "x"),
        (3, "c", 7, "z"),
        (4, "c", 8, "w"),
    ]
    assert len(table(project, "ignored")) == 4
    assert project.said("ignored: 4 events → 1 of 1 files (100.0 %) → 1 insert, 3 known")


def test_hooks_that_are_off(project: Any) -> None:
    """After the one before: of the second batch."""
    project.dbt("run", "--select", "hooked", "--vars", "alluvium_maintenance: false")
    operations = [one["operation"] for one in project.commits("hooked")]
    assert operations[:3] == ["MERGE", *HOOKS, "MERGE"]  # the hooks are off
    project.dbt("show", "--select", "hooked")
    assert project.versions("hooked") == len(operations)
    project.dbt("run", "--select", "hooked", "--empty")


def test_new_column_is_added_and_control_columns_are_not(project: Any) -> None:
    add_table(project, "growing", "some_columns")
    stage(project, "(6, 'c', 10L, 'v', 1.5D, 7L)", "id, op, lsn, v, extra, _batch_through")
    project.dbt("run", "--select", "growing")
    names = project.read("select * from {s}.growing").columns.tolist()
    assert names == ["id", "op", "lsn", "v", "_deleted", "_tombstone_time", "extra"]
    assert project.read("select extra from {s}.growing where id = 6")["extra"][0] == 1.5
    assert project.figures("growing")["engine"] == "one_commit"


@pytest.mark.parametrize(
    ("rows", "columns", "said"),
    [
        ("(1, 'c', 1L)", "id, op, lsn", "no longer selects v, which the table has"),
        ("(1, 'c', 'v')", "id, op, v", "order_by: the model does not select lsn"),
        ("(1, 'c', 1L, 'v', true)", "id, op, lsn, v, _deleted", "keeps its own column _deleted"),
    ],
)
def test_unfit_batches_are_refused(project: Any, rows: str, columns: str, said: str) -> None:
    stage(project, rows, columns)
    before = project.versions("some_columns")
    assert not project.try_dbt("run", "--select", "some_columns").success
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
    assert 'source landing.feed: meta.alluvium_stream.format: "xml" is not accepted' in said
    assert project.versions("hard") == before
