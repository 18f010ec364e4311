"""A dbt project folder whose runs share this process's Spark context."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from dbt.cli.main import dbtRunner, dbtRunnerResult
from functional import delta_rs
from pyspark.sql import SparkSession

from alluvium.engine import session as engine

REPO = Path(__file__).parents[2]
# dbt as a process of its own.
DBT = [sys.executable, "-c", "from dbt.cli.main import cli; cli()"]


def add_jars(home: Path) -> Path:
    """Let an embedded home use the checkout's jars, so that no test resolves them again."""
    jars = Path(os.environ.get("ALLUVIUM_TEST_JARS", REPO / ".alluvium/jars"))
    jars.mkdir(parents=True, exist_ok=True)
    home.mkdir(parents=True, exist_ok=True)
    (home / "jars").symlink_to(jars)
    return home


PACKAGE = {"name": "alluvium", "version": "0.1.0", "config-version": 2, "macro-paths": ["macros"]}


def add_macros(root: Path) -> None:
    """Let a project have the package's macros without the reference project's models."""
    package = root / "dbt_packages/alluvium"
    package.mkdir(parents=True)
    (package / "dbt_project.yml").write_text(json.dumps(PACKAGE))
    (package / "macros").symlink_to(REPO / "macros")


def new_session(home: Path) -> SparkSession:
    """A session on the context that a target with this `home` and nothing more starts."""
    return engine.new_session(engine.Settings(home=home))


@dataclass
class Project:
    """A project folder, and what its last run said."""

    root: Path
    home: Path
    schema: str
    lines: list[str] = field(default_factory=list)
    _session: SparkSession | None = field(default=None, repr=False)

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

    @property
    def session(self) -> SparkSession:
        """One of this project's own: the first query of a session takes a fifth of a second."""
        if self._session is None or self._session.sparkContext._jsc is None:
            self._session = new_session(self.home)
        return self._session

    def sql(self, query: str) -> pd.DataFrame:
        """The rows of a query in which `{s}` stands for the schema."""
        return self.session.sql(query.replace("{s}", self.schema)).toPandas()

    def read(self, query: str) -> pd.DataFrame:
        """The same by delta-rs and DuckDB, in DuckDB's SQL: a hundredth of the time of `sql`."""
        return delta_rs.read(self.home, query.replace("{s}", self.schema))

    def versions(self, table: str) -> int:
        return delta_rs.versions(self.home, self.schema, table)

    def run_sql(self, model: str) -> str:
        """The statement that the last run sent for a model."""
        return (self.root / f"target/run/{self.schema}/models/{model}.sql").read_text()

    def figures(self, model: str) -> dict[str, Any]:
        """`adapter_response` of the last run's model."""
        results = json.loads((self.root / "target/run_results.json").read_text())["results"]
        return next(r["adapter_response"] for r in results if r["unique_id"].endswith(f".{model}"))
