"""Compaction beside Delta's own ways, on the same files: planning, rewriting, ingestion, queries.

Run with `make bench-compaction`; ARGS="--group planning" for one group, --small for a look of a
minute a group, --full for 20 million rows. Writes benchmarks/results/compaction.json and
docs/images/compaction.svg.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from compacting import ingest, planning, rewriting, tables
from compacting.contenders import Contender, contenders
from merging import charts
from merging.home import REPOSITORY, keep, make_home, provenance
from pyspark.sql import SparkSession

from alluvium.engine import session as engine
from alluvium.plan.layout.settings import Layout

RESULTS = REPOSITORY / "benchmarks" / "results" / "compaction.json"
CHART = REPOSITORY / "docs" / "images" / "compaction.svg"
Result = dict[str, Any]
OURS = "alluvium"
# Starts Spark when it is first asked for a session.
Start = Callable[[], SparkSession]


@dataclass(frozen=True)
class Size:
    """How much of each group.

    rounds: of what is timed.
    seeds: of the arrivals whose rewriting is compared with the bound.
    level_files, level_rows: of the simulated bucket with levels.
    ingest_files, ingest_batch: of 1,000 rows each; and of how many a commit adds.
    query_files, query_rows, query_target, query_batch: of the table that is asked.
    sweep: rows of a full fragment.
    who: names of contenders; none for all.
    cores: that Spark has; none for all.
    """

    rounds: int
    fragments: tuple[int, ...]
    seeds: int
    level_files: int
    level_rows: int
    ingest_files: int
    ingest_batch: int
    query_files: int
    query_rows: int
    query_target: int
    query_batch: int
    asked: int
    sweep: tuple[int, ...]
    who: tuple[str, ...] = ()
    cores: int | None = None


SMALL = Size(
    rounds=2, fragments=(10_000,), seeds=1, level_files=400, level_rows=5_000,
    ingest_files=100, ingest_batch=50, query_files=200, query_rows=1_000, query_target=2_000,
    query_batch=100, asked=1, sweep=(10_000, 100_000),
)  # fmt: skip
MEDIUM = Size(
    rounds=5, fragments=(10_000, 100_000), seeds=5, level_files=4_000, level_rows=5_000,
    ingest_files=1_000, ingest_batch=50, query_files=2_000, query_rows=1_000, query_target=4_000,
    query_batch=500, asked=3, sweep=(10_000, 100_000, 1_000_000, 10_000_000),
)  # fmt: skip
FULL = Size(
    rounds=5, fragments=(10_000, 100_000), seeds=5, level_files=4_000, level_rows=5_000,
    ingest_files=1_000, ingest_batch=50, query_files=4_000, query_rows=5_000, query_target=20_000,
    query_batch=200, asked=1, sweep=(10_000, 100_000, 1_000_000, 10_000_000),
)  # fmt: skip


def planning_group(start: Start, folder: Path, size: Size) -> Iterator[Result]:
    yield from planning.pure_cases(size.rounds, size.fragments)
    yield from planning.log_cases(start(), folder, size.rounds, size.fragments)


def rewriting_group(start: Start, folder: Path, size: Size) -> Iterator[Result]:
    yield from rewriting.tier_cases(size.seeds)
    yield from rewriting.count_cases(size.seeds)
    yield from rewriting.trickle_cases(size.seeds)
    yield from rewriting.level_cases(size.level_files, size.level_rows, 20_000)


def ingest_group(start: Start, folder: Path, size: Size) -> Iterator[Result]:
    session = warmed(start, folder, size)
    source = tables.log_events(folder / "files", size.ingest_files, 1_000)
    layout = rewriting.layout_of(1_000_000, source.sort_by)
    batch = size.ingest_batch
    yield from ingest.cases(session, folder, source, layout, batch, _who(layout, size), 0)
    yield ingest.pairwise(source, layout, batch)
    edits = tables.wikiticker(folder / "edits", 200)
    layout = rewriting.layout_of(1_000, edits.sort_by)
    yield from ingest.cases(session, folder, edits, layout, 50, _who(layout, size), 1)


def queries_group(start: Start, folder: Path, size: Size) -> Iterator[Result]:
    session = warmed(start, folder, size)
    source = tables.log_events(folder / "files", size.query_files, size.query_rows)
    layout = rewriting.layout_of(size.query_target, source.sort_by)
    who = _who(layout, size)
    yield from ingest.cases(session, folder, source, layout, size.query_batch, who, size.asked)


def sweep_group(start: Start, folder: Path, size: Size) -> Iterator[Result]:
    """Ours alone, with smaller full fragments and larger ones."""
    session = warmed(start, folder, replace(size, who=("alluvium",)))
    source = tables.log_events(folder / "files", size.query_files, size.query_rows)
    for target_rows in size.sweep:
        layout = rewriting.layout_of(target_rows, source.sort_by)
        who = contenders(layout)[:1]
        of = "" if size.cores is None else f", cores: {size.cores}"
        found = ingest.cases(session, folder, source, layout, size.query_batch, who, size.asked)
        yield from (one | {"case": one["case"] + of} for one in found)


def warmed(start: Start, folder: Path, size: Size) -> SparkSession:
    """A session in which each contender has compacted a little."""
    session = start()
    source = tables.log_events(folder / "warm", 64, 100)
    layout = rewriting.layout_of(1_000, source.sort_by)
    for one in ingest.cases(session, folder, source, layout, 32, _who(layout, size), 1):
        print(f"warm-up: {said(one)}", flush=True)
    return session


def _who(layout: Layout, size: Size) -> list[Contender]:
    return [one for one in contenders(layout) if not size.who or one.name in size.who]


GROUPS = {
    "planning": planning_group,
    "rewriting": rewriting_group,
    "ingest": ingest_group,
    "queries": queries_group,
    "sweep": sweep_group,
}


def rounded(value: Any) -> Any:
    """Figures to five places: more was not measured."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def draw(results: list[Result]) -> None:
    """The largest case of log events: rewriting, fragments, requests, and what queries read."""
    events = [one for one in results if "files of" in one["case"] and "wiki" not in one["case"]]
    ingested = _largest([one for one in events if one["group"] == "ingest"])
    asked = _largest(
        [one for one in events if one["group"] == "queries" and one.get("phase") == "final"]
    )
    simulated = [one for one in results if "log events" in one["case"] and "levels" in one]
    if not ingested and not asked:
        return
    figure, axes = plt.subplots(3, 2, figsize=(11, 10))
    if ingested:
        axis = axes[0][0]
        names = [one["contender"] for one in ingested]
        spent = [one["rewrites_per_row"] + one.get("rewrites_last", 0.0) for one in ingested]
        axis.barh(names, spent, color=charts.colours(names, OURS))
        axis.axvline(ingested[0]["bound"], color=charts.LINE, linewidth=1.2)
        axis.set_xscale("log")
        axis.set_title("rewrites per row (line: the least that makes one file)", fontsize=10)
        axis.invert_yaxis()
        panels = [("live_fragments", "fragments"), ("requests_all", "files opened and written")]
        for axis, (name, title) in zip((axes[0][1], axes[1][0]), panels, strict=True):
            for one in ingested:
                if name in one:
                    ours = one["contender"] == OURS
                    axis.plot(one[name], label=one["contender"], linewidth=2.5 if ours else 1.2)
            axis.set_title(f"{title} after each commit", fontsize=10)
            axis.legend(fontsize=7)
        figure.suptitle(f"{ingested[0]['case']}, {ingested[0]['machine']}", fontsize=10)
    if asked:
        axis = axes[1][1]
        names = [one["contender"] for one in asked]
        axis.barh(names, [one["files_kept"] for one in asked], color=charts.colours(names, OURS))
        axis.axvline(asked[0]["floor"], color=charts.LINE, linewidth=1.2)
        axis.set_title(
            f"fragments read by 24 queries (line: floor)\n{asked[0]['case']}", fontsize=9
        )
        axis.invert_yaxis()
        axis = axes[2][1]
        ours = next((one["machine"] for one in asked if one["contender"] == OURS), None)
        alike = [one for one in asked if one["machine"] == ours]  # processors differ
        names = [one["contender"] for one in alike]
        axis.barh(names, [one["core_seconds"] for one in alike], color=charts.colours(names, OURS))
        axis.set_title("core-seconds of these queries, as far as of one machine", fontsize=9)
        axis.invert_yaxis()
    axis = axes[2][0]
    for one in simulated:
        by_level = {level["level"]: 100 * level["key_width"] for level in one["levels"]}
        axis.plot(list(by_level), list(by_level.values()), marker=".")
        axis.set_title(f"% of rows between a fragment's keys, by level\n{one['case']}", fontsize=9)
    figure.tight_layout()
    charts.save(figure, CHART)


def _largest(results: list[Result]) -> list[Result]:
    """The results of the case with the most rows."""
    if not results:
        return []
    case = max(results, key=lambda one: one.get("rows_total", one["rows"]))["case"]
    return [one for one in results if one["case"] == case]


def said(result: Result) -> str:
    """A line of the plain figures."""
    left_out = ("group", "case", "contender", *provenance())
    figures = [
        f"{name} {value}"
        for name, value in result.items()
        if name not in left_out and not isinstance(value, list | dict)
    ]
    return f"{result['case']}: {result['contender']}: {', '.join(figures)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--group", choices=GROUPS, action="append", help="default: all but sweep")
    parser.add_argument("--small", action="store_true", help="a look of a minute; nothing is kept")
    parser.add_argument("--full", action="store_true", help="20 million rows")
    names = [one.name for one in contenders(Layout(("a",)))]
    parser.add_argument("--contender", choices=names, action="append", help="default: all")
    parser.add_argument("--cores", type=int, help="that Spark has; for --group sweep")
    options = parser.parse_args()
    if options.cores is not None and options.group != ["sweep"]:
        parser.error("--cores: accepted with --group sweep, whose cases name them")
    size = SMALL if options.small else FULL if options.full else MEDIUM
    size = replace(size, who=tuple(options.contender or ()), cores=options.cores)
    master = f"local[{options.cores or '*'}]"
    print(size, flush=True)
    for name in options.group or [name for name in GROUPS if name != "sweep"]:
        started = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as temporary:
            folder = Path(temporary)
            settings = engine.Settings(home=make_home(folder / "home"), master=master)
            measured = GROUPS[name](partial(engine.new_session, settings), folder, size)
            # As soon as a contender is through: what has been measured is not lost.
            for _, same in groupby(measured, lambda one: (one["case"], one["contender"])):
                results = [{"group": name} | rounded(one) | provenance() for one in same]
                for one in results:
                    print(said(one), flush=True)
                if not options.small:
                    keep(RESULTS, results)
            engine.stop()
        print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
        if not options.small:
            draw(json.loads(RESULTS.read_text()))


if __name__ == "__main__":
    main()
