"""Merges of 20,000 events, alluvium beside its peers, on the same files and the same batches.

Run with `make bench-merge` (1 and 10 million rows), or with `--full` for 100 million rows as well.
Every contender merges each batch once, into its own fresh copy of the same files; who goes first
changes from batch to batch. Writes benchmarks/results/merge.json and docs/images/merge.svg.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from merging import batches, charts, tables
from merging.contenders import DIGEST, Alluvium, Bench, Contender, DeltaRs, Done, Iceberg, Stock
from merging.home import REPOSITORY, keep, provenance
from merging.tables import Table

from alluvium.engine import session as engine

RESULTS = REPOSITORY / "benchmarks" / "results" / "merge.json"
CHART = REPOSITORY / "docs" / "images" / "merge.svg"


@dataclass(frozen=True)
class Case:
    """What is merged into what, by whom, how often."""

    name: str
    group: str
    table: Table
    draw: batches.Draw
    key: str
    column: str
    contenders: Sequence[Contender]
    rounds: int
    op: str = "u"


def play(bench: Bench, case: Case, warm_up: int) -> Iterator[dict[str, Any]]:
    """One object of the results for each contender."""
    done: dict[str, list[Done]] = {contender.name: [] for contender in case.contenders}
    floor = None
    for number in range(-warm_up, case.rounds):
        batch = batches.write(
            bench.session, bench.folder / "batch", case.table, case.draw, warm_up + number, case.op
        )
        if floor is None:
            floor = batches.floor(bench.session, case.table, batch, case.key)
        shift = number % len(case.contenders)
        states = {}
        for contender in [*case.contenders[shift:], *case.contenders[:shift]]:
            copy = case.table.copy(bench.folder / "copy", contender.plain)
            one = contender.merge(bench, case.table, copy, batch, case.key, case.column)
            if one.rows != batch.rows:
                raise SystemExit(f"{case.name}: {contender.name} merged {one.rows} rows")
            if number == 0:
                states[contender.name] = [*one.state] or state(bench, copy)
            shutil.rmtree(copy)
            if number >= 0:
                done[contender.name].append(one)
            print(f"{case.name}, {number}: {contender.name}: {one}", flush=True)
        shutil.rmtree(batch.path)
        if len({tuple(one) for one in states.values()}) > 1:
            raise SystemExit(f"{case.name}: the tables differ: {states}")
    assert floor is not None
    for name, runs in done.items():
        yield summary(case, name, runs, done.get(Stock().name, []), floor)


def state(bench: Bench, table: Path) -> list[str]:
    row = bench.session.sql(
        DIGEST.format(table=f"delta.`{table}`", gone="coalesce(_deleted, false)")
    ).first()
    assert row is not None
    return [str(value) for value in row]


def summary(
    case: Case, name: str, runs: list[Done], stock: list[Done], floor: tuple[int, int]
) -> dict[str, Any]:
    def middle(values: list[float]) -> float:
        return round(statistics.median(values), 3)

    found: dict[str, Any] = {
        "case": case.name,
        "group": case.group,
        "contender": name,
        "seconds": middle([run.seconds for run in runs]),
        "seconds_all": [round(run.seconds, 2) for run in runs],
        "path_seconds": middle([run.path_seconds for run in runs]),
        "ranges_seconds": middle([run.ranges_seconds for run in runs]),
        "merge_share": middle([run.seconds / run.path_seconds for run in runs]),
        "engine": runs[-1].engine,
        "rows": case.table.rows,
        "files_kept": round(statistics.median(run.files for run in runs)),
        "files_total": case.table.files,
        "bytes": round(statistics.median(run.bytes for run in runs)),
        "bytes_total": case.table.bytes,
        "floor": floor[0],
        "floor_bytes": floor[1],
        **provenance(),
    }
    for figure in ("seconds", "path_seconds") if stock else ():
        pairs = zip(runs, stock, strict=True)
        ratios = sorted(getattr(one, figure) / getattr(other, figure) for one, other in pairs)
        # Of 11 pairs the second lowest and highest hold the median with 98.8 % confidence.
        spare = 1 if len(ratios) >= 11 else 0
        found[f"{figure}_to_stock"] = middle(ratios)
        found[f"{figure}_to_stock_interval"] = [
            round(ratios[spare], 3),
            round(ratios[-1 - spare], 3),
        ]
    return found


def soon_cases(bench: Bench, data: Path, rounds: int) -> Iterator[Case]:
    """none, min-max and k-means of 3, as SOON compared them, on files of 100,000 rows."""
    methods = [Alluvium(method, planner=True) for method in ("none", "min_max", "kmeans", "auto")]
    for zorder in (False, True):
        table = tables.make(
            bench.session,
            data,
            10_000_000,
            100_000,
            random_id=True,
            scattered=True,
            zorder=zorder,
        )
        layout = "Z-ordered" if zorder else "not ordered"
        for traffic, draw in (
            ("recent", batches.recent),
            ("recent and two old spots", batches.recent_and_old),
        ):
            yield Case(
                f"{traffic}, {layout}", "soon", table, draw, "id", "created_at", methods, rounds
            )


def growth_cases(
    bench: Bench, data: Path, sizes: Sequence[int], rounds: int, iceberg: Iceberg
) -> Iterator[Case]:
    contenders = [
        Stock(),
        Stock(bounds=True),
        Alluvium(),
        Alluvium(planner=True),
        Alluvium(engine="merge_into"),
        DeltaRs(),
        DeltaRs(ranges=True),
        iceberg,
    ]
    for rows in sizes:
        table = tables.make(bench.session, data, rows, 250_000)
        for key, kind in (("key", "string"), ("id", "bigint")):
            yield Case(
                f"{rows // 1_000_000} M rows, {kind} key",
                "growth",
                table,
                batches.growth,
                key,
                key,
                contenders,
                rounds,
            )


def adversary_cases(bench: Bench, data: Path, rounds: int) -> Iterator[Case]:
    """What ranges cannot help, and small tables: no configuration may be slower than stock."""
    small = tables.make(bench.session, data, 1_000_000, 250_000)
    configurations = [
        Stock(),
        *(Alluvium(method) for method in ("none", "min_max", "gaps", "kmeans", "cover", "auto")),
        Alluvium("auto", planner=True),
        Alluvium("auto", engine="merge_into"),
    ]
    yield Case(
        "every file holds a match",
        "adversary",
        small,
        batches.growth,
        "id",
        "id",
        configurations,
        rounds,
    )
    table = tables.make(bench.session, data, 10_000_000, 100_000, random_id=True)
    draws: list[tuple[str, batches.Draw, str]] = [
        ("uniform", batches.uniform, "u"),
        ("one outlier", batches.outlier, "u"),
        ("only deletes", batches.recent_and_old, "d"),
        ("empty batch", batches.empty, "u"),
    ]
    contenders = [Stock(), Alluvium(), Alluvium(engine="merge_into"), DeltaRs()]
    for name, draw, op in draws:
        yield Case(name, "adversary", table, draw, "id", "created_at", contenders, rounds, op)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    groups = ("soon", "growth", "adversary")
    parser.add_argument("--group", choices=groups, action="append", help="default: all")
    parser.add_argument("--case", action="append", help="names of cases; default: all of a group")
    parser.add_argument("--contender", action="append", help="names; default: all of a case")
    parser.add_argument("--full", action="store_true", help="growth up to 100 million rows")
    parser.add_argument("--rows", type=int, nargs="+", help="rows of the tables of growth")
    parser.add_argument("--rounds", type=int, default=3, help="batches of each case")
    parser.add_argument("--pairs", type=int, default=11, help="batches of each adversary")
    parser.add_argument("--warm-up", type=int, default=2, help="batches before, not counted")
    options = parser.parse_args()
    sizes = options.rows or [1_000_000, 10_000_000, *[100_000_000] * options.full]
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as name:
        folder = Path(name)
        bench = Bench.start(folder)
        iceberg = Iceberg(REPOSITORY / ".venv-iceberg/bin/python", folder)
        warm_up = options.warm_up
        for group in options.group or groups:
            data = folder / group
            data.mkdir()
            if group == "soon":
                cases = soon_cases(bench, data, options.rounds)
            elif group == "growth":
                cases = growth_cases(bench, data, sizes, options.rounds, iceberg)
            else:
                cases = adversary_cases(bench, data, options.pairs)
            for case in cases:
                if options.case and case.name not in options.case:
                    continue
                if options.contender:
                    chosen = [one for one in case.contenders if one.name in options.contender]
                    case = replace(case, contenders=chosen)
                keep(RESULTS, list(play(bench, case, warm_up)))
                warm_up = min(warm_up, 1)
            shutil.rmtree(data)
        every = json.loads(RESULTS.read_text())
        growth = [one for one in every if one["group"] == "growth"]
        title = f"20,000 events, {every[-1]['machine']}"
        charts.panels(CHART, growth, "seconds", "seconds of the merge alone", title, "alluvium")
        iceberg.close()
        engine.stop()


if __name__ == "__main__":
    main()
