"""What a run of a streaming table costs over a landing folder of many files.

Run with `make bench-landing`, or `make bench-landing ARGS="--before <commit or folder>"` to put an
earlier version beside this one. A process for each version lands FILES files of one event in
hundred sub-folders, reads them, and then runs ROUNDS times with nothing new and ROUNDS times with
ten new files. Spark runs in the process: dbt's own start and Spark's are not in the figures.

Writes benchmarks/results/landing.json: medians in seconds, the first run once.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from merging.home import REPOSITORY, answers, keep, make_home, provenance
from versions import Version

RESULTS = REPOSITORY / "benchmarks" / "results" / "landing.json"
ROUNDS = 5
NEW = 10


def land(folder: Path, first: int, count: int) -> None:
    for number in range(first, first + count):
        path = folder / f"{number % 100:02}" / f"{number:07}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{{"number": {number}}}\n')


def serve(root: Path, files: int) -> Iterator[tuple[str, float]]:
    """Each case and its seconds, with the library that this process imports."""
    from alluvium import ingest as stream
    from alluvium.engine import session as engine

    session = engine.new_session(engine.Settings(home=make_home(root / "home")))
    session.sql("create schema if not exists bronze")
    spec = stream.parse_spec("landing.feed", {"format": "json", "path": "landing"})
    feed = spec.resolve(root, None)
    target = stream.Target("bronze.feed", str(root / "checkpoints" / "bronze.feed"))

    def run(expected: int) -> float:
        started = time.perf_counter()
        done = stream.append(session, feed, "select * from `feed`", "feed", target)
        if done.rows != expected:
            raise SystemExit(f"{done.rows} events, not {expected}")
        return time.perf_counter() - started

    # A small folder first: what is loaded and compiled once is no part of what many files cost.
    land(root / "landing", 0, NEW)
    for expected in (NEW, 0):
        run(expected)
    landed = NEW
    land(root / "landing", landed, files - landed)
    yield "first run", run(files - landed)
    landed = files
    for _ in range(ROUNDS):
        yield "nothing new", run(0)
    for _ in range(ROUNDS):
        land(root / "landing", landed, NEW)
        landed += NEW
        yield f"{NEW} new files", run(NEW)
    engine.stop()


def measure(version: Version, folder: Path, files: int) -> None:
    folder.mkdir()
    command = [sys.executable, __file__, "--serve", str(folder), "--files", str(files)]
    seconds: dict[str, list[float]] = {}
    for case, one in answers(command, version.commit, version.environment):
        seconds.setdefault(case, []).append(one)
        print(f"{version.commit}: {files:,} files, {case}: {one:.2f} s", flush=True)
    results = [
        {
            "case": f"{files:,} files, {case}",
            "contender": version.commit,
            "seconds": round(statistics.median(found), 2),
            "seconds_all": [round(one, 2) for one in found],
            **provenance(),
        }
        for case, found in seconds.items()
    ]
    keep(RESULTS, results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", help="commit, or folder with one checked out")
    parser.add_argument("--after", default="HEAD", help="the same; default: HEAD")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        for found in serve(options.serve, options.files):
            print(json.dumps(found), flush=True)
        return
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as name:
        wanted = {"before": options.before, "after": options.after}
        for when, commit in wanted.items():
            if commit:
                version = Version.clone(commit, Path(name) / when)
                measure(version, Path(name) / f"{when}-work", options.files)


if __name__ == "__main__":
    main()
