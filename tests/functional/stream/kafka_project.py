"""A dbt project of streaming tables on a Kafka broker."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from deltalake import DeltaTable
from functional.delta_rs import by_query
from functional.runner import DBT
from pyspark import __version__ as spark_version
from support.kafka_broker import JAAS, PASSWORD, Broker

STREAM = {
    "format": "kafka",
    "topic": ["orders", "late-topic"],
    "options": {"kafka.bootstrap.servers": {"env": "BROKERS"}, "maxOffsetsPerTrigger": "70"},
}
_DAYS, _UNIT = "functional/stream/test_kafka_bad_days.py", "unit/stream/test_topic_plans.py"
# The lines of the table in docs/streaming.md, by their first cells, and the test that proves each.
ROWS = {
    "a transaction is aborted": (_DAYS, "test_bad_days"),
    "a transaction stays open": (_DAYS, "test_bad_days"),
    "the same, and the table was read beyond it, with another `kafka.isolation.level`": (
        _DAYS,
        "test_bad_days",
    ),
    "records are deleted before they were read": (_DAYS, "test_bad_days"),
    "a topic is made again, with fewer or more records, or the brokers are of another cluster": (
        _DAYS,
        "test_bad_days",
    ),
    "a topic that was read is gone": (_UNIT, "test_a_topic_that_is_gone"),
    "a partition or a topic is added": (_DAYS, "test_bad_days"),
    "no broker answers at the start": (_DAYS, "test_a_broker_goes_away"),
    "the brokers go away while it reads": (_DAYS, "test_a_broker_goes_away"),
    "a message of 20 MB, compacted offsets, headers, NULL keys and values": (
        "functional/stream/test_kafka.py",
        "test_events_of_a_broker",
    ),
}
CONFIG = {
    "name": "kafka",
    "version": "0.1.0",
    "config-version": 2,
    "profile": "p",
    "flags": {"send_anonymous_usage_stats": False},
}


@dataclass
class Bronze:
    """A dbt project, each run of which is a process of its own: Kafka's jars join at the start."""

    root: Path
    broker: Broker

    def write(self, **block: Any) -> None:
        """The project, with these keys in `meta.alluvium_stream` too."""
        self.write_streams({"events": STREAM | block})

    def write_streams(self, streams: dict[str, dict[str, Any]]) -> None:
        """The project, with a source and a table for each."""
        target = {
            "type": "alluvium",
            "schema": "bronze",
            "home": str(self.root / "home"),
            "packages": [f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark_version}"],
        }
        freshness = {"warn_after": {"count": 1, "period": "day"}}
        fresh = {"loaded_at_field": "_source_timestamp", "freshness": freshness}
        tables = [
            {"name": name, "config": {"meta": {"alluvium_stream": block}, **fresh}}
            for name, block in streams.items()
        ]
        source = {"name": "raw", "tables": tables}
        files = {
            "profiles.yml": {"p": {"target": "t", "outputs": {"t": target}}},
            "dbt_project.yml": CONFIG,
            "models/sources.yml": {"version": 2, "sources": [source]},
        }
        (self.root / "models").mkdir(exist_ok=True)
        for name, content in files.items():
            (self.root / name).write_text(yaml.safe_dump(content))
        for name in streams:
            self.write_model(name)

    def write_model(self, name: str, hook: str = "") -> None:
        (self.root / f"models/{name}.sql").write_text(
            f"{{{{ config(materialized='streaming_table', pre_hook={[hook] if hook else []}) }}}}"
            f" select * from {{{{ source('raw', '{name}') }}}}"
        )

    def run(self, *args: str, hook: str = "", fails: bool = False) -> str:
        if (self.root / "models/events.sql").exists():
            self.write_model("events", hook)
        return self.dbt("run", *args, fails=fails)

    def dbt(self, *args: str, fails: bool = False) -> str:
        done = subprocess.run(
            [*DBT, *args, "--no-use-colors", "--profiles-dir", "."],
            cwd=self.root,
            env=os.environ
            | {
                "BROKERS": self.broker.address,
                "LOGIN": self.broker.login_address,
                "JAAS": f'{JAAS}password="{PASSWORD}";',
            },
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == fails, done.stdout + done.stderr
        return done.stdout

    def lose_checkpoint(self, name: str = "events") -> None:
        shutil.rmtree(self.root / f"home/checkpoints/bronze.{name}")

    def rows(self, name: str = "events") -> list[dict[str, Any]]:
        return by_query(DeltaTable(self.root / f"home/warehouse/bronze.db/{name}")).to_pylist()

    def events(self, name: str) -> list[tuple[str, str]]:
        """Place and value of each row."""
        found = sorted(
            (row["_source_partition"], row["_source_offset"], row["_value"])
            for row in self.rows(name)
        )
        return [(f"{partition} {offset}", value) for partition, offset, value in found]

    def results(self) -> dict[str, Any]:
        """What `run_results.json` says of each table."""
        text = (self.root / "target/run_results.json").read_text()
        results = json.loads(text)["results"]
        return {one["unique_id"].split(".")[-1]: one["adapter_response"] for one in results}

    @property
    def table(self) -> DeltaTable:
        return DeltaTable(self.root / "home/warehouse/bronze.db/events")
