"""Drawn changes between runs: tests that may be kept say what tests that always run say."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from dbt.tests.util import read_file, run_dbt, write_file
from deltalake import DeltaTable, write_deltalake
from functional import delta_rs
from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TABLES = ("a", "b")
IDS = range(4)
ROUNDS = 14
# What reads table or view `{r}`; each looks for the one id `{n}`.
READS = (
    "select id from {s}.{r} where id = {n}",
    "select {n} as id where {n} in (select id from {s}.{r})",
    "with c as (select id, count(*) as k from {s}.{r} group by id) select * from c where id = {n}",
    "select x.id from {s}.{r} x join {s}.wb y on x.id = y.id where x.id = {n}",
)
LAYERS = ("a", "b", "wa", "wb", "wab")


class Drawn:
    """Two tables, views on them and on each other, tests on all; and what is done to them."""

    def __init__(self, project: Any, home: Path, spark: SparkSession, seed: int) -> None:
        self.project, self.home, self.spark = project, home, spark
        self.random = random.Random(seed)
        self.schema = project.test_schema
        self.aside: dict[str, Path] = {}
        self.forget_logs()
        for table in TABLES:
            self.do(f"create table {{s}}.{table} (id bigint) using delta")
            self.do(f"create view {{s}}.w{table} as select * from {{s}}.{table}")
        self.do("create view {s}.wab as select * from {s}.wa union all select * from {s}.b")
        for number in range(12):
            self.write_test(number)

    def do(self, sql: str) -> None:
        self.project.run_sql(sql.replace("{s}", self.schema))

    def folder(self, table: str) -> Path:
        return delta_rs.folder_of(self.home, self.schema, table)

    def write_test(self, number: int) -> None:
        sql = self.random.choice(READS).format(
            s=self.schema, r=self.random.choice(LAYERS), n=self.random.choice(IDS)
        )
        config = "{{ config(severity='warn') }}"
        write_file(f"{config} {sql}", self.project.project_root, "tests", f"test_{number}.sql")

    # Changes, by the names of these methods.

    def insert(self, table: str) -> None:
        self.do(f"insert into {{s}}.{table} values ({self.random.choice(IDS)})")

    def delete(self, table: str) -> None:
        self.do(f"delete from {{s}}.{table} where id = {self.random.choice(IDS)}")

    def update(self, table: str) -> None:
        one, other = self.random.sample(IDS, 2)
        self.do(f"update {{s}}.{table} set id = {one} where id = {other}")

    def optimize(self, table: str) -> None:
        self.do(f"optimize {{s}}.{table}")

    def vacuum(self, table: str) -> None:
        self.do(f"vacuum {{s}}.{table}")

    def alter(self, table: str) -> None:
        self.do(f"alter table {{s}}.{table} set tblproperties ('x' = '{self.random.random()}')")

    def make_again(self, table: str) -> None:
        self.do(f"drop table {{s}}.{table}")
        self.do(f"create table {{s}}.{table} using delta as select {self.random.choice(IDS)}L id")
        self.aside.pop(table, None)

    def restore(self, table: str) -> None:
        newest = DeltaTable(self.folder(table)).version()
        self.do(f"restore {{s}}.{table} to version as of {self.random.randint(0, newest)}")

    def claim(self, table: str) -> None:
        """An append that says that it changes no data."""
        rows = self.spark.sql(f"select {self.random.choice(IDS)}L as id")
        claims = rows.write.format("delta").option("dataChange", "false").mode("append")
        claims.saveAsTable(f"{self.schema}.{table}")

    def change_view(self, table: str) -> None:
        only = f"where id <> {self.random.choice(IDS)}"
        self.do(f"create or replace view {{s}}.w{table} as select * from {{s}}.{table} {only}")

    def change_test(self, table: str) -> None:
        self.write_test(self.random.randrange(12))

    def back_up(self, table: str) -> None:
        aside = self.home / f"aside_{self.schema}_{table}"
        shutil.rmtree(aside, ignore_errors=True)
        self.aside[table] = Path(shutil.copytree(self.folder(table), aside))

    def put_back(self, table: str) -> None:
        """A backup with a commit of another writer: ids and numbers repeat."""
        if table in self.aside:
            shutil.rmtree(self.folder(table))
            shutil.copytree(self.aside[table], self.folder(table))
            rows = pa.table({"id": pa.array([self.random.choice(IDS)], pa.int64())})
            write_deltalake(self.folder(table), rows, mode="append")
            self.forget_logs()

    def forget_logs(self) -> None:
        """Delta keeps what it knows of a folder that was replaced past it."""
        self.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()

    def change(self) -> str:
        changes: list[Callable[[str], None]] = [
            *(self.insert, self.insert, self.delete, self.update, self.optimize, self.vacuum),
            *(self.alter, self.make_again, self.restore, self.claim, self.change_view),
            *(self.change_test, self.back_up, self.put_back),
        ]
        one, table = self.random.choice(changes), self.random.choice(TABLES)
        one(table)
        return f"{one.__name__} {table}"


def results(*args: str) -> tuple[dict[str, str], set[str]]:
    """Status by test, and which were kept."""
    run_dbt(["test", *args])
    found = json.loads(read_file("target", "run_results.json"))["results"]
    kept = {one["unique_id"] for one in found if "kept_since" in one["adapter_response"]}
    return {one["unique_id"]: one["status"] for one in found}, kept


@pytest.mark.parametrize("seed", range(3))
class TestDrawn:
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"data_tests": {"+meta": {"alluvium_reuse": True}}}

    def test_kept_is_as_run(self, project: Any, home: Path, spark: SparkSession, seed: int) -> None:
        spark.sql(f"drop schema if exists {project.test_schema} cascade")
        spark.sql(f"create schema {project.test_schema}")
        drawn = Drawn(project, home, spark, seed)
        done: list[str] = []
        kept_at_all = 0
        seen: set[str] = set()
        for _ in range(ROUNDS):
            done += [drawn.change() for _ in range(drawn.random.randint(0, 2))]
            with_reuse, kept = results()
            without, _ = results("--vars", "alluvium_reuse: false")
            assert with_reuse == without, done
            kept_at_all += len(kept)
            seen |= set(with_reuse.values())
        assert seen == {"pass", "warn"}
        assert kept_at_all > ROUNDS, done
