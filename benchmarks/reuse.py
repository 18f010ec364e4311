"""What a build of the reference project with nothing new costs: kept nodes, and a warm engine.

Run with `make bench-reuse`. Rounds of four builds, each in a clone of its own: from a cold start
and attached to a warm engine, with all nodes and with those left out that may be kept. CPU seconds
are those of dbt, its JVM and Python's workers; of a warm engine also those after the command.
Writes benchmarks/results/reuse.json. Linux only.
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
from typing import Any

from merging.home import cpu_seconds, provenance

REPOSITORY = Path(__file__).resolve().parent.parent
RESULTS = REPOSITORY / "benchmarks" / "results"
COLD = "cold"
BARS = {"cold, kept": 0.65, "warm": 0.45, "warm, kept": 0.18}
# Seconds in which an engine has put away what a command left.
PUT_AWAY = 10


class Clone:
    """A clone of this repository whose tables are all there."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.is_warm = name.startswith("warm")
        subprocess.run(["make", "--silent", "run"], cwd=folder, check=True, capture_output=True)
        if self.is_warm:
            profiles = folder / "profiles" / "profiles.yml"
            warm = "threads: 2\n      engine: {keep_warm: 1 hour}"
            profiles.write_text(profiles.read_text().replace("threads: 2", warm, 1))
        # Another profile or other vars make dbt parse all files; and what is kept is noted first.
        self.build()

    def build(self) -> dict[str, Any]:
        """CPU seconds, seconds and kept nodes of a `dbt build`."""
        command = [".venv/bin/dbt", "build", "--profiles-dir", "profiles"]
        if not self.name.endswith("kept"):
            command += ["--vars", "alluvium_reuse: false"]
        before, engine = _of_children(), self._of_engine()
        started = time.perf_counter()
        done = subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - started
        spent = _of_children() - before
        if self.is_warm:
            time.sleep(PUT_AWAY)
            # A JVM that this command started counts from its beginning.
            is_new = "starting Spark" in done.stdout
            spent += self._of_engine() - (0.0 if is_new else engine)
        kept = re.search(r"kept \d+ of \d+ nodes", done.stdout)
        return {
            "case": self.name,
            "cpu_seconds": round(spent, 1),
            "seconds": round(seconds, 1),
            "kept": kept[0] if kept else None,
            "attached": self.is_warm and not is_new,
            "load": os.getloadavg()[0],
        }

    def stop(self) -> None:
        if self.is_warm:
            subprocess.run([".venv/bin/alluvium", "engine", "stop"], cwd=self.folder)

    def _of_engine(self) -> float:
        state = self.folder / ".alluvium" / "engine.json"
        return cpu_seconds(json.loads(state.read_text())["pid"]) if state.exists() else 0.0


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def results(builds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each contender: medians, and of the ratios to the cold build of the same round."""
    rows = []
    for name in (COLD, *BARS):
        own = [one for one in builds if one["case"] == name]
        cold = [one for one in builds if one["case"] == COLD]
        spent = [one["cpu_seconds"] for one in own]
        ratios = [one / other["cpu_seconds"] for one, other in zip(spent, cold, strict=True)]
        rows.append(
            {
                "case": "dbt build, nothing new",
                "contender": name,
                "cpu_seconds": statistics.median(spent),
                "seconds": statistics.median(one["seconds"] for one in own),
                "ratio": round(statistics.median(ratios), 3),
                "bar": BARS.get(name),
                "builds": own,
                **provenance(),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    clones: list[Clone] = []
    builds: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="alluvium-reuse-") as folder:
        first = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", REPOSITORY, first], check=True)
        subprocess.run(["make", "--silent", ".venv/.run", "jars"], cwd=first, check=True)
        try:
            for name in (COLD, *BARS):
                # Without reuse nothing is noted, so each has tables of its own.
                own = Path(folder) / name.replace(", ", "-")
                shutil.copytree(first, own, symlinks=True)
                clones.append(Clone(own, name))
            for number in range(given.rounds):
                for clone in clones:
                    builds.append({"round": number, **clone.build()})
                    print(builds[-1], flush=True)
        finally:
            for clone in clones:
                clone.stop()
    rows = results(builds)
    (RESULTS / "reuse.json").write_text(json.dumps(rows, indent=1) + "\n")
    for row in rows:
        print(f"{row['contender']}: {row['ratio']} of a cold build; bar {row['bar']}")


if __name__ == "__main__":
    main()
