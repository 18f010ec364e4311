"""A dbt project of one module's own, run by dbt's runner on one Spark context."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from delta.exceptions import ConcurrentAppendException
from deltalake import DeltaTable, write_deltalake
from functional.delta_rs import folder_of
from functional.runner import Project, add_macros

from alluvium.merge import execute

EVENTS = pa.schema(
    {
        "id": pa.int64(),
        "op": pa.string(),
        "lsn": pa.int64(),
        "at": pa.timestamp("us", "UTC"),
        "v": pa.string(),
        "_batch_id": pa.int64(),
    }
)


@dataclass
class MergeProject(Project):
    """A project whose bronze the tests write."""

    def table(self, name: str, schema: str | None = None) -> DeltaTable:
        """The newest version of a table, without Spark."""
        return DeltaTable(folder_of(self.home, schema or self.schema, name))

    def commits(self, name: str, schema: str | None = None) -> list[dict[str, Any]]:
        """What the commits of a table say of themselves, the newest first."""
        return self.table(name, schema).history()

    def append_events(self, batch_id: int, *rows: tuple[Any, ...]) -> None:
        """Add bronze rows (id, op, lsn, at, v) under one `_batch_id`.

        By delta-rs: an append by Spark takes a second.
        """
        folder = folder_of(self.home, self.schema, "events")
        if not folder.exists():
            self.session.sql(f"create schema if not exists {self.schema}")
            self.session.sql(
                f"create table {self.schema}.events (id bigint, op string, lsn bigint,"
                " at timestamp, v string, _batch_id bigint) using delta"
            )
        events = [
            (key, op, lsn, at and dt.datetime.fromisoformat(at).replace(tzinfo=dt.UTC), v, batch_id)
            for key, op, lsn, at, v in rows
        ]
        columns = [list(column) for column in zip(*events, strict=True)]
        # Tests may have added columns of their own.
        made = pa.table(columns, schema=EVENTS)
        write_deltalake(folder, made, mode="append", schema_mode="merge")


SOURCES = """
version: 2
sources:
  - name: raw
    schema: "{{ target.schema }}"
    tables:
      - name: events
"""

BATCH = """
{{ config(materialized='table') }}
select id, op, lsn, at, v, _batch_through, _batch_after
from {{ alluvium.new_events(source('raw', 'events'), 'items') }}
"""


def merged(
    meta: dict[str, Any], body: str = "select * from {{ ref('batch') }}", **config: Any
) -> str:
    """SQL of an incremental model with `meta.alluvium_merge`."""
    settings = {
        "materialized": "incremental",
        "incremental_strategy": "merge",
        "unique_key": "id",
        "meta": {"alluvium_merge": meta},
    } | config
    return "{{ config(" + ", ".join(f"{k}={v!r}" for k, v in settings.items()) + ") }}\n" + body


@pytest.fixture(scope="session")
def feed(
    make_project: Callable[[str, dict[str, str]], MergeProject],
) -> Callable[..., MergeProject]:
    """A project of a feed: bronze `events`, a staged `batch`, the merged `items`."""

    def make(name: str, meta: dict[str, Any], **config: Any) -> MergeProject:
        return make_project(
            name,
            {
                "models/sources.yml": SOURCES,
                "models/batch.sql": BATCH,
                "models/items.sql": merged(meta, **config),
            },
        )

    return make


@pytest.fixture(scope="session")
def make_project(
    home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, dict[str, str]], MergeProject]:
    def make(name: str, files: dict[str, str]) -> MergeProject:
        root = tmp_path_factory.mktemp(name)
        target = {"type": "alluvium", "schema": name, "home": str(home), "threads": 1}
        # dbt-spark's own adapter on the same context: what a stock target does.
        stock = {"type": "spark", "method": "session", "host": "NA", "schema": f"{name}_stock"}
        project = MergeProject(root, home, name)
        add_macros(root)
        config = {"name": name, "version": "0.1.0", "config-version": 2, "profile": "p"}
        project.write(
            {
                "profiles.yml": yaml.safe_dump(
                    {"p": {"target": "t", "outputs": {"t": target, "stock": stock}}}
                ),
                "dbt_project.yml": yaml.safe_dump(
                    config
                    | {
                        "flags": {"send_anonymous_usage_stats": False},
                        "dispatch": [
                            {"macro_namespace": "dbt", "search_order": [name, "alluvium", "dbt"]}
                        ],
                    }
                ),
                **files,
            }
        )
        return project

    return make


def disturb(monkeypatch: pytest.MonkeyPatch, sql: str, loses: bool = True) -> None:
    """Let another writer's `sql` come in while the next merge runs, which loses against it, or
    before its transaction begins."""
    commit = execute.DeltaTable.commit
    others = [sql]

    def disturbed(table: Any, *args: Any) -> Any:
        if others:
            table.session.newSession().sql(others.pop())
            if loses:
                raise ConcurrentAppendException("another writer")
        return commit(table, *args)

    monkeypatch.setattr(execute.DeltaTable, "commit", disturbed)
