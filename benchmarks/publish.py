"""What a publish of one changed file costs beside a commit of nothing on the same table.

Run with `make bench-publish`. For each number of files there is a candidate whose log is written by
hand, and a table that shows it. In turns one file more is published, and a `txn` action alone is
committed to the published table: what Delta takes for a commit without data. The candidate keeps no
tombstones. The first publish brings all files; it is told once.

Writes benchmarks/results/publish.json: medians of ROUNDS turns, in seconds, and the ratio of each
pair, with the interval that holds its median with 95 % confidence (bootstrap).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from merging.home import REPOSITORY, keep, make_home, median_interval, provenance
from pyspark.sql import SparkSession
from support.written_log import WrittenLog

from alluvium.delta.log import log
from alluvium.engine import session as engine
from alluvium.publish.publish import publish

RESULTS = REPOSITORY / "benchmarks" / "results" / "publish.json"
ROUNDS, WARM = 15, 5
# A publish over an empty commit; and one of the most files over one of the fewest.
BAR, BAR_OF_FILES = 2.5, 1.3


def turns(
    session: SparkSession, folder: Path, files: int
) -> tuple[float, list[float], list[float]]:
    """Seconds of the first publish, of those of one file, and of the empty commits."""
    written = WrittenLog(folder)
    for _ in range(10):
        written.commit(files // 10)
    source, shown = f"bench.candidate_{files}", f"bench.shown_{files}"
    session.sql(f"create table {source} using delta location '{folder}'")
    log.delta_log(session, source).checkpoint()

    def one() -> float:
        started = time.perf_counter()
        done = publish(session, source, shown, None, {"tests": 3}, {})
        seconds = time.perf_counter() - started
        if done.source_version != log.version(session, source):
            raise SystemExit(f"version {done.source_version} of {source} is shown")
        return seconds

    first, publishes, empties = one(), [], []
    for turn in range(WARM + ROUNDS):
        written.commit(1)
        publishes.append(one())
        started = time.perf_counter()
        log.commit_transactions(session, shown, {f"bench {turn}": 1})
        empties.append(time.perf_counter() - started)
    return first, publishes[WARM:], empties[WARM:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, nargs="+", default=[1_000, 20_000])
    options = parser.parse_args()
    results, medians = [], {}
    with tempfile.TemporaryDirectory() as folder:
        home = make_home(Path(folder) / "home")
        session = engine.new_session(engine.Settings(home=home))
        session.sql("create schema bench")
        for files in options.files:
            first, publishes, empties = turns(session, Path(folder) / str(files), files)
            ratios = [one / other for one, other in zip(publishes, empties, strict=True)]
            medians[files] = statistics.median(publishes)
            results.append(
                {
                    "case": f"one changed file of {files:,}",
                    "contender": "publish",
                    "seconds": round(medians[files], 3),
                    "seconds_all": [round(one, 3) for one in publishes],
                    "seconds_empty_commit": round(statistics.median(empties), 3),
                    "seconds_empty_commit_all": [round(one, 3) for one in empties],
                    "ratio": round(statistics.median(ratios), 3),
                    "ratio_interval": [round(end, 3) for end in median_interval(ratios)],
                    "bar_ratio": BAR,
                    "seconds_first_publish": round(first, 3),
                    **provenance(),
                }
            )
            print(results[-1]["case"], results[-1]["seconds"], results[-1]["ratio"], flush=True)
        engine.stop()
    few, many = min(medians), max(medians)
    results[-1]["over_fewest_files"] = round(medians[many] / medians[few], 3)
    results[-1]["bar_over_fewest_files"] = BAR_OF_FILES
    print(f"{many:,} files over {few:,}: {results[-1]['over_fewest_files']}")
    keep(RESULTS, results)


if __name__ == "__main__":
    main()
