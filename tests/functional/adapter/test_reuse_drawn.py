"""Drawn changes between builds: what may be kept is as in a build that keeps nothing."""

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

from alluvium.delta.log import reads

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TABLES = ("a", "b")
IDS = range(4)
ROUNDS = 10
TESTS = range(8)
# Of tests, which read table or view `{r}`; each looks for the one id `{n}`.
READS = (
    "select id from {r} where id = {n}",
    "select {n} as id where {n} in (select id from {r})",
    "with c as (select id, count(*) as k from {r} group by id) select * from c where id = {n}",
    "select x.id from {r} x join {s}.wb y on x.id = y.id where x.id = {n}",
)
# Of models.
MAKES = (
    "select id, {n}L as v from {r}",
    "select id, count(*) as v from {r} group by id",
    "select x.id, -{n}L as v from {r} x where x.id in (select id from {s}.wb)",
    "select id, max(id) over () as v from {r} union all select {n}L, 0L",
)
# What is built, and what each may read: three layers, of a seed and of tables and views.
SEED = "grown"
SOURCES = ("{s}.a", "{s}.wa", "{s}.wab", f"{{{{ ref('{SEED}') }}}}")
LAYERS = {
    "one": SOURCES,
    "two": ("{{ ref('one') }}", *SOURCES),
    "three": ("{{ ref('two') }}", "{{ ref('one') }}", "{s}.wb"),
}
BUILT = (SEED, *LAYERS)
# The build that keeps nothing makes its own tables from the same rows.
OTHERS = """
{% macro generate_alias_name(custom_alias_name=none, node=none) %}
  {{ return(node.name ~ var('suffix', '')) }}
{% endmacro %}
"""
OFF = json.dumps({"alluvium_reuse": False, "suffix": "_off"})


class Drawn:
    """Two tables, views on them, a seed and three layers of tables, tests on all; and changes."""

    def __init__(self, project: Any, home: Path, spark: SparkSession, seed: int) -> None:
        self.project, self.home, self.spark = project, home, spark
        self.random = random.Random(seed)
        self.schema = project.test_schema
        self.aside: dict[str, Path] = {}
        self.said: dict[str, tuple[int, int, int]] = {}
        self.forget_logs()
        for table in TABLES:
            self.do(f"create table {{s}}.{table} (id bigint) using delta")
            self.do(f"create view {{s}}.w{table} as select * from {{s}}.{table}")
        self.do("create view {s}.wab as select * from {s}.wa union all select * from {s}.b")
        self.write(OTHERS, "macros", "others.sql")
        self.change_seed("")
        self.change_macro("")
        for name in LAYERS:
            self.change_model(name)
            self.change_words(name)
        for number in TESTS:
            self.write_test(number)

    def do(self, sql: str) -> None:
        self.project.run_sql(sql.replace("{s}", self.schema))

    def write(self, text: str, *path: str) -> None:
        write_file(text.replace("{s}", self.schema), self.project.project_root, *path)

    def folder(self, table: str) -> Path:
        return delta_rs.folder_of(self.home, self.schema, table)

    def drawn(self, sql: str, layers: tuple[str, ...]) -> str:
        sql = sql.replace("{n}", str(self.random.choice(IDS)))
        return sql.replace("{r}", self.random.choice(layers))

    def write_test(self, number: int) -> None:
        layers = ("{s}.a", "{s}.b", "{s}.wab", *(f"{{{{ ref('{name}') }}}}" for name in BUILT))
        sql = self.drawn(self.random.choice(READS), layers)
        self.write(f"{{{{ config(severity='warn') }}}} {sql}", "tests", f"test_{number}.sql")

    # Changes, by the names of these methods: of a table that is read.

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

    # Of what the project says.

    def change_test(self, _: str) -> None:
        self.write_test(self.random.choice(TESTS))

    def change_model(self, name: str) -> None:
        sql = self.drawn(self.random.choice(MAKES), LAYERS[name])
        self.write(f"{{{{ config(materialized='table') }}}}\n{sql}", "models", f"{name}.sql")

    def change_words(self, name: str) -> None:
        """A description, a comment of a column, a constraint: the last two are commits behind."""
        self.said[name] = (*(self.random.randrange(2) for _ in range(3)),)  # type: ignore
        models = []
        for one, (table, column, constraint) in self.said.items():
            rule = {"type": "check", "name": "drawn", "expression": f"id > -{1 + constraint}"}
            number = {"name": "id", "data_type": "bigint", "description": f"Number {column}"}
            models.append(
                {
                    "name": one,
                    "description": f"Rows {table}",
                    "config": {
                        "contract": {"enforced": True},
                        "persist_docs": {"relation": True, "columns": True},
                    },
                    "columns": [
                        {**number, "constraints": [rule]},
                        {"name": "v", "data_type": "bigint"},
                    ],
                }
            )
        self.write(json.dumps({"models": models}), "models", "schema.yml")

    def change_macro(self, _: str) -> None:
        """One that stands in no compiled SQL."""
        clause = f"tblproperties ('drawn' = '{self.random.randrange(3)}')"
        self.write(
            f"{{% macro alluvium__tblproperties_clause() %}}{clause}{{% endmacro %}}",
            *("macros", "clause.sql"),
        )

    def change_seed(self, _: str) -> None:
        rows = "".join(f"{self.random.choice(IDS)}\n" for _ in range(3))
        self.write(f"id\n{rows}", "seeds", f"{SEED}.csv")

    # Of a table that is built.

    def write_over(self, name: str) -> None:
        self.do(f"update {{s}}.{name} set id = {self.random.choice(IDS)}")

    def take_away(self, name: str) -> None:
        self.do(f"delete from {{s}}.{name} where id = {self.random.choice(IDS)}")

    def comment(self, name: str) -> None:
        self.do(f"comment on table {{s}}.{name} is 'by hand'")

    def replace(self, name: str) -> None:
        self.do(f"create or replace table {{s}}.{name} using delta as select 9L as id, 9L as v")

    def drop(self, name: str) -> None:
        self.do(f"drop table {{s}}.{name}")

    def compact(self, name: str) -> None:
        self.do(f"optimize {{s}}.{name}")

    def set_back(self, name: str) -> None:
        self.do(f"restore {{s}}.{name} to version as of 0")

    def forget_logs(self) -> None:
        """Delta keeps what it knows of a folder that was replaced past it."""
        self.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()

    def change(self) -> str:
        read: list[Callable[[str], None]] = [
            *(self.insert, self.insert, self.delete, self.update, self.optimize, self.vacuum),
            *(self.alter, self.make_again, self.restore, self.claim, self.change_view),
            *(self.back_up, self.put_back),
        ]
        said: list[Callable[[str], None]] = [
            *(self.change_test, self.change_model, self.change_words, self.change_macro),
            self.change_seed,
        ]
        built: list[Callable[[str], None]] = [
            *(self.write_over, self.take_away, self.comment, self.replace, self.drop),
            *(self.compact, self.compact, self.set_back),
        ]
        changes, of = self.random.choice(((read, TABLES), (said, tuple(LAYERS)), (built, BUILT)))
        one, name = self.random.choice(changes), self.random.choice(of)
        if changes is not built or self.spark.catalog.tableExists(f"{self.schema}.{name}"):
            one(name)
        return f"{one.__name__} {name}"

    def state(self, suffix: str) -> dict[str, Any]:
        """Rows, comments, constraints and properties of all that is built, as delta-rs reads it."""
        found = {}
        for name in BUILT:
            table = f"{name}{suffix}"
            delta = DeltaTable(self.folder(table))
            about = delta.metadata()
            rows = delta_rs.rows(self.home, self.schema, table).to_pylist()
            found[name] = (
                sorted(rows, key=repr),
                json.loads(delta.schema().to_json()),
                (about.description, about.configuration),
            )
        return found


def results(*args: str) -> tuple[dict[str, str], set[str]]:
    """Status by node, and which were kept."""
    run_dbt(["build", *args])
    found = json.loads(read_file("target", "run_results.json"))["results"]
    kept = {one["unique_id"] for one in found if "kept_since" in one["adapter_response"]}
    return {one["unique_id"]: one["status"] for one in found}, kept


@pytest.mark.parametrize("seed", range(3))
class TestDrawn:
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        asks = {"+meta": {"alluvium_reuse": True}}
        seeds = {**asks, "+column_types": {"id": "bigint"}}
        return {"models": asks, "seeds": seeds, "data_tests": asks}

    def test_kept_is_as_run(
        self,
        project: Any,
        home: Path,
        spark: SparkSession,
        monkeypatch: pytest.MonkeyPatch,
        seed: int,
    ) -> None:
        spark.sql(f"drop schema if exists {project.test_schema} cascade")
        spark.sql(f"create schema {project.test_schema}")
        drawn = Drawn(project, home, spark, seed)
        done: list[str] = []
        kept_at_all: dict[str, int] = {}
        seen: set[str] = set()
        for number in range(ROUNDS):
            done += [drawn.change() for _ in range(drawn.random.randint(0, 2) if number else 0)]
            with monkeypatch.context() as patched:
                if drawn.random.random() < 0.15:
                    # What a kill between the commit of a table and its note leaves.
                    patched.setattr(reads, "note", lambda *_: None)
                    done.append("killed")
                with_reuse, kept = results()
            without, none_kept = results("--vars", OFF)
            assert not none_kept
            assert with_reuse == without, done
            assert drawn.state("") == drawn.state("_off"), done
            for one in kept:
                kind = one.split(".")[0]
                kept_at_all[kind] = kept_at_all.get(kind, 0) + 1
            seen |= set(with_reuse.values())
            done.append(f"kept {len(kept)}")
        assert seen == {"success", "pass", "warn"}
        assert kept_at_all["test"] > ROUNDS, done
        assert kept_at_all["model"] > ROUNDS // 2, done
        assert kept_at_all["seed"] > ROUNDS // 4, done
