"""What the tables about snapshots and segments cost.

Run with `make bench-snapshots`. A table of 10,000 commits that each replace one of 100 files, and
one of 100 commits with 100,000 files, all live. Their logs and files are written by hand; a Parquet
file has three rows. For each table a process runs dbt, which builds the model that is asked for
ROUNDS times. The starts of dbt and Spark are not in it; the process has built the same for a small
table WARM times before.

Writes benchmarks/results/snapshots.json: medians, in seconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from dbt.cli.main import dbtRunner
from merging.home import REPOSITORY, answers, keep, make_home, provenance
from support.written_log import WrittenLog

RESULTS = REPOSITORY / "benchmarks" / "results" / "snapshots.json"
# Seconds at most.
BAR = 30.0
ROUNDS, WARM = 3, 4
PACKAGE = ("macros", "models", "dbt_project.yml")


@dataclass(frozen=True)
class Case:
    name: str
    model: str
    commits: int
    adds: int
    removes: int

    def write(self, folder: Path) -> WrittenLog:
        written = WrittenLog(folder)
        if self.removes:
            written.commit(100)
        for _ in range(self.commits):
            written.commit(self.adds, self.removes)
        return written


def cases(versions: int, files: int) -> list[Case]:
    return [
        Case(f"{versions:,} versions", "alluvium_snapshots", versions - 2, 1, 1),
        Case(f"{files:,} files", "alluvium_segments", 100, files // 100, 0),
    ]


def serve(root: Path, case: Case) -> Iterator[float]:
    """The seconds of each run of the model."""
    from alluvium.delta.log import log
    from alluvium.engine import session as engine

    home = make_home(root / "home")
    target = {"type": "alluvium", "schema": "bench", "home": str(home), "threads": 1}
    profile = {"p": {"target": "t", "outputs": {"t": target}}}
    (root / "profiles.yml").write_text(yaml.safe_dump(profile))
    project = {"name": "mine", "profile": "p", "version": "1.0", "config-version": 2}
    project |= {"flags": {"send_anonymous_usage_stats": False}, "packages-install-path": "packages"}
    (root / "dbt_project.yml").write_text(yaml.safe_dump(project))
    package = root / "packages" / "alluvium"
    package.mkdir(parents=True)
    for name in PACKAGE:
        (package / name).symlink_to(REPOSITORY / name)
    (root / "models").mkdir()
    merged = (
        "{{ config(materialized='incremental', unique_key='id', meta={'alluvium_merge': {}}) }}"
    )
    (root / "models/items.sql").write_text(f"{merged} select 1 as id")
    session = engine.new_session(engine.Settings(home=home))
    session.sql("create schema bench")

    def place(written: WrittenLog) -> None:
        session.sql("drop table if exists bench.items")
        session.sql(f"create table bench.items using delta location '{written.folder}'")
        # Delta writes one every ten commits.
        log.delta_log(session, "bench.items").checkpoint()

    def run() -> float:
        arguments = ["--quiet", "run", "--project-dir", str(root), "--profiles-dir", str(root)]
        arguments += ["--select", case.model]
        arguments += ["--vars", "{alluvium_storage: true}", "--log-level-file", "none"]
        done = dbtRunner().invoke(arguments)
        if not done.success:
            said = [str(one.message) for one in getattr(done.result, "results", [])]
            raise SystemExit(f"{done.exception or said}")
        rows = session.table(f"bench.{case.model}").count()
        print(f"{case.model}: {rows:,} rows", file=sys.stderr, flush=True)
        return float(sum(one.execution_time for one in done.result.results))

    place(Case("small", case.model, 20, 2, 1).write(root / "small"))
    for _ in range(WARM):
        run()
    place(case.write(root / "large"))
    for _ in range(ROUNDS):
        yield run()
    engine.stop()


def measure(case: Case, folder: Path, options: argparse.Namespace) -> bool:
    folder.mkdir()
    command = [sys.executable, __file__, "--serve", str(folder), "--case", case.name]
    command += ["--versions", str(options.versions), "--files", str(options.files)]
    seconds = []
    for models in answers(command, case.name):
        seconds.append(models)
        print(f"{case.name}: {models:.2f} s", flush=True)
    median = statistics.median(seconds)
    result = {
        "case": case.name,
        "contender": case.model,
        "seconds": round(median, 2),
        "seconds_all": [round(one, 2) for one in seconds],
        "bar": BAR,
        "met": median <= BAR,
        **provenance(),
    }
    keep(RESULTS, [result])
    return median <= BAR


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    every = cases(options.versions, options.files)
    if options.serve:
        case = next(one for one in every if one.name == options.case)
        for found in serve(options.serve, case):
            print(json.dumps(found), flush=True)
        return
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as name:
        met = [measure(one, Path(name) / one.model, options) for one in every]
    if not all(met):
        raise SystemExit("a bar is missed")


if __name__ == "__main__":
    main()
