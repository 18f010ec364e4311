"""Suggested layouts: filters as Delta's own skipping takes them, and the operation on a project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from functional.runner import REPO, Project
from pyspark.sql import SparkSession

from alluvium.delta.filters import Optimizer
from alluvium.delta.log import log
from alluvium.plan.compaction.daily import fragments_a_day
from alluvium.plan.layout.settings import Layout
from alluvium.plan.layout.suggestion import EQUALITY, OTHER, RANGE, SUBQUERY

pytestmark = pytest.mark.spark
S = "suggested"


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """A table of 8 files, each with bounds of its own in each column but `flag`."""
    spark.sql(f"create schema if not exists {S}")
    spark.sql(f"drop table if exists {S}.numbers")
    spark.sql(
        f"create table {S}.numbers (n int, m int, s string, d decimal(9, 2), t timestamp,"
        " flag boolean, wide struct<x: int>) using delta"
    )
    rows = spark.range(800).selectExpr(
        "if(id < 100, null, int(id)) as n",
        "int(id) as m",
        "concat(char(int(97 + id div 100)), id % 100) as s",
        "cast(id as decimal(9, 2)) as d",
        "timestamp'2024-03-01' + make_dt_interval(0, int(id)) as t",
        "id >= 700 as flag",
        "named_struct('x', int(id)) as wide",
    )
    rows.repartitionByRange(8, "d").writeTo(f"{S}.numbers").append()
    return spark


PRUNING = [
    ("n = 250", {"n": {EQUALITY}}),
    ("250 = n", {"n": {EQUALITY}}),
    ("n <=> 250", {"n": {EQUALITY}}),
    ("n is null", {"n": {EQUALITY}}),
    ("n in (250, 251)", {"n": {EQUALITY}}),
    (f"n in ({', '.join(map(str, range(250, 280)))})", {"n": {EQUALITY}}),
    ("n = 250 or n = 251 or n is null", {"n": {EQUALITY}}),
    ("n between 250 and 260", {"n": {RANGE}}),
    ("n > 750L", {"n": {RANGE}}),
    ("250 >= n", {"n": {RANGE}}),
    ("s like 'c%'", {"s": {RANGE}}),
    ("s like 'c1'", {"s": {EQUALITY}}),
    ("d > 700 or d = 3", {"d": {RANGE}}),
    ("(n = 250 and s = 'c50') or (n = 251 and s < 'd')", {"n": {EQUALITY}, "s": {RANGE}}),
    ("n = 250 and upper(s) = 'C50'", {"n": {EQUALITY}, "s": {OTHER}}),
    ("t < '2024-03-02'", {"t": {RANGE}}),
    ("t > current_timestamp()", {"t": {RANGE}}),
    ("not (n < 700)", {"n": {RANGE}}),
]
IN_VAIN = [
    ("m % 2 = 0", {"m": {OTHER}}),
    ("s like '%0'", {"s": {OTHER}}),
    ("upper(s) = 'C50'", {"s": {OTHER}}),
    ("cast(m as string) = '250'", {"m": {OTHER}}),
    ("m <> 250", {"m": {OTHER}}),
    ("m = length(s)", {"m": {OTHER}, "s": {OTHER}}),
    ("m = 250 or s = 'c50'", {"m": {OTHER}, "s": {OTHER}}),
    ("wide.x + 1 = 3", {"wide": {OTHER}}),
    ("d is not null", {}),
    (f"t > (select max(t) from {S}.numbers where n = 250)", {"t": {RANGE, SUBQUERY}}),
    # Delta keeps no bounds of booleans: `log.bounded_columns` says so.
    ("not flag", {"flag": {EQUALITY}}),
    ("rand() < d", {"d": {OTHER}}),
]


@pytest.mark.slow
def test_what_counts_is_what_delta_skips_files_by(session: SparkSession) -> None:
    table = f"{S}.numbers"
    optimizer = Optimizer(session)
    session.sparkContext.setJobGroup("suggest", "suggest")
    for predicate, expected in PRUNING + IN_VAIN:
        found = optimizer.readings(f"select count(*) from {table} where {predicate}")
        uses = {column: kinds for one in found for column, kinds in one.uses.items()}
        if SUBQUERY in str(expected):
            assert uses.pop("n") == {EQUALITY}, "the filter inside of the subquery"
        assert (predicate, uses) == (predicate, expected)
    # Nothing ran.
    assert not session.sparkContext.statusTracker().getJobIdsForGroup("suggest")
    for predicate, _ in PRUNING:
        kept = log.skipping(session, table, predicate)
        assert kept.files < kept.files_total == 8, predicate
    # An `or` over two columns skips files where both are in order: no order gives that to all.
    vain = [predicate for predicate, _ in IN_VAIN if " or " not in predicate]
    kept = log.skipping(session, table, " and ".join(vain))
    assert kept.files == kept.files_total


def test_nothing_is_run_and_a_path_is_no_model(session: SparkSession) -> None:
    optimizer = Optimizer(session)
    optimizer.readings(f"delete from {S}.numbers where n = 250")
    optimizer.readings(f"create table {S}.never using delta as select * from {S}.numbers")
    assert session.table(f"{S}.numbers").count() == 800
    assert not session.catalog.tableExists(f"{S}.never")
    # No row can pass, so the optimizer reads nothing; the query does.
    (found,) = optimizer.readings(f"select * from {S}.numbers where m > 1 and m <= 1")
    assert (found.table, found.uses) == ((S, "numbers"), {})
    folder = session.sql(f"describe detail {S}.numbers").first()["location"]
    assert optimizer.readings(f"select * from delta.`{folder}` where n = 250") == []


@pytest.mark.slow
def test_bounds_are_kept_of_the_first_columns_alone(session: SparkSession) -> None:
    assert log.bounded_columns(session, f"{S}.numbers") == ["n", "m", "s", "d", "t", "wide"]
    session.sql(
        f"create or replace table {S}.few (a int, b int, c binary, e int) using delta tblproperties"
        " ('delta.dataSkippingNumIndexedCols'='2', 'delta.columnMapping.mode'='name')"
    )
    assert log.bounded_columns(session, f"{S}.few") == ["a", "b"]


def test_the_log_tells_what_falls_on_a_day(session: SparkSession) -> None:
    files = log.fragments(session, f"{S}.numbers", ["t"])["t"]
    # 800 rows, an hour between each.
    found = fragments_a_day(files, Layout((), target_rows=8))
    assert found == pytest.approx(100 / (799 / 24), rel=1e-6)


LAYOUT = {"alluvium_layout": {"sort_by": ["service", "logged_at"], "fan_in": 16}}
MERGE = {"alluvium_merge": {"order_by": "version", "delete_when": "op = 'd'"}}
TABLE = "{{ config(materialized='table') }} "
FILES = {
    "models/logs.sql": TABLE + "select 'a' as service",
    "models/teams.sql": TABLE + "select 'a' as service",
    "models/later.sql": TABLE + "select * from {{ ref('teams') }} where team = 'x'",
    "models/orders.sql": "{{ config(materialized='incremental', unique_key='id',"
    " incremental_strategy='merge') }} select 1 as id",
    "models/only.sql": "{{ config(materialized='ephemeral') }}"
    " select * from {{ ref('logs') }} where host = 'never alone'",
    "models/python.py": "def model(dbt, session):\n    return session.sql('select 1 as id')\n",
    "models/errors.sql": "{{ config(materialized='view') }} select service as name,"
    " logged_at as at, date_trunc('HOUR', logged_at) as hour from {{ ref('logs') }}"
    " where status >= 500",
    "models/models.yml": yaml.safe_dump(
        {
            "models": [
                {"name": "logs", "config": {"meta": LAYOUT}, "columns": [
                    {"name": "host", "data_tests": [{"accepted_values": {"arguments": {
                        "values": ["h"]}}}]}]},
                {"name": "orders", "config": {"meta": MERGE}},
            ]
        }
    ),
    # Filters go through views, CTEs, aliases and aggregates, and a join gives them to both sides.
    "analyses/by_view.sql": "select * from {{ ref('errors') }} where name in ('a', 'b')"
    " and hour = timestamp'2024-03-01 10:00:00'",
    "analyses/by_team.sql": "with found as (select l.service as one, count(*) as n"
    " from {{ ref('logs') }} as l join {{ ref('teams') }} as t on l.service = t.service"
    " group by l.service) select * from found where one = 'reader' and n > 3;",
    "analyses/twice.sql": "select * from {{ ref('logs') }} where logged_at > '2024-03-01';\n"
    "select * from {{ ref('logs') }} where service = 'a' and is_new -- ; the end\n",
    "analyses/of_day.sql": "select * from {{ ref('logs') }} where status = 200"
    " and logged_at between '2024-03-01' and '2024-03-02'",
    "analyses/since.sql": "select * from {{ ref('logs') }}"
    " where logged_at > (select max(at) from {{ ref('orders') }} where id = 7)",
    "analyses/all_of_it.sql": "select * from {{ ref('logs') }} where upper(host) = 'H'",
    "analyses/of_late.sql": "select * from {{ ref('later') }}",
    "analyses/broken.sql": "select nothing from {{ ref('logs') }}",
    "analyses/no_sql.sql": "selec 1",
    # A data test looks at all rows.
    "tests/no_host.sql": "select * from {{ ref('logs') }} where host = 'x'",
}  # fmt: skip


@pytest.fixture(scope="module")
def project(session: SparkSession, home: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose tables exist, empty, and whose models have not run."""
    made = Project(tmp_path_factory.mktemp("suggest"), home, S)
    target = {"type": "alluvium", "schema": S, "home": str(home)}
    profile = {"p": {"target": "t", "outputs": {"t": target}}}
    flags = {"send_anonymous_usage_stats": False}
    config = {"name": "mine", "profile": "p", "config-version": 2, "version": "1.0", "flags": flags}
    made.write(
        {
            "profiles.yml": yaml.safe_dump(profile),
            "dbt_project.yml": yaml.safe_dump(config),
            "packages.yml": yaml.safe_dump({"packages": [{"local": str(REPO)}]}),
            **FILES,
        }
    )
    made.dbt("deps")
    for table in (
        "logs (service string, status int, host string, logged_at timestamp, is_new boolean)",
        "teams (service string, team string)",
        "orders (id bigint, version bigint, at timestamp, _deleted boolean)",
    ):
        session.sql(f"create table {S}.{table} using delta")
    session.sql(
        f"create view {S}.errors as select service as name, logged_at as at,"
        f" date_trunc('HOUR', logged_at) as hour from {S}.logs where status >= 500"
    )
    return made


def blocks(project: Project, *args: str) -> tuple[dict[str, list[str]], list[str]]:
    """The lines of each model by its name, and those on what is left out."""
    project.dbt("run-operation", "alluvium.suggest_layout", *args)
    found: dict[str, list[str]] = {}
    left_out = []
    for line in project.lines:
        if line.startswith("left out: "):
            left_out.append(line)
        elif " with filters that can skip files" in line:
            found[line.split(":")[0]] = [line]
        elif found and not left_out and line.startswith("  "):
            found[next(reversed(found))].append(line)
    return found, left_out


def suggested(lines: list[str]) -> dict[str, Any]:
    """The block to paste."""
    text = "\n".join(line for line in lines if line.startswith("    "))
    block: dict[str, Any] = yaml.safe_load(text)["meta"]["alluvium_layout"]
    return block


@pytest.mark.slow
def test_nothing_is_compiled_yet(project: Project) -> None:
    assert not project.try_dbt("run-operation", "alluvium.suggest_layout").success
    assert project.said("no compiled SQL in ")[0].endswith(
        f"{project.root}/target/compiled; accepted: after `dbt compile` with the same target path"
    )


def test_what_the_filters_of_a_project_ask_for(project: Project) -> None:
    project.dbt("compile", "--target-path", "elsewhere")
    found, left_out = blocks(project, "--target-path", "elsewhere")
    assert list(found) == ["logs", "orders", "teams"]

    logs = found["logs"]
    assert logs[0] == (
        "logs: read by 7 statements, 6 with filters that can skip files"
        " (all_of_it, by_team, by_view, errors, of_day, since, twice)"
    )
    assert [line.split() for line in logs[1:7]] == [
        ["column", "equality", "range", "other", "joined"],
        ["service", "3", "-", "-", "1"],  # by_team, by_view, twice
        ["status", "1", "2", "-", "-"],  # of_day; errors, by_view
        ["host", "-", "-", "1", "-"],  # all_of_it
        ["logged_at", "-", "3", "1", "-"],  # of_day, since, twice; by_view
        ["is_new", "1", "-", "-", "-"],  # twice
    ]
    assert suggested(logs) == {
        "sort_by": ["service", "status", "logged_at"],
        "curve": "zorder",
        "fan_in": 16,
    }
    assert [line for line in logs if "1 of 3 statements compare it with a subquery" in line]
    assert "agrees" not in logs[-1]
    # What a join implies, and what a subquery asks for.
    assert suggested(found["orders"]) == {"sort_by": ["id"]}
    assert suggested(found["teams"]) == {"sort_by": ["service", "team"], "curve": "zorder"}
    # Each with one line of what Spark says.
    assert [line.split(":")[1] for line in left_out] == [
        " python",
        " broken",
        " no_sql",
        " of_late",
    ]
    assert [word in line for word, line in zip(
        ("a Python model", "UNRESOLVED_COLUMN", "PARSE_SYNTAX_ERROR", "TABLE_OR_VIEW_NOT_FOUND"),
        left_out, strict=True)] == [True] * 4  # fmt: skip


@pytest.mark.slow
def test_a_model_that_has_no_delta_table(project: Project) -> None:
    operation = ("run-operation", "alluvium.suggest_layout", "--args", "{model: errors}")
    assert not project.try_dbt(*operation).success
    assert project.said("alluvium.suggest_layout: 'errors' is not a Delta table; accepted: ")
