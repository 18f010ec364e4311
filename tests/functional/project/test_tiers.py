"""Two feeds on one context: neither waits for the other, and neither falls with it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from functional.runner import REPO, Project

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# 16 tasks of half a second for each core, and a feed that comes when they all stand in the queue.
SLOW = """
import time

def model(dbt, session):
    def work(batches):
        for batch in batches:
            time.sleep(0.5)
            yield batch
    tasks = 16 * session.sparkContext.defaultParallelism
    return session.range(0, tasks, 1, tasks).mapInPandas(work, "id bigint")
"""
QUICK = """
import time

def model(dbt, session):
    time.sleep(2)
    pool = session.sparkContext.getLocalProperty("spark.scheduler.pool")
    partitions = session.conf.get("spark.sql.shuffle.partitions")
    return session.createDataFrame([(pool, partitions)], "pool string, partitions string")
"""
BROKEN = "{{ config(materialized='table') }} select raise_error('this feed is broken') as it"
SCHEMA = """
models:
  - name: slow
    config: {meta: {alluvium_tier: daily}}
  - name: quick
    config: {meta: {alluvium_tier: realtime}}
  - name: urgent
    config: {meta: {alluvium_tier: urgent}}
  - name: broken
    config: {meta: {alluvium_tier: realtime}}
"""
TIERS = {
    "realtime": {"weight": 8, "min_share": 1, "spark_conf": {"spark.sql.shuffle.partitions": 3}},
    "daily": {"slo": "26 hours"},
    "urgent": {"weight": 7, "min_share": 2},
}


@pytest.fixture(scope="module")
def project(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("tiers")
    target = {"type": "alluvium", "schema": "tiers", "home": str(home), "threads": 3}
    made = Project(root, home, "tiers")
    made.write(
        {
            "profiles.yml": yaml.safe_dump({"p": {"target": "t", "outputs": {"t": target}}}),
            "dbt_project.yml": yaml.safe_dump(
                {
                    "name": "tiers",
                    "version": "0.1.0",
                    "profile": "p",
                    "vars": {"alluvium_tiers": TIERS},
                    "flags": {"send_anonymous_usage_stats": False},
                }
            ),
            "packages.yml": yaml.safe_dump({"packages": [{"local": str(REPO)}]}),
            "selectors.yml": (REPO / "selectors.yml").read_text(),
            "models/slow.py": SLOW,
            "models/quick.py": QUICK,
            "models/broken.sql": BROKEN,
            "models/urgent.sql": "{{ config(materialized='table') }} select 1 as it",
            "models/behind.sql": "select * from {{ ref('broken') }}",
            "models/schema.yml": SCHEMA,
        }
    )
    made.dbt("deps")
    return made


def results(project: Project) -> dict[str, Any]:
    ran = json.loads((project.root / "target/run_results.json").read_text())["results"]
    models = (result for result in ran if result["unique_id"].startswith("model."))
    return {result["unique_id"].split(".")[-1]: result for result in models}


def finished(result: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(result["timing"][-1]["completed_at"])


def test_each_feed_for_itself(project: Project) -> None:
    assert not project.try_dbt("run").success
    ran = results(project)
    assert {name: result["status"] for name, result in ran.items()} == {
        "slow": "success",
        "quick": "success",
        "urgent": "success",
        "broken": "error",
        "behind": "skipped",
    }
    # Of the 8 s of the slow one; behind it in one queue the quick one would end with it.
    assert finished(ran["slow"]) - finished(ran["quick"]) > timedelta(seconds=2)
    assert project.said("tiers.broken")
    assert project.said("this feed is broken")


def test_the_tier_is_where_it_runs(project: Project) -> None:
    row = project.sql("select * from {s}.quick").iloc[0]
    assert tuple(row) == ("realtime", "3")
    # A context makes a pool once, and other tests have made `realtime`.
    pool = project.session.sparkContext._jsc.sc().getPoolForName("urgent").get()
    assert (pool.weight(), pool.minShare()) == (7, 2)


def test_a_selector_is_a_tier(project: Project) -> None:
    listed = project.dbt("ls", "--selector", "realtime").result
    assert sorted(listed) == ["tiers.broken", "tiers.quick"]
