"""Pruned reads: files that queries read, what indexes cost in the log, and in a compaction.

Run with `make bench-pruning`; ARGS="--case wikiticker", --contender for one. Each contender gets
the same landed files. Queries ask for one value of one column: values that are there, and absent
ones between the minimum and maximum. Files are counted in the physical plan; some queries are run
too, and Spark's metrics count the same. Three more cases: the planning of a query on 20,000 files,
the query mix of the compaction benchmark, and merges.

Writes benchmarks/results/pruning.json, as each contender ends, and docs/images/pruning.svg.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from compacting import rewriting, tables
from compacting.contenders import sized
from compacting.tables import Source
from merging import charts
from merging.home import REPOSITORY, keep, make_home, provenance
from pruned import asking, log_scale, merges, mix, truth
from pruned.asking import Values
from pyspark.sql import SparkSession
from support.settings import settings

from alluvium.compact.run import compact
from alluvium.delta.log import log
from alluvium.delta.rewrite import automata
from alluvium.engine import jvm
from alluvium.engine import session as engine
from alluvium.plan.layout.settings import Layout
from alluvium.publish.publish import publish

RESULTS = REPOSITORY / "benchmarks" / "results" / "pruning.json"
CHART = REPOSITORY / "docs" / "images" / "pruning.svg"
OURS = "compaction and automata"
MORE = "the same, unsorted columns too"
ALONE = "compaction alone"
BLOOM = "compaction and Parquet Bloom filters"
DAY = 86_400.0


@dataclass(frozen=True)
class Case:
    """What is landed, and what is asked.

    sort_by: the sort schema.
    columns: those that are asked; for each what makes an absent value of a present one.
    deleted: rows that a deletion hides before the queries are asked again.
    """

    name: str
    source: Callable[[Path], Source]
    target_rows: int
    batch: int
    sort_by: tuple[str, ...]
    columns: Mapping[str, Callable[[Any], Any]]
    deleted: str


def _longer(value: str) -> str:
    return value + "~"


CASES = {
    "log events": Case(
        "log events",
        lambda folder: tables.log_events(folder, 5_000, 400),
        400,
        500,
        ("service", "status", "env", "logged_at"),
        {"service": _longer, "status": lambda value: value + 1, "env": _longer, "host": _longer},
        "host like 'host-00%'",
    ),
    "wikiticker": Case(
        "wikiticker",
        lambda folder: tables.wikiticker(folder, 100),
        400,
        25,
        ("channel", "namespace"),
        dict.fromkeys(("channel", "namespace", "user", "page"), _longer),
        "comment like '%7'",
    ),
}


def contenders(case: Case) -> dict[str, tuple[str, Layout | None]]:
    """SQL, or a layout, by name."""
    layout = rewriting.layout_of(case.target_rows, case.sort_by)
    alone = replace(layout, index=())
    return {
        "as landed": ("", None),
        "OPTIMIZE ZORDER": (f"optimize {{table}} zorder by ({', '.join(case.sort_by[:3])})", None),
        ALONE: ("", alone),
        BLOOM: ("", alone),
        OURS: ("", layout),
        MORE: ("", replace(layout, index=tuple(case.columns))),
    }


def measure(
    session: SparkSession,
    folder: Path,
    case: Case,
    name: str,
    source: Source,
    asked: Mapping[str, Values],
) -> dict[str, Any]:
    sql, layout = contenders(case)[name]
    path = folder / "table"
    table = source.table(session, path, "tblproperties ('delta.enableDeletionVectors' = true)")
    for batch in source.batches(case.batch):
        tables.land(session, table, batch)
    say(f"{name}: landed")
    with Indexing() as indexed, bloom_filters(session, list(case.columns) if name == BLOOM else ()):
        started = time.perf_counter()
        if layout is not None:
            later = source.adds[-1]["modificationTime"] / 1000 + 2 * DAY
            compact(session, table, layout, name, clock=lambda: later)
        elif sql:
            with sized(session, case.target_rows * source.bytes // source.rows):
                session.sql(sql.format(table=table))
        seconds = time.perf_counter() - started
    say(f"{name}: {seconds:.1f} s, of which {sum(indexed):.1f} s for indexes")
    adds = [
        json.loads(file.json())["add"]
        for file in log.snapshot_of(session, table).allFiles().collect()
    ]
    files = truth.held(path, adds, list(case.columns))
    result = {
        "files": len(adds),
        "bytes": sum(add["size"] for add in adds),
        "seconds": seconds,
        "seconds_index": sum(indexed),
        "checkpoint_bytes_a_file": checkpoint_bytes(session, table) / len(adds),
        "files_holding": truth.floors(files, asked),
        "files_read": asking.means(session, table, asked),
        "executed": asking.executed(session, table, asked, source.payload),
    }
    say(f"{name}: asked")
    if name == BLOOM:
        result["bloom_filters"] = bloom_chunks(session, path, adds, list(case.columns))
    if name in (OURS, MORE):
        result["index"] = truth.figures(adds, files, asked)
    if name != OURS:
        return result
    result["queries"] = {
        column: asking.beside_plain(
            session, table, asking.where(column, asked[column].present[-1]), source.payload
        )
        for column in case.columns
        if column in case.sort_by
    }
    say(f"{name}: beside plain queries")
    # The rows of a merge hide others by deletion vectors: from then on Delta selects twice.
    session.sql(f"delete from {table} where {case.deleted}")
    detail = log.snapshot_of(session, table)
    result["files_with_vectors"] = int(detail.numDeletionVectorsOpt().get())
    result["files_read_with_vectors"] = asking.means(session, table, asked)
    result["executed_with_vectors"] = asking.executed(session, table, asked, source.payload)
    say(f"{name}: asked with deletion vectors")
    shown = f"bench.shown_{folder.name}"
    publish(session, table, shown, None, {"tests": 1}, {})
    result["files_read_published"] = asking.means(session, shown, asked)
    result["executed_published"] = asking.executed(session, shown, asked, source.payload)
    say(f"{name}: asked as published")
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


def bloom_filters(session: SparkSession, columns: Sequence[str]) -> AbstractContextManager[None]:
    """Parquet's filters of these columns. It writes none of a column that has a dictionary."""
    values = {"parquet.enable.dictionary": "false"} if columns else {}
    for column in columns:
        values[f"parquet.bloom.filter.enabled#{column}"] = "true"
        values[f"parquet.bloom.filter.expected.ndv#{column}"] = "400"
    return settings(session, values)


def bloom_chunks(
    session: SparkSession, folder: Path, adds: Sequence[dict[str, Any]], columns: Sequence[str]
) -> dict[str, Any]:
    """Of 100 files: the share of a column's chunks that have a filter, and its bytes."""
    java: Any = jvm.of(session)
    conf = session._jsc.hadoopConfiguration()
    found: dict[str, list[int]] = {column: [] for column in columns}
    for add in adds[:100]:
        path = java.org.apache.hadoop.fs.Path(str(folder / add["path"]))
        parquet = java.org.apache.parquet
        source = parquet.hadoop.util.HadoopInputFile.fromPath(path, conf)
        reader = parquet.hadoop.ParquetFileReader.open(source)
        for block in reader.getFooter().getBlocks():
            for chunk in block.getColumns():
                name = chunk.getPath().toDotString()
                if name in found:
                    found[name].append(max(0, int(chunk.getBloomFilterLength())))
        reader.close()
    return {
        name: {
            "share": sum(size > 0 for size in sizes) / len(sizes),
            "bytes_a_file": sum(sizes) / len(sizes),
        }
        for name, sizes in found.items()
    }


def checkpoint_bytes(session: SparkSession, table: str) -> int:
    """Of a checkpoint of the table as it is."""
    delta = log.delta_log(session, table)
    delta.checkpoint()
    folder = Path(delta.logPath().toUri().getPath())
    newest = max(folder.glob("*.checkpoint*.parquet"))
    return newest.stat().st_size


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, list):
        return [rounded(one) for one in value]
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
        colours = charts.colours(["" if name == MORE else name for name in names], OURS)
        axis.barh(names, [one["files_read"][column][kind] for one in rows], color=colours)
        if kind == "present":
            axis.axvline(
                min(one["files_holding"][column][kind] for one in rows),
                color=charts.LINE,
                linewidth=1.2,
            )
        axis.set_title(f"{case}: {column}, {kind} values", fontsize=9)
        axis.set_xlim(0, max(one["files"] for one in rows))
        axis.tick_params(labelsize=7)
        axis.invert_yaxis()
    figure.suptitle(
        "files read by a query for one value; the line: files that hold the value", fontsize=10
    )
    figure.tight_layout()
    charts.save(figure, CHART)


def reads(session: SparkSession, folder: Path, name: str, chosen: Sequence[str]) -> Iterator[Any]:
    case = CASES[name]
    source = case.source(folder / "files")
    asked = asking.values(source, case.columns)
    for number, contender in enumerate(chosen or contenders(case)):
        (folder / str(number)).mkdir()
        found = measure(session, folder / str(number), case, contender, source, asked)
        yield {"case": name, "contender": contender} | found


def run(name: str, chosen: Sequence[str]) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as temporary:
        folder = Path(temporary)
        session = engine.new_session(engine.Settings(home=make_home(folder / "home")))
        session.sql("create schema bench")
        if name in CASES:
            yield from reads(session, folder, name, chosen)
        elif name == "planning":
            found = log_scale.measured(session, folder / "table", 20_000)
            yield {"case": "planning, 20,000 files, two columns", "contender": OURS} | found
        elif name == "merges":
            yield from merges.measured(session, folder)
        else:
            yield from mix.measured(session, folder, 2_000, 1_000, 4_000, 500)
        engine.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = [*CASES, "planning", "query mix", "merges"]
    parser.add_argument("--case", choices=every, action="append")
    parser.add_argument("--contender", choices=contenders(CASES["wikiticker"]), action="append")
    options = parser.parse_args()
    for name in options.case or every:
        for one in run(name, options.contender):
            print(json.dumps(rounded(one)), flush=True)
            keep(RESULTS, [rounded(one) | provenance()])
    draw([one for one in json.loads(RESULTS.read_text()) if "files_holding" in one])


if __name__ == "__main__":
    main()
