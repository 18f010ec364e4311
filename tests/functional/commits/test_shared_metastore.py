"""Two dbt processes, each with a home of its own, merge into one table of a shared metastore."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import deltalake
import pandas as pd
import pytest
import yaml
from functional.delta_rs import by_query
from functional.runner import DBT, add_jars, add_macros
from support import postgres

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.network]

CONFIG = {
    "name": "shared",
    "profile": "p",
    "config-version": 2,
    "version": "0.1.0",
    "flags": {"send_anonymous_usage_stats": False},
}
# Every event of a round has the round's `lsn`, so that rounds replay in any order.
MODEL = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', alias='items',
          meta={'alluvium_merge': {'order_by': 'lsn'}}) }}
select id, cast({{ var('lsn') }} as bigint) as lsn, '{{ var('who') }}' as who,
    cast({{ var('lsn') }} as bigint) as _batch_through
from range({{ var('first') }}, {{ var('first') + 60 }})
"""


class Process:
    """A dbt project in a folder and with a home of its own; its model writes `main.items`."""

    def __init__(self, root: Path, name: str, model: str, conf: dict[str, str]):
        self.root = root / name
        self.home = add_jars(self.root / "home")
        self.name = name
        self.rounds: list[tuple[int, int]] = []
        add_macros(self.root)
        (self.root / "models").mkdir()
        (self.root / "models" / f"{model}.sql").write_text(MODEL)
        (self.root / "dbt_project.yml").write_text(yaml.safe_dump(CONFIG))
        target = {
            "type": "alluvium",
            "schema": "main",
            "home": str(self.home),
            "packages": ["org.postgresql:postgresql:42.7.7"],
            "spark_conf": conf,
        }
        profile = {"p": {"target": "t", "outputs": {"t": target}}}
        (self.root / "profiles.yml").write_text(yaml.safe_dump(profile))

    def start(self, first: int, lsn: int) -> subprocess.Popen[str]:
        self.rounds.append((first, lsn))
        given = json.dumps({"first": first, "lsn": lsn, "who": f"{lsn}"})
        return subprocess.Popen(
            [*DBT, "run", "--no-use-colors", "--profiles-dir", ".", "--vars", given],
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def merged_at(process: Process) -> tuple[str, str]:
    """When the last run's model began and ended, as ISO text in UTC."""
    results = json.loads((process.root / "target/run_results.json").read_text())["results"]
    [at] = [step for step in results[0]["timing"] if step["name"] == "execute"]
    return at["started_at"], at["completed_at"]


def at_once(one: Process, other: Process) -> bool:
    (began, ended), (other_began, other_ended) = merged_at(one), merged_at(other)
    return began < other_ended and other_began < ended


def finish(*processes: subprocess.Popen[str]) -> None:
    try:
        said = [process.communicate(timeout=300)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * len(said), "\n".join(said)


def note_a_merge(place: Path, model: str) -> None:
    """The progress of a model in a table; where only another's is, it would take that over."""
    table = deltalake.DeltaTable(str(place))
    app = f"alluvium/model.{CONFIG['name']}.{model}/{table.metadata().id}"
    actions = [
        {"commitInfo": {"operation": "Manual Update"}},
        {"txn": {"appId": app, "version": 0}},
    ]
    lines = "".join(f"{json.dumps(action)}\n" for action in actions)
    (place / "_delta_log" / f"{table.version() + 1:020}.json").write_text(lines)


@pytest.fixture
def conf(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The Spark properties of a shared metastore, as docs/concurrency.md names them."""
    try:
        with postgres.server() as server:
            yield {
                "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
                "spark.hadoop.javax.jdo.option.ConnectionURL": server.url,
                "spark.hadoop.javax.jdo.option.ConnectionDriverName": "org.postgresql.Driver",
                "spark.hadoop.javax.jdo.option.ConnectionUserName": postgres.USER,
                "spark.hadoop.javax.jdo.option.ConnectionPassword": "any",
                "spark.hadoop.datanucleus.schema.autoCreateTables": "true",
                "spark.hadoop.datanucleus.schema.autoCreateColumns": "true",
                "spark.hadoop.hive.metastore.schema.verification": "false",
            }
    except postgres.MissingError as reason:
        pytest.skip(str(reason))


@pytest.mark.proves("two processes", on="embedded")
def test_two_dbt_processes_merge_into_one_table(conf: dict[str, str], tmp_path: Path) -> None:
    one, other = (Process(tmp_path, name, f"items_{name}", conf) for name in ("one", "other"))
    twin = Process(tmp_path, "twin", "items_one", conf)  # the same feed, run a second time at once
    finish(one.start(0, lsn=1))  # creates the metastore's schema and the table
    place = tmp_path / "warehouse" / "main.db" / "items"
    note_a_merge(place, "items_other")
    overlaps = []
    for number in (1, 2):
        lsn = 10 * number
        finish(one.start(30 * number, lsn), other.start(30 * number + 20, lsn + 1))
        overlaps.append(at_once(one, other))
    finish(one.start(100, lsn=30), twin.start(100, lsn=30))
    overlaps.append(at_once(one, twin))
    assert any(overlaps)

    events = pd.DataFrame(
        [
            (key, lsn)
            for process in (one, other, twin)
            for first, lsn in process.rounds
            for key in range(first, first + 60)
        ],
        columns=["id", "lsn"],
    )
    newest = events.groupby("id")["lsn"].max()
    table = deltalake.DeltaTable(str(place))
    found = by_query(table, "select id, lsn, who from t").to_pylist()
    assert sorted((row["id"], row["lsn"]) for row in found) == sorted(newest.items())
    assert all(row["who"] == str(row["lsn"]) for row in found)
    merges = [commit for commit in table.history() if commit["operation"] == "MERGE"]
    assert len(merges) == 6  # the twins' batch once
    for process in (one, other, twin):
        assert not list((process.home / "metastore").iterdir())  # no Derby
        assert not (process.home / "lock").exists()
