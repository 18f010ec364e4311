"""What all-day use costs: the heap of a warm engine, and how late events are in `alluvium run`.

Run with `make bench-all-day`. The project is one feed: landed JSON lines, bronze, a merged table
with a layout, a published table with its tests, a Python model and a seed.

    heap: BUILDS builds that attach to one engine, with nothing new and with new events. Megabytes
        after a collection, behind each tenth build; the last beside the first of these.
    steady: RATE events a second for some minutes beside `alluvium run`. An event can be queried
        from the time of the commit that merges it. Median and 99th percentile of that time less
        the event's own, beside the median seconds of a round.

Writes benchmarks/results/all_day.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from merging.home import REPOSITORY, keep, make_home, provenance

RESULTS = REPOSITORY / "benchmarks" / "results" / "all_day.json"
BUILDS, EACH = 30, 10
BAR_HEAP = 1.2
RATE = 500
BARS_LATE = {"median": 2.0, "99th percentile": 5.0}
BIN = Path(sys.executable).parent
FILES = {
    "dbt_project.yml": """
name: shop
profile: shop
flags: {send_anonymous_usage_stats: false, use_colors: false}
""",
    "packages.yml": f"packages: [{{local: '{REPOSITORY}'}}]\n",
    "profiles.yml": """
shop:
  target: dev
  outputs:
    dev: {type: alluvium, schema: shop, threads: 2, engine: {keep_warm: 1 hour}}
""",
    "seeds/kinds.csv": "kind,name\n0,even\n1,odd\n",
    "models/raw.yml": """
sources:
  - name: raw
    tables: [{name: orders, meta: {alluvium_stream: {format: json, path: landing}}}]
models:
  - name: orders_wap
    columns: [{name: id, data_tests: [unique, not_null]}]
""",
    "models/orders_events.sql": """
{{ config(materialized='streaming_table') }}
select * from {{ source('raw', 'orders') }}
""",
    "models/orders_wap.sql": """
{{ config(materialized='incremental', unique_key='id', post_hook='{{ alluvium.compact(this) }}',
          meta={'alluvium_merge': {'order_by': ['at', '_source_offset']},
                'alluvium_layout': {'sort_by': ['id']}}) }}
select e.*, _source_offset, _batch_after, _batch_through
from {{ alluvium.new_events(ref('orders_events'), 'orders_wap') }}
    lateral view inline(array(from_json(_value, 'id bigint, at double, total double'))) as e
""",
    "models/orders.sql": """
{{ config(materialized='published') }} select * from {{ ref('orders_wap') }}
""",
    "models/kinds_of.py": """
def model(dbt, session):
    dbt.config(materialized="table")
    return dbt.ref("kinds").toPandas()
""",
}


class Shop:
    """The project, and who lands its events."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.landed = folder, 0
        for name, text in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        (folder / "landing").mkdir()
        make_home(folder / ".alluvium")
        self.environment = {**os.environ, "DBT_PROFILES_DIR": str(folder)}
        self.run("dbt", "deps")

    def run(self, script: str, *words: str) -> str:
        done = subprocess.run(
            [BIN / script, *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise SystemExit(f"{script} {words} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def land(self, rows: int) -> None:
        """A file of new events, complete at once; each says when it was."""
        now = time.time()
        lines = [
            json.dumps({"id": self.landed + row, "at": now, "total": row / 7})
            for row in range(rows)
        ]
        self.landed += rows
        draft = self.folder / f"{self.landed}.draft"
        draft.write_text("\n".join(lines) + "\n")
        draft.rename(self.folder / "landing" / f"{self.landed:012}.json")

    @property
    def engine(self) -> int:
        state = json.loads((self.folder / ".alluvium" / "engine.json").read_text())
        return int(state["pid"])

    def heap(self) -> float:
        """Megabytes of the engine's heap after a collection."""

        def ask(*words: str) -> str:
            command = ["jcmd", str(self.engine), *words]
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout

        for _ in range(2):
            ask("GC.run")
        used = re.findall(
            r"^ *(?:def new|tenured|PS\w+|garbage-first)[^\n]*used (\d+)K",
            ask("GC.heap_info"),
            re.M,
        )
        return sum(map(int, used)) / 1024


def measure_heap(shop: Shop, case: str, events: int) -> dict[str, Any]:
    pid, found = None, []
    for number in range(1, BUILDS + 1):
        if events:
            shop.land(events)
        shop.run("dbt", "build")
        pid = pid or shop.engine
        if shop.engine != pid:
            raise SystemExit(f"build {number} had another engine")
        if number % EACH == 0:
            found.append(shop.heap())
            print(f"{case}: {found[-1]:.0f} MB after build {number}", flush=True)
    ratio = found[-1] / found[0]
    return {
        "case": f"heap, {case}",
        "contender": "warm engine",
        "megabytes": [round(one, 1) for one in found],
        "ratio": round(ratio, 3),
        "bar": BAR_HEAP,
        "met": ratio <= BAR_HEAP,
        **provenance(),
    }


def measure_late(shop: Shop, minutes: float) -> dict[str, Any]:
    """Seconds from event to commit beside those of a round."""
    words = [BIN / "alluvium", "run", "--select", "orders_events+", "--every", "1s"]
    log = (shop.folder / "run.log").open("w")
    process = subprocess.Popen(
        words, cwd=shop.folder, env=shop.environment, stdout=log, stderr=subprocess.STDOUT
    )
    ends = threading.Event()

    def produce() -> None:
        begun, made = time.time(), 0
        while not ends.is_set():
            due = int((time.time() - begun) * RATE) - made
            if due:
                shop.land(due)
                made += due
            time.sleep(0.2)

    def rounds() -> list[float]:
        said = (shop.folder / "run.log").read_text()
        return [float(one) for one in re.findall(r"round \d+ of .* in ([\d.]+) s", said)]

    try:
        until = time.monotonic() + 300
        while len(rounds()) < 5:  # what is loaded and compiled first is not of a steady state
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit((shop.folder / "run.log").read_text()[-4000:])
            time.sleep(0.2)
        first, warm_up = shop.landed, len(rounds())
        producer = threading.Thread(target=produce)
        producer.start()
        time.sleep(60 * minutes)
        ends.set()
        producer.join()
        after = len(rounds())
        while len(rounds()) < after + 3:
            time.sleep(0.2)
        steady = rounds()[warm_up:after]
    finally:
        ends.set()
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=120)
    late = lateness(shop, first)
    if len(late) != shop.landed - first:
        raise SystemExit(f"{len(late)} events were merged, {shop.landed - first} landed")
    usual = statistics.median(steady)
    found = {"median": float(np.median(late)), "99th percentile": float(np.quantile(late, 0.99))}
    ratios = {name: round(seconds / usual, 2) for name, seconds in found.items()}
    return {
        "case": f"{RATE} events a second",
        "contender": "alluvium run",
        "seconds": round(usual, 2),
        "events": len(late),
        "rounds": len(steady),
        "late_seconds": {name: round(seconds, 2) for name, seconds in found.items()},
        "ratios": ratios,
        "bars": BARS_LATE,
        "met": all(ratios[name] <= bar for name, bar in BARS_LATE.items()),
        **provenance(),
    }


def lateness(shop: Shop, first: int) -> np.ndarray[Any, Any]:
    """Of each event from a number on, the seconds until a commit of the merged table had it."""
    table = next((shop.folder / ".alluvium").glob("warehouse/**/orders_wap"))
    parts = []
    for commit in sorted((table / "_delta_log").glob("*.json")):
        seen = commit.stat().st_mtime
        for line in commit.read_text().splitlines():
            add = json.loads(line).get("add")
            if add and add["dataChange"]:
                rows = pq.read_table(table / add["path"], columns=["id", "at"])
                times = np.asarray(rows["at"])[np.asarray(rows["id"]) >= first]
                parts.append(seen - times)
    return np.concatenate(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=("heap", "steady"), action="append", help="default: all")
    parser.add_argument("--minutes", type=float, default=10, help="of steady events")
    given = parser.parse_args()
    wanted = given.case or ("heap", "steady")
    with tempfile.TemporaryDirectory(prefix="alluvium-all-day-") as name:
        shop = Shop(Path(name))
        shop.land(1000)
        if "heap" in wanted:
            try:
                for case, events in (("nothing new", 0), ("new events", 1000)):
                    keep(RESULTS, [found := measure_heap(shop, case, events)])
                    print(f"heap, {case}: {found['ratio']}", flush=True)
            finally:
                shop.run("alluvium", "engine", "stop")
        if "steady" in wanted:
            keep(RESULTS, [found := measure_late(shop, given.minutes)])
            print(f"steady: {found['ratios']}, a round of {found['seconds']} s", flush=True)


if __name__ == "__main__":
    main()
