"""What a build of the reference project with nothing new costs, with nodes that are kept.

Run with `make bench-reuse`. Pairs of `dbt build`, from a cold start each: in one clone all nodes
run, in another those are kept that may be. CPU seconds are those of dbt, its JVM and Python's
workers. Writes benchmarks/results/reuse.json.
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
RESULTS = REPOSITORY / "benchmarks" / "results" / "reuse.json"
BAR = 0.65
OFF = ("--vars", "alluvium_reuse: false")


def build(clone: Path, *more: str) -> tuple[float, float, str]:
    """CPU seconds, seconds and output of a `dbt build`."""
    command = [".venv/bin/dbt", "build", "--profiles-dir", "profiles"]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([*command, *more], cwd=clone, check=True, capture_output=True, text=True)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, seconds, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3)
    pairs = parser.parse_args().pairs
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
        rows = []
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
    ratio = statistics.median(row["ratio"] for row in rows)
    result = {**provenance(), "bar": BAR, "ratio": ratio, "pairs": rows}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{ratio:.2f} of the CPU seconds without reuse; bar {BAR}")


if __name__ == "__main__":
    main()
