"""What the reference project costs: `make run` from a clone, again, and a build with nothing new.

Run with `make bench-run`. Package downloads are left out: the clone is set up before the clock
starts. Memory is the summed resident set of the command and all its children (JVM and Python),
sampled five times a second. Writes benchmarks/results/run.json and docs/images/run.svg.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from merging import charts
from merging.home import provenance

REPOSITORY = Path(__file__).resolve().parent.parent
RESULTS = REPOSITORY / "benchmarks" / "results" / "run.json"
CHART = REPOSITORY / "docs" / "images" / "run.svg"
# What each case may take at most, in seconds, and all of them in bytes.
BARS = {"make run, first": 240, "make run, new events": 90, "dbt build, nothing new": 40}
BAR_BYTES = 4 * 2**30


def children(root: int) -> list[int]:
    """`root` and every process below it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_bytes()
            except OSError:
                continue
            parent = int(stat.rpartition(b")")[2].split()[1])
            parents.setdefault(parent, []).append(int(entry.name))
    found, queue = [], [root]
    while queue:
        pid = queue.pop()
        found.append(pid)
        queue += parents.get(pid, [])
    return found


def resident(pid: int) -> int:
    """Bytes of `pid` in memory; 0 once it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def measure(command: list[str], folder: Path) -> tuple[float, int]:
    """Seconds and peak bytes of `command`; raises CalledProcessError if it fails."""
    peak, over = 0, threading.Event()
    started = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:

        def sample() -> None:
            nonlocal peak
            while not over.wait(0.2):
                peak = max(peak, sum(resident(pid) for pid in children(process.pid)))

        sampler = threading.Thread(target=sample)
        sampler.start()
        output, _ = process.communicate()
        seconds = time.perf_counter() - started
        over.set()
        sampler.join()
    if process.returncode:
        print(output)
        raise subprocess.CalledProcessError(process.returncode, command)
    return seconds, peak


def one_round(folder: Path) -> dict[str, tuple[float, int]]:
    """The three cases in a fresh clone under `folder`."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", REPOSITORY, clone], check=True)
    subprocess.run(["make", "--silent", "setup"], cwd=clone, check=True)
    build = [".venv/bin/dbt", "build", "--profiles-dir", "profiles"]
    steps: dict[str, Callable[[], tuple[float, int]]] = {
        "make run, first": lambda: measure(["make", "run"], clone),
        "make run, new events": lambda: measure(["make", "run"], clone),
        "dbt build, nothing new": lambda: measure(build, clone),
    }
    return {case: step() for case, step in steps.items()}


def draw(results: list[dict[str, Any]]) -> None:
    """Seconds and memory beside their bars."""
    cases = [result["case"] for result in results]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 2.6), sharey=True)
    left.barh(cases, [BARS[case] for case in cases], color="#e5e5e5", label="bar")
    left.barh(cases, [r["seconds"] for r in results], height=0.5, color=charts.OURS, label="median")
    left.set_xlabel("seconds")
    left.legend(frameon=False)
    right.barh(cases, [BAR_BYTES / 2**30] * len(cases), color="#e5e5e5")
    right.barh(cases, [r["peak_bytes"] / 2**30 for r in results], height=0.5, color=charts.OURS)
    right.set_xlabel("GiB at the peak, JVM and Python")
    left.invert_yaxis()
    figure.suptitle(f"The reference project on {results[0]['machine']}", fontsize=10)
    figure.tight_layout()
    charts.save(figure, CHART)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="fresh clones to measure")
    rounds = parser.parse_args().rounds
    figures: dict[str, list[tuple[float, int]]] = {}
    for number in range(rounds):
        with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as folder:
            for case, figure in one_round(Path(folder)).items():
                figures.setdefault(case, []).append(figure)
                print(f"round {number + 1}: {case}: {figure[0]:.1f} s, {figure[1] / 2**30:.2f} GiB")
    results = [
        {
            "case": case,
            "contender": "alluvium",
            "seconds": round(statistics.median(seconds for seconds, _ in runs), 1),
            "seconds_all": [round(seconds, 1) for seconds, _ in runs],
            "bar_seconds": BARS[case],
            "peak_bytes": max(peak for _, peak in runs),
            **provenance(),
        }
        for case, runs in figures.items()
    ]
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    draw(results)


if __name__ == "__main__":
    main()
