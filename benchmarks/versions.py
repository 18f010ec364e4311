"""What this version costs beside an earlier one, in alternating pairs: nothing may become slower.

Run with `make bench-versions ARGS="--before <commit or folder>"`. Both commits are cloned, and
each works with its own library, adapter, macros and project, in the same environment.

    merge: a dbt incremental merge of 20,000 events, the merged model's own seconds. One process
        for each version goes on for all pairs, and both have merged several batches before.
    hook: a post-hook `alluvium.compact(this)` that has nothing to do, in the same processes.
    build: `dbt build` of the reference project with nothing new, a process of its own each time.
    fsck: a look at TABLES tables of FILES files each, in the processes of `merge`.
    vacuum: of the same tables one by one, with nothing to delete.
    vacuum-one: the same, with an old file in each that no version needs.

Writes benchmarks/results/versions.json: medians of the pairs, and of the ratio the interval that
holds its median with 95 % confidence (bootstrap). A case is met if the interval's lower end is at
most BAR.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from merging.home import REPOSITORY, keep, make_home, median_interval, provenance

RESULTS = REPOSITORY / "benchmarks" / "results" / "versions.json"
# Seconds of this version over those of the earlier one, at most.
BAR = 1.05
ROWS_PER_FILE = 250_000
# A small file for each 10,000 rows: what a hook looks at.
SETTLED = (1_000_000, 10_000)
# What fsck and vacuum look at: tables, and files of each.
TABLES, FILES = 20, 30


@dataclass(frozen=True)
class Version:
    """A commit of this repository in a folder of its own."""

    commit: str
    folder: Path

    @classmethod
    def clone(cls, given: str, folder: Path) -> Version:
        """Of a commit here, or of what another folder has checked out."""
        there = Path(given)
        source, name = (there, "HEAD") if there.is_dir() else (REPOSITORY, given)
        found = subprocess.check_output(["git", "-C", source, "rev-parse", name], text=True)
        commit = found.strip()
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", source, folder], check=True)
        subprocess.run(["git", "-C", folder, "checkout", "--quiet", commit], check=True)
        return cls(commit[:7], folder)

    @property
    def environment(self) -> dict[str, str]:
        paths = [self.folder / "src", REPOSITORY / "benchmarks"]
        return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}


class Worker:
    """A process with one version's Spark and dbt; its figures are seconds."""

    def __init__(self, version: Version, folder: Path) -> None:
        folder.mkdir()
        self._log = folder / "log"
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve", str(version.folder), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log.open("w"),
            text=True,
            env=version.environment,
        )

    def ask(self, *task: Any) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(task), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"a worker ended:\n{self._log.read_text()[-4000:]}")
        return float(answer)

    def close(self) -> None:
        self._process.communicate()


def serve(checkout: Path, folder: Path, answers: TextIO) -> None:
    """Answer each line of stdin, a task with its arguments, with seconds."""
    import pyarrow as pa
    from deltalake import write_deltalake
    from merging import batches, contenders, tables
    from merging.library import pinned

    import alluvium
    import dbt.adapters.alluvium as adapter
    from alluvium.recovery.fsck import Fsck
    from alluvium.recovery.tables import Table

    for module in (alluvium, adapter):
        if not Path(str(module.__file__)).is_relative_to(checkout):
            raise SystemExit(f"{module.__file__} is not of {checkout}")
    bench = contenders.Bench.start(folder, checkout)
    ours = contenders.Alluvium()
    made: dict[tuple[int, int], tables.Table] = {}

    def table(rows: int, rows_per_file: int) -> tables.Table:
        if (rows, rows_per_file) not in made:
            made[rows, rows_per_file] = tables.make(bench.session, folder, rows, rows_per_file)
        return made[rows, rows_per_file]

    def merge(rows: int, seed: int) -> float:
        target = table(rows, ROWS_PER_FILE)
        batch = batches.write(bench.session, folder / "batch", target, batches.growth, seed)
        copy = target.copy(folder / "copy")
        done = ours.merge(bench, target, copy, batch, "key", "key")
        if done.rows != batch.rows:
            raise SystemExit(f"{done.rows} rows were merged, not {batch.rows}")
        shutil.rmtree(copy)
        shutil.rmtree(batch.path)
        return done.seconds

    def hook(seed: int) -> float:
        settled = table(*SETTLED).path
        bench.session.sql(
            f"create table if not exists ours.settled using delta location '{settled}'"
        )
        return ours.settled(bench)

    def looked_at() -> list[Path]:
        places = [folder / "looked_at" / f"t{number}" for number in range(TABLES)]
        for place in places:
            for number in range(0 if place.exists() else FILES):
                rows = {"id": list(range(100 * number, 100 * number + 100)), "name": ["n"] * 100}
                write_deltalake(place, pa.table(rows), mode="append")
        return places

    def fsck(seed: int) -> float:
        tables = [
            Table(one.name, f"delta.`{one}`", str(one), one.name, True) for one in looked_at()
        ]
        started = time.perf_counter()
        report = Fsck(bench.session, tables, [str(folder)]).run()
        if report.lines() or report.files != TABLES * FILES:
            raise SystemExit(f"{report.lines()}, {report.summary()}")
        return time.perf_counter() - started

    def vacuum(seed: int, strays: bool) -> float:
        places = looked_at()
        files = [place / "part-stray.parquet" for place in places if strays]
        for file in files:
            file.write_bytes(b"PAR1")
            os.utime(file, (0, 0))
        started = time.perf_counter()
        for place in places:
            pinned.vacuum(bench.session, f"delta.`{place}`")
        seconds = time.perf_counter() - started
        if any(file.exists() for file in files):
            raise SystemExit("a file that no version needs is there")
        return seconds

    tasks: dict[str, Callable[..., float]] = {
        "merge": merge,
        "hook": hook,
        "fsck": fsck,
        "vacuum": vacuum,
    }
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(tasks[name](*arguments), file=answers, flush=True)


def prepare_build(version: Version, days: int) -> None:
    """Land events in the version's clone, and build the reference project until nothing is new."""
    make_home(version.folder / ".alluvium")
    landing = ["--landing", ".alluvium/landing"]
    run_in(version, "alluvium-replay", "flights", "--days", str(days), *landing)
    run_in(version, "alluvium-replay", "edits", "--hours", "6", *landing)
    for _ in range(2):
        build(version)


def build(version: Version) -> float:
    started = time.perf_counter()
    run_in(version, "dbt", "build", "--profiles-dir", "profiles")
    return time.perf_counter() - started


def run_in(version: Version, script: str, *arguments: str) -> None:
    command = [str(Path(sys.executable).parent / script), *arguments]
    done = subprocess.run(
        command, cwd=version.folder, env=version.environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{version.commit}: {script} failed:\n{done.stdout}{done.stderr}")


def alternate(
    case: str,
    before: Callable[[int], float],
    after: Callable[[int], float],
    warm_up: int,
    count: int,
) -> Iterator[tuple[float, float]]:
    """Pairs of seconds, before and after; who goes first alternates."""
    for number in range(-warm_up, count):
        seconds = {one: one(number + warm_up) for one in (before, after)[:: 1 - 2 * (number % 2)]}
        print(f"{case}, {number}: {seconds[before]:.2f} → {seconds[after]:.2f} s", flush=True)
        if number >= 0:
            yield seconds[before], seconds[after]


def summary(case: str, versions: list[Version], pairs: list[tuple[float, float]]) -> dict[str, Any]:
    ratios = [after / before for before, after in pairs]
    low, high = median_interval(ratios)
    before, after = zip(*pairs, strict=True)
    return {
        "case": case,
        "contender": f"{versions[1].commit} beside {versions[0].commit}",
        "seconds": round(statistics.median(after), 3),
        "seconds_before": round(statistics.median(before), 3),
        "seconds_all": [round(value, 3) for value in after],
        "seconds_before_all": [round(value, 3) for value in before],
        "ratio": round(statistics.median(ratios), 3),
        "ratio_interval": [round(low, 3), round(high, 3)],
        "bar_ratio": BAR,
        "met": low <= BAR,
        **provenance(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", required=True, help="commit, or folder with one checked out")
    parser.add_argument("--after", default="HEAD", help="the same; default: HEAD")
    names = ("merge", "hook", "build", "fsck", "vacuum", "vacuum-one")
    parser.add_argument("--case", choices=names, action="append", help="default: all")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 4_000_000])
    parser.add_argument("--days", type=int, default=7, help="of flights to build")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--warm-up", type=int, default=5, help="merges and hooks before, uncounted")
    options = parser.parse_args()
    wanted = options.case or names
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as name:
        folder = Path(name)
        versions = [
            Version.clone(options.before, folder / "before"),
            Version.clone(options.after, folder / "after"),
        ]

        def measure(
            case: str, tasks: list[Callable[[int], float]], warm_up: int = options.warm_up
        ) -> None:
            pairs = list(alternate(case, *tasks, warm_up, options.pairs))
            keep(RESULTS, [found := summary(case, versions, pairs)])
            print(f"{case}: {found['ratio']} {found['ratio_interval']}", flush=True)

        if {*wanted} - {"build"}:
            workers = [Worker(one, folder / f"worker-{one.folder.name}") for one in versions]
            for rows in options.rows if "merge" in wanted else ():
                measure(
                    f"merge of 20,000 events into {rows:,} rows",
                    [lambda n, w=one, r=rows: w.ask("merge", r, n) for one in workers],
                )
            if "hook" in wanted:
                measure(
                    "hook, nothing to do", [lambda n, w=one: w.ask("hook", n) for one in workers]
                )
            tables = f"of {TABLES} tables of {FILES} files"
            if "fsck" in wanted:
                measure(f"fsck {tables}", [lambda n, w=one: w.ask("fsck", n) for one in workers])
            for case, strays in (("vacuum", False), ("vacuum-one", True)):
                if case in wanted:
                    measure(
                        f"vacuum {tables}" + (", a file in each to delete" if strays else ""),
                        [lambda n, w=one, s=strays: w.ask("vacuum", n, s) for one in workers],
                    )
            for one in workers:
                one.close()
        if "build" in wanted:
            for version in versions:
                prepare_build(version, options.days)
            measure(
                "dbt build, nothing new", [lambda n, v=one: build(v) for one in versions], warm_up=0
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        # dbt writes to stdout too.
        answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        serve(Path(sys.argv[2]), Path(sys.argv[3]), answers)
    else:
        main()
