"""What a build of the reference project with nothing new costs: kept nodes, and a warm engine.

Run with `make bench-reuse`. Pairs of `dbt build`: in one clone all nodes run from a cold start, in
another those are kept that may be. CPU seconds are those of dbt, its JVM and Python's workers.
Writes benchmarks/results/reuse.json.

With `--warm` the other one's commands attach to a warm engine and run all nodes. Seconds of that
JVM count too, also those after the command. Writes benchmarks/results/warm.json. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from merging.home import provenance

REPOSITORY = Path(__file__).resolve().parent.parent
RESULTS = REPOSITORY / "benchmarks" / "results"
BAR, WARM_BAR = 0.65, 0.45
# Seconds in which an engine has put away what a command left.
PUT_AWAY = 10
OFF = ("--vars", "alluvium_reuse: false")


def build(clone: Path, *more: str) -> tuple[float, float, str]:
    """CPU seconds, seconds and output of a `dbt build`."""
    command = [".venv/bin/dbt", "build", "--profiles-dir", "profiles"]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([*command, *more], cwd=clone, check=True, capture_output=True, text=True)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, seconds, done.stdout


def keep_warm(clone: Path) -> None:
    """Let the clone's commands keep an engine, and start it by a build."""
    profiles = clone / "profiles" / "profiles.yml"
    text = profiles.read_text()
    profiles.write_text(
        text.replace("threads: 2", "threads: 2\n      engine: {keep_warm: 1 hour}", 1)
    )
    build(clone, *OFF)
    time.sleep(PUT_AWAY)


def of_engine(clone: Path) -> float:
    """CPU seconds of the clone's engine, and of those of its processes that have ended."""
    pid = json.loads((clone / ".alluvium" / "engine.json").read_text())["pid"]
    text = Path(f"/proc/{pid}/stat").read_text()
    fields = text[text.rindex(")") + 2 :].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def warm_pairs(other: Path, clone: Path, pairs: int) -> list[dict[str, object]]:
    """Cold builds beside attached ones; all nodes run in both."""
    keep_warm(clone)
    rows: list[dict[str, object]] = []
    try:
        for _ in range(pairs):
            cold, cold_clock, _ = build(other, *OFF)
            before = of_engine(clone)
            spent, clock, said = build(clone, *OFF)
            assert "starts Spark" not in said, said
            time.sleep(PUT_AWAY)
            engine = of_engine(clone) - before
            rows.append(
                {
                    "cold": round(cold, 1),
                    "warm": round(spent + engine, 1),
                    "of the engine": round(engine, 1),
                    "ratio": round((spent + engine) / cold, 3),
                    "seconds": [round(cold_clock, 1), round(clock, 1)],
                    "load": os.getloadavg()[0],
                }
            )
            print(rows[-1], flush=True)
    finally:
        subprocess.run([".venv/bin/alluvium", "engine", "stop"], cwd=clone, check=True)
    return rows


def kept_pairs(other: Path, clone: Path, pairs: int) -> list[dict[str, object]]:
    """Cold builds that run all nodes beside cold ones that keep what they may."""
    rows: list[dict[str, object]] = []
    for _ in range(pairs):
        without, without_clock, _ = build(other, *OFF)
        spent, clock, said = build(clone)
        kept = re.search(r"kept \d+ of \d+ nodes", said)
        rows.append(
            {
                "without": round(without, 1),
                "with": round(spent, 1),
                "ratio": round(spent / without, 3),
                "seconds": [round(without_clock, 1), round(clock, 1)],
                "kept": kept[0] if kept else None,
                "load": os.getloadavg()[0],
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--warm", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="alluvium-reuse-") as folder:
        clone, other = Path(folder) / "clone", Path(folder) / "other"
        subprocess.run(["git", "clone", "--quiet", REPOSITORY, clone], check=True)
        subprocess.run(["make", "--silent", "setup"], cwd=clone, check=True)
        # Without reuse nothing is noted, so the two have tables of their own.
        shutil.copytree(clone, other, symlinks=True)
        for one in (clone, other):
            subprocess.run(["make", "--silent", "run"], cwd=one, check=True, capture_output=True)
        # Other vars make dbt parse all files again.
        build(other, *OFF)
        rows = (warm_pairs if given.warm else kept_pairs)(other, clone, given.pairs)
    ratio = statistics.median(row["ratio"] for row in rows)
    name, bar = ("warm", WARM_BAR) if given.warm else ("reuse", BAR)
    result = {**provenance(), "bar": bar, "ratio": ratio, "pairs": rows}
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"{ratio:.2f} of the CPU seconds of a cold build that runs all nodes; bar {bar}")


if __name__ == "__main__":
    main()
