"""What tags, clones, checkouts and restores cost beside Delta's own commands.

Run with `make bench-refs`; `ARGS='--case branch'` runs one case. For each number of files there are
two tables alike, whose logs are written by hand. Their newest version has one file more and one
less than the old one. In turns, in changing order, each contender does the same:

- a tag and a clone beside `create table … shallow clone`, of the newest version and of the old one;
- a branch of TABLES tables beside as many of Delta's clones, which carry no progress;
- a checkout of a published table, and a restore, beside `restore table … to version as of`: to the
  old version and back, which both count.

Data files are counted before and after: none is copied.

Writes benchmarks/results/refs.json: medians of ROUNDS turns, in seconds, and the ratio of each pair
with the interval that holds its median with 95 % confidence (bootstrap).
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from merging import charts
from merging.home import REPOSITORY, keep, make_home, median_interval, provenance
from pyspark.sql import SparkSession
from support.written_log import WrittenLog

from alluvium.delta.log import log
from alluvium.engine import session as engine
from alluvium.plan.versions.undo import NAMED
from alluvium.publish.publish import checkout, publish
from alluvium.versions import refs
from alluvium.versions.branches import Branch, discard, make_schema, make_table
from alluvium.versions.points import Point
from alluvium.versions.restore import Subject, restore

RESULTS = REPOSITORY / "benchmarks" / "results" / "refs.json"
CHART = REPOSITORY / "docs" / "images" / "refs.svg"
ROUNDS, WARM = 7, 3
# Of a branch.
TABLES = 3
BAR = 1.0
CASES = ("refs", "branch", "checkout", "restore")

# What one contender does for a case; then what takes it away again, not measured.
Deed = tuple[Callable[[], object], Callable[[], object]]
# By case, by contender: the seconds of each turn.
Seconds = dict[str, dict[str, list[float]]]


class Bench:
    """Two tables alike, and a published table that shows the first one."""

    def __init__(self, session: SparkSession, folder: Path, files: int) -> None:
        self._session, self._made = session, 0
        self.folder = folder
        self.mine, self.twin, self.shown = (
            f"bench.{name}_{files}" for name in ("mine", "twin", "shown")
        )
        for table in (self.mine, self.twin):
            written = WrittenLog(folder / table)
            for _ in range(10):
                written.commit(files // 10)
            session.sql(f"create table {table} using delta location '{written.folder}'")
            log.delta_log(session, table).checkpoint()
            self.old = log.version(session, table)
            written.commit(1, 1)
        self.newest = log.version(session, self.mine)
        publish(session, self.mine, self.shown, None, {"tests": 3}, {})

    def refs(self, version: int) -> dict[str, Deed]:
        """A tag, a clone, and Delta's clone of a version."""
        self._made += 1
        name = f"made_{self._made}"
        point = Point(self.mine, version)
        at = "" if version == self.newest else f" version as of {version}"
        sql = f"create table bench.by_delta_{name} shallow clone {self.twin}{at}"
        return {
            "alluvium: tag": (
                lambda: refs.tag(self._session, point, name).apply(),
                lambda: refs.untag(self._session, self.mine, name).apply(),
            ),
            "alluvium: clone": (
                lambda: refs.clone(self._session, point, name, schema="bench").apply(),
                lambda: self._session.sql(f"drop table bench.{name}"),
            ),
            "Delta: shallow clone": (
                lambda: self._session.sql(sql),
                lambda: self._session.sql(f"drop table bench.by_delta_{name}"),
            ),
        }

    def branch(self) -> dict[str, Deed]:
        """A branch of tables, and Delta's clones of as many."""
        self._made += 1
        branch = Branch(f"made_{self._made}", "bench")
        point = Point(self.mine, self.newest)
        names = [f"table_{number}" for number in range(TABLES)]

        def ours() -> None:
            make_schema(self._session, branch, branch.schema)
            for name in names:
                make_table(self._session, branch, point, (branch.schema, name)).apply()

        def deltas() -> None:
            self._session.sql("create schema by_delta")
            for name in names:
                self._session.sql(f"create table by_delta.{name} shallow clone {self.twin}")

        return {
            "alluvium: branch": (ours, lambda: discard(self._session, branch, []).apply()),
            "Delta: shallow clones": (
                deltas,
                lambda: self._session.sql("drop schema by_delta cascade"),
            ),
        }

    def checkouts(self, version: int) -> dict[str, Deed]:
        return {
            "alluvium: checkout": (
                lambda: checkout(self._session, self.mine, self.shown, version, hold=True).apply(),
                self._nothing,
            ),
            "Delta: restore": (lambda: self._restored_by_delta(version), self._nothing),
        }

    def restores(self, version: int) -> dict[str, Deed]:
        subject = Subject(self.mine, "model.bench.mine", "mine")

        def ours() -> object:
            return restore(self._session, subject, [], version=version, including=NAMED).apply()

        return {
            "alluvium: restore": (ours, self._nothing),
            "Delta: restore": (lambda: self._restored_by_delta(version), self._nothing),
        }

    def _restored_by_delta(self, version: int) -> None:
        self._session.sql(f"restore table {self.twin} to version as of {version}")

    def _nothing(self) -> None:
        """A table that moved is moved back by the next turn."""


def turn(deeds: Mapping[str, Deed], number: int) -> dict[str, float]:
    """The seconds of each contender; the order changes with the number of the turn."""
    names = list(deeds)
    seconds = {}
    for name in names[number % len(names) :] + names[: number % len(names)]:
        do, undo = deeds[name]
        started = time.perf_counter()
        do()
        seconds[name] = time.perf_counter() - started
        undo()
    return seconds


def data_files(folder: Path) -> int:
    """Number of Parquet files that are no checkpoints."""
    return sum("_delta_log" not in path.parts for path in folder.rglob("*.parquet"))


def measure(bench: Bench, cases: Collection[str]) -> Seconds:
    found: Seconds = {}

    def note(case: str, number: int, deeds: Mapping[str, Deed]) -> None:
        for name, seconds in turn(deeds, number).items():
            found.setdefault(case, {}).setdefault(name, []).append(seconds)

    for number in range(WARM + ROUNDS):
        if "refs" in cases:
            note("newest version", number, bench.refs(bench.newest))
            note("old version", number, bench.refs(bench.old))
        if "branch" in cases:
            note(f"branch of {TABLES} tables", number, bench.branch())
    for case, deeds in (("checkout", bench.checkouts), ("restore", bench.restores)):
        for number in range(WARM + ROUNDS if case in cases else 0):
            for version in (bench.old, bench.newest):
                note(case, number, deeds(version))
    return {
        case: {name: every[len(every) * WARM // (WARM + ROUNDS) :] for name, every in of.items()}
        for case, of in found.items()
    }


def told(files: int, seconds: Seconds) -> list[dict[str, object]]:
    """As results are kept; ours beside Delta's, pair by pair."""
    results = []
    for case, of_case in seconds.items():
        (delta,) = (name for name in of_case if name.startswith("Delta"))
        for name, every in of_case.items():
            ratios = [one / other for one, other in zip(every, of_case[delta], strict=True)]
            median = statistics.median(ratios)
            result: dict[str, object] = {
                "case": f"{case}, {files:,} files",
                "contender": name,
                "seconds": round(statistics.median(every), 3),
                "seconds_all": [round(one, 3) for one in every],
            }
            if name != delta:
                result |= {
                    "ratio": round(median, 3),
                    "ratio_interval": [round(end, 3) for end in median_interval(ratios)],
                    "bar_ratio": BAR,
                    "met": median <= BAR,
                }
            results.append({**result, **provenance()})
            print(result["case"], name, result["seconds"], result.get("ratio", ""), flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, nargs="+", default=[1_000, 20_000])
    parser.add_argument("--case", choices=CASES, nargs="+", default=CASES)
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as name:
        home = make_home(Path(name) / "home")
        session = engine.new_session(engine.Settings(home=home))
        session.sql("create schema bench")
        for files in options.files:
            bench = Bench(session, Path(name) / str(files), files)
            before = data_files(Path(name))
            results += told(files, measure(bench, options.case))
            copied = data_files(Path(name)) - before
            if copied:
                raise SystemExit(f"{copied} data files were copied")
        engine.stop()
    keep(RESULTS, results)
    title = f"tags, clones, checkouts and restores, {results[-1]['machine']}"
    every = json.loads(RESULTS.read_text())
    charts.panels(CHART, every, "seconds", "seconds", title, "alluvium")
    missed = [one for one in results if not one.get("met", True)]
    if missed:
        raise SystemExit(f"a bar is missed: {[(one['case'], one['contender']) for one in missed]}")


if __name__ == "__main__":
    main()
