"""A small project that runs all day: a feed, an ephemeral model, and what can fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from functional.runner import DBT, REPO, Project

COMMAND = [sys.executable, "-c", "from alluvium.command.main import main; raise SystemExit(main())"]
FEED = "events batch items counted"
STREAM = {"format": "text", "path": "landing"}
FINE = "{{ config(materialized='table', tags='rest') }} select 1 as id"
FILES = {
    "selectors.yml": "selectors: [{name: rest, definition: {method: tag, value: rest}}]",
    "models/s.yml": yaml.safe_dump(
        {
            "sources": [
                {
                    "name": "landing",
                    "tables": [{"name": "feed", "config": {"meta": {"alluvium_stream": STREAM}}}],
                }
            ],
            "models": [
                {"name": name, "columns": [{"name": "id", "data_tests": ["unique"]}]}
                for name in ("items", "beside")
            ],
        }
    ),
    "models/events.sql": "{{ config(materialized='streaming_table') }}"
    "select * from {{ source('landing', 'feed') }}",
    "models/batch.sql": "{{ config(materialized='table') }}"
    "select cast(split_part(_value, ',', 1) as bigint) as id, split_part(_value, ',', 2) as v,"
    " cast(split_part(_value, ',', 3) as bigint) as at, _batch_through, _batch_after"
    " from {{ alluvium.new_events(ref('events'), 'items') }}",
    "models/items.sql": "{{ config(materialized='incremental', incremental_strategy='merge',"
    " unique_key='id', meta={'alluvium_merge': {'order_by': 'at'}}) }}"
    "select * from {{ ref('batch') }}",
    "models/large.sql": "{{ config(materialized='ephemeral') }}"
    "select * from {{ ref('items') }} where id >= 0",
    "models/counted.sql": "{{ config(materialized='table') }}"
    "select count(*) as n from {{ ref('large') }}",
    "models/fragile.sql": FINE,
    "models/below.sql": "{{ config(materialized='table', tags='rest') }}"
    "select * from {{ ref('fragile') }}",
    "models/beside.sql": FINE,
    "models/tested.sql": "{{ config(materialized='table', tags='rest') }}"
    "select * from {{ ref('beside') }}",
    "models/slow.py": """
def model(dbt, session):
    from pyspark.sql import functions as F

    wait = F.udf(lambda value: __import__("time").sleep(600) or value, "long")
    return session.range(1).select(wait("id").alias("id"))
""",
}


def make(root: Path, home: Path) -> Day:
    """The project in an empty folder."""
    target = {"type": "alluvium", "schema": "day", "home": str(home), "threads": 2}
    profile = {"p": {"target": "t", "outputs": {"t": target | {"wait": "5 minutes"}}}}
    package = {"name": "alluvium", "version": "0.1.0", "config-version": 2}
    config = {"name": "day", "version": "0.1.0", "config-version": 2, "profile": "p"}
    search = {"macro_namespace": "dbt", "search_order": ["day", "alluvium", "dbt"]}
    flags = {"send_anonymous_usage_stats": False}
    day = Day(root, home, "day")
    day.write(
        {
            **FILES,
            "profiles.yml": yaml.safe_dump(profile),
            "dbt_project.yml": yaml.safe_dump(config | {"flags": flags, "dispatch": [search]}),
            "dbt_packages/alluvium/dbt_project.yml": yaml.safe_dump(package),
        }
    )
    (root / "dbt_packages/alluvium/macros").symlink_to(REPO / "macros")
    return day


@dataclass
class Day(Project):
    """The project, what landed, and the command."""

    landed: int = 0

    def land(self, *lines: str) -> None:
        self.landed += 1
        self.write({f"landing/{self.landed}.txt": "".join(f"{one}\n" for one in lines)})

    def landed_lines(self) -> list[str]:
        files = sorted((self.root / "landing").glob("*.txt"))
        return [line for one in files for line in one.read_text().splitlines()]

    def is_all_there(self) -> bool:
        """Whether each line is in bronze once, and the newest of each key in `items`."""
        bronze = self.read("select _value from {s}.events")["_value"]
        assert Counter(bronze) <= Counter(self.landed_lines())
        newest = dict[int, tuple[int, str]]()
        for line in self.landed_lines():
            key, value, at = line.split(",")
            newest[int(key)] = max(newest.get(int(key), (-1, "")), (int(at), value))
        found = self.read("select id, v from {s}.items")
        items = dict(zip(found["id"], found["v"], strict=True))
        assert len(items) == len(found)
        counts = self.read("select n from {s}.counted")["n"].tolist()
        return (
            Counter(bronze) == Counter(self.landed_lines())
            and items == {key: value for key, (_, value) in newest.items()}
            and counts == [len(newest)]
        )

    def health(self) -> dict[str, dict[str, Any]]:
        """By selection, what the health file says; nothing before there is one."""
        path = self.root / "target/alluvium_run.json"
        if not path.exists():
            return {}
        return {one["selection"]: one for one in json.loads(path.read_text())["selections"]}

    @contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        (self.root / "target/alluvium_run.json").unlink(missing_ok=True)
        with (self.root / "out.txt").open("wb") as out:
            process = subprocess.Popen(
                [*COMMAND, "run", *arguments],
                cwd=self.root,
                env=os.environ | {"DBT_PROFILES_DIR": str(self.root)},
                stdout=out,
                stderr=subprocess.STDOUT,
            )
            try:
                yield process
            finally:
                process.send_signal(signal.SIGKILL)
                process.wait()

    def said_so_far(self) -> str:
        return (self.root / "out.txt").read_text()

    def until(self, what: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + 600
        while not what():
            assert process.poll() is None, self.said_so_far()[-4000:]
            assert time.monotonic() < end, self.said_so_far()[-4000:]
            time.sleep(0.5)

    def beside(self, *arguments: str) -> str:
        """dbt as a process of its own, which goes well."""
        done = subprocess.run(
            [*DBT, *arguments, "--log-path", "logs2", "--target-path", "target2"],
            cwd=self.root,
            env=os.environ | {"DBT_PROFILES_DIR": str(self.root)},
            capture_output=True,
            text=True,
            timeout=400,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr
