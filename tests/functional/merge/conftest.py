"""A dbt project of one module's own, run by dbt's runner on one Spark context."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from dbt.cli.main import dbtRunner, dbtRunnerResult
from pyspark.sql import SparkSession

from alluvium.engine import session as engine

REPO = Path(__file__).parents[3]
PACKAGE = {"name": "alluvium", "version": "0.1.0", "config-version": 2, "macro-paths": ["macros"]}


@dataclass
class Project:
    """A project folder, and what its runs said."""

    root: Path
    home: Path
    schema: str
    lines: list[str] = field(default_factory=list)

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def remove(self, *names: str) -> None:
        for name in names:
            (self.root / name).unlink(missing_ok=True)

    def try_dbt(self, *args: str) -> dbtRunnerResult:
        """Run dbt in this project; `lines` then holds what it logged."""
        self.lines = []
        runner = dbtRunner(callbacks=[lambda event: self.lines.append(event.info.msg)])
        folder = ["--project-dir", str(self.root), "--profiles-dir", str(self.root)]
        return runner.invoke([*args, *folder])

    def dbt(self, *args: str) -> dbtRunnerResult:
        result = self.try_dbt(*args)
        assert result.success, result.exception or "\n".join(self.lines[-30:])
        return result

    def said(self, text: str) -> list[str]:
        return [line for line in self.lines if text in line]

    def append_events(self, batch_id: int, *rows: tuple[Any, ...]) -> None:
        """Add bronze rows (id, op, lsn, at, v) under one `_batch_id`."""
        session = self.session
        session.sql(f"create schema if not exists {self.schema}")
        columns = "id bigint, op string, lsn bigint, at timestamp, v string"
        session.sql(
            f"create table if not exists {self.schema}.events ({columns}, _batch_id bigint)"
            " using delta"
        )
        frame = session.createDataFrame(list(rows), columns.replace("at timestamp", "at string"))
        frame = frame.selectExpr(
            "id", "op", "lsn", "cast(at as timestamp)", "v", f"{batch_id}L as _batch_id"
        )
        frame.coalesce(1).writeTo(f"{self.schema}.events").append()

    @property
    def session(self) -> SparkSession:
        return engine.new_session(engine.Settings(home=self.home, conf={}))

    def sql(self, query: str) -> pd.DataFrame:
        return self.session.sql(query.replace("{s}", self.schema)).toPandas()

    def versions(self, table: str) -> int:
        return len(self.sql(f"describe history {{s}}.{table}"))

    def run_sql(self, model: str) -> str:
        """The statement that the last run sent for a model."""
        return (self.root / f"target/run/{self.schema}/models/{model}.sql").read_text()

    def figures(self, model: str) -> dict[str, Any]:
        """`adapter_response` of the last run's model."""
        results = json.loads((self.root / "target/run_results.json").read_text())["results"]
        return next(r["adapter_response"] for r in results if r["unique_id"].endswith(f".{model}"))


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
def feed(make_project: Callable[[str, dict[str, str]], Project]) -> Callable[..., Project]:
    """A project of a feed: bronze `events`, a staged `batch`, the merged `items`."""

    def make(name: str, meta: dict[str, Any], **config: Any) -> Project:
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
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The embedded home of this test run; its jars are the checkout's own, resolved once."""
    path = tmp_path_factory.mktemp("home")
    jars = Path(os.environ.get("ALLUVIUM_TEST_JARS", REPO / ".alluvium/jars"))
    jars.mkdir(parents=True, exist_ok=True)
    (path / "jars").symlink_to(jars)
    yield path
    engine.stop()


@pytest.fixture(scope="session")
def make_project(
    home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, dict[str, str]], Project]:
    def make(name: str, files: dict[str, str]) -> Project:
        root = tmp_path_factory.mktemp(name)
        target = {"type": "alluvium", "schema": name, "home": str(home), "threads": 1}
        # dbt-spark's own adapter on the same context: what a stock target does.
        stock = {"type": "spark", "method": "session", "host": "NA", "schema": f"{name}_stock"}
        project = Project(root, home, name)
        # The package's macros without the reference project's models.
        package = root / "dbt_packages/alluvium"
        package.mkdir(parents=True)
        (package / "dbt_project.yml").write_text(yaml.safe_dump(PACKAGE))
        (package / "macros").symlink_to(REPO / "macros")
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
