"""Pruned reads: files that queries read, what indexes cost in the log, and in a compaction.

Run with `make bench-pruning`; ARGS="--case wikiticker", --contender for one. Each contender gets
the same landed files. Queries ask for one value of one column: values that are there, and absent
ones between the minimum and maximum. Files are counted in the physical plan, as Spark's metric
`number of files read` does. Of Bloom filters the files are expected, not read: filters of as many
bytes as the automata have, behind minimum and maximum.

Writes benchmarks/results/pruning.json and docs/images/pruning.svg.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pyarrow.compute as pc
import pyarrow.dataset as ds
from compacting import rewriting, tables
from compacting.contenders import sized
from compacting.tables import Source
from merging import charts
from merging.home import REPOSITORY, keep, make_home, provenance
from pyspark.sql import SparkSession

from alluvium.compact.run import compact
from alluvium.delta import automata, log, marks
from alluvium.engine import jvm
from alluvium.engine import session as engine
from alluvium.names import quoted
from alluvium.plan.automata.budget import size_in_tag
from alluvium.plan.automata.tags import from_text
from alluvium.plan.layout.settings import Layout
from alluvium.plan.ranges.literal import typed_literal

RESULTS = REPOSITORY / "benchmarks" / "results" / "pruning.json"
CHART = REPOSITORY / "docs" / "images" / "pruning.svg"
OURS = "compaction and automata"
ALONE = "compaction alone"
ROUNDS, ASKED = 5, 6
DAY = 86_400.0


@dataclass(frozen=True)
class Case:
    """What is landed, and what is asked.

    columns: those of the sort schema first, then an unsorted one; for each what makes an absent
        value of a present one.
    """

    name: str
    source: Callable[[Path], Source]
    target_rows: int
    batch: int
    columns: Mapping[str, Callable[[Any], Any]]


def _longer(value: str) -> str:
    return value + "~"


CASES = {
    "log events": Case(
        "log events",
        lambda folder: tables.log_events(folder, 5_000, 400),
        400,
        500,
        {"service": _longer, "status": lambda value: value + 1, "env": _longer, "host": _longer},
    ),
    "wikiticker": Case(
        "wikiticker",
        lambda folder: tables.wikiticker(folder, 100),
        400,
        25,
        dict.fromkeys(("channel", "namespace", "user", "page"), _longer),
    ),
}


def contenders(case: Case) -> dict[str, tuple[str, Layout | None]]:
    """SQL, or a layout, by name."""
    source_columns = {"log events": ("service", "status", "env", "logged_at")}
    sort_by = source_columns.get(case.name, ("channel", "namespace"))
    layout = rewriting.layout_of(case.target_rows, sort_by)
    return {
        "as landed": ("", None),
        "OPTIMIZE ZORDER": (f"optimize {{table}} zorder by ({', '.join(sort_by[:3])})", None),
        ALONE: ("", replace(layout, index=())),
        OURS: ("", replace(layout, index=tuple(case.columns))),
    }


def measure(session: SparkSession, folder: Path, case: Case, name: str) -> dict[str, Any]:
    sql, layout = contenders(case)[name]
    source = case.source(folder / "files")
    table = source.table(
        session, folder / "table", "tblproperties ('delta.enableDeletionVectors' = true)"
    )
    for batch in source.batches(case.batch):
        tables.land(session, table, batch)
    with Indexing() as indexed:
        started = time.perf_counter()
        if layout is not None:
            now = tables.events.arrived_at(len(source.adds)) if case.name != "wikiticker" else 0.0
            compact(session, table, layout, name, clock=lambda: now or time.time() + 2 * DAY)
        elif sql:
            with sized(session, case.target_rows * source.bytes // source.rows):
                session.sql(sql.format(table=table))
        seconds = time.perf_counter() - started
    adds = [
        json.loads(file.json())["add"]
        for file in log.snapshot_of(session, table).allFiles().collect()
    ]
    result = {
        "files": len(adds),
        "seconds": seconds,
        "seconds_index": sum(indexed),
        "checkpoint_bytes_a_file": checkpoint_bytes(session, table) / len(adds),
        "files_read": reads(session, table, case, source),
    }
    if name == OURS:
        result |= index_figures(folder / "table", adds, case)
    # The rows of a merge hide others by deletion vectors: from then on Delta selects twice.
    session.sql(f"delete from {table} where {quoted(source.payload)} like '%7'")
    result["files_read_with_vectors"] = reads(session, table, case, source)
    column = list(case.columns)[1]
    result["query_seconds"] = query_seconds(session, table, column, source)
    return result


class Indexing:
    """Seconds of each call that makes indexes."""

    def __enter__(self) -> list[float]:
        spent: list[float] = []
        self._before = before = automata.Indexer.tags

        def timed(self: automata.Indexer, files: Any) -> list[str]:
            started = time.perf_counter()
            try:
                return before(self, files)
            finally:
                spent.append(time.perf_counter() - started)

        automata.Indexer.tags = timed  # type: ignore[method-assign]
        return spent

    def __exit__(self, *_: object) -> None:
        automata.Indexer.tags = self._before  # type: ignore[method-assign]


def checkpoint_bytes(session: SparkSession, table: str) -> int:
    """Of a checkpoint of the table as it is."""
    delta = log.delta_log(session, table)
    delta.checkpoint()
    folder = Path(delta.logPath().toUri().getPath())
    newest = max(folder.glob("*.checkpoint*.parquet"))
    return newest.stat().st_size


def asked(source: Source, column: str, absent: Callable[[Any], Any]) -> tuple[list[Any], list[Any]]:
    """Values that are there, the frequent and the rare, and as many that are not."""
    files = [source.folder / add["path"] for add in source.adds]
    counts = pc.value_counts(ds.dataset(files).to_table(columns=[column])[column]).to_pylist()
    ranked = [
        one["values"]
        for one in sorted(counts, key=lambda one: (-one["counts"], str(one["values"])))
    ]
    present = [ranked[place] for place in np.linspace(0, len(ranked) - 1, ASKED).astype(int)]
    known = set(ranked)
    lies_between = [one for one in map(absent, present) if min(known) < one < max(known)]
    return list(dict.fromkeys(present)), [
        one for one in dict.fromkeys(lies_between) if one not in known
    ]


def reads(session: SparkSession, table: str, case: Case, source: Source) -> dict[str, Any]:
    """By column, mean files of a query for a value that is there, and for one that is not."""
    found = {}
    for column, absent in case.columns.items():
        kinds = asked(source, column, absent)
        present, missing = (
            statistics.fmean(planned(session, table, column, value) for value in values)
            for values in kinds
        )
        found[column] = {"present": present, "absent": missing}
    return found


def where(column: str, value: Any) -> str:
    kind = "string" if isinstance(value, str) else "int"
    return f"{quoted(column)} = {typed_literal(str(value), kind)}"


def planned(session: SparkSession, table: str, column: str, value: Any) -> int:
    """Files that the scan of the physical plan reads."""
    frame = session.sql(f"select * from {table} where {where(column, value)}")
    leaves = jvm.items(frame._jdf.queryExecution().sparkPlan().collectLeaves())
    return sum(
        int(leaf.selectedPartitions().totalNumberOfFiles())
        for leaf in leaves
        if leaf.getClass().getSimpleName() == "FileSourceScanExec"
    )


def index_figures(folder: Path, adds: Sequence[dict[str, Any]], case: Case) -> dict[str, Any]:
    """Bytes of the automata, and absent values that a Bloom filter of as many accepts."""
    tags = {add["path"]: add["tags"].get(marks.AUTOMATA_TAG, "{}") for add in adds}
    read = {path: from_text(text) for path, text in tags.items()}
    sizes: dict[str, list[int]] = {column: [] for column in case.columns}
    shares: dict[str, list[float]] = {column: [] for column in case.columns}
    for path, indexes in read.items():
        values = ds.dataset(folder / path).to_table(columns=list(case.columns))
        for column in case.columns:
            index = indexes.get(column)
            size = 0 if index is None else size_in_tag(column, index)
            sizes[column].append(size)
            shares[column].append(bloom(size * 8, len(values[column].unique())))
    return {
        "index_bytes_a_file": statistics.fmean(len(text.encode()) for text in tags.values()),
        "index_bytes_a_file_by_column": {name: statistics.fmean(of) for name, of in sizes.items()},
        "indexed_share_by_column": {
            name: statistics.fmean(size > 0 for size in of) for name, of in sizes.items()
        },
        "bloom_absent_share_by_column": {name: statistics.fmean(of) for name, of in shares.items()},
    }


def bloom(bits: int, values: int) -> float:
    """The share of absent values that a filter of the best number of hashes accepts."""
    if not bits:
        return 1.0
    hashes = max(1, round(bits / values * math.log(2)))
    return (1 - math.exp(-hashes * values / bits)) ** hashes


def query_seconds(
    session: SparkSession, table: str, column: str, source: Source
) -> dict[str, float]:
    """A query for the rarest value of the second column, with the rule and without, warm."""
    present, _ = asked(source, column, lambda value: value)
    sql = f"select count(*) from {table} where {where(column, present[-1])}"
    taken: dict[str, list[float]] = {"true": [], "false": []}
    for turn in range(ROUNDS + 1):
        for on, seconds in taken.items():
            session.conf.set("spark.alluvium.pruning.enabled", on)
            started = time.perf_counter()
            session.sql(sql).collect()
            if turn:
                seconds.append(time.perf_counter() - started)
    session.conf.unset("spark.alluvium.pruning.enabled")
    return {"pruned": statistics.median(taken["true"]), "plain": statistics.median(taken["false"])}


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    return {key: rounded(one) for key, one in value.items()} if isinstance(value, dict) else value


def draw(results: Sequence[dict[str, Any]]) -> None:
    """Files read for values that are there and that are not, by column, a panel each."""
    panels = [
        (case, column, kind)
        for case, spec in CASES.items()
        for column in spec.columns
        for kind in ("present", "absent")
        if any(one["case"] == case for one in results)
    ]
    if not panels:
        return
    figure, axes = plt.subplots(
        len(panels) // 2, 2, figsize=(11, 1.5 * len(panels) // 2 + 1), squeeze=False
    )
    for axis, (case, column, kind) in zip(axes.flat, panels, strict=True):
        rows = [one for one in results if one["case"] == case]
        names = [one["contender"] for one in rows]
        axis.barh(
            names,
            [one["files_read"][column][kind] for one in rows],
            color=charts.colours(names, OURS),
        )
        axis.set_title(f"{case}: {column}, {kind} values", fontsize=9)
        axis.set_xlim(0, max(one["files"] for one in rows))
        axis.tick_params(labelsize=7)
        axis.invert_yaxis()
    figure.suptitle("files read by a query for one value", fontsize=10)
    figure.tight_layout()
    charts.save(figure, CHART)


def run(case: Case, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as temporary:
        folder = Path(temporary)
        session = engine.new_session(engine.Settings(home=make_home(folder / "home")))
        for number, name in enumerate(names):
            (folder / str(number)).mkdir()
            found = measure(session, folder / str(number), case, name)
            yield {"case": case.name, "contender": name} | rounded(found) | provenance()
        engine.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--contender", choices=contenders(CASES["wikiticker"]), action="append")
    options = parser.parse_args()
    for name in options.case or CASES:
        case = CASES[name]
        for one in run(case, options.contender or list(contenders(case))):
            print(json.dumps({k: v for k, v in one.items() if k not in provenance()}), flush=True)
            keep(RESULTS, [one])
    draw(json.loads(RESULTS.read_text()))


if __name__ == "__main__":
    main()
